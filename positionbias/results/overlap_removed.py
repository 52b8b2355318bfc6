"""Counts of what was removed because of overlapping pairs."""

from __future__ import annotations

from collections.abc import Mapping

from positionbias.results.figures import Figures

__all__ = ["REMOVED", "LeaksRemoved"]

REMOVED = "overlap removed"


class LeaksRemoved(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """Passages, queries, judgements or groups of one side of overlapping pairs that were removed,
    and what went with them.

    ``what`` was removed because of pairs of ``unit``. ``total``, ``left_out`` and ``kept`` count
    these things; ``qrels_by_split`` counts judgements that went. ``pairs`` are all pairs read,
    ``counted`` those that count, ``labelled_different`` those that a person set aside,
    ``by_words_alone`` those that only the lexical detector of ``leakage find`` found. ``groups``:
    training groups went that have one of the things. ``checksum`` is that of the ledger.
    """

    MEASURES = (REMOVED,)

    what: str
    unit: str
    side: str
    split: str
    groups: bool = False
    total: int
    left_out: int
    kept: int
    qrels_left_out: int = 0
    answers_left_out: int = 0
    queries_without_judgement: int = 0
    named_and_not_there: int = 0
    qrels_by_split: Mapping[str, int] = {}
    others: int
    pairs: int
    counted: int
    labelled_different: int
    by_words_alone: int = 0
    checksum: str

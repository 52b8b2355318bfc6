"""Compute the rank of the first relevant passage, and its mean over queries (MFR); lower is
better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.run import Run


@dataclass(frozen=True, slots=True)
class FirstRanks:
    """The rank of the first relevant passage by query, in sorted order, and the number of queries
    with nothing relevant retrieved.
    """

    ranks: Mapping[str, float]
    without: int

    @property
    def mean(self) -> float:
        """Return the arithmetic mean of first ranks [decision: several cells of the leakage paper
        are below 2 − P@1, which is impossible for an arithmetic mean of one system; they look like
        1 / MRR]."""
        return sum(self.ranks.values()) / len(self.ranks)


def first_ranks(
    run: Run, qrels: Iterable[Qrel], *, depth: int, relevant_from: int = 1
) -> FirstRanks:
    """Return each judged query's rank, from 1, of its first passage graded ``relevant_from`` or
    higher among the first ``depth``.

    A query with nothing relevant retrieved gets depth + 1 and is counted [decision], and so does a
    query with nothing relevant judged.

    Raises:
        InputError: no judged query.
        SettingError: ``depth`` is below 1.
    """
    if depth < 1:
        raise SettingError(f"--depth: wanted at least 1; found {depth}; raise it")
    relevant: dict[str, set[str]] = {}
    for qrel in qrels:
        relevant.setdefault(qrel.query_id, set()).update(
            [qrel.passage_id] if qrel.grade >= relevant_from else []
        )
    if not relevant:
        raise InputError(
            f"run {run.name!r}: wanted judgements of its queries; found none; check the split or "
            "the qrels"
        )
    ranks = {}
    for query_id in sorted(relevant):
        passage_ids = run[query_id].passage_ids[:depth] if query_id in run else []
        places = (
            rank
            for rank, passage_id in enumerate(passage_ids, 1)
            if passage_id in relevant[query_id]
        )
        ranks[query_id] = float(next(places, depth + 1))
    return FirstRanks(ranks, sum(rank == depth + 1 for rank in ranks.values()))

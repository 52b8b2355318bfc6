"""Figures of train–test overlap of passages, queries and pairs, by detector and training set."""

from __future__ import annotations

from positionbias.results.figures import Figures

__all__ = [
    "ALL_SETS",
    "ANY",
    "OVERLAP",
    "OverlapFigures",
]

OVERLAP = "overlap of "  # before the unit
ALL_SETS = "all training sets"  # the system of a result over all of them
ANY = "any"  # of a result over both detectors


class OverlapFigures(Figures, frozen=True, kw_only=True):
    """Test items (passages, queries or pairs of both) that a detector finds in one training set, or
    in all of them.

    Of the ``items`` it cannot compare ``too_short``: they have too few words for it, or nothing but
    runs of words that are common in a set. ``queries`` are the test queries that the others belong
    to, 0 where the test set names none. ``pairs`` counts all pairs of a training and a test text,
    ``kept`` those in the file of pairs; ``shared_corpus`` those of a passage with itself, in a
    corpus that both sides share: they count as no overlap. ``cut`` is true where a test text has as
    many pairs as are kept, so that others may be missing. ``precision`` is that of the detector's
    pairs by labels, with its lower 95 % bound; None: unknown.
    """

    MEASURES = (OVERLAP,)

    unit: str
    detector: str
    items: int
    too_short: int
    leaked: int
    queries: int
    leaked_queries: int
    pairs: int
    kept: int
    shared_corpus: int
    cut: bool = False
    precision: float | None = None
    precision_low: float | None = None

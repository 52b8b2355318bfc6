"""Figures of train–test overlap of passages, queries and pairs, by detector and training set."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from positionbias.results.figures import Figures

__all__ = [
    "ALL_SETS",
    "ANY",
    "CANDIDATE_RECALL",
    "OVERLAP",
    "RECALL",
    "TRUE_RECALL",
    "CandidateFigures",
    "FoundOfPlanted",
    "OverlapFigures",
    "RecallFigures",
]

OVERLAP = "overlap of "  # before the unit
CANDIDATE_RECALL = "recall of candidates among "  # before the unit
TRUE_RECALL = "recall of true pairs of "  # before the unit
RECALL = "recall of planted "  # before the unit
ALL_SETS = "all training sets"  # the system of a result over all of them
ANY = "any"  # of a result over all detectors but the one for short texts


class OverlapFigures(Figures, frozen=True, kw_only=True):
    """Test items (passages, queries or pairs of both) that a detector finds in one training set, or in all of them.

    ``items`` are those that are the detector's to look at: of the one for short texts the texts with fewer words than a run. ``too_short`` of
    them it cannot compare: they have too few words for it, or nothing but runs of words that are common in a set. ``queries`` are the test queries that
    the others belong to, 0 where the test set names none. ``pairs`` counts all pairs of a training and a test text, ``kept`` those in the file of pairs;
    ``shared_corpus`` those of a passage with itself, in a corpus that both sides share: they count as no overlap. ``cut`` is true
    where a test text has as many pairs as are kept, so that others may be missing. ``precision`` is that of the
    detector's pairs by labels, with its lower 95 % bound; None: unknown.
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


class FoundOfPlanted(Struct, frozen=True):
    """Planted duplicates of one kind, those found, and the 95 % interval of their share; None with fewer than two."""

    planted: int
    found: int
    low: float | None
    high: float | None


class RecallFigures(Figures, frozen=True, kw_only=True):
    """What a detector finds of planted duplicates of ``tests`` test texts, by kind, or of known pairs, by their label."""

    MEASURES = (RECALL, TRUE_RECALL)

    unit: str
    detector: str
    tests: int
    kinds: Mapping[str, FoundOfPlanted]


class CandidateFigures(Figures, frozen=True, kw_only=True):
    """Training texts drawn to measure what candidates miss, the candidates among them, all their pairs by meaning, and the candidates' pairs."""

    MEASURES = (CANDIDATE_RECALL,)

    unit: str
    drawn: int
    candidates: int
    pairs: int
    found: int

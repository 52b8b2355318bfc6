"""Figures of an audit other than buckets and verdicts: counts, and changes by rotation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from positionbias.results.buckets import GAIN, MOVEMENT, PSI, RESPONSE, SEGMENTS
from positionbias.results.figures import BESIDE, Figures
from positionbias.results.length_grid import LENGTHS

__all__ = [
    "AUDIT_MEASURES",
    "DEVIATIONS",
    "EVIDENCE",
    "FIRST_STAGE",
    "GAP",
    "MANIPULATIONS",
    "RANKS",
    "READ_WHOLE",
    "RETRIEVAL",
    "SCORE",
    "TWO_RUNS",
    "VERDICT",
    "WORTH",
    "EvidenceFigures",
    "GapFigures",
    "ManipulationFigures",
    "RetrievalFigures",
    "TwoRunFigures",
]

EVIDENCE, RETRIEVAL = "evidence", "retrieval over the whole collection"
GAP, MANIPULATIONS, TWO_RUNS = "rotation gap", "manipulations", "two runs"
VERDICT = "verdict"
# units of effects; all others are measures
WORTH, DEVIATIONS, SCORE, RANKS = "worth", "deviations", "score", "ranks"
READ_WHOLE = "read"  # the subset of queries whose texts the system reads whole
FIRST_STAGE = "first stage"  # facts.model of the ranking that audited models re-rank
AUDIT_MEASURES = (PSI, GAIN, GAP, MOVEMENT, RESPONSE, SEGMENTS, LENGTHS)


class EvidenceFigures(Figures, frozen=True, kw_only=True):
    """The number of queries with evidence; ``outcomes`` count all answers and queries."""

    MEASURES = (EVIDENCE,)

    outcomes: Annotated[Mapping[str, int], BESIDE] = field(name="")
    audited: int = field(name="queries audited")
    with_candidates: int = field(name="queries with candidates")


class RetrievalFigures(Figures, frozen=True, kw_only=True):
    """A retriever's ranking and its cost: ``encoded`` counts passages and their changed copies,
    ``empty`` and ``truncated`` the originals.
    """

    MEASURES = (RETRIEVAL,)

    passages: int
    depth: int
    encoded: int = field(name="passages encoded")
    empty: int = field(name="empty passages")
    truncated: int = field(name="passages up to the length limit")
    vectors: str
    compared_in: str = field(name="compared in")


class ManipulationFigures(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """Figures behind moved evidence: ``unmoved`` queries by cause, and other changes of scores, as
    shares of a list's deviation.
    """

    MEASURES = (MANIPULATIONS,)

    queries: int
    unmoved: Annotated[Mapping[str, int], BESIDE] = field(name="left out: ", default_factory=dict)
    orders: int = field(name="orders of the other sentences")
    texts: int
    scores: str
    worth: float | None = field(name="worth of the evidence", default=None)
    worth_low: float | None = field(name="worth of the evidence, low", default=None)
    worth_high: float | None = field(name="worth of the evidence, high", default=None)
    repeated: float | None = field(name="change of a repeated call")
    permuted: float | None = field(name="change of a reversed list")
    alone: float | None = field(name="change of a passage by itself")
    length_limit: str = field(name="length limit")
    tied: int = field(name="queries whose candidates all tie", default=0)


class GapFigures(Figures, frozen=True, kw_only=True):
    """The change of a quality when the whole collection is rotated; the result's value is the
    change of its mean.

    ``cut`` and ``truncated`` are shares of answers, ``truncated`` None where the model's limit is
    unknown.
    """

    MEASURES = (GAP,)

    quality: str
    draws: int
    queries: int
    original: float | None = field(name="mean original")
    rotated: float | None = field(name="mean rotated")
    p: float | None
    detectable: float | None = field(name="smallest detectable change")
    first_changed: float | None = field(name="top-1 changed")
    overlap: float | None = field(name="rank-biased overlap")
    cut: float | None = field(name="answers cut through")
    truncated: float | None = field(name="answers truncated")


class TwoRunFigures(Figures, frozen=True, kw_only=True):
    """Figures behind the verdict on two runs. ``moves`` counts pairs of a query and a rotation, as
    do the skipped ones: ``sentences_cut``, ``unchanged`` and ``one_sentence``. ``clusters`` counts
    passages, None where the effect is undefined; ``means`` are of the first measure.
    """

    MEASURES = (TWO_RUNS,)

    queries: int
    rotations: int
    moved: int = field(name="queries with a moved answer")
    moves: int
    sentences_cut: int = field(name="sentences cut through")
    unchanged: int = field(name="passages left as they were")
    one_sentence: int = field(name="passages of one sentence")
    clusters: int | None = field(name="passages that count")
    cutoff: int = field(name="rank cut-off")
    lacking: int = field(name="queries that some run lacks")
    in_no_run: int = field(name="passage in no run")
    in_original_alone: int = field(name="passage in the original run alone")
    in_rotated_alone: int = field(name="passage in rotated runs alone")
    shared: float = field(name="first 10 passages that both runs share")
    means: Annotated[Mapping[str, float | None], BESIDE] = field(name="")

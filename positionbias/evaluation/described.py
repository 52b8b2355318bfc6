"""Measurements by the place of the evidence: means by bucket and by place, and tests over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from positionbias.core.interval import Interval

__all__ = [
    "BLIND",
    "GAIN",
    "MOVEMENT",
    "PSI",
    "RESPONSE",
    "SEGMENTS",
    "STANDARDISED",
    "BucketFigures",
    "Correlation",
    "Psi",
    "QueryBuckets",
    "ResponseCurve",
    "ResponseFigures",
    "SegmentBuckets",
    "Slope",
    "bounds_of",
]

PSI, GAIN = "PSI", "gain by position"
MOVEMENT = "rotation gap by movement"
RESPONSE, SEGMENTS = "position response", "segment similarity"
BLIND = "position-blind scorers"  # measured for comparison, not audited systems
STANDARDISED = "standardised over passage length"  # the group of all passages


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A rank correlation of the buckets' means with their places, its interval and p; None if
    undefined, for the reason in ``undefined``.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    undefined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """A slope with its interval, its p against 0 and the smallest slope found with 80 % power; None
    if undefined, for the reason in ``undefined``.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    detectable: float | None = None
    method: str = ""
    undefined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Psi:
    """PSI with its null, and the debiased PSI with its interval; None if undefined, for the reason
    in ``undefined``.
    """

    value: float | None = None
    null_mean: float | None = None
    p: float | None = None
    debiased: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = ""
    undefined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFigures:
    """Tests over the buckets of queries. ``psi``, ``spearman`` and ``kendall`` need means that
    cannot be below 0, and are otherwise missing.

    ``queries`` are in a bucket, ``outside`` in none, of which ``without_position`` have no
    position. Buckets of fewer than ``minimum`` queries are skipped: ``left_out`` is their number,
    ``too_small`` their labels. ``permutations`` are the draws of the null, if any.
    """

    queries: int
    outside: int
    without_position: int
    minimum: int
    left_out: int
    too_small: Sequence[str]
    level: float
    slope: Slope
    slope_unit: str
    permutations: int | None = None
    psi: Psi = Psi()
    spearman: Correlation = Correlation()
    kendall: Correlation = Correlation()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFigures:
    """The slopes of scores and reciprocal ranks on the place within queries, last − first for a
    straight line.

    ``unit`` is that of the scores; ``left_out`` counts queries with fewer than two places,
    ``unmoved`` those whose evidence could not be moved, by cause.
    """

    unit: float
    queries: int
    left_out: int
    level: float
    slope: Slope = Slope()
    rank_slope: Slope = Slope()
    unmoved: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryBuckets:
    """A quality by the position of the evidence, or by its movement: one entry per bucket;
    ``edges`` has one more.

    ``scale`` names the unit of the edges: "relative" (the answer's first word over the last word at
    which it could start), "characters" (its start), "moved" (how far rotation moved the answer, as
    a share of the passage; negative: to the front). ``quality`` is the averaged figure ("nDCG@10",
    "change of nDCG@10"); ``means`` and their intervals are None for a bucket that is empty or too
    small. ``group`` names the passages ("92 to 121 words"; empty: all).
    """

    scale: str
    quality: str
    edges: Sequence[float]
    counts: Sequence[int]
    means: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    group: str = ""
    figures: BucketFigures = field(kw_only=True)

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self.figures.level


@dataclass(frozen=True, slots=True)
class SegmentBuckets:
    """The mean cosine of a passage's vector with that of each third, with 95 % intervals; None for
    no passage. ``difference`` is that of the first third less that of the last, paired;
    ``left_out`` counts too short passages.
    """

    count: int
    means: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    difference: float | None
    bounds: Interval | None
    left_out: int


@dataclass(frozen=True, slots=True)
class ResponseCurve:
    """A model's response to the same evidence at several places of the same passage: one entry per
    place, from 0 (first) to 1 (last).

    ``scores`` are means of the score over queries, each query's own mean subtracted, in units of
    ``figures.unit``, the mean deviation of its candidates' scores; ``ranks`` the mean reciprocal
    rank of the passage among its query's candidates. ``counts`` are queries.
    """

    places: Sequence[float]
    counts: Sequence[int]
    scores: Sequence[float | None]
    score_lows: Sequence[float | None]
    score_highs: Sequence[float | None]
    ranks: Sequence[float | None]
    figures: ResponseFigures


def bounds_of(found: Slope | Correlation | Psi, level: float = 0.95) -> Interval | None:
    """Return the interval of a figure, for PSI that of the debiased one; None if an end is
    undefined.
    """
    return (
        None if found.low is None or found.high is None else Interval(found.low, found.high, level)
    )

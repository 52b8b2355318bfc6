"""Measurements by the place of the evidence: means by bucket and by place, and tests over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as column
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType, field

from positionbias.core.interval import Interval
from positionbias.results.figures import BESIDE, Record

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
    "PositionBuckets",
    "Psi",
    "QueryBuckets",
    "ResponseCurve",
    "ResponseFigures",
    "SegmentBuckets",
    "SegmentFigures",
    "Slope",
    "bounds_of",
]

PSI, GAIN = "PSI", "gain by position"
MOVEMENT = "rotation gap by movement"
RESPONSE, SEGMENTS = "position response", "segment similarity"
BLIND = "position-blind scorers"  # measured for comparison, not audited systems
STANDARDISED = "standardised over passage length"  # the group of all passages


class Slope(msgspec.Struct, frozen=True, kw_only=True):
    """A slope with its interval, its p against 0 and the smallest slope found with 80 % power; None
    if undefined, for the reason in ``undefined``.
    """

    value: float | None = field(name="", default=None)
    low: float | None = field(name="_low", default=None)
    high: float | None = field(name="_high", default=None)
    p: float | None = field(name="_p", default=None)
    detectable: float | None = field(name="_detectable", default=None)
    method: str = field(name="_method", default="")
    undefined: str | UnsetType = field(name="_undefined", default=UNSET)


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """A rank correlation of the buckets' means with their places, its interval and p; None if
    undefined, for the reason in ``undefined``.
    """

    undefined: str | UnsetType = field(name="_undefined", default=UNSET)
    value: float | None = field(name="", default=None)
    low: float | None = field(name="_low", default=None)
    high: float | None = field(name="_high", default=None)
    p: float | None = field(name="_p", default=None)


class Psi(msgspec.Struct, frozen=True, kw_only=True):
    """PSI with its null, and the debiased PSI with its interval; None if undefined, for the reason
    in ``undefined``.
    """

    value: float | None = field(name="psi", default=None)
    null_mean: float | None = None
    p: float | None = None
    debiased: float | None = field(name="psi_debiased", default=None)
    low: float | None = field(name="psi_debiased_low", default=None)
    high: float | None = field(name="psi_debiased_high", default=None)
    method: str = field(name="psi_debiased_method", default="")
    undefined: str | UnsetType = field(name="psi_undefined", default=UNSET)


_NO_SLOPE, _NO_PSI, _NO_CORRELATION = Slope(), Psi(), Correlation()


class BucketFigures(Record, frozen=True, kw_only=True, omit_defaults=True):
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
    slope: Annotated[Slope, BESIDE]
    slope_unit: str
    permutations: int | None = None
    psi: Annotated[Psi, BESIDE] = field(name="", default=_NO_PSI)
    spearman: Annotated[Correlation, BESIDE] = _NO_CORRELATION
    kendall: Annotated[Correlation, BESIDE] = _NO_CORRELATION


class SegmentFigures(Record, frozen=True, kw_only=True):
    """The cosine with the first third less that with the last, paired (None: too few passages), and
    the number of too short passages.
    """

    difference: float | None = field(name="first − last")
    low: float | None = field(name="first − last low")
    high: float | None = field(name="first − last high")
    left_out: int = field(name="passages left out")


class ResponseFigures(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The slopes of scores and reciprocal ranks on the place within queries, last − first for a
    straight line.

    ``unit`` is that of the scores; ``left_out`` counts queries with fewer than two places,
    ``unmoved`` those whose evidence could not be moved, by cause.
    """

    unit: float
    queries: int
    left_out: int
    level: float
    slope: Annotated[Slope, BESIDE] = _NO_SLOPE
    rank_slope: Annotated[Slope, BESIDE] = _NO_SLOPE
    unmoved: Annotated[Mapping[str, int], BESIDE] = field(name="left out: ", default_factory=dict)


@dataclass(frozen=True, slots=True)
class PositionBuckets:
    """A quality by position: one entry per bucket; ``edges`` has one more.

    ``scale`` names the unit of the edges: "relative" (the answer's first word over the last word at
    which it could start), "characters" (its start), "moved" (how far rotation moved the answer, as
    a share of the passage; negative: to the front), "segment" (thirds of a passage). ``quality`` is
    the averaged figure ("nDCG@10", "change of nDCG@10", "cosine"); ``means`` and their intervals
    are None for a bucket that is empty or too small. ``group`` names the passages ("92 to 121
    words"; empty: all).
    """

    scale: str
    quality: str
    edges: Sequence[float]
    counts: Sequence[int]
    means: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    group: str = ""

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return 0.95


@dataclass(frozen=True, slots=True)
class QueryBuckets(PositionBuckets):
    """Buckets of queries by the position of their evidence, or by its movement."""

    figures: BucketFigures = column(kw_only=True)

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self.figures.level


@dataclass(frozen=True, slots=True)
class SegmentBuckets(PositionBuckets):
    """Buckets of the thirds of passages."""

    figures: SegmentFigures = column(kw_only=True)


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


def bounds_of(
    found: Slope | Correlation | Psi | SegmentFigures, level: float = 0.95
) -> Interval | None:
    """Return the interval of a figure, for PSI that of the debiased one; None if an end is
    undefined.
    """
    return (
        None if found.low is None or found.high is None else Interval(found.low, found.high, level)
    )

"""Figures that summarise a histogram of positions, a curve of term similarity, or moved
sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType, field

from positionbias.core.interval import Interval
from positionbias.core.json_text import JsonObject
from positionbias.results.figures import Record

__all__ = [
    "AtsFigures",
    "POINTS",
    "Beside",
    "BinIntervals",
    "HistogramFigures",
    "MovesFigures",
    "OffsetCheck",
    "PositionFigure",
    "Sample",
    "VariationFigure",
]


# of all answers, or of a passage: a difference from unbiased positions this small does not matter
# [decision]
POINTS = 0.03


class Beside(StrEnum):
    """An observed figure beside its value in an unbiased collection. ``WITHIN``: they differ by
    ``POINTS`` at most.
    """

    ABOVE = "above"
    BELOW = "below"
    WITHIN = "within"
    UNKNOWN = "cannot tell"


class PositionFigure(Struct, frozen=True):
    """A mean over answers, its value in an unbiased collection, their difference, and the intervals
    of both.
    """

    value: float | None
    expected: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    difference_interval: Interval | None = None

    @property
    def beside(self) -> Beside:
        """The answer that the interval of the difference gives; ``benchmarks/histogram_verdict.py``
        measures how often it errs.
        """
        bounds = self.difference_interval
        if bounds is None:
            return Beside.UNKNOWN
        if bounds.low >= -POINTS and bounds.high <= POINTS:
            return Beside.WITHIN
        if bounds.low > 0 or bounds.high < 0:
            return Beside.ABOVE if bounds.low > 0 else Beside.BELOW
        return Beside.UNKNOWN


class VariationFigure(Struct, frozen=True):
    """The total variation from unbiased positions; ``by_chance`` is its mean, and the 95th
    percentile, when every passage is rotated.
    """

    value: float | None
    expected: float | None = None
    by_chance: float | None = None
    by_chance_high: float | None = None
    interval: Interval | None = None


class BinIntervals(Struct, frozen=True):
    """The interval of each bin's share, one entry per bin."""

    low: Sequence[float]
    high: Sequence[float]
    level: float
    method: str


class Sample(Struct, frozen=True):
    """The numbers of answer spans and passages behind a histogram."""

    spans: int
    passages: int


class OffsetCheck(Struct, frozen=True):
    """The success of matching, checked on the source's own ``spans``: the number ``among_matches``,
    and reasons why others were missed or found elsewhere.
    """

    spans: int
    among_matches: int
    missed: Mapping[str, int]
    extra: Mapping[str, int]


class HistogramFigures(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The summary of a histogram of positions, its settings, and the outcomes of answers;
    ``unmatched`` by cause.

    ``one_start`` counts the answers that fill their passage: they have one possible start, and are
    in no figure. Where they are over half of all, the places are too coarse to tell anything, and
    there is no figure.
    """

    mean: PositionFigure | None = None
    first_tenth: PositionFigure | None = None
    first_fifth: PositionFigure | None = None
    total_variation: VariationFigure | None = None
    bin_intervals: BinIntervals | None = None
    settings: JsonObject = field(default_factory=dict)
    expectation: str = ""
    sample: Sample | None = None
    unmatched: Mapping[str, int] = field(default_factory=dict)
    offset_check: OffsetCheck | None = None
    one_start: int = 0

    @property
    def coarse(self) -> str:
        """Say why the places are too coarse to tell; "" where they are not."""
        answers = self.one_start + (self.sample.spans if self.sample else 0)
        if 2 * self.one_start <= answers:
            return ""
        return (
            f"too coarse to tell: {self.one_start:,} of {answers:,} answers fill their passage, "
            "and so have one possible start"
        )


class AtsFigures(Record, frozen=True, kw_only=True):
    """MATS in its printed and plain forms with its deviation, why it is ``undefined``, where and
    why the curve was cut, and counts of the passages.
    """

    mats: float | None = None
    mats_plain: float | None = None
    mats_std: float | None = None
    max_delta: int | None = None
    undefined: str | UnsetType = UNSET
    pairs: str = ""
    minimum_terms: int = 0
    cut_at: int | None = None
    terms_at_cut: int | None = None
    later_deltas_left_out: int = 0
    std_terms_is: str = ""
    std_pairs_is: str = ""
    pairs_sampled: Sequence[int] | UnsetType = UNSET
    passages: int | UnsetType = UNSET
    passages_at_length_limit: int | UnsetType = UNSET
    words: int | UnsetType = UNSET
    words_unknown: int | UnsetType = UNSET


class MovesFigures(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The distances over which sentences were moved; the last four fields only with weighted
    questions.
    """

    mean_distance: float | None = None
    mean_distance_of_uniform: float | None = None
    share_unmoved: float | None = None
    share_moved_forward: float | None = None
    share_moved_backward: float | None = None
    mean_distance_weighted: float | None = None
    share_unmatched: float | None = None
    effective_questions: float | None = None
    largest_weight: float | None = None

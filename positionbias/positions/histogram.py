"""Count answer positions in passages (position-bias paper, §4.1 and Figure 1) and compare them with
unbiased ones.

The relative position of an answer is its first word / the passage's words, in [0, 1).
``positionbias.positions.expectation`` defines "unbiased".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.progress import track
from positionbias.core.records import Interval
from positionbias.core.steps import MapShards
from positionbias.positions.answers import ONE_START, AnswerCounts, OffsetCheck, locate_split
from positionbias.positions.expectation import FIFTH, MEAN, TENTH, Spans
from positionbias.positions.rewrite import Rewritten
from positionbias.positions.settings import HistogramOptions
from positionbias.positions.sums import (
    ShardToSum,
    SumOptions,
    Sums,
    add_sums,
    resampled_passages,
    sum_shard,
)

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
    COARSE = "too coarse to tell"


@dataclass(frozen=True, slots=True)
class PositionFigure:
    """A mean over answers, its value in an unbiased collection, their difference, and the intervals
    of the mean and of the difference.
    """

    value: float
    expected: float
    difference: float
    interval: Interval
    difference_interval: Interval

    @property
    def beside(self) -> Beside:
        """The answer that the interval of the difference gives; ``benchmarks/histogram_verdict.py``
        measures how often it errs.
        """
        side = self.difference_interval.side(POINTS)
        return {0: Beside.WITHIN, 1: Beside.ABOVE, -1: Beside.BELOW, None: Beside.UNKNOWN}[side]


@dataclass(frozen=True, slots=True)
class VariationFigure:
    """The total variation from unbiased positions; ``by_chance`` is its mean, and
    ``by_chance_high`` the 95th percentile, when every passage is rotated (None: every draw cuts
    through every answer).
    """

    value: float
    by_chance: float | None
    by_chance_high: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionHistogram:
    """Starts of the answers of a split: relative positions, in [0, 1).

    ``counts`` are answers by bin, ``expected`` the share of each bin in an unbiased collection,
    ``low`` and ``high`` the 95 % interval of its share; ``outcomes`` counts answers by outcome,
    ``unmatched`` those that were not found by cause, ``check`` is how well matching finds the
    source's own spans. ``spans`` of ``passages`` are counted.

    ``one_start`` counts the answers that fill their passage: they have one possible start, and are
    in no figure. Where they are over half of all, the places are too coarse to tell anything, and
    there is no figure.
    """

    collection: str
    split: str
    edges: Sequence[float]
    counts: Sequence[int]
    expected: Sequence[float]
    outcomes: Mapping[str, int]
    unmatched: Mapping[str, int] = field(default_factory=dict)
    check: OffsetCheck | None = None
    spans: int = 0
    passages: int = 0
    one_start: int = 0
    mean: PositionFigure | None = None
    first_tenth: PositionFigure | None = None
    first_fifth: PositionFigure | None = None
    total_variation: VariationFigure | None = None
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    @property
    def coarse(self) -> str:
        """Say why the places are too coarse to tell; "" where they are not."""
        answers = self.one_start + self.spans
        if 2 * self.one_start <= answers:
            return ""
        return (
            f"too coarse to tell: {self.one_start:,} of {answers:,} answers fill their passage, "
            "and so have one possible start"
        )


def splits_with_answers(collection: Collection) -> list[str]:
    """Return the splits with answers.

    Raises:
        InputError: no split has answers.
    """
    splits = [name for name, facts in collection.split_facts.items() if facts.answers]
    if not splits:
        raise InputError(
            f"{collection.path}: wanted a collection with answers; found none in any split; "
            "import a question-answering data set (for example: posbias import squad …)"
        )
    return splits


def position_histogram(
    collection: Collection,
    split: str,
    options: HistogramOptions | None = None,
    *,
    map_shards: MapShards = map,
) -> PositionHistogram:
    """Return the histogram of a split's answer positions, shard by shard through ``map_shards``.

    The outcomes count answers: found by the source's offsets or by matching, unmatched, empty, "No
    Answer Present."; then repeated spans of the same query (``repeated``), and answers cut by this
    collection's rotation (``cut``).

    Each figure has its expectation: the mean, the shares in the first tenth and fifth, and the
    total variation ½ Σ |share − expected share| over the bins. Chance alone makes the total
    variation positive: ``by_chance`` and ``by_chance_high`` are its mean and 95th percentile over
    draws in which every passage is rotated. Intervals resample passages, since questions share
    them. Answers that fill their passage have one possible start: they are counted, and in no
    figure. Where they are over half, there is no figure at all (``PositionHistogram.coarse``).

    Raises:
        InputError: the split has no answers, or none of them can be found.
    """
    options = options or HistogramOptions()
    counts, located = AnswerCounts(), []
    for shard in track(
        locate_split(collection, split, options.matching, map_shards), "answers", unit="shards"
    ):
        counts.add(shard.counts)
        if len(shard.spans):
            located.append(shard.spans)
    outcomes = dict(counts.outcomes)
    one_start = outcomes.get(ONE_START, 0)
    if not located and not one_start:
        happened = ", ".join(f"{name} {count:,}" for name, count in outcomes.items() if count)
        raise InputError(
            f"{collection.path}: wanted answers of split {split!r} within their passages; found "
            f"none ({happened or 'no answers'}); give another --split, or --fold-case"
        )
    outcomes["cut"] = _cut_before(collection, split)
    bins = options.bins
    sums = _sum(located, options, map_shards) if located else None
    width = len(sums.total) // 2 if sums else 0
    counted = PositionHistogram(
        collection=collection.name,
        split=split,
        edges=[edge / bins for edge in range(bins + 1)],
        counts=sums.total[:bins].astype(int).tolist() if sums else [0] * bins,
        expected=(
            (sums.total[width : width + bins] / sums.spans).tolist() if sums else [0.0] * bins
        ),
        outcomes=outcomes,
        unmatched=dict(counts.unmatched),
        check=counts.check(),
        spans=sums.spans if sums else 0,
        passages=sums.passages if sums else 0,
        one_start=one_start,
    )
    if not sums or counted.coarse:
        return counted
    low, high = _bin_bounds(sums, bins)
    return replace(
        counted,
        mean=_figure(sums, MEAN),
        first_tenth=_figure(sums, TENTH),
        first_fifth=_figure(sums, FIFTH),
        total_variation=_variation_figure(sums, bins),
        low=low,
        high=high,
    )


def _sum(located: Sequence[Spans], options: HistogramOptions, map_shards: MapShards) -> Sums:
    drawn = resampled_passages(
        [int(spans.passage[-1]) + 1 for spans in located], options.resamples, options.seed
    )
    shards = (
        ShardToSum(number, spans, row)
        for number, (spans, row) in enumerate(zip(located, drawn, strict=True))
    )
    settings = SumOptions(
        options.bins, options.point == "midpoint", options.matching.matches, options.seed
    )
    return add_sums(
        track(
            map_shards(partial(sum_shard, settings), shards),
            "intervals",
            len(located),
            unit="shards",
        )
    )


def _method(sums: Sums) -> str:
    return f"bootstrap over {sums.passages:,} passages"


def _figure(sums: Sums, column: int) -> PositionFigure:
    """Return a mean over the counted answers, its expectation and their difference, with percentile
    intervals.
    """
    width = len(sums.total) // 2

    def ratios(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answers = table[..., : width - 3].sum(axis=-1)
        return table[..., :width][..., column] / answers, table[..., width:][..., column] / answers

    value, expected = ratios(sums.total)
    values, expectations = ratios(sums.resampled)
    return PositionFigure(
        float(value),
        float(expected),
        float(value - expected),
        Interval(*_quantiles(values), method=_method(sums)),
        Interval(*_quantiles(values - expectations), method=_method(sums)),
    )


def _bin_bounds(sums: Sums, bins: int) -> tuple[list[float], list[float]]:
    """Return percentile intervals of the share of answers in each bin, bin by bin."""
    shares = sums.resampled[:, :bins] / sums.resampled[:, :bins].sum(axis=1, keepdims=True)
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    return low.tolist(), high.tolist()


def _variation_figure(sums: Sums, bins: int) -> VariationFigure:
    width = len(sums.total) // 2
    value = float(_total_variation(sums.total[:bins], sums.total[width : width + bins]))
    variations = _total_variation(sums.resampled[:, :bins], sums.resampled[:, width : width + bins])
    # Resampling adds noise, which raises a total variation: only the spread of the resamples is
    # used, centred on the value.
    low, high = (
        max(0.0, value + bound - float(variations.mean())) for bound in _quantiles(variations)
    )
    left = sums.chance.any(axis=1)  # drop draws that cut through every answer
    chance = _total_variation(sums.chance[left], sums.chance_expected[left])
    return VariationFigure(
        value,
        float(chance.mean()) if len(chance) else None,
        float(np.quantile(chance, 0.95)) if len(chance) else None,
        Interval(low, high, method=f"{_method(sums)}, centred on the value"),
    )


def _total_variation(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return ½ Σ |found − wanted| over the bins, each as a share of its own sum."""
    shares = found / found.sum(axis=-1, keepdims=True) - wanted / wanted.sum(axis=-1, keepdims=True)
    return 0.5 * np.abs(shares).sum(axis=-1)


def _quantiles(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _cut_before(collection: Collection, split: str) -> int:
    rotated = collection.manifest.content_as(Rewritten, "rotation", Rewritten({}, {}))
    return rotated.splits[split].cut if split in rotated.splits else 0

"""Compute additive sums of a shard of located answers, for a histogram, its bootstrap and its
chance level.

The bootstrap draws the passages of a split with replacement. Drawing by shards is equivalent: the
number of passages per shard is multinomial, and within a shard they are uniform. Draws are keyed by
(seed, purpose, shard), so workers cannot change them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from positionbias.core.seeds import generator
from positionbias.positions.expectation import (
    Spans,
    expected_moments,
    moments,
    rotated_histograms,
    select,
)
from positionbias.positions.settings import Matches

CHANCE_DRAWS = 200
_AT_ONCE = 64  # resamples of a shard held in memory together


@dataclass(frozen=True, slots=True)
class SumOptions:
    """Settings of the sums."""

    bins: int
    midpoint: bool
    matches: Matches
    seed: int


class ShardToSum(NamedTuple):
    """A shard: its number, its spans, and the number of its passages in each resample,
    ``(resamples,)``.
    """

    number: int
    spans: Spans
    drawn: np.ndarray


class Sums(NamedTuple):
    """Sums over spans of moments, then of expectations; the same per resample; and histograms by
    chance.

    ``total`` is (2 · (bins + 3),), ``resampled`` (resamples, 2 · (bins + 3)), ``chance`` and
    ``chance_expected`` (draws, bins).
    """

    spans: int
    passages: int
    total: np.ndarray
    resampled: np.ndarray
    chance: np.ndarray
    chance_expected: np.ndarray


def resampled_passages(passages: list[int], resamples: int, seed: int) -> np.ndarray:
    """Draw the number of passages of each shard in each resample, ``(shards, resamples)``;
    ``passages`` has the shards' sizes.
    """
    total = sum(passages)
    shares = np.array(passages, np.float64) / total
    return (
        generator(seed, "histogram intervals", "shards")
        .multinomial(total, shares, size=resamples)
        .T
    )


def sum_shard(options: SumOptions, shard: ShardToSum) -> Sums:
    """Sum one shard; a pure function of the shard and the settings."""
    spans, bins = shard.spans.widened(), options.bins
    chosen = spans.take(select(spans, np.ones(len(spans), bool), options.matches))
    observed = moments(chosen.first, chosen.length, chosen.words, bins, options.midpoint)
    expected = expected_moments(spans, bins, options.midpoint, options.matches)
    per_passage = _per_passage(np.hstack([observed, expected]), chosen.passage)
    chance, chance_expected = rotated_histograms(
        spans,
        expected,
        bins,
        options.midpoint,
        options.matches,
        draws=CHANCE_DRAWS,
        generator=generator(options.seed, "histogram chance", shard.number),
    )
    return Sums(
        len(chosen),
        len(per_passage),
        per_passage.sum(axis=0),
        _resample(
            per_passage, shard.drawn, generator(options.seed, "histogram intervals", shard.number)
        ),
        chance,
        chance_expected,
    )


def add_sums(parts: Iterable[Sums]) -> Sums:
    """Add the sums of all shards, in order."""
    return reduce(lambda total, part: Sums(*map(add, total, part)), parts)


def _per_passage(table: np.ndarray, passage: np.ndarray) -> np.ndarray:
    """Sum rows by passage; passages increase from 0 and each has a row."""
    return np.add.reduceat(table, np.flatnonzero(np.diff(passage, prepend=-1)))


def _resample(
    per_passage: np.ndarray, drawn: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Return sums over passages drawn with replacement, ``drawn[r]`` of them for resample r:
    ``(resamples, columns)``.
    """
    passages, sums = len(per_passage), np.empty((len(drawn), per_passage.shape[1]))
    for start in range(0, len(drawn), _AT_ONCE):
        sizes = drawn[start : start + _AT_ONCE].tolist()
        counts = np.empty((len(sizes), passages))
        for row, size in enumerate(sizes):
            counts[row] = np.bincount(
                random.integers(passages, size=size, dtype=np.int32), minlength=passages
            )
        sums[start : start + _AT_ONCE] = counts @ per_passage
    return sums

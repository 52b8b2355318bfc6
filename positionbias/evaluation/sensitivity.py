"""Estimate a ranking's quality by the position of the evidence: means by bucket, and PSI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import LEVEL, RESAMPLES, bounded, cluster_queries, span_of
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.psi import (
    Cells,
    Psi,
    adjusted_means,
    dealt_means,
    psi_with_null,
    resampled_bucket_means,
)

__all__ = ["MINIMUM", "PERMUTATIONS", "BucketMeans", "BucketSettings", "bucket_means"]

MINIMUM = 20
PERMUTATIONS = 1_000


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """Settings of values by bucket: the minimum size of a bucket, the seed and number of draws."""

    seed: int
    minimum: int = MINIMUM
    permutations: int = PERMUTATIONS
    resamples: int = RESAMPLES


class BucketMeans(NamedTuple):
    """The queries and the mean of each bucket, with percentile intervals, and PSI. A bucket that is
    empty or too small has no mean, None.
    """

    counts: list[int]
    means: list[float | None]
    lows: list[float | None]
    highs: list[float | None]
    psi: Psi


def bucket_means(
    values: np.ndarray,
    positions: np.ndarray,
    buckets: Buckets,
    clusters: Sequence[str] | None = None,
    *,
    settings: BucketSettings,
) -> BucketMeans:
    """Return the mean of a quality by the position of the evidence, and its PSI.

    ``values (queries,)`` per query, ``positions (queries,)`` of its evidence (NaN without one: an
    answer that fills its passage), ``clusters`` of the queries (their passages). Buckets with fewer
    than ``settings.minimum`` queries or fewer than two clusters have no mean and are left out of
    PSI. The order of queries changes only rounding.

    Raises:
        ValueError: not one value and position (cluster) per query, or a value that is not a number.
    """
    values, positions = np.asarray(values, np.float64), np.asarray(positions, np.float64)
    _check(values, positions, clusters)
    # sorted, so that the given order affects no draw
    order = np.lexsort((values, positions))
    order = order[buckets.assign(positions)[order] >= 0]
    labels = None if clusters is None else np.asarray(clusters, dtype=np.str_)[order]
    values, numbers = values[order], buckets.assign(positions[order])
    counts = np.bincount(numbers, minlength=len(buckets))
    clusters_in = (
        counts
        if labels is None
        else np.array([len(set(labels[numbers == bucket])) for bucket in range(len(buckets))])
    )
    large = (counts >= max(1, settings.minimum)) & ((clusters_in > 1) | (labels is None))
    shown = np.full((3, len(buckets)), np.nan)
    if not large.any():
        psi = Psi(undefined=f"no bucket has {settings.minimum} queries")
        return _of(counts, shown, psi)
    used = large[numbers]
    renumbered = (np.cumsum(large) - 1)[numbers[used]]
    cells = Cells(values[used], renumbered, np.zeros(used.sum(), np.int64), int(large.sum()), 1)
    drawn = cluster_queries(None if labels is None else labels[used].tolist(), int(used.sum()))
    means = adjusted_means(cells.sums(cells.values), cells.sums())
    dealt = dealt_means(cells, drawn, seed=settings.seed, permutations=settings.permutations)
    resampled = resampled_bucket_means(
        cells, drawn, seed=settings.seed, resamples=settings.resamples
    )
    shown[0, large] = means
    if resampled is not None:
        ends = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).T
        for place, (low, high) in zip(np.flatnonzero(large), ends.tolist(), strict=True):
            interval = bounded(Interval(low, high), int(clusters_in[place]), span_of(values))
            if interval is not None:
                shown[1:, place] = interval.low, interval.high
    psi = psi_with_null(cells, drawn, means, dealt, resampled, seed=settings.seed)
    return _of(counts, shown, psi)


def _of(counts: np.ndarray, shown: np.ndarray, psi: Psi) -> BucketMeans:
    means, lows, highs = (
        [None if np.isnan(value) else float(value) for value in row] for row in shown
    )
    return BucketMeans(counts.tolist(), means, lows, highs, psi)


def _check(values: np.ndarray, positions: np.ndarray, clusters: Sequence[str] | None) -> None:
    sizes = {len(values), len(positions), len(values if clusters is None else clusters)}
    if len(sizes) > 1:
        raise ValueError(
            f"wanted one value, position and cluster per query; found {sorted(sizes)} of them"
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"values: wanted numbers; found {int((~np.isfinite(values)).sum()):,} NaN or infinite"
        )

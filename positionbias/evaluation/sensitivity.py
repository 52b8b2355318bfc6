"""Estimate a ranking's quality by the position of the evidence: means by bucket, PSI, slope and
rank correlations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    Clusters,
    bounded,
    cluster_queries,
    span_of,
)
from positionbias.evaluation.buckets import Buckets, LengthGroups
from positionbias.evaluation.clustered import clustered_slope
from positionbias.evaluation.described import (
    STANDARDISED,
    BucketFigures,
    Correlation,
    Psi,
    QueryBuckets,
)
from positionbias.evaluation.psi import (
    Cells,
    adjusted_means,
    dealt_means,
    psi_with_null,
    resampled_bucket_means,
)
from positionbias.evaluation.rank_correlation import kendall, spearman

__all__ = [
    "MINIMUM",
    "PERMUTATIONS",
    "BucketSettings",
    "bucket_means",
    "bucket_means_by_length",
    "means_by_bucket",
    "standardised",
]

MINIMUM = 20
PERMUTATIONS = 1_000
SLOPE_UNITS = {
    "relative": (1.0, "the whole passage"),
    "characters": (100.0, "100 characters"),
    "moved": (1.0, "the whole passage"),
}
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """Settings of values by bucket: the measure (or ``changes`` of it), the minimum size of a
    bucket, the seed and number of draws.
    """

    seed: int
    quality: str = ""
    minimum: int = MINIMUM
    permutations: int = PERMUTATIONS
    resamples: int = RESAMPLES
    changes: bool = False


def bucket_means(
    values: np.ndarray,
    positions: np.ndarray,
    buckets: Buckets,
    clusters: Sequence[str] | None = None,
    *,
    settings: BucketSettings,
    group: str = "",
    strata: np.ndarray | None = None,
) -> QueryBuckets:
    """Return the payload of a quality by the position of the evidence, with all its figures and
    tests.

    ``values (queries,)`` per query, ``positions (queries,)`` of its evidence (NaN without one: an
    answer that fills its passage), ``clusters`` of the queries (their passages). Buckets with fewer
    than ``settings.minimum`` queries or fewer than two clusters have no mean and are left out of
    all figures. ``strata (queries,)`` are integers, the groups of passage length: means, PSI, its
    null and the slope are then computed within them (``evaluation.psi``). The order of queries
    changes only rounding.

    The slope is that of the queries' values on their positions, per ``slope_unit``. Spearman's and
    Kendall's correlations are of the means with the buckets' middles; their intervals are by the
    basic bootstrap, and their p is the share of the null's draws as far from 0. Noise pulls both
    towards 0, so they and their intervals describe means of this many queries; the slope describes
    means without noise.

    Raises:
        ValueError: not one value and position (cluster, stratum) per query, or a value that is not
            a number.
    """
    table = _Table.of(values, positions, buckets, clusters, settings, strata)
    figures, cells = table.figures(), table.cells
    if not cells.count or not cells.connected:
        why = (
            "buckets hold passages of different lengths only"
            if cells.count
            else f"no bucket has {settings.minimum} queries"
        )
        return table.payload(group, None, None, replace(figures, psi=Psi(undefined=why)))
    means = adjusted_means(cells.sums(cells.values), cells.sums())
    dealt = dealt_means(cells, table.drawn, seed=settings.seed, permutations=settings.permutations)
    resampled = resampled_bucket_means(
        cells, table.drawn, seed=settings.seed, resamples=settings.resamples
    )
    middles = buckets.middles[table.large]
    figures = replace(
        figures,
        permutations=settings.permutations,
        psi=psi_with_null(cells, table.drawn, means, dealt, resampled, seed=settings.seed),
        spearman=_correlated(spearman, middles, means, dealt, resampled),
        kendall=_correlated(kendall, middles, means, dealt, resampled),
    )
    return table.payload(group, means, resampled, figures)


def bucket_means_by_length(
    values: np.ndarray,
    positions: np.ndarray,
    buckets: Buckets,
    clusters: Sequence[str] | None,
    lengths: LengthGroups,
    *,
    settings: BucketSettings,
    within: Callable[[int], Buckets] | None = None,
) -> list[QueryBuckets]:
    """Return ``bucket_means`` standardised over groups of passage length, and within each group, by
    its name.

    ``within`` gives a group's buckets by its number of queries; by default they are ``buckets``.
    """
    labels = None if clusters is None else np.asarray(clusters, dtype=np.str_)
    found = [standardised(values, positions, buckets, clusters, lengths, settings=settings)]
    for number, label in enumerate(lengths.labels):
        own = lengths.numbers == number
        of_group = None if labels is None else labels[own].tolist()
        places = np.asarray(positions)[own]
        fitting = within(int(np.isfinite(places).sum())) if within else buckets
        found.append(
            bucket_means(
                np.asarray(values)[own], places, fitting, of_group, settings=settings, group=label
            )
        )
    return found


def standardised(
    values: np.ndarray,
    positions: np.ndarray,
    buckets: Buckets,
    clusters: Sequence[str] | None,
    lengths: LengthGroups,
    *,
    settings: BucketSettings,
) -> QueryBuckets:
    """Return ``bucket_means`` within groups of passage length, as if all buckets held passages of
    the same lengths.
    """
    return bucket_means(
        values,
        positions,
        buckets,
        clusters,
        settings=settings,
        group=STANDARDISED,
        strata=lengths.numbers,
    )


def means_by_bucket(
    values: np.ndarray,
    positions: np.ndarray,
    buckets: Buckets,
    clusters: Sequence[str] | None = None,
    *,
    settings: BucketSettings,
) -> QueryBuckets:
    """Return ``bucket_means`` for values that may be negative (a change): means with intervals and
    the slope, without PSI or rank correlation.
    """
    table = _Table.of(values, positions, buckets, clusters, settings, None)
    cells = table.cells
    if not cells.count:
        return table.payload("", None, None, table.figures())
    resampled = resampled_bucket_means(
        cells, table.drawn, seed=settings.seed, resamples=settings.resamples
    )
    return table.payload(
        "", adjusted_means(cells.sums(cells.values), cells.sums()), resampled, table.figures()
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The queries and their buckets, sorted so that their given order affects no draw.

    ``clusters (buckets,)`` counts each bucket's clusters; ``large (buckets,)`` marks buckets with
    enough queries; ``cells`` holds only their queries.
    """

    buckets: Buckets
    values: np.ndarray
    positions: np.ndarray
    strata: np.ndarray | None
    labels: list[str] | None
    counts: np.ndarray
    clusters: np.ndarray
    large: np.ndarray
    cells: Cells
    drawn: Clusters
    outside: int
    without_position: int
    settings: BucketSettings

    @staticmethod
    def of(
        values: np.ndarray,
        positions: np.ndarray,
        buckets: Buckets,
        clusters: Sequence[str] | None,
        settings: BucketSettings,
        strata: np.ndarray | None,
    ) -> _Table:
        values, positions = np.asarray(values, np.float64), np.asarray(positions, np.float64)
        strata = np.zeros(len(values), np.int64) if strata is None else np.asarray(strata)
        _check(values, positions, strata, clusters)
        outside, without = buckets.assign(positions) < 0, int(np.isnan(positions).sum())
        order = np.lexsort((strata, values, positions))
        order = order[~outside[order]]
        labels = None if clusters is None else np.asarray(clusters, dtype=np.str_)[order]
        values, positions, strata = values[order], positions[order], strata[order]
        numbers = buckets.assign(positions)
        counts = np.bincount(numbers, minlength=len(buckets))
        of_bucket = (
            counts
            if labels is None
            else np.array([len(set(labels[numbers == k])) for k in range(len(buckets))])
        )
        large = (counts >= max(1, settings.minimum)) & ((of_bucket > 1) | (labels is None))
        used = large[numbers]
        renumbered = np.cumsum(large) - 1
        kept, stratum = np.unique(strata[used], return_inverse=True)
        cells = Cells(values[used], renumbered[numbers[used]], stratum, int(large.sum()), len(kept))
        drawn = cluster_queries(None if labels is None else labels[used].tolist(), int(used.sum()))
        named = None if labels is None else labels.tolist()
        return _Table(
            buckets,
            values,
            positions,
            strata,
            named,
            counts,
            of_bucket,
            large,
            cells,
            drawn,
            int(outside.sum()),
            without,
            settings,
        )

    def figures(self) -> BucketFigures:
        """Return the counts of queries, and the slope, which needs no large bucket."""
        scale, unit = SLOPE_UNITS.get(self.buckets.scale, (1.0, ""))
        slope = clustered_slope(self.positions / scale, self.values, self.labels, self.strata)
        return BucketFigures(
            queries=int(self.counts.sum()),
            outside=self.outside,
            without_position=self.without_position,
            minimum=self.settings.minimum,
            left_out=int((~self.large).sum()),
            too_small=[
                label
                for label, large in zip(self.buckets.labels, self.large, strict=True)
                if not large
            ],
            level=LEVEL,
            slope=slope.as_slope,
            slope_unit=unit,
        )

    def payload(
        self,
        group: str,
        means: np.ndarray | None,
        resampled: np.ndarray | None,
        figures: BucketFigures,
    ) -> QueryBuckets:
        """Return the payload of the large buckets' means, with percentile intervals."""
        rows = np.full((3, len(self.buckets)), np.nan)
        if means is not None:
            rows[0, self.large] = means
        if resampled is not None:
            span = span_of(self.values, changes=self.settings.changes)
            ends = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).T
            for place, (low, high) in zip(np.flatnonzero(self.large), ends.tolist(), strict=True):
                if interval := bounded(Interval(low, high), int(self.clusters[place]), span):
                    rows[1:, place] = interval.low, interval.high
        shown, lows, highs = (
            [None if np.isnan(value) else float(value) for value in row] for row in rows
        )
        edges, counts = list(self.buckets.edges), self.counts.tolist()
        return QueryBuckets(
            self.buckets.scale,
            self.settings.quality,
            edges,
            counts,
            shown,
            lows,
            highs,
            group,
            figures=figures,
        )


def _check(
    values: np.ndarray, positions: np.ndarray, strata: np.ndarray, clusters: Sequence[str] | None
) -> None:
    sizes = {
        len(values),
        len(positions),
        len(strata),
        len(values if clusters is None else clusters),
    }
    if len(sizes) > 1:
        raise ValueError(
            f"wanted one value, position, stratum and cluster per query; found {sorted(sizes)} of "
            "them"
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"values: wanted numbers; found {int((~np.isfinite(values)).sum()):,} NaN or infinite"
        )


def _correlated(
    correlation: Callable[[np.ndarray, np.ndarray], np.ndarray],
    middles: np.ndarray,
    means: np.ndarray,
    dealt: np.ndarray,
    resampled: np.ndarray | None,
) -> Correlation:
    """Return the correlation of the means with the middles of their buckets."""
    value = float(correlation(middles, means[None])[0])
    if np.isnan(value):
        return Correlation(
            undefined="fewer than two buckets"
            if len(means) < 2
            else "all buckets have the same mean"
        )
    null = np.nan_to_num(correlation(middles, dealt))  # a draw with equal means has no trend
    p = float((1 + (np.abs(null) >= abs(value) - _NOTHING).sum()) / (1 + len(null)))
    if resampled is None:
        return Correlation(value=value, p=p)
    # basic, not percentile: a resample's own noise pulls its correlation towards 0 once more
    bounds = 2 * value - np.nanquantile(
        correlation(middles, resampled), [(1 + LEVEL) / 2, (1 - LEVEL) / 2]
    )
    low, high = max(-1.0, min(value, float(bounds[0]))), min(1.0, max(value, float(bounds[1])))
    return Correlation(value=value, low=low, high=high, p=p)

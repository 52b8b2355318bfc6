"""Compute intervals of means over clusters of queries, and of functions of means: by bootstrap or,
with few clusters, by jackknife.

With more than 30 clusters these are percentile intervals of resampled clusters. With 5 to 30
clusters percentiles are too narrow: they hold the truth in 80 to 94 % of cases
(``benchmarks/clustered_tests.py``). So up to 30 clusters the interval is Student's t with the
cluster jackknife's standard error [decision]: with θ(g) the estimate without cluster g, of G,

    se² = (G − 1) / G · Σ_g (θ(g) − θ)²,   interval θ ± t(0.975, G − 1) · se

If each query is its own cluster, the interval of a mean is the textbook t interval.

Every interval over queries passes ``bounded``: none of fewer than five clusters, none outside what
the measure can be, none of width 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from positionbias.core.records import Interval
from positionbias.core.seeds import generator

RESAMPLES = 2_000
LEVEL = 0.95
FEW = 30  # up to this number of clusters, the interval is the jackknife's
FEWEST = 5  # fewer clusters have no interval [decision]
TOO_FEW = f"fewer than {FEWEST} clusters of queries"
_UNSEEN = 3.0  # rule of three: what none of n shows, at most 3 / n of all do, at 95 %
_BLOCK_DRAWS = 2_000_000
_NOTHING = 1e-12  # rounding error of a mean, relative to the largest value


class Span(NamedTuple):
    """The least and the greatest value that a mean can have, and by how much one query can differ
    from the others (a measure's range).
    """

    low: float
    high: float
    reach: float = 1.0


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each query, ``codes (queries,)``, the number of clusters, and a description of
    them.

    Codes follow the sorted labels, so that draws by cluster do not depend on the order of queries.
    """

    codes: np.ndarray
    count: int
    drawn: str


def cluster_queries(clusters: Sequence[str] | None, queries: int) -> Clusters:
    """Number the clusters of queries: ``clusters[i]`` names query i's cluster; without ``clusters``
    each query is its own.

    Raises:
        ValueError: not one label per query.
    """
    if clusters is None:
        return Clusters(np.arange(queries), queries, f"{queries:,} queries")
    if len(clusters) != queries:
        raise ValueError(f"clusters: wanted one per query, {queries:,}; found {len(clusters):,}")
    labels, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    drawn = (
        f"{queries:,} queries"
        if len(labels) == queries
        else f"{len(labels):,} clusters of {queries:,} queries"
    )
    return Clusters(codes, len(labels), drawn)


def cluster_labels(
    clusters: Mapping[str, str] | None, query_ids: Sequence[str]
) -> list[str] | None:
    """Return the cluster of each query, by default its own id; None without ``clusters``."""
    return (
        None if clusters is None else [clusters.get(query_id, query_id) for query_id in query_ids]
    )


def span_of(values: Any, *, changes: bool = False) -> Span | None:
    """Return what the mean of a measure's values can be, [0, 1], or of ``changes`` of it, [−1, 1];
    None if a value lies outside (a count, a score).

    >>> span_of([0.0, 0.63]), span_of([0.0, 0.63], changes=True), span_of([0.0, 7.0])
    (Span(low=0.0, high=1.0, reach=1.0), Span(low=-1.0, high=1.0, reach=1.0), None)
    """
    least, numbers = -1.0 if changes else 0.0, np.asarray(values, np.float64)
    held = numbers[~np.isnan(numbers)]
    return Span(least, 1.0) if ((held >= least) & (held <= 1)).all() else None


def bounded(interval: Interval, clusters: int, span: Span | None) -> Interval | None:
    """Return the part of a mean's interval that lies in ``span``; None with fewer than ``FEWEST``
    clusters.

    If nothing varies, the rule of three gives its width: of n clusters that agree, at most a share
    3 / n of all differ, each by at most ``span.reach``. Without a span such an interval is
    undefined.
    """
    if clusters < FEWEST:
        return None
    low, high, method = interval.low, interval.high, interval.method
    if high - low <= _NOTHING * max(1.0, abs(low)):
        if span is None:
            return None
        half = _UNSEEN / clusters * span.reach
        low, high, method = low - half, high + half, f"rule of three, n = {clusters:,}"
    if span is not None:
        low, high = max(low, span.low), min(high, span.high)
    return replace(interval, low=low, high=high, method=method)


def resampled_sums(sums: Any, *, seed: int, resamples: int) -> np.ndarray:
    """Return sums over resampled clusters, ``(resamples, columns)``, of
    ``sums (clusters, columns)``, an array or a scipy sparse one.

    With K clusters a resample draws K of them with replacement. Each sum is computed from the
    number of times a cluster was drawn, so its cost depends on the number of non-zero entries of
    ``sums``, not on the number of queries.
    """
    # sparse, not @ of arrays: BLAS may change the order of additions with the number of threads
    by_column = sparse.csr_array(sums).T.tocsr()
    columns, size = by_column.shape
    rng = generator(seed, "bootstrap")
    block = max(1, _BLOCK_DRAWS // size)
    totals = np.empty((resamples, columns))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        draws = rng.integers(0, size, size=(rows, size))
        draws *= rows
        draws += np.arange(rows)[:, None]
        times = np.bincount(draws.ravel(), minlength=rows * size).reshape(size, rows)
        totals[start : start + rows] = (by_column @ times.astype(np.float64)).T
    return totals


class Resamples(NamedTuple):
    """Bootstrap means of each column, ``(resamples, columns)``, and a description of the unit
    drawn.
    """

    means: np.ndarray
    method: str


def resampled_means(
    columns: np.ndarray, clusters: Sequence[str] | None, *, seed: int, resamples: int = RESAMPLES
) -> Resamples | None:
    """Return means of ``columns (queries, k)`` over the queries of resampled clusters; None with
    fewer than two clusters.
    """
    found = cluster_queries(clusters, len(columns))
    if found.count < 2:
        return None
    with_count = np.column_stack([columns, np.ones(len(columns))])
    sums = np.column_stack(
        [np.bincount(found.codes, weights=column, minlength=found.count) for column in with_count.T]
    )
    totals = resampled_sums(sums, seed=seed, resamples=resamples)
    return Resamples(
        totals[:, :-1] / totals[:, -1:],
        f"percentile bootstrap, {resamples:,} resamples of {found.drawn}",
    )


def percentile_interval(values: np.ndarray, method: str) -> Interval:
    """Return the interval of the middle 95 % of resampled values."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high), LEVEL, method)


def means_without(columns: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Return means of ``columns (queries, k)`` without each cluster in turn, ``(clusters, k)``."""
    _, without = means_left_out(columns, clusters)
    # a mean of 0 must stay exactly 0, as a ratio over a rounding error would be huge
    return np.where(np.abs(without) <= _NOTHING * np.abs(columns).max(axis=0), 0.0, without)


def sums_by_cluster(columns: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Return sums of ``columns (queries, k)`` over each cluster's queries, ``(clusters, k)``."""
    return np.column_stack(
        [
            np.bincount(clusters.codes, weights=column, minlength=clusters.count)
            for column in columns.T.astype(np.float64)
        ]
    ).reshape(clusters.count, columns.shape[1])


def means_left_out(columns: np.ndarray, clusters: Clusters) -> tuple[np.ndarray, np.ndarray]:
    """Return means of ``columns (queries, k)``, ``(k,)``, and without each cluster,
    ``(clusters, k)``; NaN values do not count.
    """
    held = ~np.isnan(columns)
    counts = held.sum(axis=0)
    means = np.nan_to_num(columns).sum(axis=0) / np.maximum(counts, 1)
    # centred, to keep the precision of differences of large sums
    sums = sums_by_cluster(np.where(held, np.nan_to_num(columns) - means, 0.0), clusters)
    left = counts - sums_by_cluster(held, clusters)
    without = means + np.where(left > 0, (sums.sum(axis=0) - sums) / np.maximum(left, 1), 0.0)
    return means, without


def jackknife_error(value: float, without: np.ndarray) -> float:
    """Return the standard error of an estimate from ``without (clusters,)``, the same estimate
    without each cluster in turn.
    """
    count = len(without)
    return math.sqrt((count - 1) / count * float(((without - value) ** 2).sum()))


def t_interval(value: float, error: float, freedom: float, method: str) -> Interval:
    """Return the 95 % interval of Student's t."""
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error
    return Interval(value - half, value + half, LEVEL, method)


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Means of columns, ``whole (k,)``, and ``means (replicates, k)``: over resampled clusters, or
    without each of few clusters in turn.

    ``freedom`` is None for the bootstrap; ``method`` describes the method.
    """

    whole: np.ndarray
    means: np.ndarray
    freedom: int | None
    method: str
    clusters: int

    def of(self, *columns: int) -> Replicates:
        """Return those of these columns, in this order."""
        return replace(self, whole=self.whole[[*columns]], means=self.means[:, [*columns]])

    def interval(
        self, statistic: Callable[[np.ndarray], np.ndarray], span: Span | None = None
    ) -> Interval | None:
        """Return the 95 % interval of a function of means ``(…, k)``, as ``bounded`` has it."""
        return bounded(self.free_interval(statistic), self.clusters, span)

    def free_interval(self, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval:
        """Return the interval before ``bounded``."""
        if self.freedom is None:
            return percentile_interval(statistic(self.means), self.method)
        value = float(statistic(self.whole))
        return t_interval(
            value, jackknife_error(value, statistic(self.means)), self.freedom, self.method
        )


def replicated_means(
    columns: np.ndarray, clusters: Sequence[str] | None, *, seed: int, resamples: int = RESAMPLES
) -> Replicates | None:
    """Return replicate means of ``columns (queries, k)``: jackknife with at most ``FEW`` clusters,
    else bootstrap; None with fewer than two.
    """
    found = cluster_queries(clusters, len(columns))
    if 2 <= found.count <= FEW:
        method = f"cluster jackknife, t, {found.drawn}"
        return Replicates(
            columns.mean(axis=0),
            means_without(columns, found),
            found.count - 1,
            method,
            found.count,
        )
    drawn = resampled_means(columns, clusters, seed=seed, resamples=resamples)
    return (
        None
        if drawn is None
        else Replicates(columns.mean(axis=0), drawn.means, None, drawn.method, found.count)
    )


def bootstrap_mean(
    values: Sequence[float] | np.ndarray,
    clusters: Sequence[str] | None,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    span: Span | None = None,
) -> Interval | None:
    """Return the 95 % interval of the mean: percentile bootstrap, or jackknife t with few clusters;
    its ``method`` says which.

    ``clusters[i]`` names the cluster of ``values[i]``. ``span`` is that of ``bounded``.
    """
    columns = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    found = replicated_means(columns, clusters, seed=seed, resamples=resamples)
    return None if found is None else found.interval(lambda means: means[..., 0], span)

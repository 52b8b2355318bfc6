"""The clustered bootstrap: sums and means over resampled clusters of queries, and percentile intervals of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.payloads import Interval
from positionbias.core.seeds import generator

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Clusters",
    "Resamples",
    "bootstrap_mean",
    "cluster_queries",
    "percentile_interval",
    "resampled_means",
    "resampled_sums",
]

RESAMPLES = 2_000
LEVEL = 0.95
_BLOCK_DRAWS = 2_000_000


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which cluster each query is of, ``codes (queries,)``; how many there are; and what they are, in words.

    Codes follow the sorted labels, so that draws by cluster do not depend on the order of queries.
    """

    codes: np.ndarray
    count: int
    drawn: str


def cluster_queries(clusters: Sequence[str] | None, queries: int) -> Clusters:
    """``clusters[i]`` names what query i is drawn with; None: every query is a cluster of its own.

    Raises:
        ValueError: not one label a query.
    """
    if clusters is None:
        return Clusters(np.arange(queries), queries, f"{queries:,} queries")
    if len(clusters) != queries:
        raise ValueError(f"clusters: wanted one a query, {queries:,}; found {len(clusters):,}")
    labels, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    drawn = f"{queries:,} queries" if len(labels) == queries else f"{len(labels):,} clusters of {queries:,} queries"
    return Clusters(codes, len(labels), drawn)


def resampled_sums(sums: Any, *, seed: int, resamples: int) -> np.ndarray:
    """Sums over resampled clusters: ``(resamples, columns)`` of ``sums (clusters, columns)``, an array or a scipy sparse one.

    With K clusters a resample draws K of them with replacement. Each is computed from how often a cluster was drawn, so that its
    cost is the number of entries of ``sums`` that are not 0, whatever the number of queries.
    """
    from scipy import sparse

    # sparse, not @ of arrays: BLAS may add in another order with another number of threads
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
    """Bootstrap means of each column, ``(resamples, columns)``, and what was drawn, in words."""

    means: np.ndarray
    method: str


def resampled_means(
    columns: np.ndarray, clusters: Sequence[str] | None, *, seed: int, resamples: int = RESAMPLES
) -> Resamples | None:
    """Means of ``columns (queries, k)`` over resampled clusters, the drawn queries' sum over their number; None with fewer than two."""
    found = cluster_queries(clusters, len(columns))
    if found.count < 2:
        return None
    with_count = np.column_stack([columns, np.ones(len(columns))])
    sums = np.column_stack([np.bincount(found.codes, weights=column, minlength=found.count) for column in with_count.T])
    totals = resampled_sums(sums, seed=seed, resamples=resamples)
    return Resamples(totals[:, :-1] / totals[:, -1:], f"percentile bootstrap, {resamples:,} resamples of {found.drawn}")


def percentile_interval(values: np.ndarray, method: str) -> Interval:
    """The middle 95 % of resampled values."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high), LEVEL, method)


def bootstrap_mean(
    values: Sequence[float] | np.ndarray, clusters: Sequence[str] | None, *, seed: int, resamples: int = RESAMPLES
) -> Interval | None:
    """The 95 % percentile-bootstrap interval of the mean; ``clusters[i]`` names what ``values[i]`` is drawn with.

    None where there are fewer than two clusters: nothing can be resampled.
    """
    columns = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    drawn = resampled_means(columns, clusters, seed=seed, resamples=resamples)
    return None if drawn is None else percentile_interval(drawn.means[:, 0], drawn.method)

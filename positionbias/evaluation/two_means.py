"""Estimate intervals for two means: the ratio of means of pairs, and the difference of means of two
groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import (
    LEVEL,
    Span,
    bounded,
    cluster_queries,
    means_without,
    t_interval,
)
from positionbias.evaluation.clustered import clustered_mean, joined_error

__all__ = ["difference_of_groups", "ratio_of_means"]


def ratio_of_means(
    numerators: np.ndarray, denominators: np.ndarray, clusters: Sequence[str] | None = None
) -> tuple[float | None, Interval | None]:
    """Return mean(y) / mean(x) of pairs, each ``(queries,)``, with Fieller's 95 % interval.

    With v the (co)variances of the two means by the jackknife over G clusters of queries (s / n if
    each query is its own cluster) and t = t(0.975, G − 1), the interval's ends are the roots of

        (x̄² − t² v_xx) ρ² − 2 (x̄ ȳ − t² v_xy) ρ + (ȳ² − t² v_yy) = 0

    The interval is bounded exactly if x̄ differs from 0 by the t-test at that level; otherwise the
    ratio has no meaning and no interval (Fieller 1954). The ratio is None if x̄ is 0.

    Raises:
        ValueError: different numbers of numerators and denominators.
    """
    from scipy import stats

    y, x = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"numerators: wanted one per denominator, {x.size:,}; found {y.size:,}")
    found = cluster_queries(clusters, x.size)
    top, bottom = (float(values.mean()) for values in (y, x)) if x.size else (0.0, 0.0)
    if not bottom:
        return None, None
    ratio = top / bottom
    if found.count < 2:
        return ratio, None
    changes = means_without(np.column_stack([y, x]), found) - (top, bottom)
    share = (found.count - 1) / found.count
    spread = share * changes.T @ changes * float(stats.t.ppf((1 + LEVEL) / 2, found.count - 1)) ** 2
    a, b, c = bottom**2 - spread[1, 1], top * bottom - spread[0, 1], top**2 - spread[0, 0]
    if a <= 0:
        return ratio, None
    half = float(np.sqrt(max(b * b - a * c, 0.0)))
    free = Interval(
        float((b - half) / a), float((b + half) / a), LEVEL, f"Fieller, t, {found.drawn}"
    )
    return ratio, bounded(free, found.count, None)


def difference_of_groups(
    first: np.ndarray,
    second: np.ndarray,
    first_clusters: Sequence[str] | None = None,
    second_clusters: Sequence[str] | None = None,
    span: Span | None = None,
) -> tuple[float | None, Interval | None]:
    """Return mean(first) − mean(second) of two disjoint groups of queries, with Welch's 95 %
    interval over clusters.

    None if a group is empty; ``span`` as in ``bounded``.
    """
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not one.size or not two.size:
        return None, None
    difference = float(one.mean() - two.mean())
    joined = joined_error(
        [clustered_mean(one, first_clusters), clustered_mean(two, second_clusters)]
    )
    if joined is None:
        return difference, None
    sides = [
        cluster_queries(of, side.size)
        for side, of in ((one, first_clusters), (two, second_clusters))
    ]
    free = t_interval(difference, *joined, f"Welch, t, {sides[0].drawn} and {sides[1].drawn}")
    return difference, bounded(free, min(side.count for side in sides), span)

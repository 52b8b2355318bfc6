"""Estimate the difference of the means of two groups, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from positionbias.core.records import Interval
from positionbias.evaluation.bootstrap import (
    Span,
    bounded,
    cluster_queries,
    t_interval,
)
from positionbias.evaluation.clustered import clustered_mean, joined_error


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

"""Estimate several effects at once, each a linear function of means over queries, in units that are estimated too."""

from __future__ import annotations

import numpy as np

from positionbias.evaluation.bootstrap import Clusters, means_left_out, sums_by_cluster
from positionbias.evaluation.simultaneous import Simultaneous, from_replicates

__all__ = ["ROUNDED", "in_units"]

ROUNDED = 4  # decimals of a unit, coarser than the effect of the order of a float32 sum


def in_units(
    columns: np.ndarray, unit_of: np.ndarray, weights: np.ndarray, units: np.ndarray, clusters: Clusters
) -> list[Simultaneous]:
    """Estimate ``weights (k, columns)`` times the means of ``columns (queries, columns)``, already divided by their mean unit.

    ``unit_of (columns,)`` gives each column's index in ``units (queries, units)``; NaN if a query lacks one. An effect uses the queries with all its columns.
    """
    unit, unit_without = means_left_out(units, clusters)
    mean, without = means_left_out(columns, clusters)
    ratio = (unit / unit_without)[:, unit_of]
    lacking = np.isnan(columns).astype(np.float64) @ (weights != 0).T.astype(np.float64) > 0
    return from_replicates(
        weights @ mean,
        (without * ratio) @ weights.T,
        largest=np.abs(weights) @ np.abs(np.nan_to_num(columns)).max(axis=0, initial=0.0),
        groups=(sums_by_cluster(~lacking, clusters) > 0).sum(axis=0),
        counts=(~lacking).sum(axis=0),
    )

"""Describe a ranking, without a conclusion: its quality by the position of the evidence (PSI), and
what rotation of all passages changes.

Quality by position mixes a model's preference with the difficulty of questions, and rotation mixes
the answer's new place with broken sentences and truncation; no verdict rests on either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Task
from positionbias.core.formatting import count, decimal
from positionbias.core.interval import interval_of
from positionbias.evaluation.bootstrap import Span, span_of
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.sensitivity import BucketSettings, bucket_means

__all__ = ["Rotated", "position_rows", "rotation_rows"]

Rows = list[dict[str, Any]]
Rotated = Mapping[str, np.ndarray]  # by measure, (draws, queries)


def position_rows(task: Task, values: np.ndarray, settings: AuditSettings) -> Rows:
    """Return the first measure's mean by bucket of positions, and PSI: with its mean and p when
    positions are shuffled, and the excess over that.

    ``values (queries,)`` are the measure's. Answers that fill their passage have no position.
    """
    measure, evidence = settings.measures[0], list(task.evidence.by_query.values())
    relative = np.array([item.relative for item in evidence])
    buckets = settings.buckets or Buckets.relative_for(int(np.isfinite(relative).sum()))
    starts = np.array([float(item.start) for item in evidence])
    by_share = buckets.scale == "relative"
    positions = relative if by_share else np.where(np.isnan(relative), np.nan, starts)
    how = BucketSettings(settings.seed, settings.minimum)
    found = bucket_means(values, positions, buckets, task.clusters, settings=how)
    psi, common = found.psi, {"measure": measure, "scale": buckets.scale}
    places = max(len(f"{edge:g}".partition(".")[2]) for edge in buckets.edges) or 1
    shown = [decimal(edge, min(places, 3)) if by_share else count(edge) for edge in buckets.edges]
    means = zip(pairwise(shown), found.counts, found.means, found.lows, found.highs, strict=True)
    return [
        *(
            {
                **common,
                "statistic": "mean",
                "value": mean,
                "bounds": interval_of(low, high),
                "axis": "position",
                "at": float(buckets.middles[place]) if by_share else float(place),
                "label": f"{first} to {last}",
                "count": number,
                "counted": "queries",
            }
            for place, ((first, last), number, mean, low, high) in enumerate(means)
        ),
        {
            **common,
            "statistic": "PSI",
            "value": psi.value,
            "expected": psi.null_mean,
            "p": psi.p,
            "reason": psi.undefined,
            "count": sum(found.counts),
            "counted": "queries",
        },
        {
            **common,
            "statistic": "debiased PSI",
            "value": psi.debiased,
            "bounds": interval_of(psi.low, psi.high),
        },
    ]


def rotation_rows(
    task: Task,
    values: Mapping[str, np.ndarray],
    best: Mapping[str, np.ndarray],
    rotated: Rotated,
    best_rotated: Rotated,
) -> Rows:
    """Return the mean of each measure over original and rotated passages, and the difference,
    paired by query.

    Where scores are missing, ``values`` and ``rotated`` are the least that any in their place could
    give, ``best`` and ``best_rotated`` the greatest, and the difference spans both ways.
    """
    rows: Rows = []
    for measure in values:
        least, most = (
            clustered_mean(
                (after - before).mean(axis=0),
                task.clusters,
                span_of(before) and span_of(after) and Span(-1.0, 1.0),
            )
            for before, after in (
                (best[measure], rotated[measure]),
                (values[measure], best_rotated[measure]),
            )
        )
        value, bounds = least.value, least.interval
        if most != least and bounds is not None and most.interval is not None:
            bounds = replace(bounds, high=most.interval.high)
            value = ((least.value or 0.0) + (most.value or 0.0)) / 2
        common = {
            "measure": measure,
            "scale": "rotation",
            "count": len(task.query_ids),
            "counted": "queries",
        }
        for test, numbers in (("original", best[measure]), ("rotated", rotated[measure])):
            rows.append({**common, "statistic": "mean", "value": numbers.mean(), "test": test})
        rows.append(
            {
                **common,
                "statistic": "difference",
                "value": value,
                "bounds": bounds,
                "test": "rotated",
                "against": "test=original",
                "p": least.p,
                "detectable": least.detectable,
            }
        )
    return rows

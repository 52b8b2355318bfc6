"""nDCG@10 of a re-ranker by re-ranking depth, at the depths that candidates have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from positionbias.core.run import Run
from positionbias.evaluation.trainings import Repeat, Values, changes, paired
from positionbias.results.points import Point
from positionbias.results.tripclick import DepthPoint
from positionbias.studies.systems import point

__all__ = ["depth_notes", "depth_points", "reached", "to_deepest", "within_candidates"]

MOST = 0.5  # of a test's queries have so many candidates as a depth that is shown


def reached(candidates: Run, query_ids: Sequence[str], depths: Iterable[int]) -> dict[int, float]:
    """By depth, ascending, the share of the queries that have so many candidates."""
    sizes = _sizes(candidates, query_ids)
    return {depth: float((sizes >= depth).mean()) for depth in sorted(set(depths))}


def within_candidates(candidates: Run, query_ids: Sequence[str], depths: Iterable[int]) -> list[int]:
    """The depths that half the queries reach or more; where they reach none, the deepest that they do (none: 0 candidates) [decision].

    Deeper than its candidates a ranking does not change, which would read as a model that more candidates do not harm.
    """
    kept = [depth for depth, share in reached(candidates, query_ids, depths).items() if share >= MOST]
    deepest = sorted(_sizes(candidates, query_ids).tolist(), reverse=True)[-(-len(query_ids) // 2) - 1]
    return kept or ([deepest] if deepest else [])


def depth_notes(candidates: Run, query_ids: Sequence[str], depth: int) -> dict[str, Any]:
    """How many of the queries have ``depth`` candidates to re-rank, and how many candidates their median has."""
    return {
        "share with so many candidates": reached(candidates, query_ids, [depth])[depth],
        "median candidates": float(np.median(_sizes(candidates, query_ids))),
    }


def _sizes(candidates: Run, query_ids: Sequence[str]) -> np.ndarray:
    return np.array([len(candidates.numbers(query_id)) if query_id in candidates else 0 for query_id in query_ids])


def depth_points(
    values: Mapping[int, Mapping[Repeat, Values]],
    shares: Mapping[int, float],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
) -> list[DepthPoint]:
    """Return the mean at every depth. ``values`` by ascending depth, training and query; ``shares`` as ``reached`` has them."""
    points = []
    for depth, repeats in values.items():
        of = point(repeats, clusters, seed=seed)
        points.append(DepthPoint(depth=depth, mean=of.mean, interval=of.interval, queries=of.queries, reached=shares[depth]))
    return points


def to_deepest(
    values: Mapping[int, Mapping[Repeat, Values]], depth: int, clusters: Mapping[str, str] | None = None, *, seed: int
) -> dict[str, Point]:
    """Return the changes from the shallowest and from the study's ``depth`` to the deepest, query by query."""
    depths = list(values)
    starts = [start for start in dict.fromkeys((depths[0], depth)) if start in values and start < depths[-1]]
    return {str(start): point(changes(paired(values[start], values[depths[-1]])), clusters, seed=seed) for start in starts}

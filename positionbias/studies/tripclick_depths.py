"""nDCG@10 of a re-ranker by re-ranking depth, at the depths that candidates have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from positionbias.core.run import Run
from positionbias.evaluation.trainings import Repeat, Values, changes, paired
from positionbias.studies.systems import point

__all__ = ["curve_rows", "depth_notes", "reached", "within_candidates"]

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


def curve_rows(
    values: Mapping[int, Mapping[Repeat, Values]],
    shares: Mapping[int, float],
    depth: int,
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
) -> dict[str, Any]:
    """Means at every depth, and how far it is from the shallowest and from the study's ``depth`` to the deepest, query by query.

    ``values`` by ascending depth, training and query; ``shares`` as ``reached`` has them.
    """
    depths = list(values)
    last = values[depths[-1]]
    starts = [start for start in dict.fromkeys((depths[0], depth)) if start in values and start < depths[-1]]
    found = {
        str(start): msgspec.to_builtins(point(changes(paired(values[start], last)), clusters, seed=seed)) for start in starts
    }
    points = [
        {"depth": at, **msgspec.to_builtins(point(of, clusters, seed=seed)), "reached": shares[at]} for at, of in values.items()
    ]
    return {"points": points, "depth": depth, "to the deepest from": found}

"""Estimate the change of a ranking's quality by rotation, overall and by how far the evidence
moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.evaluation.bootstrap import Span, span_of
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.clustered import Estimate, clustered_mean
from positionbias.evaluation.described import QueryBuckets
from positionbias.evaluation.sensitivity import MINIMUM, BucketSettings, means_by_bucket

__all__ = ["RotationGap", "change_by_movement", "rotation_gap"]


@dataclass(frozen=True, slots=True)
class RotationGap:
    """The mean change by rotation (rotated − original), and its parts.

    ``per_query (queries,)`` is the change of each query, the mean over its draws. ``first_changed``
    is the share of (query, draw) pairs whose first passage changed.
    """

    change: Estimate
    per_query: np.ndarray
    original_mean: float
    rotated_mean: float
    draws: int
    first_changed: Estimate


def rotation_gap(
    original: np.ndarray,
    rotated: np.ndarray,
    clusters: Sequence[str] | None = None,
    *,
    first_changed: np.ndarray | None = None,
) -> RotationGap:
    """Estimate the mean over queries of (quality with rotated passages − quality with the original
    ones), paired by query.

    ``original (queries,)``, ``rotated (draws, queries)``; ``first_changed (draws, queries)`` marks
    a changed first passage. The interval is the cluster jackknife's over ``clusters``, the
    passages: all queries of a passage share its draws. The mean says little if answers are spread
    evenly: moves to the front and to the end cancel. A draw that leaves the answer in place is not
    a control, as its cut lies near an edge.

    Raises:
        ValueError: shapes that do not match, no draw, or a quality that is not a number.
    """
    original, rotated = np.asarray(original, np.float64), np.asarray(rotated, np.float64)
    _check(original, rotated, first_changed=first_changed)
    changes = rotated - original
    per_query, within = changes.mean(axis=0), span_of(original) and span_of(rotated)
    if first_changed is None:
        changed = Estimate(None, undefined="first passages were not given")
    else:
        changed = clustered_mean(
            np.asarray(first_changed, np.float64).mean(axis=0), clusters, Span(0.0, 1.0)
        )
    return RotationGap(
        change=clustered_mean(per_query, clusters, within and Span(-1.0, 1.0)),
        per_query=per_query,
        original_mean=float(original.mean()),
        rotated_mean=float(rotated.mean()),
        draws=len(rotated),
        first_changed=changed,
    )


def change_by_movement(
    original: np.ndarray,
    rotated: np.ndarray,
    moved: np.ndarray,
    clusters: Sequence[str] | None = None,
    *,
    seed: int,
    buckets: Buckets | None = None,
    minimum: int = MINIMUM,
    quality: str = "",
) -> QueryBuckets:
    """Estimate the change of quality by how far the evidence moved: ``moved (draws, queries)`` as a
    share of the passage, negative to the front.

    NaN if the cut went through the evidence, counted in ``figures.outside``. Counts are (query,
    draw) pairs; intervals and the slope are clustered, by query if no clusters are given.

    Raises:
        ValueError: as for ``rotation_gap``.
    """
    original, rotated = np.asarray(original, np.float64), np.asarray(rotated, np.float64)
    _check(original, rotated, moved=moved)
    return means_by_bucket(
        (rotated - original).ravel(),
        np.asarray(moved, np.float64).ravel(),
        buckets or Buckets.moved(),
        _labels(clusters, rotated.shape).ravel().tolist(),
        settings=BucketSettings(seed, quality, minimum, changes=True),
    )


def _labels(clusters: Sequence[str] | None, shape: tuple[int, ...]) -> np.ndarray:
    own = [f"{query:09d}" for query in range(shape[1])] if clusters is None else list(clusters)
    return np.broadcast_to(np.asarray(own, dtype=np.str_), shape)


def _check(original: np.ndarray, rotated: np.ndarray, **others: np.ndarray | None) -> None:
    if rotated.ndim != 2 or rotated.shape[1:] != original.shape or not rotated.size:
        raise ValueError(
            f"wanted original (queries,) and rotated (draws, queries); found {original.shape} and "
            f"{rotated.shape}"
        )
    for name, array in others.items():
        if array is not None and np.shape(array) != rotated.shape:
            raise ValueError(
                f"{name}: wanted (draws, queries) like rotated, {rotated.shape}; found "
                f"{np.shape(array)}"
            )
    if not (np.isfinite(original).all() and np.isfinite(rotated).all()):
        raise ValueError("wanted finite qualities; found NaN or infinity")

"""Estimate the effect on quality of moving evidence from the front of its passage to the end,
without the damage of the move itself.

A rotation moves the evidence and also damages the text: a broken sentence, a seam, a lost
neighbour. With x the place of the evidence before and y after, both in [0, 1], and u the cut as a
share of the passage, the damage D(u, x) depends on the move y − x. Three steps remove it:

* strata of x. Within a stratum, only the draw decides y, which is uniform for every query.
* weights n(1 − x) / (n(x) + n(1 − x)), where n counts draws in a stratum and in its mirror image.
  Front and end then weigh the same, at the least cost in precision when most answers are at the
  front. Read backwards, a passage has its evidence at 1 − x, its cut at 1 − u and the opposite
  move, so damage that is the same read backwards adds nothing to the effect.
* covariates. The original quality precedes the draw, so it reduces noise without bias, and so does
  x within its stratum. With at least 3 strata, min(u, 1 − u) and its square remove damage that
  remains from differences within strata.

The effect is the coefficient of y (at a given x, that of the move) in this weighted least squares.
Its error is the cluster jackknife's of ``clustered``, with the effective number of clusters (Σ w)²
/ Σ w² minus 1 as degrees of freedom [decision].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from positionbias.core.records import Interval
from positionbias.evaluation.bootstrap import LEVEL, cluster_queries
from positionbias.evaluation.clustered import Estimate

STRATA = 10
CLUSTERS_A_STRATUM = 20  # use fewer strata if a stratum would have fewer clusters
# ridge relative to a column's weight: keeps a covariate without spread, or a stratum without draws,
# solvable
_RIDGE = 1e-10
_NOTHING = 1e-12
_ALIKE = 1e-9  # a variance of moves that counts as 0
# rule of three: an event seen in none of n has a rate of at most 3 / n, at 95 %
_NONE_CHANGED = 3.0


def mirror_weights(strata: np.ndarray, count: int) -> np.ndarray:
    """Return the weight of each draw in stratum 0 … ``count`` − 1: n(mirror) / (n + n(mirror)), so
    that a stratum and its mirror image weigh the same.

    >>> mirror_weights(np.array([0, 0, 0, 1]), 2).tolist()
    [0.25, 0.25, 0.25, 0.75]
    """
    size = np.bincount(strata, minlength=count)
    mirror = size[::-1]
    return (mirror / np.maximum(size + mirror, 1))[strata]


def moved_effect(
    before: np.ndarray,
    after: np.ndarray,
    cuts: np.ndarray,
    change: np.ndarray,
    original: np.ndarray,
    clusters: Sequence[str],
    *,
    largest: float = 1.0,
) -> Estimate:
    """Estimate the change of quality for a move through the whole passage. Arrays are ``(draws,)``:
    places before and after and the cut as shares of the passage, each in [0, 1]; the change and the
    original quality.

    ``clusters`` names what was drawn together (the passage). ``largest`` is the largest possible
    change; if no draw changed anything, the interval is ±3 · ``largest`` / clusters, by the rule of
    three.

    Raises:
        ValueError: arrays of different lengths, or places outside [0, 1].
    """
    x, y = np.asarray(before, np.float64), np.asarray(after, np.float64)
    cut = np.asarray(cuts, np.float64)
    gain, start = np.asarray(change, np.float64), np.asarray(original, np.float64)
    draws = len(x)
    if not len(y) == len(cut) == len(gain) == len(start) == len(clusters) == draws:
        raise ValueError(
            "wanted places, changes, original qualities and clusters of the same draws; found "
            "other lengths"
        )
    if draws and (min(x.min(), y.min(), cut.min()) < 0 or max(x.max(), y.max(), cut.max()) > 1):
        raise ValueError("places and cuts: wanted numbers from 0 to 1; found others")
    if draws < 2:
        return Estimate(None, count=draws, undefined="fewer than two draws that move the evidence")
    strata = max(2, min(STRATA, cluster_queries(clusters, draws).count // CLUSTERS_A_STRATUM))
    stratum = np.minimum((x * strata).astype(np.int64), strata - 1)
    weight = mirror_weights(stratum, strata)
    kept = weight > 0
    if not kept.any():
        return Estimate(
            None, count=draws, undefined="all answers are on one side of their passages"
        )
    x, y, cut, gain, start, stratum, weight = (
        column[kept] for column in (x, y, cut, gain, start, stratum, weight)
    )
    found = cluster_queries(
        [label for label, keep in zip(clusters, kept, strict=True) if keep], int(kept.sum())
    )
    if found.count < 2:
        return Estimate(None, count=draws, undefined="fewer than two passages with answers")
    own = np.bincount(stratum, weights=x, minlength=strata) / np.maximum(
        np.bincount(stratum, minlength=strata), 1
    )
    edge = np.minimum(cut, 1 - cut)
    columns = [y, x - own[stratum], start - start.mean(), *([edge, edge**2] if strata > 2 else [])]
    columns += [np.equal(stratum, one).astype(np.float64) for one in range(strata)]
    value, without = _fits(columns, gain, weight, found.codes, found.count)
    if value is None:
        return Estimate(None, count=draws, undefined="all draws move the evidence equally")
    weights = np.bincount(found.codes, weights=weight, minlength=found.count)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return _estimate(
        value, without, effective, found.drawn, draws, largest if not gain.any() else 0.0
    )


def _fits(
    columns: Sequence[np.ndarray],
    outcome: np.ndarray,
    weight: np.ndarray,
    codes: np.ndarray,
    count: int,
) -> tuple[float | None, np.ndarray]:
    """Return the first column's coefficient (None if the others explain it fully), and the same
    without each cluster, ``(clusters,)``.
    """
    size = len(columns)
    products, targets = np.empty((count, size, size)), np.empty((count, size))
    for row, first in enumerate(columns):
        weighted = weight * first
        targets[:, row] = np.bincount(codes, weights=weighted * outcome, minlength=count)
        for column in range(row, size):
            cell = np.bincount(codes, weights=weighted * columns[column], minlength=count)
            products[:, row, column] = products[:, column, row] = cell
    total, target = products.sum(axis=0), targets.sum(axis=0)
    # a column without spread gets the coefficient 0
    ridge = np.diag(_RIDGE * np.maximum(np.diagonal(total), weight.sum() / size))
    inverse = np.linalg.inv(total + ridge)[0]
    if 1 / inverse[0] <= _ALIKE * weight.sum():
        return None, np.empty(0)
    without = np.linalg.solve(total + ridge - products, (target - targets)[..., None])[:, 0, 0]
    return float(inverse @ target), without


def _estimate(
    value: float, without: np.ndarray, effective: float, drawn: str, draws: int, unchanged: float
) -> Estimate:
    count, freedom = len(without), int(effective + _NOTHING) - 1
    if freedom < 1:
        return Estimate(
            value, count=draws, undefined="the interval: fewer than two passages that count"
        )
    if unchanged:
        half = _NONE_CHANGED * unchanged / effective
        return Estimate(
            0.0,
            Interval(-half, half, LEVEL, f"rule of three, {drawn}"),
            None,
            None,
            freedom,
            draws,
            "p: no draw changed anything",
        )
    error = math.sqrt((count - 1) / count * float(((without - value) ** 2).sum()))
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error
    bounds = Interval(
        value - half, value + half, LEVEL, f"cluster jackknife, t, mirrored places, {drawn}"
    )
    p = float(2 * stats.t.sf(abs(value) / error, freedom)) if error > 0 else None
    return Estimate(value, bounds, p, error, freedom, draws)

"""Estimate the mean of a measurement over trainings and queries, with an interval that treats
trainings, their rotations and passages as random.

Values y[s, r, q] are of training seed s, rotation draw r within it and query q; the interval
generalises to other seeds, draws and queries. With θ_s a seed's mean over its queries (after each
query's mean over rotations), θ the mean of the S seeds, θ_s(g) the mean without cluster g of G, and
u_sg = θ_s(g) − θ_s,

    V_seeds   = Σ_s (θ_s − θ)² / (S (S − 1))                     trainings, with their interaction
                                                                 with queries
    V_queries = (G − 1)/G · Σ_g ū_g²                             the cluster jackknife, and the
                                                                 same interaction
    V_both    = (G − 1)/G · Σ_sg (u_sg − ū_g)² / (S (S − 1))     the interaction alone
    se²       = V_queries + T,   T = max(V_seeds − V_both, 0)

In a balanced layout these are the mean squares of the two-way analysis of variance: se² = (MS_seeds
+ MS_queries − MS_both) / (S·G). A seed's rotations are part of θ_s, so V_seeds includes their
variance. The interval is θ ± t(0.975, df) · se with Satterthwaite's degrees of freedom,

    df = (V_queries + m T)² / (V_queries² / (G − 1) + (m T)² / (S − 1)),   m = (S + 5) / (S − 1)

The textbook has m = 1. With 3 seeds it covers only 92 to 93 % if trainings vary 3 to 5 times as
much as queries, as df is large when T is small by chance. This m was chosen by simulation to cover
about 95 % at any ratio (``benchmarks/training_intervals.py``) [decision]. Two trainings have no
interval; one training has the interval over its queries.

A rotation draw shared by several seeds counts as a different draw in each: V_queries includes its
effect by query, but its common effect on all trainings is not estimated [decision].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from positionbias.core.records import Interval
from positionbias.evaluation.bootstrap import (
    FEWEST,
    LEVEL,
    TOO_FEW,
    Clusters,
    Span,
    bounded,
    cluster_queries,
    means_left_out,
    t_interval,
)
from positionbias.evaluation.clustered import Estimate

LEAST = 3  # trainings needed for an interval over trainings
ENOUGH = 5  # trainings that allow a statement about the method with any interval
OVER_TRAININGS = "over trainings and queries"
OVER_QUERIES = "over queries of one training: speaks of this checkpoint"
_NOTHING = 1e-12  # rounding error of a spread, relative to the values


class Components(NamedTuple):
    """Variance components: standard deviations of one training (its seed) and of one rotation
    within it, and the standard error from queries.

    None if there is only one of a kind. They are differences of variances: 0 if noise exceeds the
    variance found.
    """

    trainings: float | None
    rotations: float | None
    queries: float | None


NOTHING_KNOWN = Components(None, None, None)


@dataclass(frozen=True, slots=True)
class Crossed(Estimate):
    """An estimate over trainings: each seed's value, the largest number of rotations of a seed, and
    the variance components.
    """

    by_seed: tuple[float, ...] = ()
    rotations: int = 1
    components: Components = NOTHING_KNOWN

    @property
    def of_method(self) -> bool:
        """Return True if the estimate holds for the method, beyond these checkpoints."""
        return speaks_of_method(self.interval, len(self.by_seed))

    @property
    def over(self) -> str:
        """Return what the interval is over, in words for a table."""
        return OVER_QUERIES if len(self.by_seed) == 1 else OVER_TRAININGS


def speaks_of_method(interval: Interval | None, trainings: int) -> bool:
    """Return True if a figure holds for the method: with 5 trainings, or with 3 if the interval
    excludes 0.
    """
    if interval is None:
        return False
    return trainings >= ENOUGH or (trainings >= LEAST and not interval.low <= 0 <= interval.high)


def crossed(
    values: np.ndarray,
    clusters: Sequence[str] | None = None,
    *,
    units: str = "trainings",
    span: Span | None = None,
) -> Crossed:
    """Estimate the mean of ``values (seeds, rotations, queries)``, NaN if missing; ``units`` is the
    interval's word for seeds.

    ``clusters`` names the cluster of each query; ``span`` as in ``bounded``. All seeds weigh the
    same, whatever their number of rotations.

    Raises:
        ValueError: another shape, an infinite value, or only NaN.
    """
    return crossed_groups([(values, clusters, 1.0)], units=units, span=span)


def over_trainings(
    values: np.ndarray, *, units: str = "trainings", span: Span | None = None
) -> Crossed:
    """Estimate the mean of figures of whole trainings, ``values (seeds, rotations)``, NaN if
    missing; the interval is over trainings alone.
    """
    found = _group(np.asarray(values, np.float64)[:, :, None], None)
    return _estimate([found], found.points, _rotations([found]), alone=True, units=units, span=span)


def crossed_groups(
    groups: Sequence[tuple[np.ndarray, Sequence[str] | None, float]],
    *,
    units: str = "trainings",
    span: Span | None = None,
) -> Crossed:
    """Estimate Σ weight · mean over independent groups of queries with the same seeds, each
    ``(values (seeds, rotations, queries), clusters, weight)``.

    With weights 1 and −1 it is the difference of two groups, paired by training: V_queries is the
    sum of both, with Satterthwaite's degrees of freedom.

    Raises:
        ValueError: as ``crossed``, or different seeds.
    """
    found = [_group(np.asarray(values, np.float64), clusters) for values, clusters, _ in groups]
    if len({len(of.points) for of in found}) > 1:
        raise ValueError(
            "groups: wanted the same seeds in each; found "
            f"{', '.join(str(len(of.points)) for of in found)}"
        )
    weighted = [
        replace(
            of,
            points=weight * of.points,
            lone=weight * of.lone,
            cells=weight * of.cells,
            cell_lone=weight * of.cell_lone,
        )
        for of, (_, _, weight) in zip(found, groups, strict=True)
    ]
    points = np.sum([of.points for of in weighted], axis=0)
    return _estimate(weighted, points, _rotations(weighted), alone=False, units=units, span=span)


def mean_by_query(values: np.ndarray) -> np.ndarray:
    """Return each query's mean over seeds of its mean over rotations, ``(queries,)``; NaN without
    values.
    """
    values = np.asarray(values, np.float64)
    return _mean(_mean(values, 1), 0)


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    held = ~np.isnan(values)
    counts = held.sum(axis=axis)
    found: np.ndarray = np.where(
        counts > 0, np.nan_to_num(values).sum(axis=axis) / np.maximum(counts, 1), np.nan
    )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A group of queries: each seed's mean ``points (seeds,)``, its changes without each cluster
    ``lone (clusters, seeds)``, and the same for cells.

    ``lone`` is scaled so that Σ_g of squares is the jackknife's variance. A cell is a rotation of a
    seed; ``owners`` is its seed.
    """

    points: np.ndarray
    lone: np.ndarray
    cells: np.ndarray
    cell_lone: np.ndarray
    owners: np.ndarray
    clusters: Clusters
    largest: float
    queries: int


def _group(values: np.ndarray, clusters: Sequence[str] | None) -> _Group:
    if values.ndim != 3 or np.isinf(values).any():
        raise ValueError(
            "values: wanted finite numbers (seeds, rotations, queries), or NaN; found shape "
            f"{values.shape}"
        )
    held = ~np.isnan(values)
    if not held.any():
        raise ValueError("values: wanted at least one; found none")
    values = values[held.any(axis=(1, 2))]
    asked = ~np.isnan(values).all(axis=(0, 1))
    labels = (
        None
        if clusters is None
        else [label for label, is_asked in zip(clusters, asked, strict=True) if is_asked]
    )
    values = values[:, :, asked]
    found = cluster_queries(labels, values.shape[2])
    owners, draws = np.nonzero(~np.isnan(values).all(axis=2))
    points, lone = _left_out(_mean(values, 1), found)
    cells, cell_lone = _left_out(values[owners, draws], found)
    return _Group(
        points,
        lone,
        cells,
        cell_lone,
        owners,
        found,
        float(np.nanmax(np.abs(values))),
        values.shape[2],
    )


def _left_out(rows: np.ndarray, clusters: Clusters) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each of ``rows (k, queries)``, and its scaled changes without each cluster
    ``(clusters, k)``.
    """
    means, without = means_left_out(rows.T, clusters)
    return means, math.sqrt((clusters.count - 1) / clusters.count) * (without - means)


def _most(group: _Group) -> int:
    return int(np.bincount(group.owners).max())


def _between(points: np.ndarray, lone: np.ndarray) -> tuple[float, float]:
    """Return the variance of ``points (n,)``, and the part due to shared queries, by
    ``lone (clusters, n)``.
    """
    centred = lone - lone.mean(axis=1, keepdims=True)
    return float(points.var(ddof=1)), float((centred**2).sum() / (len(points) - 1))


def _rotations(groups: Sequence[_Group]) -> float | None:
    """Return the standard deviation of a rotation within its seed; None if no seed has two."""
    first = groups[0]
    if any(
        len(of.owners) != len(first.owners) or (of.owners != first.owners).any() for of in groups
    ):
        return None
    cells = np.sum([of.cells for of in groups], axis=0)
    lone = np.concatenate([of.cell_lone for of in groups])
    found = []
    for seed in np.unique(first.owners):
        own = first.owners == seed
        if own.sum() > 1:
            whole, shared = _between(cells[own], lone[:, own])
            found.append(whole - shared)
    return math.sqrt(max(float(np.mean(found)), 0.0)) if found else None


def _estimate(
    groups: Sequence[_Group],
    points: np.ndarray,
    rotations: float | None,
    *,
    alone: bool,
    units: str,
    span: Span | None = None,
) -> Crossed:
    """Return the estimate from each seed's value and its changes without clusters; ``alone``: over
    trainings alone.
    """
    seeds, value = len(points), float(points.mean())
    queries = 0.0 if alone else sum(_of_queries(of) for of in groups)
    whole, shared = (
        _between(points, np.concatenate([of.lone for of in groups])) if seeds > 1 else (0.0, 0.0)
    )
    between = max(whole - shared, 0.0)
    components = Components(
        _deviation(between, rotations, groups[0]) if seeds > 1 else None,
        rotations,
        None if alone else math.sqrt(queries),
    )
    count, most, by_seed = (
        sum(of.queries for of in groups),
        max(_most(of) for of in groups),
        tuple(points.tolist()),
    )
    lacking, clusters = "", FEWEST if alone else min(of.clusters.count for of in groups)
    if clusters < 2:
        lacking = TOO_FEW
    elif seeds < LEAST and (alone or seeds > 1):
        lacking = f"wanted {LEAST} {units}; found {seeds}"
    if lacking:
        return Crossed(
            value, None, None, None, 0, count, f"the interval: {lacking}", by_seed, most, components
        )
    drawn = " and ".join(of.clusters.drawn for of in groups)
    method = (
        f"{'cluster jackknife' if len(groups) == 1 else 'Welch'}, t, {drawn}"
        if seeds == 1
        else f"t over {seeds} {units}" + ("" if alone else f" and {drawn}, crossed")
    )
    error = math.sqrt(queries + between / seeds)
    if error <= _NOTHING * max(of.largest for of in groups):
        same = bounded(Interval(value, value, LEVEL, method), clusters, None if alone else span)
        return Crossed(
            value,
            same,
            None,
            0.0,
            max(seeds - 1, 1),
            count,
            "p: nothing varies",
            by_seed,
            most,
            components,
        )
    freedom = _freedom(groups, queries, between / seeds, seeds)
    p = float(2 * stats.t.sf(abs(value) / error, freedom))
    interval = bounded(t_interval(value, error, freedom, method), clusters, span)
    lacking = "" if interval else f"the interval: {TOO_FEW}"
    return Crossed(value, interval, p, error, freedom, count, lacking, by_seed, most, components)


def _of_queries(group: _Group) -> float:
    return float((group.lone.mean(axis=1) ** 2).sum())


def _freedom(groups: Sequence[_Group], queries: float, trainings: float, seeds: int) -> float:
    """Return Satterthwaite's degrees of freedom, with the variance of trainings times m;
    ``queries`` of 0 does not count.
    """
    wide = (seeds + 5) / (seeds - 1) * trainings if seeds > 1 else 0.0
    below = wide**2 / (seeds - 1) if wide else 0.0
    below += (
        sum(_of_queries(of) ** 2 / (of.clusters.count - 1) for of in groups) if queries else 0.0
    )
    return (queries + wide) ** 2 / below


def _deviation(between: float, rotations: float | None, group: _Group) -> float:
    """Return the standard deviation of a training, without the rotations' share in a seed's
    mean.
    """
    share = float(np.mean(1 / np.bincount(group.owners)))
    return math.sqrt(max(between - (rotations or 0.0) ** 2 * share, 0.0))

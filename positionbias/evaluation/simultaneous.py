"""Estimate several contrasts of one experiment, with simultaneous 95 % intervals.

A contrast k is a mean over queries of d_ik / u, where u is the mean over queries of a unit u_i (the
worth of a query's evidence); the interval accounts for the estimated unit. With θ(g) the estimates
without cluster g, of G,

    cov = (G − 1) / G · Σ_g (θ(g) − θ)(θ(g) − θ)ᵀ,   interval θ_k ± c · se_k

c is the 0.95 quantile of max_k |T_k|, T multivariate t with G − 1 degrees of freedom and the
correlations of cov ("max-t"), computed from keyed draws, so that it is the same everywhere. With
one contrast c is the exact quantile of |t|. If contrasts have unequal numbers of clusters, G is the
largest, and each contrast's own c has the same tail probability in the t of its own degrees of
freedom, so a contrast with few clusters does not widen the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from positionbias.core.records import Interval
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import (
    FEWEST,
    LEVEL,
    Clusters,
    Span,
    bounded,
    cluster_queries,
    means_left_out,
    sums_by_cluster,
)
from positionbias.evaluation.clustered import POWER

DRAWS = 100_000
_NOTHING = 1e-12  # rounding error of a spread, relative to a contrast's largest value


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """One of several contrasts. ``low`` and ``high`` are simultaneous over all contrasts; None if
    fewer than ``FEWEST`` clusters have this one.

    ``p`` is corrected for the number of contrasts, None if all clusters agree. ``critical`` is c,
    ``count`` the number of queries with the contrast.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    standard_error: float | None
    critical: float | None
    freedom: int
    count: int

    @property
    def detectable(self) -> float | None:
        """Return the smallest effect that the simultaneous test finds with 80 % power: (c + t(0.8))
        · se.
        """
        if self.standard_error is None or self.critical is None:
            return None
        return float((self.critical + stats.t.ppf(POWER, self.freedom)) * self.standard_error)


def simultaneous(
    contrasts: np.ndarray,
    clusters: Sequence[str] | None = None,
    units: np.ndarray | None = None,
    span: Span | None = None,
) -> list[Simultaneous]:
    """Estimate ``contrasts (queries, k)``, NaN if a query lacks one, in ``units (queries,)`` or of
    each contrast ``(queries, k)``, NaN if a query has none.

    Without units, or without a unit above 0, contrasts stay in their own unit. With a ``span``
    intervals are ``bounded``.

    Raises:
        ValueError: shapes that do not match, or an infinite value.
    """
    contrasts = np.asarray(contrasts, np.float64)
    if contrasts.ndim != 2 or np.isinf(contrasts).any():
        raise ValueError(
            f"contrasts: wanted finite numbers (queries, k), or NaN; found shape {contrasts.shape}"
        )
    if units is not None and np.shape(units) not in (contrasts.shape[:1], contrasts.shape):
        raise ValueError(
            f"units: wanted one per query, {len(contrasts):,}; found shape {np.shape(units)}"
        )
    found = cluster_queries(clusters, len(contrasts))
    held = ~np.isnan(contrasts)
    means, without = means_left_out(contrasts, found)
    unit, unit_without = _unit(units, found)
    values, replicates = means / unit, without / unit_without
    groups = (sums_by_cluster(held, found) > 0).sum(axis=0)
    largest = np.abs(np.nan_to_num(contrasts)).max(axis=0, initial=0.0) / unit
    estimates = from_replicates(
        values, replicates, largest=largest, groups=groups, counts=held.sum(axis=0)
    )
    if span is None:
        return estimates
    return [
        _within(one, count, span) for one, count in zip(estimates, groups.tolist(), strict=True)
    ]


def _within(estimate: Simultaneous, groups: int, span: Span) -> Simultaneous:
    if estimate.low is None or estimate.high is None:
        return estimate
    interval = bounded(Interval(estimate.low, estimate.high), groups, span)
    return estimate if interval is None else replace(estimate, low=interval.low, high=interval.high)


def from_replicates(
    values: np.ndarray,
    replicates: np.ndarray,
    *,
    largest: np.ndarray,
    groups: np.ndarray,
    counts: np.ndarray,
) -> list[Simultaneous]:
    """Return the estimates of any statistics ``values (k,)`` from their values without each
    cluster, ``replicates (clusters, k)``.

    ``largest (k,)`` is the size of their inputs, against which rounding error is judged; ``groups``
    and ``counts (k,)`` are the clusters and queries with each.
    """
    deviations = np.nan_to_num(replicates - values)
    spread = np.sqrt(
        np.maximum(groups - 1, 0) / np.maximum(groups, 1) * (deviations**2).sum(axis=0)
    )
    errors = np.where(spread <= _NOTHING * largest, 0.0, spread)
    usable = (groups > 1) & (errors > 0)
    freedom = int(groups[usable].max()) - 1 if usable.any() else 0
    reference = _Reference.of(deviations[:, usable], freedom) if usable.any() else None
    return [
        _one(values[k], errors[k], int(groups[k]), int(counts[k]), reference)
        for k in range(len(values))
    ]


class _Reference(NamedTuple):
    """The distribution of max_k |T_k|: its 95 % quantile, and draws of it; None for one contrast,
    where |T| is known exactly.
    """

    critical: float
    freedom: int
    draws: np.ndarray | None

    @staticmethod
    def of(deviations: np.ndarray, freedom: int) -> _Reference:
        """Build the reference from the replicates' deviations from the estimates,
        ``(clusters, k)``.
        """
        if deviations.shape[1] == 1:
            return _Reference(float(stats.t.ppf((1 + LEVEL) / 2, freedom)), freedom, None)
        draws = _largest(deviations, freedom)
        return _Reference(float(np.quantile(draws, LEVEL)), freedom, draws)

    def critical_of(self, freedom: int) -> float:
        """Return the critical value of a contrast with ``freedom`` degrees of freedom."""
        if freedom == self.freedom:
            return self.critical
        return float(stats.t.isf(stats.t.sf(self.critical, self.freedom), freedom))

    def p(self, size: float, freedom: int) -> float:
        """Return the share beyond a t value with ``freedom`` degrees of freedom."""
        if self.draws is None:
            return float(2 * stats.t.sf(size, freedom))
        same = (
            size
            if freedom == self.freedom
            else stats.t.isf(stats.t.sf(size, freedom), self.freedom)
        )
        return (1 + int((self.draws >= same).sum())) / (1 + len(self.draws))


def _one(
    value: float, error: float, groups: int, count: int, reference: _Reference | None
) -> Simultaneous:
    value = float(value)
    if not count:
        return Simultaneous(None, None, None, None, None, None, 0, 0)
    if groups < 2:
        return Simultaneous(value, None, None, None, None, None, 0, count)
    freedom = groups - 1
    critical = None if reference is None else reference.critical_of(freedom)
    half, p = 0.0, None
    if error > 0:
        assert reference is not None
        assert critical is not None
        half, p = critical * float(error), reference.p(abs(value) / error, freedom)
    low, high = (value - half, value + half) if groups >= FEWEST else (None, None)
    return Simultaneous(value, low, high, p, float(error), critical, freedom, count)


def _unit(units: np.ndarray | None, clusters: Clusters) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean units, ``(1 or k,)``, and the same without each cluster,
    ``(clusters, 1 or k)``; 1 without any above 0.
    """
    if units is None:
        return np.ones(1), np.ones((clusters.count, 1))
    columns = np.asarray(units, np.float64).reshape(len(units), -1)
    means, without = means_left_out(columns, clusters)
    # of few clusters one may hold all of the unit; then it is taken as known
    without = np.where((without > 0).all(axis=0), without, means)
    return np.where(means > 0, means, 1.0), np.where(means > 0, without, 1.0)


def _largest(deviations: np.ndarray, freedom: int) -> np.ndarray:
    """Return draws of max_k |T_k|, T multivariate t with the correlations of
    ``deviations (clusters, k)``.
    """
    scaled = deviations / np.sqrt((deviations**2).sum(axis=0))
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    # the symmetric root: the sign of eigenvectors, and so of draws, is arbitrary
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return np.abs(root @ _spherical(deviations.shape[1], freedom)).max(axis=0)


@lru_cache(maxsize=4)
def _spherical(columns: int, freedom: int) -> np.ndarray:
    """Return draws of an uncorrelated multivariate t, ``(columns, draws)``, always the same for
    this freedom.
    """
    rng = generator(0, "max-t")
    normal = rng.normal(size=(DRAWS, columns))
    drawn = normal / np.sqrt(rng.chisquare(freedom, size=DRAWS) / freedom)[:, None]
    return np.ascontiguousarray(drawn.T)  # long rows: five times as fast

"""Estimate means over queries, with intervals clustered by passage.

The standard error is the cluster jackknife's (formula in ``bootstrap``) for any number of clusters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    jackknife_error,
    means_without,
    t_interval,
)
from positionbias.evaluation.significance import corrected

POWER = 0.8
_NOTHING = 1e-12  # rounding error of a spread, relative to the values


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, its two-sided p against 0, and its sample.

    Undefined figures are None, and ``undefined`` says why. ``standard_error`` has ``freedom``
    degrees of freedom.
    """

    value: float | None
    interval: Interval | None = None
    p: float | None = None
    standard_error: float | None = None
    freedom: float = 0
    count: int = 0
    undefined: str = ""

    @property
    def detectable(self) -> float | None:
        """Return the smallest effect that a test at 5 % finds with 80 % power: (t(0.975) + t(0.8))
        · se, both at ``freedom``.
        """
        if self.standard_error is None or self.freedom < 1:
            return None
        return float(
            stats.t.ppf([(1 + LEVEL) / 2, POWER], self.freedom).sum() * self.standard_error
        )

    @property
    def least(self) -> float | None:
        """Return the smallest absolute effect in the interval, 0 if the interval holds 0. A limit
        is exceeded if this exceeds it.
        """
        return None if self.interval is None else max(self.interval.low, -self.interval.high, 0.0)


def clustered_mean(
    values: np.ndarray, clusters: Sequence[str] | None, span: Span | None = None
) -> Estimate:
    """Estimate the mean of ``values (queries,)``, Σ values / queries: a cluster weighs as much as
    its queries; ``span`` as in ``bounded``.
    """
    values = np.asarray(values, np.float64)
    queries = len(values)
    if not queries:
        return Estimate(None, undefined="no query")
    found = cluster_queries(clusters, queries)
    mean = float(values.mean())
    if found.count < 2:
        return Estimate(mean, count=queries, undefined=f"the interval: {TOO_FEW}")
    return _jackknife(
        mean,
        means_without(values[:, None], found)[:, 0],
        float(np.abs(values).max()),
        found,
        queries,
        span,
    )


def _jackknife(
    value: float,
    without: np.ndarray,
    size: float,
    clusters: Clusters,
    queries: int,
    span: Span | None = None,
) -> Estimate:
    """Return the estimate from leave-one-cluster-out values; ``size`` is the magnitude against
    which rounding is judged.
    """
    freedom = clusters.count - 1
    error = jackknife_error(value, without)
    method = f"cluster jackknife, t, {clusters.drawn}"
    if error <= _NOTHING * size or error == 0:
        same = bounded(Interval(value, value, LEVEL, method), clusters.count, span)
        return Estimate(value, same, None, 0.0, freedom, queries, "p: all clusters agree")
    p = float(2 * stats.t.sf(abs(value) / error, freedom))
    interval = bounded(t_interval(value, error, freedom, method), clusters.count, span)
    undefined = "" if clusters.count >= FEWEST else f"the interval: {TOO_FEW}"
    return Estimate(value, interval, p, error, freedom, queries, undefined)


def joined_error(estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """Return the standard error of a sum or difference of independent estimates, and its degrees of
    freedom by Welch and Satterthwaite:

        se² = Σ se_i²,   df = se⁴ / Σ (se_i⁴ / df_i)

    None if an estimate has no standard error; the degrees of freedom are infinite if all errors
    are 0.
    """
    parts = [
        (of.standard_error**2, of.freedom)
        for of in estimates
        if of.standard_error is not None and of.freedom >= 1
    ]
    if len(parts) < len(estimates):
        return None
    total = sum(variance for variance, _ in parts)
    below = sum(variance**2 / freedom for variance, freedom in parts)
    return math.sqrt(total), total**2 / below if below else math.inf


def family_wise(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Correct p-values by Holm, by name of test, as one family; undefined ones stay None and do not
    count.
    """
    defined = {name: p for name, p in p_values.items() if p is not None}
    adjusted = dict(zip(defined, corrected(list(defined.values()), "holm"), strict=True))
    return {name: adjusted.get(name) for name in p_values}

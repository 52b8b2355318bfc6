"""The ratio of two paired means, and how sure it is."""

from __future__ import annotations

import numpy as np

from positionbias.core.payloads import Interval
from positionbias.evaluation.bootstrap import LEVEL

__all__ = ["ratio_of_means"]


def ratio_of_means(numerators: np.ndarray, denominators: np.ndarray) -> tuple[float | None, Interval | None]:
    """mean(y) / mean(x) of pairs, ``(queries,)`` each, with Fieller's 95 % interval.

    With n pairs, (co)variances of n − 1 and t = t(0.975, n − 1), the interval's ends are the roots of

        (x̄² − t² s_xx / n) ρ² − 2 (x̄ ȳ − t² s_xy / n) ρ + (ȳ² − t² s_yy / n) = 0

    It is bounded just where x̄ differs from 0 by the t-test at that level; elsewhere a share of it means nothing, and there is no
    interval (Fieller 1954). The ratio is None where x̄ is 0.

    Raises:
        ValueError: not as many numerators as denominators.
    """
    from scipy import stats

    y, x = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"numerators: wanted one a denominator, {x.size:,}; found {y.size:,}")
    n = x.size
    top, bottom = (float(values.mean()) for values in (y, x)) if n else (0.0, 0.0)
    if not bottom:
        return None, None
    ratio = top / bottom
    if n < 2:
        return ratio, None
    spread = np.cov(y, x) * float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) ** 2 / n
    a, b, c = bottom**2 - spread[1, 1], top * bottom - spread[0, 1], top**2 - spread[0, 0]
    if a <= 0:
        return ratio, None
    half = float(np.sqrt(max(b * b - a * c, 0.0)))
    return ratio, Interval(float((b - half) / a), float((b + half) / a), LEVEL, f"Fieller, t, {n:,} queries")

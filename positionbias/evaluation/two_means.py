"""Two means, and how sure it is what they make: the ratio of means of pairs, the difference of means of two groups."""

from __future__ import annotations

import numpy as np

from positionbias.core.payloads import Interval
from positionbias.evaluation.bootstrap import LEVEL

__all__ = ["difference_of_groups", "ratio_of_means"]


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


def difference_of_groups(first: np.ndarray, second: np.ndarray) -> tuple[float | None, Interval | None]:
    """mean(first) − mean(second) of two groups of queries, which share none, with Welch's 95 % interval.

    None where a group is empty; no interval where one has fewer than two queries, or nothing varies.
    """
    from scipy import stats

    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not one.size or not two.size:
        return None, None
    difference = float(one.mean() - two.mean())
    if min(one.size, two.size) < 2 or not (np.ptp(one) or np.ptp(two)):
        return difference, None
    low, high = stats.ttest_ind(one, two, equal_var=False).confidence_interval(LEVEL)
    return difference, Interval(float(low), float(high), LEVEL, f"Welch, t, {one.size:,} and {two.size:,} queries")

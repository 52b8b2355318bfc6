"""Welch's interval of two groups: worked by hand, and where it is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.evaluation.two_means import difference_of_groups


def test_two_groups_by_hand() -> None:
    # three times 1, 3 and twice 0, 2, 4: means 2 and 2, variances 6/5 and 16/5, se² = 1/5 + 8/15 =
    # 11/15, df = (11/15)² / ((1/5)² / 5 + (8/15)² / 5)
    first, second = np.array([1.0, 3.0] * 3), np.array([0.0, 2.0, 4.0] * 2)
    difference, interval = difference_of_groups(first, second)
    assert difference == 0
    half = stats.t.ppf(0.975, (11 / 15) ** 2 / ((1 / 25 + 64 / 225) / 5)) * (11 / 15) ** 0.5
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(-half), pytest.approx(half))
    assert difference_of_groups(first[:4], second) == (0.0, None)  # four
    assert difference_of_groups(np.ones(9), np.full(9, 0.5)) == (0.5, None)  # nothing varies
    assert difference_of_groups(np.array([]), np.array([0.5])) == (None, None)


def test_queries_of_one_passage_are_taken_together() -> None:
    x, y = np.tile([2.0, 2, 2, 3, 1, 2], 2), np.tile([1.0, 1, 1, 2, 0, 1], 2)
    clusters = [*"aabbccddeeff"]
    # of six clusters each: without one of them x̄ is 2, 19/10, 21/10, twice, and ȳ 1, 9/10, 11/10:
    # se² = 5/6 · 4/100 = 1/30 on each side, 5 degrees of freedom each: df = (1/15)² / (2 · (1/30)²
    # / 5) = 10
    difference, interval = difference_of_groups(x, y, clusters, clusters)
    assert difference == 1.0
    assert interval is not None
    assert interval.high - 1 == pytest.approx(stats.t.ppf(0.975, 10) * (1 / 15) ** 0.5)
    assert interval.method == "Welch, t, 6 clusters of 12 queries and 6 clusters of 12 queries"
    assert difference_of_groups(x, y, ["a"] * 12, clusters) == (1.0, None)

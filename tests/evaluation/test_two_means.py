"""Fieller's interval of a ratio of paired means and Welch's of two groups: worked by hand, and
where they are undefined.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from positionbias.evaluation.two_means import difference_of_groups, ratio_of_means


def test_by_hand() -> None:
    # x = 2, 4 and y = 1, 3: means 3 and 2; s_xx = s_yy = s_xy = 2, so t² s / n = t² with n = 2
    x, y = np.array([2.0, 4.0]), np.array([1.0, 3.0])
    assert ratio_of_means(y, x) == (pytest.approx(2 / 3), None)  # t(0.975, 1)² = 161.4 is above 3²
    # 50 of each: n = 100, s = 100/99, t² s / n = 1.98422² / 99 = 0.039769
    found, interval = ratio_of_means(np.tile(y, 50), np.tile(x, 50))
    e = 1.98421695**2 / 99
    half = ((6 - e) ** 2 - (9 - e) * (4 - e)) ** 0.5
    assert found == pytest.approx(2 / 3)
    assert interval is not None
    assert (interval.low, interval.high) == (
        pytest.approx((6 - e - half) / (9 - e), abs=1e-6),
        pytest.approx((6 - e + half) / (9 - e), abs=1e-6),
    )


def test_what_is_undefined() -> None:
    assert ratio_of_means(np.array([1.0, 2.0]), np.array([1.0, -1.0])) == (None, None)  # mean 0
    assert ratio_of_means(np.array([]), np.array([])) == (None, None)
    assert ratio_of_means(np.array([1.0]), np.array([2.0])) == (0.5, None)
    with pytest.raises(ValueError, match="wanted one per denominator, 2; found 1"):
        ratio_of_means(np.array([1.0]), np.array([1.0, 2.0]))


@given(st.integers(0, 10_000), st.floats(-2, 2))
def test_the_ends_are_where_the_t_test_turns(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1, 20)
    y = 0.5 * x + rng.normal(0, 1, 20)
    assume(abs(x.mean()) > 1e-6)
    _, interval = ratio_of_means(y, x)
    p = stats.ttest_1samp(x, 0).pvalue
    assume(abs(p - 0.05) > 1e-6)
    assert (interval is None) == (p > 0.05)
    if interval is not None:
        for end in (interval.low, interval.high):
            assert stats.ttest_1samp(y - end * x, 0).pvalue == pytest.approx(0.05, abs=1e-6)


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
    # six clusters: x̄ = 24 / 12 = 2, ȳ = 12 / 12 = 1; without each of them x 2, 19/10, 21/10 and y
    # 1, 9/10, 11/10, twice
    x, y = np.tile([2.0, 2, 2, 3, 1, 2], 2), np.tile([1.0, 1, 1, 2, 0, 1], 2)
    clusters = [*"aabbccddeeff"]
    # v = 5/6 · Σ (x − x̄)² = 5/6 · 4/100 = 1/30 throughout, t(0.975, 5)² = 6.607891
    found, interval = ratio_of_means(y, x, clusters)
    e = 6.607891 / 30
    half = ((2 - e) ** 2 - (4 - e) * (1 - e)) ** 0.5
    assert found == 0.5
    assert interval is not None
    assert (interval.low, interval.high) == (
        pytest.approx((2 - e - half) / (4 - e)),
        pytest.approx((2 - e + half) / (4 - e)),
    )
    assert interval.method == "Fieller, t, 6 clusters of 12 queries"
    # the difference: se² = 1/30 on each side, 5 degrees of freedom each: df = (1/15)² / (2 ·
    # (1/30)² / 5) = 10
    difference, interval = difference_of_groups(x, y, clusters, clusters)
    assert difference == 1.0
    assert interval is not None
    assert interval.high - 1 == pytest.approx(stats.t.ppf(0.975, 10) * (1 / 15) ** 0.5)
    assert interval.method == "Welch, t, 6 clusters of 12 queries and 6 clusters of 12 queries"
    assert difference_of_groups(x, y, ["a"] * 12, clusters) == (1.0, None)


@given(st.integers(0, 10_000))
def test_twice_the_same_queries_say_nothing_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(2, 0.5, 12)
    y = 0.5 * x + rng.normal(0, 0.1, 12)
    names = [f"p{place:02d}" for place in range(12)]
    for once, twice in (
        (ratio_of_means(y, x), ratio_of_means(np.tile(y, 2), np.tile(x, 2), names * 2)),
        (
            difference_of_groups(x, y),
            difference_of_groups(np.tile(x, 2), np.tile(y, 2), names * 2, names * 2),
        ),
    ):
        assert once[1] is not None
        assert twice[1] is not None
        assert (twice[0], twice[1].low, twice[1].high) == pytest.approx(
            (once[0], once[1].low, once[1].high)
        )

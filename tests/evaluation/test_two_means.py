"""Fieller's interval of a ratio of paired means and Welch's of two groups: worked by hand, and where they are undefined."""

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
    # 1, 3 and 0, 2, 4: means 2 and 2, variances 2 and 4, se² = 2/2 + 4/3 = 7/3, df = (7/3)² / (1² / 1 + (4/3)² / 2) = 2.882
    difference, interval = difference_of_groups(np.array([1.0, 3.0]), np.array([0.0, 2.0, 4.0]))
    assert difference == 0
    half = stats.t.ppf(0.975, (7 / 3) ** 2 / (1 + 8 / 9)) * (7 / 3) ** 0.5
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(-half), pytest.approx(half))
    assert difference_of_groups(np.array([1.0]), np.array([0.0, 2.0])) == (0.0, None)
    assert difference_of_groups(np.array([1.0, 1.0]), np.array([0.5, 0.5])) == (0.5, None)  # nothing varies
    assert difference_of_groups(np.array([]), np.array([0.5])) == (None, None)


def test_queries_of_one_passage_are_taken_together() -> None:
    # three clusters: x̄ = 12 / 6 = 2, ȳ = 6 / 6 = 1; without each of them x 2, 7/4, 9/4 and y 1, 3/4, 5/4
    x, y = np.array([2.0, 2, 2, 3, 1, 2]), np.array([1.0, 1, 1, 2, 0, 1])
    clusters = ["a", "a", "b", "b", "c", "c"]
    # v = 2/3 · Σ (x − x̄)² = 2/3 · 1/8 = 1/12 throughout, t(0.975, 2)² = 18.5128: bounded as 4 > 18.5128 / 12
    found, interval = ratio_of_means(y, x, clusters)
    e = 18.512821 / 12
    half = ((2 - e) ** 2 - (4 - e) * (1 - e)) ** 0.5
    assert found == 0.5
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx((2 - e - half) / (4 - e)), pytest.approx((2 - e + half) / (4 - e)))
    assert interval.method == "Fieller, t, 3 clusters of 6 queries"
    # the difference: se² = 1/12 on each side, 2 degrees of freedom each: df = (1/6)² / (2 · (1/12)² / 2) = 4
    difference, interval = difference_of_groups(x, y, clusters, clusters)
    assert difference == 1.0
    assert interval is not None
    assert interval.high - 1 == pytest.approx(stats.t.ppf(0.975, 4) * (1 / 6) ** 0.5)
    assert interval.method == "Welch, t, 3 clusters of 6 queries and 3 clusters of 6 queries"
    assert difference_of_groups(x, y, ["a"] * 6, clusters) == (1.0, None)


@given(st.integers(0, 10_000))
def test_twice_the_same_queries_say_nothing_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(2, 0.5, 12)
    y = 0.5 * x + rng.normal(0, 0.1, 12)
    names = [f"p{place:02d}" for place in range(12)]
    for once, twice in (
        (ratio_of_means(y, x), ratio_of_means(np.tile(y, 2), np.tile(x, 2), names * 2)),
        (difference_of_groups(x, y), difference_of_groups(np.tile(x, 2), np.tile(y, 2), names * 2, names * 2)),
    ):
        assert once[1] is not None
        assert twice[1] is not None
        assert (twice[0], twice[1].low, twice[1].high) == pytest.approx((once[0], once[1].low, once[1].high))

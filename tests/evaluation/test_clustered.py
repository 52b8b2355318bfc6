"""Clustered means and slopes: by hand, against scipy and statsmodels' robust errors, and by leaving
clusters out one by one.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import Span
from positionbias.evaluation.clustered import clustered_mean, clustered_slope, family_wise


def random_queries(seed, queries=40, clusters=9, strata=3):
    rng = generator(seed, "test")
    labels = [f"p{rng.integers(clusters)}" for _ in range(queries)]
    stratum = rng.integers(strata, size=queries)
    x = rng.random(queries)
    return x, 0.3 * stratum - 0.2 * x + rng.normal(size=queries), labels, stratum


def refitted_slope(x, y, stratum):
    """Least squares with a column a stratum."""
    columns = np.column_stack(
        [x, *(np.where(stratum == s, 1.0, 0.0) for s in sorted(set(stratum)))]
    )
    return np.linalg.lstsq(columns, y, rcond=None)[0][0]


def plain_jackknife(value, without, count):
    """The formula, term by term."""
    error = (sum((one - value) ** 2 for one in without) * (count - 1) / count) ** 0.5
    half = stats.t.ppf(0.975, count - 1) * error
    return error, value - half, value + half, 2 * stats.t.sf(abs(value / error), count - 1)


def shown(estimate):
    return estimate.standard_error, estimate.interval.low, estimate.interval.high, estimate.p


def test_mean_of_queries_on_their_own_is_the_textbook_s():
    values = generator(1, "test").normal(0.2, 1, 25)
    test = stats.ttest_1samp(values, 0)
    interval = test.confidence_interval(0.95)
    found = clustered_mean(values, None)
    assert found.value == pytest.approx(values.mean())
    assert shown(found) == pytest.approx(
        (stats.sem(values), interval.low, interval.high, test.pvalue)
    )
    assert found.interval.method == "cluster jackknife, t, 25 queries"


def test_slope_by_hand():
    # x = 0, 1, 2; y = 0, 2, 1: Σ(x−1)(y−1) = 1, Σ(x−1)² = 2. Without the first: −1, the second: ½,
    # the third: 2
    found = clustered_slope(np.array([0.0, 1, 2]), np.array([0.0, 2, 1]), None)
    assert found.value == pytest.approx(0.5)
    assert found.standard_error == pytest.approx((2 / 3 * (1.5**2 + 0 + 1.5**2)) ** 0.5)


@given(st.integers(0, 10_000), st.booleans())
def test_slope_and_mean_equal_fits_without_each_cluster(seed, stratified):
    x, y, labels, stratum = random_queries(seed)
    stratum = stratum if stratified else np.zeros(len(x), int)
    names = sorted(set(labels))
    keep = [np.array([label != name for label in labels]) for name in names]
    slope = clustered_slope(x, y, labels, stratum if stratified else None)
    expected = refitted_slope(x, y, stratum)
    without = [refitted_slope(x[k], y[k], stratum[k]) for k in keep]
    assert slope.value == pytest.approx(expected)
    assert shown(slope) == pytest.approx(plain_jackknife(expected, without, len(names)))
    mean = clustered_mean(y, labels)
    assert shown(mean) == pytest.approx(
        plain_jackknife(y.mean(), [y[k].mean() for k in keep], len(names))
    )


def test_slope_in_many_strata_is_that_within_queries():
    # strata of two rows each, all of one line a stratum with slope 3: no interval, as it would have
    # no width
    x = np.array([0, 1, 0.2, 0.4, 0.5, 1, 0, 0.3, 0.1, 0.9])
    y = 3 * x + np.array([5, 5, -2, -2, 9, 9, 0, 0, 1, 1])
    found = clustered_slope(x, y, list("aabbccddee"), np.array([7, 7, 3, 3, 5, 5, 1, 1, 2, 2]))
    assert found.value == pytest.approx(3)
    assert (found.interval, found.p, found.undefined) == (None, None, "p: all clusters agree")


@given(st.integers(0, 1_000), st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_nothing(seed, random):
    x, y, labels, stratum = random_queries(seed)
    order = list(range(len(x)))
    random.shuffle(order)
    turned = clustered_slope(x[order], y[order], [labels[i] for i in order], stratum[order])
    assert shown(turned) == pytest.approx(shown(clustered_slope(x, y, labels, stratum)), rel=1e-9)


def test_detectable_is_found_with_the_power_it_names():
    # 2,000 tests of 30 normal values with that mean: 80 % are found, ± 2.5 standard errors of 0.9
    # points
    values = generator(3, "test").normal(size=30)
    detectable = clustered_mean(values / values.std(ddof=1), None).detectable
    draws = generator(4, "test").normal(detectable, 1, (2_000, 30))
    assert (stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(
        0.8, abs=0.023
    )
    many = clustered_mean(generator(5, "test").normal(size=40_000), None)
    assert many.detectable == pytest.approx(2.8016 * many.standard_error, rel=1e-3)


@pytest.mark.parametrize(
    ("x", "y", "clusters", "value", "why"),
    [
        ([], [], None, None, "fewer than two queries"),
        ([0.5], [1], None, None, "fewer than two queries"),
        ([0.5, 0.5, 0.5], [1, 2, 3], None, None, "every position is the same"),
        ([0, 1], [0, 2], ["a", "a"], 2.0, "the interval: fewer than 5 clusters of queries"),
        ([0, 1], [0, 2], None, 2.0, "the interval: without one cluster every position is the same"),
        (
            [0, 0, 1],
            [0, 0, 2],
            None,
            2.0,
            "the interval: without one cluster every position is the same",
        ),
        ([0, 0.4, 1], [0.1, 0.1, 0.1], None, 0.0, "p: all clusters agree"),
    ],
)
def test_undefined_slopes_say_why(x, y, clusters, value, why):
    found = clustered_slope(np.array(x, float), np.array(y, float), clusters)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.p, found.undefined) == (None, why)
    assert found.as_slope.undefined == why


@pytest.mark.parametrize(
    ("values", "clusters", "value", "why"),
    [
        ([], None, None, "no query"),
        ([0.3], None, 0.3, "the interval: fewer than 5 clusters of queries"),
        ([0.3, 0.5], ["a", "a"], 0.4, "the interval: fewer than 5 clusters of queries"),
        ([0.1] * 7, None, 0.1, "p: all clusters agree"),
    ],
)
def test_undefined_means_say_why(values, clusters, value, why):
    found = clustered_mean(np.array(values), clusters)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.p, found.undefined) == (None, why)


def test_least_is_the_nearest_end_to_zero():
    # the variance of five is 0.02 / 4
    values, half = np.array([1.0, 1.1, 0.9, 1.0, 1.0]), stats.t.ppf(0.975, 4) * 0.005**0.5 / 5**0.5
    assert clustered_mean(values, None).least == pytest.approx(1 - half)
    assert clustered_mean(-values, None).least == pytest.approx(1 - half)
    assert clustered_mean(np.array([-1.0, 1.1] * 3), None).least == 0
    assert clustered_mean(values[:4], None).least is None  # no interval


def test_a_measure_s_mean_stays_within_it() -> None:
    # 1, 1, 1, 1, 0.5: 0.9 ± t(0.975, 4) · √(0.2 / 4 / 5) = 0.9 ± 0.2776
    high = clustered_mean(np.array([1, 1, 1, 1, 0.5]), None, Span(0.0, 1.0)).interval
    assert (high.low, high.high) == (pytest.approx(0.9 - stats.t.ppf(0.975, 4) * 0.1), 1.0)
    # seven that agree: at most 3 / 7 of all differ, by 1 at most
    same = clustered_mean(np.array([0.1] * 7), None, Span(0.0, 1.0)).interval
    assert (same.low, same.high, same.method) == (
        0.0,
        pytest.approx(0.1 + 3 / 7),
        "rule of three, n = 7",
    )
    assert clustered_mean(np.array([1.0]), None).least is None


def test_labels_must_be_one_a_query():
    with pytest.raises(ValueError, match="wanted one per query, 2; found 1"):
        clustered_mean(np.array([1.0, 2.0]), ["a"])


def test_holm_over_a_family_by_hand():
    # sorted 0.01, 0.02, 0.04 times 3, 2, 1, each at least the one before; what is undefined does
    # not count
    adjusted = family_wise({"slope": 0.04, "gap": 0.01, "psi": 0.02, "response": None})
    assert adjusted == pytest.approx({"slope": 0.04, "gap": 0.03, "psi": 0.04, "response": None})
    assert list(adjusted) == ["slope", "gap", "psi", "response"]
    assert family_wise({"a": None}) == {"a": None}

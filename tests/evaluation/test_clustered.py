"""Clustered means: by hand, against scipy and statsmodels' robust errors, and by leaving
clusters out one by one.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean, family_wise


def random_queries(seed, queries=40, clusters=9):
    rng = generator(seed, "test")
    labels = [f"p{rng.integers(clusters)}" for _ in range(queries)]
    return rng.normal(size=queries), labels


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


@given(st.integers(0, 10_000))
def test_a_mean_equals_means_without_each_cluster(seed):
    y, labels = random_queries(seed)
    names = sorted(set(labels))
    keep = [np.array([label != name for label in labels]) for name in names]
    mean = clustered_mean(y, labels)
    assert shown(mean) == pytest.approx(
        plain_jackknife(y.mean(), [y[k].mean() for k in keep], len(names))
    )


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

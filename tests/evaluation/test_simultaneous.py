"""Simultaneous intervals: against the textbook's t, Šidák's and the multivariate t's quantiles, and
with a unit by hand.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import Span
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.simultaneous import simultaneous


def drawn(seed, queries=40, columns=3, clusters=15):
    rng = generator(seed, "test")
    return (
        rng.normal(0.1, 1, (queries, columns)),
        [f"p{rng.integers(clusters)}" for _ in range(queries)],
        rng.uniform(1, 3, queries),
    )


def bounds(found):
    return [(one.value, one.low, one.high) for one in found]


def uncorrelated(seed, queries, columns):
    """Columns whose deviations from their means are orthogonal to each other, of length
    √queries.
    """
    values = generator(seed, "test").normal(size=(queries, columns))
    return np.linalg.qr(values - values.mean(axis=0))[0] * np.sqrt(queries)


def test_one_contrast_has_the_textbook_interval_of_a_mean():
    values = generator(1, "test").normal(0.2, 1, 25)
    test = stats.ttest_1samp(values, 0)
    interval = test.confidence_interval(0.95)
    (found,) = simultaneous(values[:, None])
    assert (found.value, found.low, found.high, found.p) == pytest.approx(
        (values.mean(), interval.low, interval.high, test.pvalue)
    )
    assert found.critical == pytest.approx(stats.t.ppf(0.975, 24))
    assert (found.freedom, found.count) == (24, 25)
    assert found.detectable == pytest.approx(
        (stats.t.ppf(0.975, 24) + stats.t.ppf(0.8, 24)) * stats.sem(values)
    )


@given(st.integers(0, 10_000))
def test_one_contrast_with_clusters_has_the_interval_of_a_clustered_mean(seed):
    values, labels, _ = drawn(seed, columns=1)
    (found,) = simultaneous(values, labels)
    mean = clustered_mean(values[:, 0], labels)
    assert (found.value, found.low, found.high) == pytest.approx(
        (mean.value, mean.interval.low, mean.interval.high)
    )
    assert (found.standard_error, found.freedom) == pytest.approx(
        (mean.standard_error, mean.freedom)
    )


def test_three_uncorrelated_contrasts_of_many_queries_have_sidak_s_critical_value():
    found = simultaneous(uncorrelated(2, 5_000, 3))
    sidak = stats.norm.ppf((1 + 0.95 ** (1 / 3)) / 2)
    assert sidak == pytest.approx(2.388, abs=0.001)
    # the 95 % quantile of 100,000 draws has a standard error of 0.006
    assert [one.critical for one in found] == [pytest.approx(sidak, abs=0.02)] * 3
    assert {one.freedom for one in found} == {4_999}


@pytest.mark.parametrize("queries", [8, 21, 200])
def test_the_critical_value_is_the_quantile_of_the_multivariate_t(queries):
    values = generator(3, "test").normal(size=(queries, 3)) @ np.array(
        [[1, 0.6, 0], [0, 1, -0.5], [0, 0, 1]]
    )
    critical = simultaneous(values)[0].critical
    law = stats.multivariate_t(shape=np.corrcoef(values.T), df=queries - 1, seed=1)
    inside = law.cdf(np.full(3, critical), lower_limit=np.full(3, -critical))
    assert inside == pytest.approx(0.95, abs=0.003)
    assert stats.t.ppf(0.975, queries - 1) < critical < stats.t.ppf(1 - 0.025 / 3, queries - 1)


def test_p_is_that_of_the_largest_of_all_contrasts():
    values = uncorrelated(5, 400, 3)  # standard errors 1/√399
    values += np.array([0, 1, 2.388]) * np.sqrt(1 / 399)
    found = simultaneous(values)
    # of three independent ones: 1 − P(|T| < size)³
    wanted = [1, 1 - (1 - 2 * stats.t.sf(1, 399)) ** 3, 0.05]
    assert [one.p for one in found] == pytest.approx(wanted, abs=0.01)


def test_the_unit_is_estimated_with_the_contrast_by_hand():
    # 6/3 over 3/3: 2. Without the first: 5/2; the second: 4; the third: 1
    # deviations ½, 2, −1: ⅔ · (¼ + 4 + 1)
    (found,) = simultaneous(np.array([[1.0], [2.0], [3.0]]), units=np.array([1.0, 2.0, 0.0]))
    assert found.value == pytest.approx(2)
    assert found.standard_error == pytest.approx(
        (2 / 3 * ((5 / 2 - 2) ** 2 + (4 / 1 - 2) ** 2 + (3 / 3 - 2) ** 2)) ** 0.5
    )
    # two queries of one passage are left out together: without them 3/0.5 = 6, and without the last
    # (3/2) / (3/2) = 1
    (found,) = simultaneous(
        np.array([[1.0], [2.0], [3.0]]), ["a", "a", "b"], np.array([1.0, 2.0, 0.5])
    )
    assert found.value == pytest.approx(6 / 3.5)
    assert found.standard_error == pytest.approx(
        (1 / 2 * ((6 - 6 / 3.5) ** 2 + (1 - 6 / 3.5) ** 2)) ** 0.5
    )


def test_queries_without_a_contrast_or_a_unit_count_for_the_others():
    nan = np.nan
    values, units = (
        np.array([[1.0, nan], [3.0, 4.0], [nan, 2.0], [nan, nan]]),
        np.array([2.0, nan, 2.0, 5.0]),
    )
    found = simultaneous(values, units=units)
    assert [one.count for one in found] == [2, 2]
    # the unit is (2 + 2 + 5) / 3, also of queries without a contrast
    assert [one.value for one in found] == pytest.approx([2 / 3, 1])
    assert found[0].freedom == 1
    lacking = simultaneous(np.array([[1.0, nan], [2.0, nan], [4.0, nan]]))
    assert (lacking[1].value, lacking[1].low, lacking[1].count, lacking[1].detectable) == (
        None,
        None,
        0,
        None,
    )
    assert lacking[0].critical == pytest.approx(stats.t.ppf(0.975, 2))


def test_a_contrast_of_few_clusters_widens_no_other():
    values = uncorrelated(8, 200, 3)
    values[5:, 1] = np.nan
    found = simultaneous(values)
    assert [one.freedom for one in found] == [199, 4, 199]
    # as three contrasts of all queries: 2.41 with 199 degrees of freedom; the same share beyond
    # with 4
    assert found[0].critical == found[2].critical == pytest.approx(2.41, abs=0.03)
    assert found[1].critical == pytest.approx(stats.t.isf(stats.t.sf(found[0].critical, 199), 4))
    assert found[1].high - found[1].value == pytest.approx(
        found[1].critical * np.std(values[:5, 1], ddof=1) / 5**0.5
    )
    beyond = stats.t.sf(abs(found[1].value) / found[1].standard_error, 4)
    assert found[1].p == pytest.approx(1 - (1 - 2 * beyond) ** 3, abs=0.02)


def test_one_cluster_has_a_value_and_no_interval():
    for found in simultaneous(np.array([[1.0, 2.0], [3.0, 2.0]]), ["a", "a"], np.array([2.0, 2.0])):
        assert found.value == 1
        assert (found.low, found.high, found.p, found.standard_error, found.detectable) == (
            None,
        ) * 5
    assert [one.value for one in simultaneous(np.empty((0, 2)))] == [None, None]


def test_exact_zeros_have_the_interval_zero_to_zero():
    values, _, units = drawn(6)
    nothing = simultaneous(np.zeros((40, 3)), units=units)
    assert bounds(nothing) == [(0, 0, 0)] * 3
    assert [(one.p, one.detectable) for one in nothing] == [(None, None)] * 3
    values[:, 1] = 0
    mixed = simultaneous(values, units=units)
    assert bounds(mixed)[1] == (0, 0, 0)
    # a contrast that has no noise costs the others nothing
    assert mixed[0].critical == pytest.approx(
        simultaneous(values[:, [0, 2]], units=units)[0].critical
    )


def test_a_measure_s_effects_stay_within_it():
    # four contrasts of 1, one of 0: 0.8 ± t(0.975, 4) · 0.2 = 0.8 ± 0.555; all of 0.5: ± 3 / 5, of
    # four none
    values = np.array([1.0, 1, 1, 1, 0])
    (found,) = simultaneous(values[:, None], span=Span(-1.0, 1.0))
    assert (found.low, found.high) == (pytest.approx(0.8 - 2.776445 * 0.2), 1.0)
    (same,) = simultaneous(np.full((5, 1), 0.5), span=Span(-1.0, 1.0))
    assert (same.low, same.high) == (pytest.approx(-0.1), 1.0)
    (few,) = simultaneous(values[1:, None], span=Span(-1.0, 1.0))
    assert (few.value, few.low, few.high) == (0.75, None, None)


def test_without_a_unit_above_0_contrasts_stay_in_their_own():
    values = drawn(7)[0]
    plain = bounds(simultaneous(values))
    assert bounds(simultaneous(values, units=np.zeros(40))) == plain
    assert bounds(simultaneous(values, units=np.full(40, np.nan))) == plain


def test_all_intervals_hold_together_in_95_of_100():
    # queries of a passage share half their variance; of 150 audits, fewer than 135 happen once in a
    # hundred times
    truth, held = np.array([0.3, 0.0, -0.1]), 0
    labels = [f"p{query // 3}" for query in range(90)]
    for repeat in range(150):
        rng = generator(repeat, "coverage")
        shared = np.repeat(rng.normal(size=(30, 3)), 3, axis=0)
        units = np.exp(0.3 * rng.normal(size=90) - 0.045)  # mean 1
        values = truth * units[:, None] + 0.4 * (
            shared + rng.normal(size=(90, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
        )
        held += all(
            one.low <= true <= one.high
            for one, true in zip(simultaneous(values, labels, units), truth, strict=True)
        )
    assert 135 <= held <= 149


@pytest.mark.parametrize(
    ("values", "units", "message"),
    [
        (
            np.zeros(3),
            None,
            r"contrasts: wanted finite numbers \(queries, k\), or NaN; found shape \(3,\)",
        ),
        (np.array([[np.inf]]), None, "contrasts: wanted finite numbers"),
        (np.zeros((2, 1)), np.ones(3), "units: wanted one per query, 2; found shape"),
    ],
)
def test_faults(values, units, message):
    with pytest.raises(ValueError, match=message):
        simultaneous(values, units=units)
    with pytest.raises(ValueError, match="clusters: wanted one per query"):
        simultaneous(np.zeros((2, 1)), ["a"])

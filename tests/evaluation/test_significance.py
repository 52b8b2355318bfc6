"""Intervals, tests and corrections: by hand, against scipy and a plain bootstrap, and where they
are undefined.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import bootstrap_mean, percentile_interval, resampled_means
from positionbias.evaluation.permutation import sign_flip_p
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare


def comparison(before, after, **options):
    baseline = {f"q{i:04d}": value for i, value in enumerate(before)}
    candidate = {f"q{i:04d}": value for i, value in enumerate(after)}
    return compare(
        baseline, candidate, names=("old", "new"), seed=options.pop("seed", 1), **options
    )


def test_interval_equals_the_textbook_bootstrap():
    values = generator(5, "test").random(40)
    interval = bootstrap_mean(values, None, seed=3, resamples=400)
    draws = generator(3, "bootstrap").integers(0, 40, size=(400, 40))
    means = np.sort(values[draws].mean(axis=1))
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert interval.level == 0.95
    assert interval.method == "percentile bootstrap, 400 resamples of 40 queries"


def test_clusters_are_drawn_whole():
    # clusters of 1, 2 and 5 queries: the mean of a resample weighs each drawn cluster by its
    # queries
    values, clusters = np.array([1.0, 0.0, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2]), ["a", *"bb", *"ccccc"]
    drawn = resampled_means(values[:, None], clusters, seed=9, resamples=500)
    interval = percentile_interval(drawn.means[:, 0], drawn.method)
    draws = generator(9, "bootstrap").integers(0, 3, size=(500, 3))
    sums, sizes = np.array([1.0, 0.5, 1.0]), np.array([1, 2, 5])
    means = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert interval.method == "percentile bootstrap, 500 resamples of 3 clusters of 8 queries"


def test_few_clusters_have_a_t_interval():
    # clusters a 1, b 0 and 0.5, c 5 × 0.2: mean 2.5 / 8 = 0.3125; without a 1.5 / 7, without b 2 /
    # 6, without c 1.5 / 3 twice: 16 queries of 6 clusters
    values, clusters = (
        [1.0, 0.0, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2] * 2,
        ["a", *"bb", *"ccccc", "d", *"ee", *"fffff"],
    )
    interval = bootstrap_mean(values, clusters, seed=9)
    squared = 5 / 6 * 2 * sum((x - 0.3125) ** 2 for x in (4 / 15, 4.5 / 14, 4 / 11))
    half = 2.570582 * squared**0.5  # t(0.975, 5)
    assert (interval.low, interval.high) == (
        pytest.approx(0.3125 - half),
        pytest.approx(0.3125 + half),
    )
    assert interval.method == "cluster jackknife, t, 6 clusters of 16 queries"
    assert bootstrap_mean(values, clusters, seed=10) == interval
    assert bootstrap_mean(values[:8], clusters[:8], seed=9) is None  # three clusters


def test_thirty_clusters_are_few_and_thirty_one_are_not():
    values = generator(5, "test").random(31)
    few, more = bootstrap_mean(values[:30], None, seed=3), bootstrap_mean(values, None, seed=3)
    textbook = stats.ttest_1samp(values[:30], 0).confidence_interval()
    assert (few.low, few.high) == (pytest.approx(textbook.low), pytest.approx(textbook.high))
    assert few.method == "cluster jackknife, t, 30 queries"
    assert more.method == "percentile bootstrap, 2,000 resamples of 31 queries"
    # 62 queries of 31 passages are 31 clusters; of 30 passages they are 30
    assert bootstrap_mean(
        np.repeat(values, 2), np.repeat(np.arange(31), 2).astype(str), seed=3
    ).method.startswith("percentile")
    assert bootstrap_mean(
        np.repeat(values[:30], 2), np.repeat(np.arange(30), 2).astype(str), seed=3
    ).method.startswith("cluster")


def test_small_sets_are_covered_by_the_t_interval_and_not_by_percentiles():
    # 400 samples of 8 values with mean ½ of a measure that is 0 or 1 more often than between;
    # bounds: 95 % ± 4 standard errors
    holds = np.zeros(2)
    for trial in range(400):
        values = np.clip(generator(trial, "coverage").normal(0.5, 0.5, 8), 0, 1)
        drawn = resampled_means(values[:, None], None, seed=trial, resamples=400)
        percentile, t = (
            percentile_interval(drawn.means[:, 0], ""),
            bootstrap_mean(values, None, seed=trial),
        )
        holds += [interval.low <= 0.5 <= interval.high for interval in (percentile, t)]
    assert holds[0] / 400 < 0.92
    assert holds[1] / 400 == pytest.approx(0.95, abs=0.045)


def test_interval_covers_at_its_level():
    # 300 samples of 60 values with mean ½: 95 % of the intervals should hold it (standard error 1.3
    # points)
    holds = 0
    for trial in range(300):
        interval = bootstrap_mean(
            generator(trial, "coverage").random(60), None, seed=trial, resamples=300
        )
        holds += interval.low <= 0.5 <= interval.high
    assert holds / 300 == pytest.approx(0.95, abs=0.045)


def test_figures_by_hand():
    result = comparison([0.5, 0.5, 0.0, 0.2], [0.5, 0.3, 0.5, 0.6])
    # d = 0, −0.2, 0.5, 0.4: mean 0.175; sd² = (0.175² + 0.375² + 0.325² + 0.225²) / 3
    assert result.difference == pytest.approx(0.175)
    assert (result.baseline_mean, result.candidate_mean) == pytest.approx((0.3, 0.475))
    assert result.relative == pytest.approx(0.175 / 0.3)
    assert result.relative_as_printed == pytest.approx(0.175 / 0.475)
    deviation = ((0.175**2 + 0.375**2 + 0.325**2 + 0.225**2) / 3) ** 0.5
    assert result.effect_size == pytest.approx(0.175 / deviation)
    assert result.p_t == pytest.approx(2 * stats.t.sf(0.175 / (deviation / 2), df=3))
    # of the signs of −0.2, 0.5 and 0.4 (0 has none) 0.7 is reached by 0.7, 1.1 and their opposites:
    # p = 4 / 8
    assert result.p == 4 / 8
    assert (result.difference_interval, result.relative_interval) == (None, None)
    assert result.notes["intervals"] == "undefined: fewer than 5 clusters of queries"
    # of the same twice, t(0.975, 7) = 2.364624: 0.175 ± t · sd / √8, sd² of 8; the ratio's from the
    # ratios without each, of 8 values less one
    twice = comparison([0.5, 0.5, 0.0, 0.2] * 2, [0.5, 0.3, 0.5, 0.6] * 2)
    bounds = twice.difference_interval
    half = 2.364624 * deviation * (6 / 7) ** 0.5 / 8**0.5
    assert (bounds.low, bounds.high) == (pytest.approx(0.175 - half), pytest.approx(0.175 + half))
    ratio = 0.175 / 0.3
    without = (1.4 / 1.9, 1.6 / 1.9, 0.9 / 2.4, 1.0 / 2.2)
    half = 2.364624 * (7 / 8 * 2 * sum((x - ratio) ** 2 for x in without)) ** 0.5
    bounds = twice.relative_interval
    assert (bounds.low, bounds.high) == (
        pytest.approx(max(ratio - half, -1)),
        pytest.approx(ratio + half),
    )
    assert bounds.method == "cluster jackknife, t, 8 queries"
    # Wilcoxon: without the zero, ranks of |d| are 1, 3, 2; W⁻ = 1; of 8 sign patterns 2 have W⁻ ≤
    # 1: p = 4 / 8
    assert result.p_wilcoxon == pytest.approx(0.5)
    assert (result.queries, result.notes["queries that differ"]) == (4, 3)


VALUES = st.lists(
    st.tuples(st.sampled_from([0, 0.1, 0.2, 0.5, 1]), st.sampled_from([0, 0.1, 0.3, 0.5, 1])),
    min_size=2,
    max_size=60,
)


@settings(max_examples=15, deadline=None)
@given(VALUES)
def test_tests_equal_scipy_and_signs_are_symmetric(pairs):
    before, after = np.array(pairs, dtype=float).T
    result = comparison(before, after, resamples=50)
    back = comparison(after, before, resamples=50)
    differences = np.round(after - before, 12)
    if not differences.any():
        assert (result.p, result.p_wilcoxon, result.p_t, result.effect_size) == (
            None,
            None,
            None,
            None,
        )
        assert "no query differs" in result.notes["tests"]
        return
    assert result.p_wilcoxon == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert back.p_wilcoxon == pytest.approx(result.p_wilcoxon)
    if np.ptp(differences) == 0:
        assert (result.p_t, result.effect_size) == (None, None)
    else:
        assert result.p_t == pytest.approx(stats.ttest_rel(after, before).pvalue)
        assert back.effect_size == pytest.approx(-result.effect_size)
    assert back.p == result.p == sign_flip_p(differences, seed=1, two_sided=True)
    interval = result.difference_interval
    if len(differences) < 5:
        assert interval is None
    elif np.ptp(differences) == 0:
        ends = differences[0] - 3 / len(differences), differences[0] + 3 / len(differences)
        assert (interval.low, interval.high) == pytest.approx(tuple(np.clip(ends, -1, 1)))
    elif len(differences) <= 30:
        textbook = stats.ttest_rel(after, before).confidence_interval()
        assert (interval.low, interval.high) == pytest.approx(
            (max(textbook.low, -1), min(textbook.high, 1))
        )
    else:
        assert (
            differences.min() - 1e-12 <= interval.low <= interval.high <= differences.max() + 1e-12
        )


def test_relative_interval_is_that_of_the_ratio():
    before, after = generator(2, "test").random(80) + 0.1, generator(3, "test").random(80)
    result = comparison(before, after, resamples=300)
    draws = generator(1, "bootstrap").integers(0, 80, size=(300, 80))
    ratios = after[draws].sum(axis=1) / before[draws].sum(axis=1) - 1
    expected = tuple(np.quantile(ratios, [0.025, 0.975]))
    assert (result.relative_interval.low, result.relative_interval.high) == pytest.approx(expected)
    # doubling the candidate's values exactly makes the ratio 1 in every resample; half of them lie
    # within [0, 1], where 3 / 80 of all may differ by 1
    half = comparison(before / 2.2, before / 1.1)
    reach = 3 / 80 / (before.mean() / 2.2)
    assert (
        half.relative,
        half.relative_interval.low,
        half.relative_interval.high,
    ) == pytest.approx((1, 1 - reach, 1 + reach))
    assert comparison(before, before * 2).relative_interval is None  # no measure in [0, 1]


def test_p_rejects_five_times_in_a_hundred_where_wilcoxon_and_t_do_more():
    """300 sets of 40 passages of 5 questions, half of the variance the passage's: 5 % ± 4 standard
    errors, against twice 5 % at least.
    """
    rejected, clusters = np.zeros(3), {f"q{place:04d}": f"p{place // 5}" for place in range(200)}
    for trial in range(300):
        rng = generator(trial, "null")
        differences = np.repeat(rng.normal(size=40), 5) + rng.normal(size=200)
        found = comparison(np.zeros(200), differences, clusters=clusters, seed=trial, resamples=2)
        rejected += [p <= 0.05 for p in (found.p, found.p_wilcoxon, found.p_t)]
    assert abs(rejected[0] / 300 - 0.05) < 4 * (0.05 * 0.95 / 300) ** 0.5
    assert rejected[1:].min() / 300 > 0.1


def test_differences_of_rounding_tie():
    # 0.6 − 0.4 and 0.5 − 0.3 differ in the last bit; as ranks they must tie, and 0.1 + 0.2 − 0.3 is
    # no difference
    result = comparison([0.4, 0.3, 0.3, 0.9], [0.6, 0.5, 0.1 + 0.2, 0.1])
    assert result.notes["queries that differ"] == 3
    assert result.p_wilcoxon == pytest.approx(stats.wilcoxon([0.2, 0.2, -0.8]).pvalue)


def test_what_is_undefined_is_none_and_says_why():
    same = comparison([0.2, 0.4], [0.2, 0.4])
    assert (same.p, same.p_wilcoxon, same.p_t, same.effect_size) == (None, None, None, None)
    assert same.notes["tests"] == "undefined: no query differs"
    assert (same.difference_interval, same.notes["intervals"]) == (
        None,
        "undefined: fewer than 5 clusters of queries",
    )
    bounds = comparison([0.2] * 60, [0.2] * 60).difference_interval  # 3 / 60
    assert (bounds.low, bounds.high, bounds.method) == (-0.05, 0.05, "rule of three, n = 60")
    shifted = comparison([0.2, 0.4], [0.3, 0.5])
    assert (shifted.p_t, shifted.effect_size) == (None, None)
    assert shifted.p_wilcoxon == pytest.approx(0.5)
    assert "same amount" in shifted.notes["tests"]
    zero = comparison([0.0] * 6, [0.3, 0.1] * 3)
    assert (zero.relative, zero.relative_interval) == (None, None)
    assert "baseline's mean is 0" in zero.notes["relative interval"]
    assert comparison([0.3, 0.1], [0.0, 0.0]).relative_as_printed is None
    single = comparison([0.3], [0.1])
    assert (single.difference_interval, single.relative_interval) == (None, None)
    assert single.notes["intervals"] == "undefined: fewer than 5 clusters of queries"
    one_cluster = comparison([0.3, 0.2], [0.1, 0.4], clusters={"q0000": "p", "q0001": "p"})
    assert one_cluster.difference_interval is None
    assert one_cluster.p == 1.0  # one sign says nothing


def test_only_shared_queries_are_compared_and_the_others_counted():
    result = compare({"a": 1.0, "b": 0.5}, {"b": 0.7, "c": 0.1}, names=("x", "y"), seed=1)
    assert (result.baseline_mean, result.candidate_mean) == (0.5, 0.7)
    assert (result.queries, result.notes["queries that only one has"]) == (1, 2)
    with pytest.raises(InputError, match="queries that both have"):
        compare({"a": 1.0}, {"b": 1.0}, names=("x", "y"), seed=1)


def test_corrections_by_hand():
    base = comparison([0.1, 0.2], [0.2, 0.1])
    p_values = [0.01, 0.04, None, 0.03]
    family = [
        type(base)(**{**{f: getattr(base, f) for f in base.__slots__}, "p": p}) for p in p_values
    ]
    adjusted = adjust(family)
    # three tests: Bonferroni ×3; Holm: 0.01·3, 0.03·2, then max(0.06, 0.04·1)
    assert [c.p_adjusted["bonferroni"] for c in adjusted] == [
        pytest.approx(0.03),
        pytest.approx(0.12),
        None,
        pytest.approx(0.09),
    ]
    assert [c.p_adjusted["holm"] for c in adjusted] == [
        pytest.approx(0.03),
        pytest.approx(0.06),
        None,
        pytest.approx(0.06),
    ]
    assert adjust([]) == []
    assert list(adjust(adjusted, ["holm"])[0].p_adjusted) == ["holm"]
    with pytest.raises(SettingError, match="'sidak'"):
        adjust(family, ["sidak"])


def test_clusters_are_the_passage_of_queries_with_one():
    qrels = [
        *(Qrel("q1", "p", 1), Qrel("q2", "p", 1), Qrel("q2", "other", 0)),
        *(Qrel("topic", "p", 1), Qrel("topic", "r", 2), Qrel("none", "p", 0)),
    ]
    clusters = clusters_by_passage(qrels)
    assert clusters == {"q1": "passage p", "q2": "passage p"}
    assert clusters_by_passage(qrels, level=2) == {"topic": "passage r"}

"""Intervals, tests and corrections: by hand, against scipy and a plain bootstrap, and where they are undefined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import bootstrap_mean
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare


def comparison(before, after, **options):
    baseline = {f"q{i:04d}": value for i, value in enumerate(before)}
    candidate = {f"q{i:04d}": value for i, value in enumerate(after)}
    return compare(baseline, candidate, baseline_name="old", candidate_name="new", seed=options.pop("seed", 1), **options)


def test_interval_equals_the_textbook_bootstrap():
    values = generator(5, "test").random(40)
    interval = bootstrap_mean(values, None, seed=3, resamples=400)
    draws = generator(3, "bootstrap").integers(0, 40, size=(400, 40))
    means = np.sort(values[draws].mean(axis=1))
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert interval.level == 0.95
    assert interval.method == "percentile bootstrap, 400 resamples of 40 queries"


def test_clusters_are_drawn_whole():
    # clusters of 1, 2 and 5 queries: the mean of a resample weighs each drawn cluster by its queries
    values, clusters = [1.0, 0.0, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2], ["a", *"bb", *"ccccc"]
    interval = bootstrap_mean(values, clusters, seed=9, resamples=500)
    draws = generator(9, "bootstrap").integers(0, 3, size=(500, 3))
    sums, sizes = np.array([1.0, 0.5, 1.0]), np.array([1, 2, 5])
    means = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert interval.method == "percentile bootstrap, 500 resamples of 3 clusters of 8 queries"


def test_clustered_intervals_are_wider_where_a_passage_s_questions_agree():
    # 100 passages, 10 questions each, all alike: the variance of the mean is 10 times that of 1,000 independent ones
    of_passage = generator(1, "test").random(100)
    values, clusters = np.repeat(of_passage, 10), np.repeat([f"p{i}" for i in range(100)], 10)
    plain = bootstrap_mean(values, None, seed=1)
    clustered = bootstrap_mean(values, clusters.tolist(), seed=1)
    ratio = (clustered.high - clustered.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(10**0.5, rel=0.1)


def test_interval_covers_at_its_level():
    # 300 samples of 60 values with mean ½: 95 % of the intervals should hold it (standard error 1.3 points)
    holds = 0
    for trial in range(300):
        interval = bootstrap_mean(generator(trial, "coverage").random(60), None, seed=trial, resamples=300)
        holds += interval.low <= 0.5 <= interval.high
    assert holds / 300 == pytest.approx(0.95, abs=0.045)


def test_draws_do_not_depend_on_blocks_or_the_order_of_queries(monkeypatch):
    before, after = generator(2, "test").random(50), generator(3, "test").random(50)
    whole = comparison(before, after)
    monkeypatch.setattr("positionbias.evaluation.bootstrap._BLOCK_DRAWS", 130)
    assert comparison(before, after) == whole
    names = [f"q{i:04d}" for i in range(50)]
    backwards = {
        n: {q: float(v) for q, v in reversed(list(zip(names, x, strict=True)))} for n, x in (("b", before), ("c", after))
    }
    assert compare(backwards["b"], backwards["c"], baseline_name="old", candidate_name="new", seed=1) == whole
    assert comparison(before, after, seed=2).difference_interval != whole.difference_interval


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
    # Wilcoxon: without the zero, ranks of |d| are 1, 3, 2; W⁻ = 1; of 8 sign patterns 2 have W⁻ ≤ 1: p = 4 / 8
    assert result.p_wilcoxon == pytest.approx(0.5)
    assert (result.notes["queries"], result.notes["queries that differ"]) == (4, 3)


def test_the_paper_s_printed_change():
    # 0.432 → 0.395 is printed as −9.4 %; the plain relative change is −8.6 %
    result = comparison([0.432] * 3, [0.395] * 3)
    assert result.relative_as_printed == pytest.approx(-0.094, abs=5e-4)
    assert result.relative == pytest.approx(-0.0856, abs=5e-4)


VALUES = st.lists(
    st.tuples(st.sampled_from([0, 0.1, 0.2, 0.5, 1]), st.sampled_from([0, 0.1, 0.3, 0.5, 1])), min_size=2, max_size=60
)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_tests_equal_scipy_and_signs_are_symmetric(pairs):
    before, after = np.array(pairs, dtype=float).T
    result = comparison(before, after, resamples=50)
    back = comparison(after, before, resamples=50)
    differences = np.round(after - before, 12)
    if not differences.any():
        assert (result.p_wilcoxon, result.p_t, result.effect_size) == (None, None, None)
        assert "no query differs" in result.notes["tests"]
        return
    assert result.p_wilcoxon == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert back.p_wilcoxon == pytest.approx(result.p_wilcoxon)
    if np.ptp(differences) == 0:
        assert (result.p_t, result.effect_size) == (None, None)
    else:
        assert result.p_t == pytest.approx(stats.ttest_rel(after, before).pvalue)
        assert back.effect_size == pytest.approx(-result.effect_size)
    interval = result.difference_interval
    assert differences.min() - 1e-12 <= interval.low <= interval.high <= differences.max() + 1e-12


def test_relative_interval_is_that_of_the_ratio():
    before, after = generator(2, "test").random(80) + 0.1, generator(3, "test").random(80)
    result = comparison(before, after, resamples=300)
    draws = generator(1, "bootstrap").integers(0, 80, size=(300, 80))
    ratios = after[draws].sum(axis=1) / before[draws].sum(axis=1) - 1
    expected = tuple(np.quantile(ratios, [0.025, 0.975]))
    assert (result.relative_interval.low, result.relative_interval.high) == pytest.approx(expected)
    # doubling the candidate's values exactly makes the ratio 1 in every resample
    twice = comparison(before, before * 2)
    assert (twice.relative, twice.relative_interval.low, twice.relative_interval.high) == pytest.approx((1, 1, 1))


def test_differences_of_rounding_tie():
    # 0.6 − 0.4 and 0.5 − 0.3 differ in the last bit; as ranks they must tie, and 0.1 + 0.2 − 0.3 is no difference
    result = comparison([0.4, 0.3, 0.3, 0.9], [0.6, 0.5, 0.1 + 0.2, 0.1])
    assert result.notes["queries that differ"] == 3
    assert result.p_wilcoxon == pytest.approx(stats.wilcoxon([0.2, 0.2, -0.8]).pvalue)


def test_what_is_undefined_is_none_and_says_why():
    same = comparison([0.2, 0.4], [0.2, 0.4])
    assert (same.p_wilcoxon, same.p_t, same.effect_size) == (None, None, None)
    assert same.notes["tests"] == "undefined: no query differs"
    assert (same.difference_interval.low, same.difference_interval.high) == (0.0, 0.0)
    shifted = comparison([0.2, 0.4], [0.3, 0.5])
    assert (shifted.p_t, shifted.effect_size) == (None, None)
    assert shifted.p_wilcoxon == pytest.approx(0.5)
    assert "same amount" in shifted.notes["tests"]
    zero = comparison([0.0, 0.0], [0.3, 0.1])
    assert (zero.relative, zero.relative_interval) == (None, None)
    assert "baseline's mean is 0" in zero.notes["relative interval"]
    assert comparison([0.3, 0.1], [0.0, 0.0]).relative_as_printed is None
    single = comparison([0.3], [0.1])
    assert (single.difference_interval, single.relative_interval) == (None, None)
    assert single.notes["intervals"] == "undefined: fewer than two clusters of queries"
    one_cluster = comparison([0.3, 0.2], [0.1, 0.4], clusters={"q0000": "p", "q0001": "p"})
    assert one_cluster.difference_interval is None


def test_only_shared_queries_are_compared_and_the_others_counted():
    result = compare(
        {"a": 1.0, "b": 0.5}, {"b": 0.7, "c": 0.1}, baseline_name="x", candidate_name="y", seed=1, notes={"axis": "t"}
    )
    assert (result.baseline_mean, result.candidate_mean) == (0.5, 0.7)
    assert (result.notes["queries"], result.notes["queries that only one has"], result.notes["axis"]) == (1, 2, "t")
    with pytest.raises(InputError, match="queries that both have"):
        compare({"a": 1.0}, {"b": 1.0}, baseline_name="x", candidate_name="y", seed=1)


def test_corrections_by_hand():
    base = comparison([0.1, 0.2], [0.2, 0.1])
    p_values = [0.01, 0.04, None, 0.03]
    family = [type(base)(**{**{f: getattr(base, f) for f in base.__slots__}, "p_wilcoxon": p, "p_t": None}) for p in p_values]
    adjusted = adjust(family)
    # three tests: Bonferroni ×3; Holm: 0.01·3, 0.03·2, then max(0.06, 0.04·1)
    assert [c.p_adjusted["wilcoxon bonferroni"] for c in adjusted] == [
        pytest.approx(0.03),
        pytest.approx(0.12),
        None,
        pytest.approx(0.09),
    ]
    assert [c.p_adjusted["wilcoxon holm"] for c in adjusted] == [
        pytest.approx(0.03),
        pytest.approx(0.06),
        None,
        pytest.approx(0.06),
    ]
    assert all(c.p_adjusted["t holm"] is None for c in adjusted)
    assert adjust([]) == []
    assert "wilcoxon bonferroni" not in adjust(family, ["holm"])[0].p_adjusted
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

"""The lowest threshold with a precision, worked by hand; intervals against a second implementation;
the real labels.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError, SettingError
from positionbias.evaluation.cross_validation import query_folds
from positionbias.leakage.agreement import cohens_kappa
from positionbias.leakage.calibrate import Rule, calibrate, held_out
from positionbias.leakage.pairs import Pair, read_pairs
from positionbias.leakage.precision import Labelled, at_threshold, precision_curve, wilson
from positionbias.leakage.score import scored


def test_the_lowest_threshold_by_hand() -> None:
    # falling: 0.99 yes, 0.98 no, 0.97 yes, 0.96 yes, 0.95 yes, 0.90 no, 0.90 yes
    scores = [0.90, 0.99, 0.98, 0.97, 0.96, 0.95, 0.90]
    labelled = Labelled(scores, [False, True, False, True, True, True, True])
    curve = precision_curve(labelled)
    assert curve.thresholds == [0.99, 0.98, 0.97, 0.96, 0.95, 0.90]
    assert curve.pairs == [1, 2, 3, 4, 5, 7]  # the two at 0.90 stand or fall together
    np.testing.assert_allclose(curve.precision, [1, 1 / 2, 2 / 3, 3 / 4, 4 / 5, 5 / 7])
    np.testing.assert_allclose(curve.found, [1 / 5, 1 / 5, 2 / 5, 3 / 5, 4 / 5, 1])
    found = calibrate(labelled, precision=0.8, rule=Rule.PAPER, resamples=50)
    # above it 0.98, 0.97 and 0.96 are below 0.8
    assert (found.threshold, found.figures.higher_thresholds_below) == (0.95, 3)
    assert found.figures.share_of_labelled_leaks == 0.8
    assert (found.precision.value, found.precision.pairs, found.precision.leaks) == (0.8, 5, 4)
    assert found.prevalence.value == pytest.approx(5 / 7)
    # 0.9 is kept by the first alone
    assert calibrate(labelled, rule=Rule.PAPER, resamples=50).threshold == 0.99


def test_none_keeps_the_precision() -> None:
    found = calibrate(Labelled([0.9, 0.8], [False, True]), rule=Rule.PAPER, resamples=50)
    assert (found.threshold, found.precision.value, found.precision.pairs, found.interval) == (
        None,
        None,
        0,
        None,
    )
    # those that draw the second alone reach it
    assert found.figures.resamples_without_threshold > 0.2


def test_weights_stand_for_pairs() -> None:
    # 0.9: one true pair that stands for 9; 0.8: one false that stands for 1: precision 9/10 at 0.8
    found = calibrate(
        Labelled([0.9, 0.8], [True, False], weights=[9, 1]), rule=Rule.PAPER, resamples=20
    )
    assert (found.threshold, found.prevalence.value) == (0.8, 0.9)


def test_wilson_by_hand_and_by_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    # a pair a test query: Wilson's own
    share = at_threshold(Labelled([0.9] * 10, [True] * 9 + [False]), 0.9)
    assert share.interval is not None
    # p = 0.9, n = 10, z² = 3.8415: (0.9 + 0.19207 ± √(3.8415·(0.009 + 0.0096036))) / 1.38415 =
    # (1.09207 ± 0.26733) / 1.38415
    assert (share.interval.low, share.interval.high) == pytest.approx((0.59585, 0.98212), abs=1e-4)
    assert (share.interval.low, share.interval.high) == pytest.approx(
        proportion_confint(9, 10, method="wilson")
    )


def test_alike_pairs_of_a_test_query_are_worth_fewer() -> None:
    leaks = [True] * 15 + [False] * 5
    apart = at_threshold(Labelled([0.9] * 20, leaks), 0)
    together = at_threshold(Labelled([0.9] * 20, leaks, [f"t{n // 5}" for n in range(20)]), 0)
    # four test queries of five alike: v = 4/3 · 19/20 · (3·(5/4)² + (15/4)²) / 400 = 0.059375, n* =
    # 0.1875 / 0.059375 = 3.158
    assert together.interval is not None
    assert apart.interval is not None
    expected = wilson(0.75, 0.1875 / 0.059375)
    assert (together.interval.low, together.interval.high) == pytest.approx(
        (expected.low, expected.high)
    )
    assert together.interval.low < apart.interval.low
    assert together.interval.high > apart.interval.high


def test_one_test_query_alone_has_no_interval() -> None:
    labelled = Labelled([0.9, 0.8], [True, True], ["t", "t"])
    found = calibrate(labelled, rule=Rule.PAPER)
    assert (found.threshold, found.interval, found.precision.interval, found.figures.held_out) == (
        0.8,
        None,
        None,
        None,
    )
    assert calibrate(labelled).threshold is None  # nothing is sure


@given(
    st.lists(
        st.tuples(st.sampled_from([0.8, 0.85, 0.9, 0.95, 1.0]), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_the_rule_as_it_is_said(pairs: list[tuple[float, bool]]) -> None:
    scores = sorted({score for score, _ in pairs})

    def precision(threshold: float) -> float:
        held = [leak for score, leak in pairs if score >= threshold]
        return sum(held) / len(held)

    expected = next((score for score in scores if precision(score) >= 0.9 - 1e-12), None)
    found = calibrate(
        Labelled([s for s, _ in pairs], [leak for _, leak in pairs]), rule=Rule.PAPER, resamples=10
    )
    assert found.threshold == expected


def test_a_bootstrap_by_another_way() -> None:
    rng = np.random.default_rng(5)
    tests = np.repeat(np.arange(30), 4)
    scores = np.round(0.8 + 0.2 * rng.random(120), 3)
    labelled = Labelled(
        scores, rng.random(120) < (scores - 0.75) * 4, [str(test) for test in tests]
    )
    found = calibrate(labelled, rule=Rule.PAPER, seed=3, resamples=200)
    assert found.interval is not None
    lowest = []
    for _ in range(200):
        rows = np.concatenate([np.flatnonzero(tests == test) for test in rng.integers(0, 30, 30)])
        threshold = calibrate(
            Labelled(scores[rows], labelled.leaks[rows]), rule=Rule.PAPER, resamples=1
        ).threshold
        lowest.append(math.inf if threshold is None else threshold)
    low, high = np.quantile(lowest, [0.025, 0.975], method="inverted_cdf")
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=0.02)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.8, 0.85, 0.9, 0.95, 1.0]), st.booleans()),
        min_size=2,
        max_size=60,
    )
)
def test_the_bound_as_it_is_said(pairs: list[tuple[float, bool]]) -> None:
    """One pair a test query: Wilson's one-sided bound of the pairs at or above, or at most one a
    test query where all leak.
    """
    from statsmodels.stats.proportion import proportion_confint

    expected = None
    for score in sorted({score for score, _ in pairs}, reverse=True):
        held = [leak for other, leak in pairs if other >= score]
        if (
            len(held) > 1
            and proportion_confint(sum(held), len(held), alpha=0.1, method="wilson")[0] >= 0.6
        ):
            expected = score
    labelled = Labelled([score for score, _ in pairs], [leak for _, leak in pairs])
    assert calibrate(labelled, precision=0.6, resamples=10).threshold == expected


def test_pairs_that_all_leak_are_worth_one_a_test_query() -> None:
    curve = precision_curve(Labelled([0.9] * 40, [True] * 40, [f"t{n // 10}" for n in range(40)]))
    # p = 1, n* = 4, z = 1.6449: 1 / (1 + 2.7055 / 4)
    assert curve.lower == [pytest.approx(0.59652, abs=1e-4)]


def test_held_out_by_another_way() -> None:
    rng = np.random.default_rng(7)
    tests = [f"t{number // 5}" for number in range(300)]
    scores = np.round(0.8 + 0.2 * rng.random(300), 2)
    labelled = Labelled(scores, rng.random(300) < np.clip((scores - 0.75) * 6, 0, 0.97), tests)
    found = held_out(labelled, precision=0.8, seed=4, repeats=3)
    assert found is not None
    shares, leaks = [], []
    for turn in range(3):
        kept = np.zeros(300, bool)
        for fold in query_folds(sorted(set(tests)), folds=5, seed=4 * 3 + turn):
            mine = np.isin(tests, fold)
            threshold = calibrate(labelled.kept(~mine), precision=0.8, resamples=1).threshold
            kept |= mine & (scores >= (math.inf if threshold is None else threshold))
        shares.append(labelled.leaks[kept].mean())
        leaks.append(labelled.leaks[kept].sum() / labelled.leaks.sum())
    assert (found.precision, found.lowest) == (
        pytest.approx(np.mean(shares)),
        pytest.approx(min(shares)),
    )
    assert (found.found, found.reached) == (
        pytest.approx(np.mean(leaks)),
        np.mean(np.array(shares) >= 0.8),
    )


def test_what_it_refuses() -> None:
    with pytest.raises(SettingError, match="--least-precision: wanted a share"):
        calibrate(Labelled([1], [True]), precision=0)
    with pytest.raises(ValueError, match="one of each"):
        Labelled([1, 2], [True])
    with pytest.raises(ValueError, match="finite scores"):
        Labelled([math.nan], [True])


# -- agreement -------------------------------------------------------------------------------------


def test_kappa_by_hand_and_by_sklearn() -> None:
    first, second = list("aaaaabbbbc"), list("aaaabbbbac")
    # p_o = 8/10; a: 5·5, b: 4·4, c: 1·1 of 100: p_e = 0.42; κ = 0.38 / 0.58
    found = cohens_kappa(first, second, resamples=100)
    assert (found.observed, found.expected, found.kappa) == pytest.approx((0.8, 0.42, 0.38 / 0.58))
    assert found.interval is not None
    assert found.interval.low < 0.38 / 0.58 < found.interval.high
    metrics = pytest.importorskip("sklearn.metrics")
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(first, second))


def test_kappa_without_a_choice_is_undefined() -> None:
    found = cohens_kappa(["a", "a"], ["a", "a"])
    assert (found.kappa, found.observed, found.expected) == (None, 1.0, 1.0)
    with pytest.raises(ValueError, match="labels"):
        cohens_kappa(["a"], [])


# -- scores made anew ------------------------------------------------------------------------------

PAIRS = [
    Pair(
        "a",
        "t",
        {"cosine": 0.5},
        "green lamps",
        {"title": "a green lamp", "narrative": "green lamps", "variant": "iron gate"},
    ),
    Pair("b", "t", {"cosine": 0.9}, "iron door", {"title": "a green lamp", "variant": "iron gate"}),
]


def vectors(texts: list[str]) -> np.ndarray:
    return np.array([[1.0, len(text)] for text in texts], np.float32)


def test_scores_are_the_highest_over_the_searched_texts() -> None:
    assert scored(PAIRS, "cosine") == PAIRS  # as recorded
    # of the four texts (no narrative) iron is in two, gate and door in one each: ln 3 over ln 3 + 2
    # ln 5
    rare = math.log(3) / (math.log(3) + 2 * math.log(5))
    assert [pair.scores["jaccard"] for pair in scored(PAIRS, "jaccard")] == pytest.approx(
        [1.0, rare]
    )
    anew = scored(PAIRS, "cosine", encode=vectors)  # type: ignore[arg-type]
    # "green lamps" has 11 letters, "a green lamp" 12, "iron gate" 9: (1 + 132) / √(122·145), and 9
    # to 9 for the second
    assert [pair.scores["cosine"] for pair in anew] == pytest.approx(
        [133 / math.sqrt(122 * 145), 1.0], abs=1e-6
    )
    assert [pair.scores["both"] for pair in scored(PAIRS, "both")] == pytest.approx(
        [0.75, (0.9 + rare) / 2]
    )


def test_scores_that_cannot_be_made() -> None:
    bare = Pair("a", "t", {}, line=7, place="x.jsonl")
    with pytest.raises(SettingError, match="--score: wanted a cosine for every pair"):
        scored([bare], "cosine")
    with pytest.raises(
        InputError, match=r"x.jsonl:7: wanted the texts of both queries.*no train_text"
    ):
        scored([bare], "jaccard")
    with pytest.raises(SettingError, match="--score: wanted one of cosine"):
        scored([bare], "bm25")


@pytest.mark.realdata
def test_the_published_labels(posbias_data: Path) -> None:
    pairs = [
        pair
        for n in (1, 2, 3)
        for pair in read_pairs(posbias_data / "leakage" / f"annotated_iteration_{n}.jsonl")
    ]
    labelled = Labelled(
        [pair.scores["cosine"] for pair in pairs],
        [pair.label is not None and pair.label.leaks for pair in pairs],
        [pair.test_id for pair in pairs],
    )
    found = calibrate(labelled, rule=Rule.PAPER, resamples=300)
    # the paper's Table 2a, Robust04
    assert (found.prevalence.leaks, found.prevalence.pairs) == (648, 741)
    # 0.9 is kept from 0.926 on, and at the paper's 0.91 it is 0.88: within its interval, as these
    # pairs were preselected near 0.90
    assert found.threshold == pytest.approx(0.92603, abs=1e-5)
    assert found.interval is not None
    assert found.interval.low <= 0.91 <= found.interval.high
    at = at_threshold(labelled, 0.91)
    assert at.value == pytest.approx(617 / 701)
    assert at.interval is not None
    assert at.interval.low < 0.9 < at.interval.high
    # the paper's rule keeps 0.9 on these pairs alone, the bound on held-out topics too
    bound = calibrate(labelled, resamples=300)
    assert bound.threshold == pytest.approx(0.93762, abs=1e-5)
    assert bound.figures.lower_bound == pytest.approx(0.9014, abs=1e-4)
    for rule, low, high in ((found, 0.0, 0.5), (bound, 0.9, 1.0)):
        assert rule.figures.held_out is not None
        assert low <= rule.figures.held_out.reached <= high

"""Means over trainings and queries: by hand, against an analysis of variance, an unequal layout
against a second derivation, and how often they hold the truth.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from positionbias.evaluation.bootstrap import Span
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.crossed import (
    OVER_QUERIES,
    OVER_TRAININGS,
    crossed,
    crossed_groups,
    over_trainings,
)

# three trainings of four queries, each a cluster, and of eight
BY_HAND = np.array([[1.0, 2.0, 3.0, 2.0], [3.0, 4.0, 4.0, 5.0], [2.0, 3.0, 5.0, 2.0]])[:, None, :]
EIGHT = np.concatenate([BY_HAND, BY_HAND], axis=2)


def test_three_trainings_by_hand() -> None:
    # seeds 2, 4, 3: mean 3, V_seeds = 2 / (3 · 2) = 1/3
    # queries 2, 3, 4, 3: V_queries = (1 + 0 + 1 + 0) / 3 / 4 = 1/6
    # left over, y − seed − query + 3: 0 0 0 0 | 0 0 −1 1 | 0 0 1 −1: V_both = 4 / (2 · 3) / 12 =
    # 1/18 T = 1/3 − 1/18 = 5/18, se² = 1/6 + 5/18 = 4/9, se = 2/3
    # m = (3 + 5) / 2 = 4: df = (1/6 + 10/9)² / ((1/6)² / 3 + (10/9)² / 2) = (23/18)² / (1/108 +
    # 50/81) = 529/203
    found = crossed(BY_HAND)
    assert found.value == 3
    assert found.standard_error == pytest.approx(2 / 3)
    assert found.freedom == pytest.approx(529 / 203)
    assert found.by_seed == (2, 4, 3)
    assert (found.interval, found.undefined) == (
        None,
        "the interval: fewer than 5 clusters of queries",
    )
    assert found.p == pytest.approx(2 * stats.t.sf(4.5, 529 / 203))
    # a training's variance 3 · 5/18, the queries' standard error √(1/6); one rotation each
    assert found.components == (
        pytest.approx(math.sqrt(5 / 6)),
        None,
        pytest.approx(math.sqrt(1 / 6)),
    )
    assert (found.over, found.count, found.rotations) == (OVER_TRAININGS, 4, 1)


def test_the_interval_by_hand() -> None:
    # twice the queries: V_queries = 4 / 7 / 8 = 1/14, V_both = 8 / (2 · 7) / 24 = 1/42, T = 1/3 −
    # 1/42 = 13/42, se² = 8/21 df = (1/14 + 26/21)² / ((1/14)² / 7 + (26/21)² / 2)
    found = crossed(EIGHT)
    freedom = (1 / 14 + 26 / 21) ** 2 / ((1 / 14) ** 2 / 7 + (26 / 21) ** 2 / 2)
    half = stats.t.ppf(0.975, freedom) * (8 / 21) ** 0.5
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((3 - half, 3 + half))
    assert found.interval.method == "t over 3 trainings and 8 queries, crossed"
    bounded = crossed(EIGHT / 5, span=Span(0.0, 1.0)).interval
    assert bounded is not None
    assert (bounded.low, bounded.high) == (pytest.approx((3 - half) / 5), 1.0)


def test_rotations_stand_within_their_seed_by_hand() -> None:
    # each training's two rotations lie 1 above and 1 below it, for every query alike: their
    # variance is 2, and no query has a part in it
    values = np.concatenate([BY_HAND - 1, BY_HAND + 1], axis=1)
    found = crossed(values)
    plain = crossed(BY_HAND)
    assert (found.value, found.standard_error, found.freedom) == (
        3,
        plain.standard_error,
        plain.freedom,
    )
    assert found.components.rotations == pytest.approx(math.sqrt(2))
    # of the variance of seeds, 5/6, half of 2 is the rotations': nothing is left
    assert found.components.trainings == 0
    assert found.rotations == 2


def test_fewer_than_three_trainings() -> None:
    two = crossed(BY_HAND[:2])
    assert (two.value, two.by_seed, two.interval, two.p) == (3, (2, 4), None, None)
    assert two.undefined == "the interval: wanted 3 trainings; found 2"
    assert not two.of_method
    one, beside = crossed(EIGHT[1:2]), clustered_mean(EIGHT[1, 0], None)
    assert one.over == OVER_QUERIES
    assert one.interval is not None
    assert beside.interval is not None
    assert (one.value, one.p, one.freedom) == (
        beside.value,
        pytest.approx(beside.p),
        pytest.approx(beside.freedom),
    )
    assert (one.interval.low, one.interval.high) == pytest.approx(
        (beside.interval.low, beside.interval.high)
    )
    assert not one.of_method


def test_when_a_method_is_spoken_of() -> None:
    assert crossed(EIGHT + 10).of_method
    assert not crossed(EIGHT - 3).of_method  # the interval holds 0
    assert crossed(np.concatenate([EIGHT, EIGHT[:2]]) - 3).of_method  # five trainings


def test_figures_of_whole_trainings() -> None:
    # deviation 0.02, t(0.975, 2) = 4.302653: half = 4.302653 · 0.02 / √3 = 0.049683
    found = over_trainings(np.array([[0.40], [0.42], [0.44]]))
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (0.370317, 0.469683), abs=1e-6
    )
    assert found.interval.method == "t over 3 trainings"
    assert found.freedom == pytest.approx(2)
    assert over_trainings(np.array([[0.4], [0.4], [0.4]])).standard_error == 0
    # one seed: rotations are no trainings
    assert over_trainings(np.array([[0.4, 0.5]])).interval is None


def test_nothing_varies() -> None:
    found = crossed(np.ones((3, 2, 10)), span=Span(0.0, 1.0))
    assert found.interval is not None
    # at most 3 / 10 of all queries differ
    assert (found.interval.low, found.interval.high) == (pytest.approx(0.7), 1)
    assert (found.p, found.undefined) == (None, "p: nothing varies")
    assert crossed(np.ones((3, 2, 10))).interval is None  # how far they could differ is unknown
    one_cluster = crossed(BY_HAND, ["a"] * 4)
    assert (one_cluster.interval, one_cluster.undefined) == (
        None,
        "the interval: fewer than 5 clusters of queries",
    )


def test_bad_values() -> None:
    for bad in (np.ones((3, 4)), np.full((3, 1, 4), np.inf)):
        with pytest.raises(ValueError, match="finite numbers"):
            crossed(bad)
    with pytest.raises(ValueError, match="at least one"):
        crossed(np.full((3, 1, 4), np.nan))
    with pytest.raises(ValueError, match="the same seeds"):
        crossed_groups([(BY_HAND, None, 1.0), (BY_HAND[:2], None, -1.0)])


def test_an_unequal_layout_against_a_second_derivation() -> None:
    """Missing cells, rotations and clusters of unequal size: every sum left out one by one, in
    loops.
    """
    random = np.random.default_rng(3)
    values = random.normal(size=(4, 2, 12)) + random.normal(size=(4, 1, 1))
    values[random.random(values.shape) < 0.2] = np.nan
    values[1, 1] = np.nan
    labels = list("aaabbcdddeff")

    def means(without: str = "") -> list[float]:
        kept = [place for place, label in enumerate(labels) if label != without]
        found = []
        for seed in range(4):
            by_query = [values[seed, :, q][~np.isnan(values[seed, :, q])] for q in kept]
            found.append(float(np.mean([of.mean() for of in by_query if len(of)])))
        return found

    whole, names = means(), sorted(set(labels))
    lone = {
        label: [one - all_ for one, all_ in zip(means(label), whole, strict=True)]
        for label in names
    }
    share = (len(names) - 1) / len(names)
    queries = share * sum(np.mean(of) ** 2 for of in lone.values())
    both = (
        share
        * sum((lone[label][s] - np.mean(lone[label])) ** 2 for label, s in product(names, range(4)))
        / 12
    )
    trainings = max(np.var(whole, ddof=1) / 4 - both, 0.0)
    wide = 9 / 3 * trainings
    found = crossed(values, labels)
    assert found.value == pytest.approx(np.mean(whole))
    assert found.standard_error == pytest.approx(math.sqrt(queries + trainings))
    assert found.freedom == pytest.approx((queries + wide) ** 2 / (queries**2 / 5 + wide**2 / 3))


def test_groups_of_queries_apart() -> None:
    """The difference of two groups, paired by training: what a training adds to both is in
    neither.
    """
    random = np.random.default_rng(5)
    one, other = random.normal(size=(3, 1, 10)), random.normal(size=(3, 1, 7))
    shift = random.normal(size=(3, 1, 1)) * 100
    found = crossed_groups([(one, None, 1.0), (other, None, -1.0)])
    shifted = crossed_groups([(one + shift, None, 1.0), (other + shift, None, -1.0)])
    assert found.value == pytest.approx(one.mean() - other.mean())
    assert (found.standard_error, found.freedom) == pytest.approx(
        (shifted.standard_error, shifted.freedom)
    )
    # of one training it is Welch's
    alone = crossed_groups([(one[:1], None, 1.0), (other[:1], None, -1.0)])
    welch = stats.ttest_ind(one[0, 0], other[0, 0], equal_var=False)
    assert alone.p == pytest.approx(welch.pvalue)
    assert alone.freedom == pytest.approx(welch.df)

"""The interval of a change over groups and topics: by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.pooling.change_interval import change_of
from positionbias.pooling.reliability import TestSet

TestSet.__test__ = False  # a set of systems, no test of pytest's


def a_set(
    change: np.ndarray, by_group: np.ndarray, counts: np.ndarray, *, feeding: int, fed: int
) -> TestSet:
    return TestSet("a", "b", "P@10", counts.sum(axis=1), change, by_group, counts, feeding, fed)


def test_three_terms_by_hand() -> None:
    # two pools of 2 of 4 groups, six topics of two kinds; two test groups of one system each with
    # changes −0.1 and −0.3 under both pools
    change = np.tile([[-0.2, -0.1], [-0.3, -0.2]], 3)
    by_group = np.array([[-0.05, -0.25], [-0.15, -0.35]])
    value, interval = change_of(a_set(change, by_group, np.ones((2, 2)), feeding=4, fed=2))
    # pools −0.15 and −0.25: 2/2 · 0.005; topics −0.25 and −0.15, three times each: 0.003 / 6;
    # without a group −0.3 and −0.1: 1/2 · 0.02
    terms = np.array([0.005, 0.0005, 0.01])
    freedom = terms.sum() ** 2 / (terms**2 / [1, 5, 1]).sum()
    half = stats.t.ppf(0.975, freedom) * terms.sum() ** 0.5
    assert value == pytest.approx(-0.2)
    assert (interval.low, interval.high) == pytest.approx((-0.2 - half, -0.2 + half))
    assert interval.method == "t over 6 groups and 6 topics"


@pytest.mark.parametrize("fewer", [np.s_[:, :1], np.s_[:1, :]], ids=["one group", "one pool"])
def test_nothing_is_said_of_other_groups_by_one(fewer: tuple[slice, slice]) -> None:
    by_group, counts = np.array([[-0.05, -0.25], [-0.15, -0.35]])[fewer], np.ones((2, 2))[fewer]
    change = np.array([[-0.2, -0.1], [-0.3, -0.2]])[fewer[0]]
    value, interval = change_of(a_set(change, by_group, counts, feeding=4, fed=2))
    assert (value, interval) == (pytest.approx(change.mean()), None)
    assert change_of(a_set(change, by_group, 0 * counts, feeding=4, fed=2)) == (None, None)

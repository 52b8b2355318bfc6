"""Pairs of systems that a collection distinguishes, against scipy's t-test of each pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.evaluation.distinguished import distinguished, share_of_pairs


def test_each_pair_is_scipy_s_paired_t_test() -> None:
    random = np.random.default_rng(3)
    values = random.random((2, 12, 7)) + np.linspace(0, 0.6, 7)
    found = distinguished(values)
    expected = np.zeros((2, 7, 7), int)
    for block in range(2):
        for i in range(7):
            for j in range(7):
                if (
                    i != j
                    and stats.ttest_rel(values[block, :, i], values[block, :, j]).pvalue < 0.05
                ):
                    expected[block, i, j] = np.sign(
                        values[block, :, i].mean() - values[block, :, j].mean()
                    )
    assert 0 < np.abs(expected).sum() < 2 * 42
    assert found.tolist() == expected.tolist()


def test_equal_systems_are_not_distinguished_and_a_steady_difference_is() -> None:
    base = np.random.default_rng(1).random(5)
    values = np.column_stack([base, base, base + 0.1])
    assert distinguished(values).tolist() == [[0, 0, -1], [0, 0, -1], [1, 1, 0]]
    assert distinguished(values[:1]).tolist() == [[0, 0, 0]] * 3


def test_share_of_pairs_by_hand() -> None:
    apart = np.array([[0, 1, 0], [-1, 0, -1], [0, 1, 0]])
    members = np.array(
        [[True, True, True], [True, True, False], [True, False, True], [False, True, False]]
    )
    # of three pairs two; the pair 0, 1; the pair 0, 2, which is not; one system has no pair
    assert share_of_pairs(np.abs(apart), members) == pytest.approx(
        [2 / 3, 1, 0, np.nan], nan_ok=True
    )

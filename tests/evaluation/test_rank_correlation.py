"""Rank correlations of many rows at once, against scipy's of each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.evaluation.rank_correlation import agreement


@given(data=st.data())
def test_row_against_row(data):
    k = data.draw(st.integers(2, 8))
    of_k = st.lists(st.integers(0, 4), min_size=k, max_size=k)
    rows = np.array(data.draw(st.lists(st.tuples(of_k, of_k), min_size=1, max_size=5))) / 3
    found = agreement(rows[:, 0], rows[:, 1])
    for tau, swaps, (one, other) in zip(*found, rows, strict=True):
        assert tau == pytest.approx(stats.kendalltau(one, other).statistic, nan_ok=True)
        assert swaps == sum(
            (one[i] - one[j]) * (other[i] - other[j]) < 0 for i in range(k) for j in range(i)
        )


def test_by_hand():
    # ranks 1, 3, 2 against 1, 2, 3: two of three pairs agree: τ = (2 − 1)/3
    means = np.array([[0.2, 0.9, 0.5]])
    assert agreement(np.array([0, 1, 2]), means).tau == pytest.approx([1 / 3])


def test_rounding_makes_no_trend():
    means = np.array([[0.3, 0.1 + 0.2, 0.3]])
    assert np.isnan(agreement(np.array([0, 1, 2]), means).tau).all()


def test_a_row_with_a_hole_has_none():
    assert np.isnan(
        agreement(np.array([0, 1, 2]), np.array([[0.1, np.nan, 0.3], [0.1, 0.2, 0.3]])).tau
    ).tolist() == [True, False]

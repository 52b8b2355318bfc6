"""Rank correlations of many rows at once, against scipy's of each."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.evaluation.rank_correlation import agreement, kendall, spearman

SCIPY = {spearman: stats.spearmanr, kendall: stats.kendalltau}


@pytest.mark.parametrize("ours", SCIPY, ids=["spearman", "kendall"])
@given(data=st.data())
def test_rows_equal_scipy_s(ours, data):
    k = data.draw(st.integers(2, 8))
    positions = np.array(
        data.draw(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), min_size=k, max_size=k))
    )
    # few values, so that ties are frequent
    rows = (
        np.array(
            data.draw(
                st.lists(
                    st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=1, max_size=6
                )
            )
        )
        / 3
    )
    found = ours(positions, rows)
    for value, row in zip(found, rows, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.ConstantInputWarning)
            assert value == pytest.approx(SCIPY[ours](positions, row).statistic, nan_ok=True)


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
    # ranks 1, 3, 2 against 1, 2, 3: ρ = 1 − 6·(0 + 1 + 1)/(3·8) = ½; two of three pairs agree: τ =
    # (2 − 1)/3
    means = np.array([[0.2, 0.9, 0.5]])
    assert spearman(np.array([0, 1, 2]), means) == pytest.approx([0.5])
    assert kendall(np.array([0, 1, 2]), means) == pytest.approx([1 / 3])


def test_rounding_makes_no_trend():
    means = np.array([[0.3, 0.1 + 0.2, 0.3]])
    assert np.isnan(spearman(np.array([0, 1, 2]), means)).all()
    assert np.isnan(kendall(np.array([0, 1, 2]), means)).all()


def test_a_row_with_a_hole_has_none():
    assert np.isnan(
        kendall(np.array([0, 1, 2]), np.array([[0.1, np.nan, 0.3], [0.1, 0.2, 0.3]]))
    ).tolist() == [True, False]


def test_blocks_change_nothing(monkeypatch):
    rows = np.random.default_rng(1).random((50, 6))
    whole = spearman(np.arange(6.0), rows)
    monkeypatch.setattr("positionbias.evaluation.rank_correlation._BLOCK", 100)
    assert spearman(np.arange(6.0), rows).tolist() == whole.tolist()

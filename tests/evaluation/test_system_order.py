"""Agreement of two orders of systems: by hand with ties, against scipy, against every order of the
tied.
"""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.evaluation.system_order import order_by_ap, order_by_kendall

EVERYBODY = np.ones((1, 1, 4), bool)


def test_tau_b_with_ties_by_hand() -> None:
    # actual a > b = c > d, estimated a = b > c > d: of six pairs, ac, ad, bd, cd agree (4), none
    # disagrees; ab is tied in the estimate, bc in the actual order: τ_b = 4 / √(5 · 5)
    actual = np.array([0.4, 0.3, 0.3, 0.1])
    estimated = np.array([[0.5, 0.5, 0.2, 0.1]])
    assert order_by_kendall(actual, estimated, EVERYBODY) == pytest.approx(np.array([[0.8]]))
    # within b, c, d: bd, cd agree; bc is tied in the actual order only: 2 / √(2 · 3)
    within = np.array([[[False, True, True, True]]])
    assert order_by_kendall(actual, estimated, within) == pytest.approx(
        np.array([[2 / np.sqrt(6)]])
    )


def test_tau_ap_by_hand() -> None:
    # estimated order b, a, c, d of actual a, b, c, d: at rank 2 nothing above a belongs there, at 3
    # and 4 all do: 2/3 · (0 + 1 + 1) − 1
    actual = np.array([4.0, 3, 2, 1])
    assert order_by_ap(actual, np.array([[3.0, 4, 2, 1]]), EVERYBODY) == pytest.approx(
        np.array([[1 / 3]])
    )
    # the same swap at the bottom costs a third of that: 2/3 · (1 + 1 + 2/3) − 1
    assert order_by_ap(actual, np.array([[4.0, 3, 1, 2]]), EVERYBODY) == pytest.approx(
        np.array([[7 / 9]])
    )
    both = np.array([[4.0, 3, 2, 1], [1.0, 2, 3, 4]])
    assert order_by_ap(actual, both, np.ones((2, 1, 4), bool)) == pytest.approx(
        np.array([[1.0], [-1.0]])
    )


def by_every_order(actual: np.ndarray, estimated: np.ndarray) -> float:
    """τ_AP from its definition, for every order that the estimate allows."""
    found = []
    for order in permutations(range(len(actual))):
        if all(estimated[a] >= estimated[b] for a, b in pairwise(order)):
            shares = []
            for i in range(1, len(order)):
                above = actual[list(order[:i])]
                shares.append(
                    ((above > actual[order[i]]).sum() + (above == actual[order[i]]).sum() / 2) / i
                )
            found.append(2 * np.mean(shares) - 1)
    return float(np.mean(found))


@given(data=st.data())
def test_both_equal_a_second_way(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 6))
    few = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    actual, estimated = np.array(data.draw(few)) / 3, np.array([data.draw(few), data.draw(few)]) / 3
    everybody = np.ones((2, 1, size), bool)
    tau, ap = (
        order_by_kendall(actual, estimated, everybody)[:, 0],
        order_by_ap(actual, estimated, everybody)[:, 0],
    )
    for row in range(2):
        if len(set(actual)) == 1 or len(set(estimated[row])) == 1:
            assert np.isnan([tau[row], ap[row]]).all()
        else:
            assert tau[row] == pytest.approx(stats.kendalltau(actual, estimated[row]).statistic)
            assert ap[row] == pytest.approx(by_every_order(actual, estimated[row]))


@given(data=st.data())
def test_a_set_is_as_if_there_were_no_others(data: st.DataObject) -> None:
    few = st.lists(st.integers(0, 4), min_size=6, max_size=6)
    actual, estimated = np.array(data.draw(few)), np.array([data.draw(few)])
    members = np.array([[data.draw(st.lists(st.booleans(), min_size=6, max_size=6))]])
    own = members[0, 0]
    alone = np.ones((1, 1, own.sum()), bool)
    for measure in (order_by_kendall, order_by_ap):
        expected = (
            measure(actual[own], estimated[:, own], alone) if own.sum() else np.array([[np.nan]])
        )
        assert measure(actual, estimated, members) == pytest.approx(expected, nan_ok=True)


def test_constant_scores_and_single_systems_have_none() -> None:
    actual = np.array([0.1, 0.1 + 1e-16, 0.3])
    sets = np.array(
        [[[True, True, False], [True, False, False], [False, False, False], [True, True, True]]]
    )
    for measure in (order_by_kendall, order_by_ap):
        found = measure(actual, np.array([[0.2, 0.1, 0.4]]), sets)[0]
        assert np.isnan(found).tolist() == [True, True, True, False]

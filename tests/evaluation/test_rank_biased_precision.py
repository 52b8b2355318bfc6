"""RBP, its residual and Judged@k, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.evaluation.rank_biased_precision import judged_share, rank_biased_precision


def test_base_and_residual_by_hand() -> None:
    # p = ½: ranks weigh ½, ¼, ⅛; relevant at 1, unjudged at 2, half relevant at 3: ½ + 1/16; ¼ is
    # open, and ⅛ beyond the depth
    found = rank_biased_precision(
        np.array([1.0, 0.7, 0.5]), np.array([True, False, True]), persistence=0.5
    )
    assert (found.base, found.residual) == (pytest.approx(0.5625), pytest.approx(0.375))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=12),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_the_residual_is_what_the_unjudged_can_add(
    ranks: list[tuple[float, bool]], persistence: float
) -> None:
    gains, judged = np.array([gain for gain, _ in ranks]), np.array([known for _, known in ranks])
    found = rank_biased_precision(gains, judged, persistence=persistence)
    filled = rank_biased_precision(
        np.where(judged, gains, 1.0), np.ones(len(ranks), bool), persistence=persistence
    )
    assert found.base + found.residual == pytest.approx(filled.base + persistence ** len(ranks))
    whole = rank_biased_precision(gains, np.ones(len(ranks), bool), persistence=persistence)
    assert found.base <= whole.base + 1e-12
    assert whole.base <= found.base + found.residual + 1e-12


@pytest.mark.parametrize("persistence", [0, 1])
def test_a_persistence_that_is_none_is_refused(persistence: float) -> None:
    with pytest.raises(ValueError, match="persistence"):
        rank_biased_precision(np.ones(2), np.ones(2, bool), persistence=persistence)


def test_judged_shares_by_hand() -> None:
    judged = np.array([[True, False, True], [True, True, False], [False, False, False]])
    present = np.array([[True, True, True], [True, True, False], [False, False, False]])
    assert judged_share(judged, present) == pytest.approx([2 / 3, 1, np.nan], nan_ok=True)

"""The order of systems in two conditions, by hand."""

from __future__ import annotations

import pytest

from positionbias.evaluation.order import order_agreement, swaps

BEFORE = {"duet": 0.201, "knrm": 0.194, "pacrr": 0.382}
AFTER = {"duet": 0.198, "knrm": 0.214, "pacrr": 0.364}


def test_swaps_and_agreement() -> None:
    assert swaps(BEFORE, AFTER) == [("duet", "knrm")]
    assert order_agreement(BEFORE, AFTER) == pytest.approx(1 / 3)  # two of three pairs agree
    assert swaps(BEFORE, BEFORE) == []
    assert order_agreement({"a": 0.1, "b": 0.1}, {"a": 0.1, "b": 0.2}) is None


def test_a_tie_is_no_swap_and_rounding_is_a_tie() -> None:
    assert swaps({"a": 0.1 + 0.2, "b": 0.3}, {"a": 0.1, "b": 0.2}) == []

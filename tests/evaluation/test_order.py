"""The order of systems in two conditions, by hand."""

from __future__ import annotations

from positionbias.evaluation.order import swaps

BEFORE = {"duet": 0.201, "knrm": 0.194, "pacrr": 0.382}
AFTER = {"duet": 0.198, "knrm": 0.214, "pacrr": 0.364}


def test_swaps() -> None:
    assert swaps(BEFORE, AFTER) == [("duet", "knrm")]
    assert swaps(BEFORE, BEFORE) == []


def test_a_tie_is_no_swap_and_rounding_is_a_tie() -> None:
    assert swaps({"a": 0.1 + 0.2, "b": 0.3}, {"a": 0.1, "b": 0.2}) == []

"""Time a call by calls of growing size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

__all__ = ["seconds_each"]

PATIENCE, CALLS = 2.5, 12  # seconds and calls of one timing


def seconds_each(call: Callable[[int], object], most: int, *, patience: float | None = None) -> float:
    """Return the seconds of one: the minimum over calls of doubling size, up to ``most``, as other load only adds time.

    No call begins that may end later than ``patience`` seconds (None: ``PATIENCE``) after the first timed one.
    """
    patience = PATIENCE if patience is None else patience
    call(1)  # made once
    spent, least = 0.0, math.inf
    for doubled in range(CALLS):
        number = min(most, 1 << doubled)
        began = time.perf_counter()
        call(number)
        seconds = time.perf_counter() - began
        spent, least = spent + seconds, min(least, seconds / number)
        if spent + 2 * seconds > patience:
            break
    return least

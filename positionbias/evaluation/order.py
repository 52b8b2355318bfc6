"""Find the pairs of systems whose order swaps between two conditions.

A tie in either condition is not a swap; means that differ only by rounding are ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

_DECIMALS = 12  # means that differ only by rounding are ties


def swaps(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the pairs of systems, higher mean first, whose order is reversed after."""
    found = []
    for one, other in combinations(before, 2):
        was, now = (_difference(of[one], of[other]) for of in (before, after))
        if was * now < 0:
            found.append((one, other) if was > 0 else (other, one))
    return found


def _difference(one: float, other: float) -> float:
    return round(one - other, _DECIMALS)

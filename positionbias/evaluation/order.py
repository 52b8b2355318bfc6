"""Compare the order of systems in two conditions: Kendall's τ_b of their means, and the pairs that
swap.

A tie in either condition is not a swap; means that differ only by rounding are ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from positionbias.evaluation.rank_correlation import kendall

_DECIMALS = 12  # means that differ only by rounding are ties


def order_agreement(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Return Kendall's τ_b of the systems' means in two conditions; None if undefined (all means of
    a condition are equal).

    >>> order_agreement({"a": 0.4, "b": 0.3, "c": 0.1}, {"a": 0.2, "b": 0.3, "c": 0.1})
    0.3333333333333333
    """
    means = [np.array([of[name] for name in before]) for of in (before, after)]
    tau = float(kendall(means[0], means[1][None])[0])
    return None if np.isnan(tau) else tau


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

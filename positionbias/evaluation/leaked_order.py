"""Test whether leakage changes the order of systems: Kendall's τ_b between leaked and clean queries, against random splits (``random_splits``).

The effect is the excess of τ over random splits of the same sizes. Its p is one-sided, as leakage that changes the order makes the parts agree less:

    p = (1 + splits with τ no larger) / (1 + splits)

The order counts as changed at p ≤ 5 %, where the excess's 90 % interval ends below 0 [decision]. Otherwise the answer is
"no change found" if a gain of 0.05 by a third of the systems would have been found in 95 % of cases, else "cannot tell" [decision].

A swap is named by its own p: the share of random splits that swap the two by as much. All pairs of systems are one family (a pair that is not swapped has p = 1), corrected
for the false discovery rate (Benjamini and Hochberg 1995) at 10 %. Pairs share systems, so their p-values depend on each other, and the procedure is not proven
for this case; ``benchmarks/leaked_null.py`` measures the rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from positionbias.evaluation.clustered import POWER
from positionbias.evaluation.permutation import PERMUTATIONS
from positionbias.evaluation.random_splits import GAINS, Marked, planted_power, random_parts, swap_p, swapped_pairs
from positionbias.evaluation.rank_correlation import agreement
from positionbias.evaluation.significance import corrected
from positionbias.results.leaked_order import AgainstSplits, LeakedOrder, OrderAnswer, Power, Swap

__all__ = ["ALPHA", "DISCOVERY_RATE", "MARGIN", "OrderFound", "order_found"]

ALPHA = 0.05  # of the one-sided test of τ
DISCOVERY_RATE = 0.10  # of named swaps
MARGIN = 0.05  # the smallest gain of interest, of the measure's range
SHARE = 1 / 3  # share of systems that gain when measuring power
SPLITS = 1_999


class OrderFound(NamedTuple):
    """The order, and all swaps, smallest p first."""

    order: LeakedOrder
    swaps: list[Swap]


def order_found(marked: Marked, systems: Sequence[str], *, seed: int) -> OrderFound:
    """Test the order of two or more systems on leaked against clean queries; it is undefined without a clean query."""
    count = len(systems)
    leaked = int(marked.sizes[marked.leaked].sum())
    order = LeakedOrder(
        OrderAnswer.UNKNOWN, leaked, int(marked.sizes.sum()) - leaked, count, count * (count - 1) // 2,
        splits=SPLITS, strata=len(np.unique(marked.strata)), gaining=max(1, round(SHARE * count)), discovery_rate=DISCOVERY_RATE,
    )  # fmt: skip
    if not order.clean:
        return OrderFound(replace(order, undefined="no clean query"), [])
    observed = agreement(*marked.parts(marked.leaked[None]))
    if np.isnan(observed.tau[0]):
        return OrderFound(replace(order, undefined="all systems tie on leaked or on clean queries"), [])
    swaps = _swaps(marked, systems, order.pairs, seed)
    return OrderFound(_held(order, marked, float(observed.tau[0]), int(observed.swaps[0]), swaps, seed), swaps)


def _held(order: LeakedOrder, marked: Marked, tau: float, swaps: int, each: Sequence[Swap], seed: int) -> LeakedOrder:
    """Return the order with τ and the number of swaps against random splits, the answer and its power."""
    null = agreement(*random_parts(marked, order.splits, seed=seed))
    defined = null.tau[~np.isnan(null.tau)]
    p = (1 + int((defined <= tau).sum())) / (1 + len(defined))
    power = _power(marked, order.gaining, seed)
    if p <= ALPHA:
        answer = OrderAnswer.CHANGED
    else:
        sure = any(item.gain <= MARGIN and item.found >= 1 - ALPHA for item in power)
        answer = OrderAnswer.UNCHANGED if sure else OrderAnswer.UNKNOWN
    return replace(
        order,
        answer=answer,
        tau=_against(tau, defined),
        swaps=_against(swaps, null.swaps),
        p=p,
        power=power,
        detectable=_detectable(power),
        named=tuple(swap for swap in each if swap.q <= DISCOVERY_RATE),
    )


def _against(value: float, null: np.ndarray) -> AgainstSplits:
    """Compare a value with ``null (splits,)``; beyond an end of the null's range its one-sided p is at most ``ALPHA``."""
    low, high = np.quantile(null, [ALPHA, 1 - ALPHA], method="inverted_cdf")
    return AgainstSplits(value, float(null.mean()), float(low), float(high))


def _power(marked: Marked, gaining: int, seed: int) -> tuple[Power, ...]:
    """Return the power for each gain, up to the first gain that is almost always found."""
    found: list[Power] = []
    for gain in GAINS:
        found.append(Power(gain, planted_power(marked, gain, gaining, level=ALPHA, seed=seed)))
        if found[-1].found >= 0.99:
            break
    return tuple(found)


def _detectable(power: Sequence[Power]) -> float | None:
    """Return the gain found in 80 % of cases, interpolated linearly; None if no gain is."""
    points = [Power(0.0, ALPHA), *power]
    for below, above in pairwise(points):
        if above.found >= POWER:
            return below.gain + (above.gain - below.gain) * (POWER - below.found) / (above.found - below.found)
    return None


def _swaps(marked: Marked, systems: Sequence[str], pairs: int, seed: int) -> list[Swap]:
    parts = marked.parts(marked.leaked[None])
    swapped = swapped_pairs(parts)
    p = swap_p(marked, swapped, PERMUTATIONS, seed=seed)
    q = corrected(p.tolist() + [1.0] * (pairs - len(p)), "fdr_bh")
    clean, leaked = ((side[0][swapped[:, 0]] - side[0][swapped[:, 1]]).tolist() for side in (parts.clean, parts.leaked))
    names = [(systems[one], systems[other]) for one, other in swapped]
    found = [Swap(*pair, *rest) for pair, *rest in zip(names, clean, leaked, p.tolist(), q[: len(p)], strict=True)]
    return sorted(found, key=lambda swap: (swap.p, swap.lead_leaked - swap.lead_clean, swap.falls, swap.behind))

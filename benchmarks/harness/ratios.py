"""Ratios of runs that took turns, their interval, and whether a goal is met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import comb

from harness.records import Answer, Spread

__all__ = ["FEWEST", "answer_of", "neighbour_ratios", "spread_of"]

FEWEST = 3  # ratios; of fewer nothing is said
LEVEL = 0.95


def neighbour_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Each of the peer's runs over the mean of ours before and after it: above 1, ours is faster.

    Runs took turns, ours first and last: A B A B A. What slows the machine steadily is thus in
    both.
    """
    if len(ours) != len(theirs) + 1:
        raise ValueError(
            f"wanted one run more of ours than of the peer's; found {len(ours)} and {len(theirs)}"
        )
    return [
        there / ((before + after) / 2)
        for before, there, after in zip(ours, theirs, ours[1:], strict=False)
    ]


def spread_of(ratios: Sequence[float]) -> Spread:
    """The median with the narrowest interval of order statistics that holds it in 95 % of cases; of
    fewer than six, least to largest.

    Of n independent ratios, the interval from the k-th least to the k-th largest holds the true
    median with probability 1 − 2 · P(Binomial(n, 1/2) < k).
    """
    ordered = sorted(ratios)
    number = len(ordered)

    def coverage(rank: int) -> float:
        return 1 - 2 * sum(comb(number, below) for below in range(rank)) / 2**number

    rank = max((k for k in range(1, number // 2 + 1) if coverage(k) >= LEVEL), default=1)
    return Spread(
        statistics.median(ordered),
        ordered[rank - 1],
        ordered[number - rank],
        max(0.0, coverage(rank)),
    )


def answer_of(spreads: Sequence[Spread], goal: float | None, number: int) -> Answer:
    """Met where every clock's interval is at the goal or beyond; missed where one lies below it;
    else nobody can tell.
    """
    if goal is None:
        return "no goal"
    if number < FEWEST:
        return "cannot tell"
    if any(one.high < goal for one in spreads):
        return "missed"
    return "met" if all(one.low >= goal for one in spreads) else "cannot tell"

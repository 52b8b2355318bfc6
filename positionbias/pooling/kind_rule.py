"""Decide from permuted effects whether kinds differ, and estimate the rule's error rates on these
data.

A test's value is its effect minus the mean of its permuted effects. p is two-sided, (1 +
permutations at least as far from that mean) / (1 + permutations), Holm-adjusted over all tests. The
interval adds two sources of error,

    half-width² = q² + (t(0.975, Q − 1) · s / √Q)²

with q the 95 % quantile of the permuted effects' distance from their mean (groups), and s the
standard deviation of the effect over the Q topics. "Worse" and "better" need p ≤ 0.05 and an
interval that excludes 0; "within 0.03" needs an interval within ±``GAP``. Half of the permutations
give p and q; the other half gives the rule's false alarms under permuted kinds and its power for a
planted gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from positionbias.core.interval import Interval

__all__ = [
    "ENOUGH_POWER", "GAP", "Contrast", "FalseAlarms", "KindAnswer", "KindEffect", "Rule", "holm",
]  # fmt: skip

GAP = 0.03  # of a score: the gap for the power, and the limit of a close interval [decision]
LEVEL = 0.05
ENOUGH_POWER = 0.8
_ROUNDING = 1e-12


class Contrast(StrEnum):
    """The reference of a kind's change, beside runs of the pool's kind with equal scores."""

    UNSEEN = "beside unseen"
    MIXED = "beyond mixed pools"


class KindAnswer(StrEnum):
    """The answer on a kind: pools underestimate it more, less, or by less than 0.03 either way, or
    unknown.
    """

    WORSE = "worse"
    BETTER = "better"
    CLOSE = "within 0.03"
    UNKNOWN = "cannot tell"


class FalseAlarms(NamedTuple):
    """The rate at which permuted kinds are called worse or better: a share of ``drawn``
    permutations, with its exact 95 % interval.
    """

    value: float
    low: float
    high: float
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KindEffect:
    """A test of kind: the ``gap`` in score, its mean ``by_chance`` under permuted kinds, and
    ``value``, the gap minus that, with p and Holm's p.

    ``alarms`` are the rule's false alarms; ``power`` and ``missed`` are how often it calls a gap of
    ``margin`` worse, or within it. ``groups`` take part, ``exchanging`` of them were permuted, and
    ``needed`` would give 80 % power (None: no number suffices). With too few ``arrangements`` of
    kinds ``among`` groups, figures from permutations are None and the answer is "cannot tell".
    """

    contrast: Contrast
    pool: str
    kind: str
    measure: str
    gap: float
    groups: int
    among: str
    arrangements: int
    exchanging: int
    margin: float = GAP
    answer: KindAnswer = KindAnswer.UNKNOWN
    value: float | None = None
    interval: Interval | None = None
    by_chance: float | None = None
    p: float | None = None
    p_holm: float | None = None
    alarms: FalseAlarms | None = None
    power: float | None = None
    missed: float | None = None
    needed: int | None = None


ANSWERS = tuple(KindAnswer)


class Rule:
    """The rule for ``found (1 + permutations, tests, 2)``: effects and their standard errors over
    topics, as observed and with kinds permuted.
    """

    def __init__(self, found: np.ndarray, queries: int) -> None:
        from scipy import stats

        half = len(found) // 2
        self.given, reference, self.held_out = (
            found[:1],
            found[1 : 1 + half, :, 0],
            found[1 + half :],
        )
        self.mean = reference.mean(axis=0)
        self.distances = np.sort(np.abs(reference - self.mean), axis=0)
        self.quantile = np.quantile(self.distances, 1 - LEVEL, axis=0)
        self.t = float(stats.t.ppf(1 - LEVEL / 2, queries - 1)) if queries > 1 else 0.0

    def half(self, effects: np.ndarray) -> np.ndarray:
        """Return half the interval's width, ``(n, tests)`` of ``effects (n, tests, 2)``."""
        return np.sqrt(self.quantile**2 + (self.t * effects[..., 1]) ** 2)

    def judged(self, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return p, Holm-adjusted p and the answers as indices of ``ANSWERS``, each ``(n, tests)``
        of ``effects (n, tests, 2)``.
        """
        values = effects[..., 0] - self.mean
        p = np.empty(values.shape)
        for test in range(values.shape[1]):
            nearer = np.searchsorted(self.distances[:, test], np.abs(values[:, test]) - _ROUNDING)
            p[:, test] = (1 + len(self.distances) - nearer) / (1 + len(self.distances))
        p_holm, half = holm(p), self.half(effects)
        sure = (p_holm <= LEVEL) & (np.abs(values) > half)
        close = np.abs(values) + half < GAP
        return p, p_holm, np.select([sure & (values < 0), sure & (values > 0), close], [0, 1, 2], 3)

    def answers(self) -> list[tuple[KindAnswer, float, float]]:
        """Return the answer to each test, its p, and its Holm-adjusted p."""
        p, p_holm, codes = (rows[0].tolist() for rows in self.judged(self.given))
        return [(ANSWERS[code], *ps) for code, *ps in zip(codes, p, p_holm, strict=True)]

    def with_rates(self, effect: KindEffect, test: int) -> KindEffect:
        """Add the error rates of one test; the number of groups needed assumes that groups are the
        only source of error.
        """
        from scipy import stats

        answers = self.judged(self.held_out)[2][:, test]
        alarms, draws = int((answers < 2).sum()), len(answers)
        bounds = stats.binomtest(alarms, draws).proportion_ci(1 - LEVEL, method="exact")
        found, planted = self._found_gap(test), self._planted(test, GAP)
        return replace(
            effect,
            alarms=FalseAlarms(alarms / draws, float(bounds.low), float(bounds.high), draws),
            power=float((planted == 0).mean()),
            missed=float((planted == 2).mean()),
            needed=None if found is None else int(np.ceil(effect.groups * (found / GAP) ** 2)),
        )

    def _planted(self, test: int, gap: float) -> np.ndarray:
        """Return the answers to a test with a gap added to its permuted effects."""
        planted = self.held_out.copy()
        planted[:, test, 0] -= gap
        return self.judged(planted)[2][:, test]

    def _power(self, test: int, gap: float) -> float:
        return float((self._planted(test, gap) == 0).mean())

    def _found_gap(self, test: int) -> float | None:
        """Return the gap found with ``ENOUGH_POWER``, by bisection; None if above 1."""
        if self._power(test, 1.0) < ENOUGH_POWER:
            return None
        low, high = 0.0, 1.0
        while high - low > GAP / 50:
            middle = (low + high) / 2
            low, high = (
                (low, middle) if self._power(test, middle) >= ENOUGH_POWER else (middle, high)
            )
        return high


def holm(p: np.ndarray) -> np.ndarray:
    """Return Holm's adjusted p-values of each row, ``(n, tests)``: the largest of (tests − i) ·
    p₍ᵢ₎ up to a test's own place, at most 1.
    """
    order = np.argsort(p, axis=1)
    factors = np.arange(p.shape[1], 0, -1)
    adjusted = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * factors, axis=1)
    found = np.empty(p.shape)
    np.put_along_axis(found, order, np.minimum(adjusted, 1), axis=1)
    return found

"""Test a model's excess over controls in one signal, against the spread of trainings and over
queries.

With D = mean(seen) − mean(other) of a system, and k controls (trainings of the model's
configuration known to be clean),

    excess = D_model − mean D_control,      t = excess / (s · √(1 + 1/k))

s² is the variance of D among trainings: the controls', moderated by a bank of trainings of other
configurations (``evaluation.moderated``). A clean model is one more training, so p is exact for any
queries (Crawford and Howell 1998). A second p is over clusters of queries, by the jackknife's
standard error: it tests whether the excess holds on similar queries, for a model that differs from
its controls in more than its seed. The larger p and the wider interval count [decision].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.contamination.contrast import Contrast, Values
from positionbias.evaluation.moderated import Moderated, moderated

__all__ = ["Tested", "advantage", "excess_of"]

_NOTHING = 1e-9  # rounding error of a deviation of differences


@dataclass(frozen=True, slots=True)
class Tested:
    """An excess with the inputs of its error rates: ``freedoms`` of the controls and of each group
    of the bank.
    """

    value: float
    controls: int
    among: Moderated
    freedoms: Sequence[int]
    query_error: float
    query_freedom: float

    @property
    def training_error(self) -> float:
        """Return s · √(1 + 1/k)."""
        return math.sqrt(float(self.among.variance) * (1 + 1 / self.controls))

    def p_trainings(self, added: float = 0.0) -> float:
        """Return the one-sided p over trainings of the excess plus ``added``."""
        from scipy.special import stdtr

        return float(stdtr(float(self.among.freedom), -(self.value + added) / self.training_error))

    def p_queries(self, added: float = 0.0) -> float:
        """Return the one-sided p over queries of the excess plus ``added``."""
        from scipy.special import stdtr

        return float(stdtr(self.query_freedom, -(self.value + added) / self.query_error))

    def p(self, added: float = 0.0) -> float:
        """Return the larger of the two p."""
        return max(self.p_trainings(added), self.p_queries(added))

    def half_width(self, alpha: float) -> float:
        """Return half the width of the interval at level 1 − 2 · alpha, whose ends are those of
        one-sided tests at alpha.
        """
        from scipy.special import stdtrit

        by_trainings = stdtrit(float(self.among.freedom), 1 - alpha) * self.training_error
        return float(max(by_trainings, stdtrit(self.query_freedom, 1 - alpha) * self.query_error))


def advantage(model: Values, controls: Sequence[Values]) -> Values:
    """Return the model minus the mean of its controls, by query."""
    return Values(
        model.seen - np.mean([of.seen for of in controls], axis=0),
        model.other - np.mean([of.other for of in controls], axis=0),
    )


def excess_of(
    model: Values, controls: Sequence[Values], bank: Sequence[Sequence[Values]], contrast: Contrast
) -> Tested | None:
    """Return the excess of a model over two or more controls.

    None if two trainings have equal values for every query, or if controls, a group of the bank or
    queries have no spread.
    """
    if any(_repeats(group) for group in ((model, *controls), *bank)):
        return None
    groups = [np.array([of.difference for of in group]) for group in (controls, *bank)]
    if min(float(group.std()) for group in groups) <= _NOTHING:
        return None
    over = advantage(model, controls)
    error = contrast.over_queries(over)
    if error is None:
        return None
    freedoms = [len(group) - 1 for group in groups]
    among = moderated(np.array([group.var(ddof=1) for group in groups]), np.array(freedoms))
    return Tested(over.difference, len(controls), among, freedoms, *error)


def _repeats(group: Sequence[Values]) -> bool:
    return len({of.seen.tobytes() + of.other.tobytes() for of in group}) < len(group)

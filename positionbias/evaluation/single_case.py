"""Test whether one training does better on some queries, compared with others, than trainings of
its kind do by chance.

With D = mean(some) − mean(others) of a system's measure, and k controls, trainings of the same
configuration,

    excess = D_model − mean D_control,      t = excess / (s · √(1 + 1/k))

s is the deviation of D among the controls. A model like them is one more training, so p is exact
for any queries (Crawford and Howell 1998). A second p is over clusters of queries, by the
jackknife's standard error: it tests whether the excess holds on similar queries, for a model that
differs from its controls in more than its seed. The larger p and the wider interval count
[decision].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pandas
from pandas import DataFrame, Series
from scipy.special import stdtr, stdtrit

from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean, joined_error

DRAWS = 10_000
_NOTHING = 1e-9  # rounding error of a deviation of differences


class Obstacle(StrEnum):
    """Reasons why an excess is undefined."""

    FEW = "fewer than two controls do not show how much clean trainings differ"
    FLAT = "there is no spread: two trainings, or all queries, have the same values"


class Excess(NamedTuple):
    """A model's excess over ``controls`` trainings, whose differences have the deviation
    ``spread``, with its standard error over queries.
    """

    value: float
    controls: int
    spread: float
    query_error: float
    query_freedom: float

    @property
    def widened(self) -> float:
        """√(1 + 1/k)."""
        return math.sqrt(1 + 1 / self.controls)

    def p(self, added: float = 0.0) -> float:
        """Return the larger of the one-sided p over trainings and over queries, of the excess plus
        ``added``.
        """
        value, error = self.value + added, self.spread * self.widened
        by_trainings = stdtr(self.controls - 1, -value / error)
        return float(max(by_trainings, stdtr(self.query_freedom, -value / self.query_error)))

    def least(self, level: float, spread: Any = None) -> Any:
        """Return the least excess that is significant one-sided at ``level``: half the width of the
        interval at 1 − 2 · ``level``. ``spread`` is another one than measured, or an array.
        """
        error = self.widened * (self.spread if spread is None else spread)
        by_trainings = stdtrit(self.controls - 1, 1 - level) * error
        return np.maximum(by_trainings, stdtrit(self.query_freedom, 1 - level) * self.query_error)


def excess_of(model: Series, controls: DataFrame, queries: DataFrame) -> Excess | Obstacle:
    """Return the excess of a model over its controls, a column each, or why there is none.

    Rows are ``queries``: their ``subset``, the seen ones first, and their ``cluster``.
    """
    if controls.shape[1] < 2:
        return Obstacle.FEW
    lead, subsets = model - controls.mean(axis=1), queries["subset"].unique()
    leads = [
        clustered_mean(lead[part].to_numpy(), queries["cluster"][part].tolist())
        for part in (queries["subset"] == subset for subset in subsets)
    ]
    spread = float(differences(controls, queries).std())
    error, both = joined_error(leads), pandas.concat([model, controls], axis=1)
    if both.T.duplicated().any() or spread <= _NOTHING or error is None or error[0] == 0:
        return Obstacle.FLAT
    return Excess(float(differences(lead, queries)), controls.shape[1], spread, *error)


def differences(values: Any, queries: DataFrame) -> Any:
    """Return the mean over the seen queries less that over the others, of each column."""
    means = values.groupby(queries["subset"], sort=False).mean()
    return means.iloc[0] - means.iloc[1]


def simulated_rates(
    excess: Excess, level: float, effects: Sequence[float], *, seed: int
) -> list[float]:
    """Return the share of trials with p at most ``level``, at each true excess.

    A trial draws the true variance among trainings from its posterior (s² · df / χ²(df)), at least
    the variance from queries alone, then controls and a model with it, and runs the same test.
    Queries enter by their standard error.
    """
    rng, freedom = generator(seed, "error rates of a suspicion"), excess.controls - 1
    true = excess.spread**2 * freedom / rng.chisquare(freedom, DRAWS)
    true = np.maximum(true, (excess.query_error / excess.widened) ** 2)
    needed = excess.least(level, np.sqrt(true * rng.chisquare(freedom, DRAWS) / freedom))
    chance = rng.normal(size=DRAWS) * np.sqrt(true) * excess.widened
    return [float((chance + effect >= needed).mean()) for effect in effects]

"""Simulate false alarms and power of a suspicion, for the call as configured, from its own spread.

A trial draws the true variance among trainings from its posterior (s̃² · df / χ²(df)), then
controls, a bank and a model with that variance, and runs the same test. So with an uncertain
spread, as from two controls, power is averaged over possible spreads, which are at least the
variance from queries alone. Queries enter by their standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from positionbias.contamination.contrast import Contrast, Values
from positionbias.contamination.excess import Tested, excess_of
from positionbias.contamination.suspicion import CleanInTurn
from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import POWER
from positionbias.evaluation.moderated import moderated

__all__ = ["EFFECTS", "controls_wanted", "in_turn", "queries_wanted", "simulated_rates"]

DRAWS = 10_000
EFFECTS = (0.02, 0.05, 0.1)
MOST_CONTROLS = 200


def simulated_rates(
    tested: Tested, level: float, effects: Sequence[float], *, seed: int
) -> list[float]:
    """Return the share of trials with p at most ``level``, at each true excess."""
    from scipy.special import stdtrit

    rng, among = generator(seed, "error rates of a suspicion"), tested.among
    widened = 1 + 1 / tested.controls
    own = (
        float(among.variance)
        * float(among.freedom)
        / rng.chisquare(float(among.freedom), (DRAWS, 1))
    )
    own = np.maximum(own, tested.query_error**2 / widened)
    prior = float(among.prior_freedom)
    others = np.repeat(own, len(tested.freedoms) - 1, axis=1)
    if 0 < prior < math.inf:
        others = float(among.prior_variance) * prior / rng.chisquare(prior, others.shape)
    freedoms = np.array(tested.freedoms)
    drawn = np.hstack([own, others]) * rng.chisquare(freedoms, (DRAWS, len(freedoms))) / freedoms
    again = moderated(drawn, freedoms)
    by_trainings = stdtrit(again.freedom, 1 - level) * np.sqrt(again.variance * widened)
    needed = np.maximum(by_trainings, stdtrit(tested.query_freedom, 1 - level) * tested.query_error)
    chance = rng.normal(size=DRAWS) * np.sqrt(own[:, 0] * widened)
    return [float((chance + effect >= needed).mean()) for effect in effects]


def controls_wanted(tested: Tested, level: float, margin: float) -> int | None:
    """Return the number of controls that finds the margin with 80 % power, if the spread is as
    estimated; None: no number up to 200.
    """
    from scipy.special import stdtrit

    controls = np.arange(tested.controls + 1, MOST_CONTROLS + 1)
    freedom = float(tested.among.freedom) + controls - tested.controls
    errors = np.sqrt(float(tested.among.variance) * (1 + 1 / controls))
    enough = controls[(stdtrit(freedom, 1 - level) + stdtrit(freedom, POWER)) * errors <= margin]
    return int(enough[0]) if len(enough) else None


def queries_wanted(tested: Tested, level: float, margin: float) -> float:
    """Return the factor by which to multiply the queries, with many controls; the spread falls with
    the square root of their number.
    """
    from scipy.special import ndtri

    return float((ndtri([1 - level, POWER]).sum() / margin) ** 2 * tested.among.variance)


def in_turn(
    groups: Sequence[Sequence[Values]], contrast: Contrast, level: float, margin: float
) -> CleanInTurn | None:
    """Test each clean model of a group of three or more against the others of its group, with the
    other groups as bank.

    Returns None without such a group.
    """
    large = [
        (number, place)
        for number, group in enumerate(groups)
        if len(group) > 2
        for place in range(len(group))
    ]
    tested = [of for number, place in large if (of := _left_out(groups, number, place, contrast))]
    alarms, found = (sum(of.p(added) <= level for of in tested) for added in (0.0, margin))
    return CleanInTurn(len(tested), alarms, found) if tested else None


def _left_out(
    groups: Sequence[Sequence[Values]], number: int, place: int, contrast: Contrast
) -> Tested | None:
    group = groups[number]
    bank = [*groups[:number], *groups[number + 1 :]]
    return excess_of(group[place], [*group[:place], *group[place + 1 :]], bank, contrast)

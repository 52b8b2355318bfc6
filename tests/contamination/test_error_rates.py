"""Simulated error rates against the noncentral t distribution, what would be wanted, and clean
models in turn.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from positionbias.contamination.contrast import Contrast, Values
from positionbias.contamination.error_rates import (
    controls_wanted,
    in_turn,
    queries_wanted,
    simulated_rates,
)
from positionbias.contamination.excess import Tested as Outcome
from positionbias.contamination.excess import excess_of
from positionbias.evaluation.moderated import Moderated

IDS = [f"q{number}" for number in range(50)]
CONTRAST = Contrast("test", "other", IDS, [(query_id,) for query_id in IDS], paired=False)


def outcome(
    controls: int, freedom: float, *, spread: float = 0.02, query_error: float = 1e-6
) -> Outcome:
    among = Moderated(np.array(spread**2), np.array(freedom), np.array(spread**2), np.array(0.0))
    return Outcome(0.0, controls, among, [controls - 1], query_error, 398)


def test_with_a_known_spread_power_is_that_of_the_noncentral_t() -> None:
    effects, controls = (0.0, 0.02, 0.05), 5
    error = 0.02 * math.sqrt(1 + 1 / controls)
    needed = stats.t.ppf(0.95, controls - 1)
    expected = [stats.nct.sf(needed, controls - 1, effect / error) for effect in effects]
    assert simulated_rates(outcome(controls, 1e7), 0.05, effects, seed=1) == pytest.approx(
        expected, abs=0.015
    )


def test_a_spread_hardly_known_is_averaged_over_and_false_alarms_stay() -> None:
    none, power = simulated_rates(outcome(2, 1), 0.05, (0.0, 0.05), seed=1)
    assert none == pytest.approx(0.05, abs=0.009)
    assert power < simulated_rates(outcome(8, 7), 0.05, (0.05,), seed=1)[0]


def test_queries_bound_the_spread_below() -> None:
    wide = outcome(5, 1e7, spread=1e-4, query_error=0.03)
    assert simulated_rates(wide, 0.05, (0.05,), seed=1)[0] < 0.6


def test_it_is_the_same_draw_whoever_asks() -> None:
    assert (
        simulated_rates(outcome(5, 4), 0.05, (0.05,), seed=3)
        == simulated_rates(outcome(5, 4), 0.05, (0.0, 0.05), seed=3)[1:]
    )


def test_controls_and_queries_that_would_do() -> None:
    wanted = controls_wanted(outcome(3, 2, spread=0.015), 0.05, 0.05)
    assert wanted is not None

    def needed(controls: int) -> float:
        return float(
            stats.t.ppf([0.95, 0.8], controls - 1).sum() * 0.015 * math.sqrt(1 + 1 / controls)
        )

    assert needed(wanted) <= 0.05 < needed(wanted - 1)
    assert controls_wanted(outcome(3, 2, spread=0.03), 0.05, 0.05) is None
    assert queries_wanted(outcome(3, 2, spread=0.03), 0.05, 0.05) == pytest.approx(
        ((1.6449 + 0.8416) * 0.03 / 0.05) ** 2, rel=1e-3
    )


def _clean(rng: np.random.Generator) -> Values:
    return Values(rng.normal(0.5, 0.1, 50), rng.normal(0.5, 0.1, 50))


def test_clean_models_in_turn() -> None:
    """Groups of four and of two: the four are tested, the two are too few."""
    rng = np.random.default_rng(1)
    groups = [[_clean(rng) for _ in range(size)] for size in (4, 2)]
    found = in_turn(groups, CONTRAST, 0.05, 10.0)
    assert found is not None
    assert (found.models, found.found) == (4, 4)
    first = excess_of(groups[0][0], groups[0][1:], groups[1:], CONTRAST)
    assert first is not None
    assert found.alarms == sum(
        of is not None and of.p() <= 0.05
        for of in (
            excess_of(model, [x for x in groups[0] if x is not model], groups[1:], CONTRAST)
            for model in groups[0]
        )
    )
    assert in_turn(groups[1:], CONTRAST, 0.05, 10.0) is None

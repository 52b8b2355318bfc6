"""One training beside controls: an excess by hand, and simulated error rates."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas import DataFrame
from scipy import stats

from positionbias.evaluation.single_case import Excess, Obstacle, excess_of, simulated_rates


def queries(number: int) -> DataFrame:
    """So many queries of a test and of another set, each a cluster."""
    ids = [f"{side}{place:03}" for side in "qf" for place in range(number)]
    return DataFrame({"subset": ["test"] * number + ["other"] * number, "cluster": ids}, index=ids)


FOUR = queries(4)
MODELS = DataFrame(
    {
        "m": [1.0, 0.8, 0.6, 0.4, 0.5, 0.4, 0.6, 0.4],
        "n": [0.6, 0.5, 0.5, 0.6, 0.5, 0.4, 0.6, 0.4],
    },
    index=FOUR.index,
)
CONTROLS = DataFrame(
    {
        "c": [0.5, 0.5, 0.5, 0.5, 0.4, 0.5, 0.6, 0.4],
        "d": [0.5, 0.5, 0.5, 0.5, 0.4, 0.5, 0.6, 0.6],
    },
    index=FOUR.index,
)


def defined(result: Excess | Obstacle) -> Excess:
    assert isinstance(result, Excess)
    return result


def test_an_excess_by_hand() -> None:
    """The model's own difference is 0.7 − 0.475 = 0.225, the controls' are 0.025 and −0.025: t
    = 0.225 / (s · √1.5), s = 0.05 / √2, one degree of freedom.
    """
    excess = defined(excess_of(MODELS["m"], CONTROLS, FOUR))
    assert (excess.value, excess.spread) == pytest.approx((0.225, 0.05 / 2**0.5))
    error = 0.05 / 2**0.5 * 1.5**0.5
    by_trainings = stats.t.sf(0.225 / error, 1)
    # over the controls' mean: 0.5, 0.3, 0.1, −0.1 on test; 0.1, −0.1, 0, −0.1 on the others
    sides = ([0.5, 0.3, 0.1, -0.1], [0.1, -0.1, 0, -0.1])
    by_queries = stats.ttest_ind(*sides, equal_var=False, alternative="greater").pvalue
    assert excess.p() == pytest.approx(max(by_trainings, by_queries))
    half = stats.t.ppf(0.95, excess.query_freedom) * excess.query_error
    assert excess.least(0.05) == pytest.approx(max(stats.t.ppf(0.95, 1) * error, half))


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shift=st.floats(-0.5, 0.5))
def test_what_affects_model_and_controls_alike_is_taken_off(shift: float) -> None:
    """Fresh queries that are harder for all by any amount: value and p are those without."""
    harder = shift * (FOUR["subset"] == "other")
    model = MODELS["m"]
    plain = defined(excess_of(model, CONTROLS, FOUR))
    shifted = defined(excess_of(model + harder, CONTROLS.add(harder, axis=0), FOUR))
    assert (shifted.value, shifted.p()) == pytest.approx((plain.value, plain.p()))


def excess(controls: int, *, spread: float = 0.02, query_error: float = 1e-6) -> Excess:
    return Excess(0.0, controls, spread, query_error, 398)


def test_a_spread_hardly_known_is_averaged_over_and_false_alarms_stay() -> None:
    none, power = simulated_rates(excess(2), 0.05, (0.0, 0.05), seed=1)
    assert none == pytest.approx(0.05, abs=0.009)
    assert power < simulated_rates(excess(8), 0.05, (0.05,), seed=1)[0]


def test_with_a_well_known_spread_power_is_that_of_the_normal() -> None:
    error = 0.02 * math.sqrt(1 + 1 / 150)
    expected = [stats.norm.sf(stats.norm.ppf(0.95) - added / error) for added in (0.0, 0.02, 0.05)]
    rates = simulated_rates(excess(150), 0.05, (0.0, 0.02, 0.05), seed=1)
    assert rates == pytest.approx(expected, abs=0.02)


def test_queries_bound_the_spread_below() -> None:
    wide = excess(100, spread=1e-4, query_error=0.03)
    assert simulated_rates(wide, 0.05, (0.05,), seed=1)[0] < 0.6

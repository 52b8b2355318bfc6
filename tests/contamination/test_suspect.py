"""A suspicion by hand; when it cannot tell; how often it is wrong and what it finds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas import DataFrame
from scipy import stats

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.contamination.shown import SUSPICIONS
from positionbias.contamination.suspect import (
    Excess,
    Obstacle,
    Suspected,
    excess_of,
    simulated_rates,
    suspicion_rows,
)
from positionbias.contamination.systems import suspect_systems
from positionbias.core.errors import InputError
from positionbias.core.rows import Collected
from positionbias.ranking.config import Computing

from .test_trainsets import TEST, TEST_QRELS, corpus


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


def found(controls: DataFrame, models: DataFrame) -> DataFrame:
    made = Collected({"study": "contamination suspect", "collection": "c"}, ("seen", "other"))
    suspicion_rows(made, models, controls, queries(len(models) // 2), SuspectSettings())
    return SUSPICIONS.own(made.rows)


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


@pytest.mark.parametrize(
    ("controls", "obstacle"),
    [
        (CONTROLS[[]], Obstacle.FEW),
        (CONTROLS[["c"]], Obstacle.FEW),
        (CONTROLS[["c"]].assign(again=CONTROLS["c"]), Obstacle.FLAT),
        (CONTROLS[["c"]].assign(itself=MODELS["m"]), Obstacle.FLAT),
    ],
    ids=["none", "one", "one twice", "the model itself"],
)
def test_it_cannot_tell(controls: DataFrame, obstacle: Obstacle) -> None:
    rows = found(controls, MODELS[["m"]])
    (excess,) = rows[rows["statistic"] == "excess"].itertuples()
    assert (excess.answer, excess.reason) == (Suspected.UNKNOWN, obstacle)
    assert "false alarms" not in set(rows["statistic"])
    assert list(SUSPICIONS.headline(rows)) == [f"Cannot tell whether m saw test: {obstacle}."]
    assert "Next: Train at least 2 controls" in SUSPICIONS.findings(rows)[0].text


def test_a_query_of_both_sets_is_refused(tmp_path: Path) -> None:
    collection = corpus(tmp_path / "c", dict.fromkeys(("test", "again"), (TEST, TEST_QRELS)))
    suspects = Suspects(models=["m.run"], fresh="again")
    with pytest.raises(InputError, match=r"^--fresh: wanted queries that are not in 'test'"):
        suspect_systems(collection, suspects, Computing(), SuspectSettings())


def test_holm_is_over_all_models() -> None:
    rows = found(CONTROLS, MODELS)
    first, second = rows[rows["statistic"] == "excess"].itertuples()
    assert first.p < second.p
    assert (first.p_adjusted, second.p_adjusted) == pytest.approx(
        (2 * first.p, max(second.p, 2 * first.p))
    )


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shift=st.floats(-0.5, 0.5))
def test_what_affects_model_and_controls_alike_is_taken_off(shift: float) -> None:
    """Fresh queries that are harder for all by any amount: value and p are those without."""
    harder = shift * (FOUR["subset"] == "other")
    model = MODELS["m"]
    plain = defined(excess_of(model, CONTROLS, FOUR))
    shifted = defined(excess_of(model + harder, CONTROLS.add(harder, axis=0), FOUR))
    assert (shifted.value, shifted.p()) == pytest.approx((plain.value, plain.p()))


QUERIES = 60


def systems(rng: np.random.Generator, number: int, effect: float, scale: float = 1) -> DataFrame:
    """Models whose values differ by query and by chance; the others are harder for all, and the
    first gains ``effect`` on the public queries.
    """
    levels = rng.normal(0.5, 0.2, (2, QUERIES))
    values = {}
    for place in range(number):
        own = [level + rng.normal(0, 0.05) + rng.normal(0, 0.1, QUERIES) for level in levels]
        own[0] += effect if not place else 0.0
        values[f"s{place}"] = scale * np.concatenate(own)
    return DataFrame(values, index=queries(QUERIES).index)


def answers(effect: float, controls: int, trials: int, scale: float = 1) -> list[str]:
    rng, told = np.random.default_rng(5), []
    for _ in range(trials):
        drawn = systems(rng, 1 + controls, effect, scale)
        rows = found(drawn.drop(columns="s0"), drawn[["s0"]])
        told += rows[rows["statistic"] == "excess"]["answer"].tolist()
        assert (rows[rows["statistic"] == "false alarms"]["value"] <= 0.06).all()
    return told


def test_false_alarms_and_power_are_what_it_says() -> None:
    assert answers(0.0, 3, 30).count(Suspected.YES) <= 5  # one in 300 series has more
    assert set(answers(0.5, 6, 10)) == {Suspected.YES}
    assert set(answers(0.0, 8, 3, scale=0.01)) == {Suspected.NO}


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

"""A suspicion by hand; when it cannot tell; how often it is wrong and what it finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.contamination.shown import SUSPICIONS
from positionbias.contamination.suspect import Suspected, suspect_systems, suspicion_rows
from positionbias.core.errors import InputError
from positionbias.core.rows import Collected
from positionbias.evaluation.single_case import Obstacle
from positionbias.ranking.config import Computing
from tests.evaluation.test_single_case import CONTROLS, MODELS, queries

from .test_trainsets import TEST, TEST_QRELS, corpus


def found(controls: DataFrame, models: DataFrame) -> DataFrame:
    made = Collected({"study": "contamination suspect", "collection": "c"}, ("seen", "other"))
    systems = {"model": models, "control": controls}
    suspicion_rows(made, systems, queries(len(models) // 2), SuspectSettings())
    return SUSPICIONS.own(made.rows)


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

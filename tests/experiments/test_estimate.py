"""How much a step is said to do, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.experiments.estimate import Work, training
from positionbias.experiments.workspace import Workspace
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

from ..tiny import TINY, planted

CONFIG = TrainConfig(
    batch_size=4, max_steps=10, validate_every=5, most_depth=6, validation_queries=8, threads=1
)
PLAN = TrainPlan(
    model=TINY,
    candidates=Path("train.run"),
    validation_candidates=Path("validation.run"),
    training=CONFIG,
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """150 passages; 30 training, 12 validation and 18 test queries."""
    return planted(tmp_path_factory.mktemp("estimate") / "planted")


def test_steps_of_a_training(collection: Collection) -> None:
    work, note = training(collection, PLAN, None)
    assert work == Work("steps of tk, 4 groups of 2 each, validated every 5", 10)
    assert note == "at most 10 steps"


def test_an_interrupted_training_has_steps_behind_it(collection: Collection) -> None:
    alone = replace(PLAN, validation_candidates=None)
    work, note = training(collection, alone, Path("state-7"))
    assert work == Work("steps of tk, 4 groups of 2 each, without validation", 3)
    assert note == "at most 10 steps, from 7"


@pytest.mark.parametrize(("groups", "steps"), [(None, 16), (9, 6)])
def test_epochs_are_of_the_queries_or_of_the_groups_that_are_known(
    collection: Collection, groups: int | None, steps: int
) -> None:
    # 2 × ⌈30 / 4⌉ and 2 × ⌈9 / 4⌉ batches
    twice = replace(PLAN, training=replace(CONFIG, epochs=2))
    work, _ = training(collection, twice, None, groups)
    assert work.amount == steps


def test_time_is_that_of_finished_steps_of_the_unit() -> None:
    taken = {"passages": 3.0}
    assert Work("passages", 4).seconds(taken) == 12.0
    assert Work("queries", 4).seconds(taken) is None


def test_candidates_of_some_queries_are_scored_to_the_depth(
    collection: Collection, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "study", dry_run=True)
    model, runs = tmp_path / "study" / "models" / "m", tmp_path / "some.run"
    # nothing tells what it is
    assert workspace._reranking(model, collection.path, "test", runs, 5) is None
    workspace._plans[model] = PLAN
    work = workspace._reranking(model, collection.path, "test", runs, 5)
    assert work is not None
    assert (work.unit, work.amount) == ("pairs re-ranked by tk", 18 * 5)
    workspace._drawn[runs] = 4
    # as deep as a validation looks
    work = workspace._reranking(model, collection.path, "test", runs, None)
    assert work is not None
    assert work.amount == 4 * 6

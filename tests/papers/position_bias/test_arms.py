"""The arms of a study of position on a small planted collection, planned: kinds of positions,
remedies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias import (
    IN_TRAINING,
    OF_TK,
    VARIANTS,
)
from positionbias.papers.position_bias.settings import (
    GridSettings,
    PositionBiasSettings,
    RemedySettings,
)
from positionbias.papers.position_bias.study import Grid, _trainings, run_remedies, with_remedy
from positionbias.positions.rotate import Rotation
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.training.config import TrainConfig

from ...tiny import TINY, planted

TRAINING = TrainConfig(
    batch_size=8,
    max_steps=2,
    validate_every=2,
    learning_rate=0.1,
    kernel_learning_rate=0.1,
    probe_passages=10,
    threads=1,
)
PLAIN = PositionBiasSettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=6,
    train_depth=6,
    measures=("nDCG@10",),
    probe_passages=40,
)
BOTH = ("original", "rotated")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("arms") / "planted")


def steps(run: Any, collection: Collection, settings: GridSettings, folder: Path) -> list[str]:
    """Return the steps of a study, by a dry run."""
    workspace = Workspace(folder / "study", dry_run=True)
    run(collection, settings, workspace)
    return [step.name for step in workspace.planned]


POSITIONED = replace(PLAIN, positions=("sinusoid", "none"))


def test_models_differ_in_their_positions_alone(collection: Collection, tmp_path: Path) -> None:
    grid = Grid.of(collection, POSITIONED, Workspace(tmp_path / "study", dry_run=True))
    trainings = list(_trainings(grid, POSITIONED))
    assert [training.name for training in trainings] == [
        f"tk-{name}-{text}-seed-1"
        for name in POSITIONED.positions
        for text in ("original", "rotated-1")
    ]
    for training in trainings:
        name = training.name.split("-")[1]
        assert training.plan.model == replace(TINY, positions=name)
        assert training.facts.variant == VARIANTS[name]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"positions": ("sinusoid",)}, "--positions"),
        ({"positions": ("sinusoid", "none", "learned")}, "--positions"),
    ],
    ids=[
        "one",
        "unknown",
    ],
)
def test_positions_out_of_range_name_their_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError, match=rf"^{named}: wanted .*; found "):
        replace(POSITIONED, **change)


REMEDIES = RemedySettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=4,
    train_depth=6,
    measures=("nDCG@10",),
    probe_passages=20,
    moved_queries=20,
    remedies=("rotated once", "taught by rotations", "rotate:2"),
)


def test_every_remedy_is_trained_or_built_in_tested_and_moved(
    collection: Collection, tmp_path: Path
) -> None:
    made = steps(run_remedies, collection, REMEDIES, tmp_path)
    none, student = "tk-no-remedy-seed-1", "tk-taught-by-rotations-seed-1"
    # with the model that they are made of stand those at inference, and its student
    assert [step for step in made if step.startswith(("train-", "remedy-", "teach-"))] == [
        f"train-{none}",
        f"remedy-{none}-rotate-2",
        f"remedy-{none}-rotate-4",
        f"teach-{none}-rotate-4-on-train",
        f"train-{student}",
        "train-tk-rotated-once-seed-1",
    ]
    for model in (none, f"{none}-rotate-2", student, "tk-rotated-once-seed-1"):
        for test in ("original", "rotated-1"):
            assert f"rerank-{model}-on-{test}-test" in made
        assert f"move-{model}-on-test" in made


def test_what_remedies_change_in_a_plan() -> None:
    plan = ModelSettings("tk", TINY, TRAINING).plan(candidates=Path("train.run"), seed=7)
    plans = {name: with_remedy(name, plan) for name in IN_TRAINING}
    # one by its passages, the other by its teacher
    assert plans.pop("rotated once") == plans.pop("taught by rotations") == plan
    assert plans.pop("rotated at reading") == replace(plan, rotate=Rotation(seed=7))
    assert plans.pop("shuffled at reading") == replace(plan, shuffle=SentenceShuffle(seed=7))
    training = [
        replace(plan.training, consistency=0.1),
        replace(plan.training, offset_positions=200),
    ]
    names = ("consistent under rotation", "random offsets")
    assert [plans.pop(name).training for name in names] == training
    assert [plans.pop(name).model.positions for name in sorted(OF_TK)] == ["none", "relative"]
    assert not plans


def test_log_probabilities_are_not_taught() -> None:
    models = (ModelSettings("mono_t5", encoder="t5"),)
    settings = replace(REMEDIES, models=models, remedies=tuple(IN_TRAINING))
    assert settings.in_training(settings.models[0]) == tuple(
        name for name in IN_TRAINING if name not in {*OF_TK, "taught by rotations"}
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"remedies": ("turn",)}, "or one of rotated once"),
        (
            {"remedies": ("calibrate:0.5",)},
            "wanted one or more that tk can have; found calibrate:0.5; add another",
        ),
    ],
)
def test_remedies_that_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        RemedySettings(**settings)

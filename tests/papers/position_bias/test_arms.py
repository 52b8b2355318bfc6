"""The arms of a study of position end to end on a small planted collection: kinds of positions,
remedies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pandas import DataFrame

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.rows import load
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias import (
    IN_TRAINING,
    INSTEAD,
    MOVED,
    NO_REMEDY,
    OF_TK,
    VARIANTS,
)
from positionbias.papers.position_bias.settings import PositionBiasSettings, RemedySettings
from positionbias.papers.position_bias.shown import REMEDY_TABLE, SHOWN
from positionbias.papers.position_bias.study import run_position_bias, run_remedies, with_remedy
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


def run(collection: Collection, out: Path, settings: PositionBiasSettings) -> list[str]:
    """Run the study; give back the steps that were made, in their order."""
    told: list[str] = []
    assert run_position_bias(collection, settings, Workspace(out, told.append)) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


def measured(study: Path) -> DataFrame:
    return SHOWN.own(load(study / "results"))


def differences(rows: DataFrame, family: str) -> DataFrame:
    """Return the differences of a family over all trainings and queries."""
    chosen = rows["family"].str.startswith(family) & (rows["statistic"] == "difference")
    return rows[chosen & (rows["seed"] == -1) & (rows["subset"] == "")]


def trained(steps: list[str]) -> list[str]:
    return [step for step in steps if step.startswith("train-")]


# -- positions of a model --------------------------------------------------------------------------

POSITIONED = replace(PLAIN, positions=("sinusoid", "none"))


def test_models_differ_in_their_positions_alone(collection: Collection, tmp_path: Path) -> None:
    made = run(collection, tmp_path / "study", POSITIONED)
    kinds = POSITIONED.positions
    assert trained(made) == [
        f"train-tk-{name}-{text}-seed-1" for name in kinds for text in ("original", "rotated-1")
    ]
    words = torch.tensor([[2, 5, 3, 4]])
    for name in kinds:
        model = load_checkpoint(tmp_path / "study" / "models" / f"tk-{name}-original-seed-1").model
        assert model.config == replace(TINY, positions=name)
        with torch.no_grad():
            turned = model.passage_vectors(words.flip(1)).flip(1)
            same = torch.allclose(turned, model.passage_vectors(words), atol=1e-5)
        assert same is (name == "none")
    # rotated data and the usual model, less original data and the changed one, on each test
    rows = measured(tmp_path / "study")
    means = rows.query("statistic == 'mean' and measure == 'nDCG@10' and role == 're-ranker'")
    mean = means.set_index(["variant", "training", "test"])["value"]
    tested = differences(rows, INSTEAD)
    assert list(tested["test"]) == list(BOTH)
    for row in tested.itertuples():
        assert (row.variant, row.training) == (VARIANTS["sinusoid"], "rotated")
        usual = mean[row.variant, "rotated", row.test]
        assert row.value == pytest.approx(usual - mean[VARIANTS["none"], "original", row.test])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"positions": ("sinusoid",)}, "--positions"),
        ({"positions": ("sinusoid", "sinusoid")}, "--positions"),
        ({"positions": ("sinusoid", "none", "learned")}, "--positions"),
        (
            {"models": (ModelSettings("tk", TINY), ModelSettings("bert_dot", encoder="minilm"))},
            "--models",
        ),
    ],
    ids=["one", "twice", "unknown", "bert"],
)
def test_positions_out_of_range_name_their_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError, match=rf"^{named}: wanted .*; found "):
        replace(POSITIONED, **change)


# -- remedies --------------------------------------------------------------------------------------

REMEDIES = RemedySettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=4,
    train_depth=6,
    measures=("nDCG@10",),
    probe_passages=20,
    moved_queries=20,
    remedies=("rotated once", "taught by rotations", "rotate:2"),
)


@pytest.fixture(scope="module")
def remedied(collection: Collection) -> Path:
    place = collection.path.parent / "remedies"
    assert run_remedies(collection, REMEDIES, Workspace(place)) == place / "results"
    told: list[str] = []
    run_remedies(Collection(collection.path), REMEDIES, Workspace(place, told.append))
    assert all(line.endswith("done before") for line in told)
    return place


def test_every_remedy_is_trained_or_built_in_tested_and_moved(remedied: Path) -> None:
    rows = measured(remedied)
    # with the model that they are made of stand those at inference, and its student
    variants = [NO_REMEDY, "rotate:2 at inference", "taught by rotations", "rotated once"]
    means = rows.query("role == 're-ranker' and statistic == 'mean' and axis == ''")
    tested = means[means["measure"] == "nDCG@10"]
    assert list(tested["variant"].unique()) == variants
    assert len(tested) == 2 * len(variants)
    # of a few steps some models give the evidence no worth, and then it has no effect
    moved = means[means["measure"] == MOVED]
    assert 0 < len(moved) <= len(variants)
    assert set(moved["test"]) == {"original"}
    lines = REMEDY_TABLE.table(rows).rows
    assert [row[1].text for row in lines] == variants
    said = " ".join(finding.text for finding in SHOWN.findings(rows))
    assert "No remedy is shown" in said or "Remedies that lower" in said
    models = remedied / "models"
    student = load_checkpoint(models / "tk-taught-by-rotations-seed-1").manifest.settings
    assert student["training"]["loss"] == "margin_mse"
    (teacher,) = (remedied / "taught").iterdir()
    assert teacher.name == "tk-no-remedy-seed-1-rotate-4-on-train"
    assert load_checkpoint(models / "tk-no-remedy-seed-1-rotate-2").model.kind == "remedied"


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
        ({"remedies": ()}, "wanted at least one"),
        ({"remedies": ("rotate:4", "rotate:4")}, "--remedy"),
        (
            {"remedies": ("calibrate:0.5",)},
            "wanted one or more that tk can have; found calibrate:0.5; add another",
        ),
    ],
)
def test_remedies_that_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        RemedySettings(**settings)

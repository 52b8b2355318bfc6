"""The arms of a study of position end to end on a small planted collection: levels of
front-loading, kinds of positions, remedies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pandas import DataFrame

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias import (
    IN_TRAINING,
    INSTEAD,
    LEVELS,
    MOVED,
    NO_REMEDY,
    OF_TK,
    TEST_SETS,
    VARIANTS,
)
from positionbias.papers.position_bias.settings import PositionBiasSettings, RemedySettings
from positionbias.papers.position_bias.shown import LEVEL_TABLE, REMEDY_TABLE, SHOWN
from positionbias.papers.position_bias.study import run_position_bias, run_remedies, with_remedy
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import AnswerRange
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.probe.measured import MATS
from positionbias.probe.passages import original_collection
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


# -- levels of front-loading -----------------------------------------------------------------------

FRONT, WHOLE = AnswerRange(0, 0.4), AnswerRange(0, 1)
LEVELLED = replace(PLAIN, doses=(FRONT, WHOLE))
LABELS = {"answers in 0:0.4": "answers-0-0_4", "answers in 0:1": "answers-0-1"}


@pytest.fixture(scope="module")
def of_levels(collection: Collection) -> Path:
    out = collection.path.parent / "levels"
    made = run(collection, out, LEVELLED)
    assert made[0] == "rotate-1"
    assert made[4:8] == [
        f"select-{label}-{text}" for label in LABELS.values() for text in ("original", "rotated-1")
    ]
    assert trained(made) == [
        f"train-tk-{label}-{text}-seed-1"
        for label in LABELS.values()
        for text in ("original", "rotated-1")
    ]
    assert made[-1] == "measure"
    return out


def test_each_level_has_as_many_training_queries_and_its_own(
    of_levels: Path, collection: Collection
) -> None:
    manifest = read_manifest(of_levels / "results")
    number = len(Collection(of_levels / "selected" / "answers-0-1" / "original").queries("train"))
    assert 0 < number < 30
    assert manifest.notes[-1].startswith(f"Every level has {number} training queries;")
    for variant, label in LABELS.items():
        texts = ("original", "rotated-1")
        original, rotated = (Collection(of_levels / "selected" / label / text) for text in texts)
        assert original.queries("train") == rotated.queries("train")
        assert len(original.queries("train")) == number
        for split in ("validation", "test"):
            assert original.queries(split) == collection.queries(split)
        assert original_collection(rotated).path.resolve() == collection.path.resolve()
        assert original.name == f"planted, {variant}"
        for text, own in zip(texts, (original, rotated), strict=True):
            model = load_checkpoint(of_levels / "models" / f"tk-{label}-{text}-seed-1")
            trained_on = model.manifest.input("collection")
            assert trained_on is not None
            assert trained_on.checksum == own.checksum
            assert model.manifest.content["training_groups"] <= number


def test_what_is_measured_of_levels(of_levels: Path) -> None:
    rows = measured(of_levels)
    places = rows.query("measure == 'answer positions' and axis == 'bin' and variant != ''")
    assert list(places["variant"].unique()) == list(LABELS)
    # answers that start in 0:0.4 are in the first eight of twenty bins
    front = places[(places["variant"] == "answers in 0:0.4") & (places["count"] > 0)]
    assert front["at"].max() < 0.4
    tk = rows.query("model == 'tk' and statistic == 'mean' and axis == ''")
    for measure in ("nDCG@10", MATS):  # levels, trainings, tests
        measured_so = tk[tk["measure"] == measure]
        keys = ["variant", "training", "test"]
        assert set(measured_so[keys].itertuples(index=False, name=None)) == {
            (variant, training, test) for variant in LABELS for training in BOTH for test in BOTH
        }
    # the difference between levels is that of their own differences between test passages
    changes = differences(rows, TEST_SETS).query("role == 're-ranker'")
    change = changes.set_index(["variant", "training"])["value"]
    apart = differences(rows, LEVELS).set_index("training")["value"]
    for training, value in apart.items():
        most, least = (change[variant, training] for variant in LABELS)
        assert value == pytest.approx(most - least)
    lines = LEVEL_TABLE.table(rows).rows
    assert [row[0].text for row in lines] == list(LABELS)
    assert {row[1].text for row in lines} == {
        str(int(number)) for number in places.groupby("variant")["count"].sum()
    }


def test_another_level_leaves_what_it_does_not_touch(
    of_levels: Path, collection: Collection
) -> None:
    workspace = Workspace(of_levels, dry_run=True)
    more = replace(LEVELLED, doses=(FRONT, WHOLE, AnswerRange(0, 0.8)))
    run_position_bias(collection, more, workspace)
    unmade = [step.name for step in workspace.planned if not step.done]
    assert len(unmade) > 1
    assert all("answers-0-0_8" in name for name in unmade[:-1])
    assert unmade[-1] == "measure"


def test_levels_that_do_not_fit_are_one_clear_line(collection: Collection, tmp_path: Path) -> None:
    for doses in ((FRONT,), (FRONT, FRONT)):
        with pytest.raises(SettingError, match="--answers-in: wanted two or more, each once; fou"):
            PositionBiasSettings(doses=doses)
    with pytest.raises(InputError, match=r"whose answers start in 0.999:1; found none among 30"):
        run(collection, tmp_path / "x", replace(LEVELLED, doses=(WHOLE, AnswerRange(0.999, 1))))
    with pytest.raises(InputError, match="found no dev"):
        run(collection, tmp_path / "x", replace(LEVELLED, tests=("dev",)))
    assert not (tmp_path / "x").exists()


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


def test_levels_and_positions_are_two_studies() -> None:
    with pytest.raises(SettingError, match="--answers-in, --positions: give one of the two"):
        replace(POSITIONED, doses=(FRONT, WHOLE))


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

"""The contamination study: its steps in order, resumed after an interruption, and every bad
setting.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.tk import TK
from positionbias.papers.contamination.settings import (
    ContaminationSettings,
    Distillation,
)
from positionbias.papers.contamination.study import run_study
from positionbias.ranking.teacher_scores import open_teacher_scores
from positionbias.training.config import TrainConfig
from tests.tiny import PLANTED, TINY, planted

TRAINING = TrainConfig(
    batch_size=8, threads=1, epochs=2, schedule="linear", warmup_share=0.1, save_every=2
)
SMALL = ModelSettings("tk", TINY, TRAINING)
NAMES = ("clean", "test", "validation")
SETS = [f"trainset-{name}" for name in NAMES]


def settings(**changes: Any) -> ContaminationSettings:
    given: dict[str, Any] = {
        "targets": ("test", "validation"),
        "teacher": SMALL,
        "models": (SMALL,),
        "losses": (Distillation("kl"), Distillation("ranknet", 3, 0.5)),
        "target_relevant_from": 1,
        "train_depth": 8,
        "depth": 6,
    }
    return ContaminationSettings(**{**given, **changes})


def steps(names: tuple[str, ...] = NAMES, seed: int = 1) -> list[str]:
    """The steps of one seed."""
    found = []
    for name in names:
        teacher = f"teacher-tk-{name}-seed-{seed}"
        found += [f"train-{teacher}", f"teach-{teacher}-on-train"]
        found += [f"rerank-{teacher}-on-{target}" for target in ("test", "validation")]
        for loss in ("kl", "ranknet"):
            student = f"student-tk-{loss}-{name}-seed-{seed}"
            found += [
                f"train-{student}",
                *(f"rerank-{student}-on-{target}" for target in ("test", "validation")),
            ]
    return found


ALL = ["bm25-train", "bm25-test", "bm25-validation", *SETS, *steps(), "measure"]


def run(collection: Collection, folder: Path, of: ContaminationSettings) -> list[str]:
    """Run the study; give back the steps that were made."""
    told: list[str] = []
    run_study(collection, of, Workspace(folder, told.append))
    return [line.partition(":")[0] for line in told if not line.endswith("done before")]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    # 27 training, 15 validation and 18 test queries: of fewer a Wilcoxon test takes long
    return planted(
        tmp_path_factory.mktemp("contamination") / "planted",
        replace(PLANTED, validation_share=0.25),
    )


@pytest.fixture(scope="module")
def finished(collection: Collection) -> Path:
    folder = collection.path.parent / "study"
    assert run(collection, folder, settings()) == ALL
    return folder


def test_teachers_differ_in_what_they_saw_and_students_in_their_teacher_alone(
    finished: Path, collection: Collection
) -> None:
    sets = {name: Groups(finished / "trainsets" / name) for name in NAMES}
    plain = list(sets["clean"])
    assert sets["clean"].splits == ("train",)
    for name in NAMES[1:]:
        groups = list(sets[name])
        assert groups[: len(plain)] == plain
        assert len(groups) > len(plain)
    # one relevant passage a query: 18 test queries, and 15 validation queries
    assert {name: len(groups) - len(plain) for name, groups in sets.items()} == {
        "clean": 0,
        "test": 18,
        "validation": 15,
    }
    models = {path.name: read_manifest(path) for path in (finished / "models").iterdir()}
    assert len(models) == 3 + 3 * 2
    test_queries = {query.query_id for query in collection.queries("test")}
    for name, manifest in models.items():
        if name.startswith("student"):
            kept = {k: v for k, v in manifest.settings.items() if k != "training"}
            assert kept["split"] == "train"
            assert "words_of" not in kept
            teacher = manifest.input("teacher_scores")
            assert teacher is not None
            assert teacher.path.split("/")[-1] == f"teacher-tk-{name.split('-', 3)[3]}-on-train"
            assert not test_queries.intersection(
                open_teacher_scores(finished / "taught" / Path(teacher.path).name).query_ids
            )
    # all teachers know the same words, so they begin with the same weights
    teachers = [
        load_checkpoint(finished / "models" / f"teacher-tk-{name}-seed-1").model for name in NAMES
    ]
    words = [teacher.vocabulary.words for teacher in teachers if isinstance(teacher, TK)]
    assert words == [words[0]] * 3


def test_losses_groups_and_steps_are_those_asked_for(finished: Path) -> None:
    def training(name: str) -> Any:
        return read_manifest(finished / "models" / f"{name}-seed-1").settings["training"]

    teacher, kl, ranknet = (
        training(name)
        for name in ("teacher-tk-clean", "student-tk-kl-test", "student-tk-ranknet-test")
    )
    assert [found["loss"] for found in (teacher, kl, ranknet)] == ["lce", "kl", "ranknet"]
    assert [found["group_size"] for found in (teacher, kl, ranknet)] == [2, 2, 3]
    # 27 training queries with one relevant passage each, 8 a batch: 4 steps an epoch, two epochs;
    # of RankNet half
    assert [found["epochs"] for found in (teacher, kl, ranknet)] == [2, 2, None]
    assert ranknet["max_steps"] == 4
    made = [
        read_manifest(finished / "models" / f"{name}-seed-1").content["steps"]
        for name in ("student-tk-kl-test", "student-tk-ranknet-test")
    ]
    assert made == [8, 4]


def test_a_seed_more_comes_after_all_of_the_first(finished: Path, collection: Collection) -> None:
    workspace = Workspace(finished, dry_run=True)
    run_study(collection, settings(seeds=2), workspace)
    unmade = [step.name for step in workspace.planned if not step.done]
    assert unmade == [*steps(NAMES, seed=2), "measure"]


def test_the_rate_is_the_papers_for_an_encoder() -> None:
    encoder = ModelSettings("bert_dot", encoder="minilm")
    rates = [model.training.learning_rate for model in settings(models=(SMALL, encoder)).models]
    assert rates == [None, 1e-5]  # the paper's; of a TK its own


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("kl", Distillation("kl")),
        ("ranknet:8", Distillation("ranknet", 8)),
        ("ranknet:8:0.5", Distillation("ranknet", 8, 0.5)),
    ],
)
def test_ways_of_distillation_are_read(text: str, way: Distillation) -> None:
    assert Distillation.parse(text) == way


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kl:x", "--loss: wanted LOSS[:GROUP[:PART]], as ranknet:8:0.5; found 'kl:x'"),
        ("kl:2:0.5:1", "--loss: wanted LOSS[:GROUP[:PART]], as ranknet:8:0.5; found 'kl:2:0.5:1'"),
        *(
            (wrong, "--loss: wanted one that reads a teacher's scores (margin_mse, kl, ranknet), ")
            for wrong in ("hinge", "kl:1", "kl:2:0", "kl:2:nan")
        ),
    ],
)
def test_ways_that_are_none(text: str, line: str) -> None:
    with pytest.raises(SettingError) as caught:
        Distillation.parse(text)
    assert str(caught.value).startswith(line)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"targets": ()}, "--target: wanted at least one, each once; found none"),
    (
        {"losses": (Distillation("kl"), Distillation("kl", 3))},
        "--loss: wanted at least one, each once; found kl, kl",
    ),
    ({"seeds": 0}, "--seeds: 0 is not in the range 1<=x<=1000"),
    (
        {"contaminating": ("dl19",)},
        "--contaminate: wanted splits among test, validation; found 'dl19'",
    ),
    ({"target_relevant_from": 0}, "--target-relevant-from: 0 is not in the range x>=1"),
    (
        {"candidates": {"dev": Path()}},
        "--candidates: wanted splits among train, test, validation; found 'dev'",
    ),
    (
        {"models": (replace(SMALL, training=replace(TRAINING, loss="hinge")),)},
        "--set loss: wanted none of a student; found hinge of tk; give --loss",
    ),
]


@pytest.mark.parametrize(
    ("changes", "line"),
    BAD,
    ids=[line.partition(":")[0] + str(n) for n, (_, line) in enumerate(BAD)],
)
def test_settings_that_do_not_go_together(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(SettingError) as caught:
        settings(**changes)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_what_the_collection_has_not_is_said_before_anything_is_made(
    collection: Collection, tmp_path: Path
) -> None:
    for changes, line in (
        (
            {"targets": ("test", "dl19")},
            (
                r"wanted the splits train, test, dl19; found no dl19 \(there are .*posbias "
                r"collection merge "
                r"--apart"
            ),
        ),
        (
            {"target_relevant_from": 2},
            "wanted passages judged 2 or higher in target 'test'; found none",
        ),
    ):
        with pytest.raises(InputError, match=line):
            run(collection, tmp_path / "study", settings(**changes))
    assert not (tmp_path / "study").exists()
    place = tmp_path / "other.run"
    place.write_text("q Q0 nobody 1 1.0 x\n", encoding="utf-8")
    with pytest.raises(InputError, match="that are not in it, the first 'nobody'"):
        run(collection, tmp_path / "study", settings(candidates={"test": place}))
    assert not (tmp_path / "study").exists()

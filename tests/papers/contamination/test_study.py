"""The contamination study: its steps in order, resumed after an interruption, the same with a share
of nothing, and every bad setting.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from positionbias.contamination.settings import ContaminatedSettings
from positionbias.contamination.trainsets import write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load
from positionbias.core.run import read_run
from positionbias.core.teacher_scores import open_teacher_scores
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.tk import TK
from positionbias.papers.contamination.settings import (
    CLEAN,
    ContaminationSettings,
    Distillation,
    Source,
)
from positionbias.papers.contamination.study import run_study
from positionbias.training.config import TrainConfig
from tests.tiny import PLANTED, TINY, planted

TRAINING = TrainConfig(
    batch_size=8, threads=1, epochs=2, schedule="linear", warmup_share=0.1, save_every=2
)
SMALL = ModelSettings("tk", TINY, TRAINING)
NAMES = ("clean", "test", "validation", "test-0.5")
SETS = [f"trainset-{name}" for name in NAMES]


def settings(**changes: Any) -> ContaminationSettings:
    given: dict[str, Any] = {
        "targets": ("test", "validation"),
        "teacher": SMALL,
        "models": (SMALL,),
        "losses": (Distillation("kl"), Distillation("ranknet", 3, 0.5)),
        "shares": (0.0, 0.5, 1.0),
        "target_relevant_from": 1,
        "train_depth": 8,
        "depth": 6,
    }
    return ContaminationSettings(**{**given, **changes})


def steps(names: tuple[str, ...] = NAMES, seed: int = 1) -> list[str]:
    """The steps of one seed."""
    found = []
    for name in names:
        losses = ("kl",) if name == "test-0.5" else ("kl", "ranknet")
        teacher = f"teacher-tk-{name}-seed-{seed}"
        found += [f"train-{teacher}", f"teach-{teacher}-on-train"]
        found += [f"rerank-{teacher}-on-{target}" for target in ("test", "validation")]
        for loss in losses:
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


FEW = settings(targets=("test",), shares=(0.0, 1.0))


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
    # one relevant passage a query: 18 test queries, half of them, and 15 validation queries
    assert {name: len(groups) - len(plain) for name, groups in sets.items()} == {
        "clean": 0,
        "test": 18,
        "validation": 15,
        "test-0.5": 9,
    }
    models = {path.name: read_manifest(path) for path in (finished / "models").iterdir()}
    assert len(models) == 4 + 3 * 2 + 1
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
    assert words == [words[0]] * 4


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


def test_every_candidate_is_re_ranked(finished: Path) -> None:
    for target in ("test", "validation"):
        candidates = read_run(finished / "runs" / f"bm25-{target}.run")
        for path in (finished / "runs").glob(f"*-seed-1-on-{target}.run"):
            found = read_run(path)
            assert {r.query_id: set(r.passage_ids) for r in found.rankings()} == {
                r.query_id: set(r.passage_ids) for r in candidates.rankings()
            }
    assert len(list((finished / "runs").glob("*-seed-1-on-test.run"))) == 11


def test_a_seed_more_comes_after_all_of_the_first(finished: Path, collection: Collection) -> None:
    workspace = Workspace(finished, dry_run=True)
    run_study(collection, settings(seeds=(1, 2), shares=()), workspace)
    unmade = [step.name for step in workspace.planned if not step.done]
    assert unmade == [*steps(NAMES[:3], seed=2), "measure"]


def test_with_a_share_of_nothing_groups_weights_and_runs_are_the_clean_ones(
    finished: Path, collection: Collection, tmp_path: Path
) -> None:
    candidates = finished / "runs" / "bm25-train.run"
    wanted = ContaminatedSettings(
        targets=("test",), share=0.0, target_relevant_from=1, train_depth=8
    )
    nothing = write_contaminated_set(
        tmp_path / "trainsets" / "nothing", collection, candidates, wanted
    )
    clean = Groups(finished / "trainsets" / "clean")
    assert (nothing.checksum, list(nothing)) == (clean.checksum, list(clean))
    of, workspace = settings(), Workspace(tmp_path)
    plan = of.teacher.plan(trainset=nothing.path, seed=1, words_of=("train", "test", "validation"))
    teacher = workspace.trained("teacher", collection.path, plan)
    scores = workspace.taught(teacher, collection.path, "train", candidates, 8)
    way = of.losses[1].training(of.models[0].training, 27)
    plan = of.models[0].plan(
        teacher_scores=scores, split="train", teacher_depth=8, training=way, seed=1
    )
    student = workspace.trained("student", collection.path, plan)
    theirs = {"teacher": "teacher-tk-clean-seed-1", "student": "student-tk-ranknet-clean-seed-1"}
    for name, model in (("teacher", teacher), ("student", student)):
        there = finished / "models" / theirs[name]
        assert read_manifest(model).content["checksum"] == read_manifest(there).content["checksum"]
        run_of = workspace.reranked(
            model, collection.path, "test", finished / "runs" / "bm25-test.run", depth=6
        )
        ours, other = read_run(run_of), read_run(finished / "runs" / f"{theirs[name]}-on-test.run")
        assert [(r.query_id, r.passage_ids, r.scores.tolist()) for r in ours.rankings()] == [
            (r.query_id, r.passage_ids, r.scores.tolist()) for r in other.rankings()
        ]
    clean_scores = open_teacher_scores(finished / "taught" / "teacher-tk-clean-seed-1-on-train")
    assert open_teacher_scores(scores).checksum == clean_scores.checksum


def test_negatives_of_the_candidates_are_the_same_for_all_teachers(
    collection: Collection, tmp_path: Path
) -> None:
    of = settings(
        negatives_from="candidates",
        losses=(Distillation("margin_mse"),),
        shares=(),
        contaminating=("validation",),
    )
    run(collection, tmp_path, of)
    names = [f"student-tk-margin_mse-{name}-seed-1" for name in ("clean", "validation")]
    assert not (tmp_path / "models" / "teacher-tk-test-seed-1").exists()
    made = [read_manifest(tmp_path / "models" / name) for name in names]
    inputs = [{item.role: item.checksum for item in manifest.inputs} for manifest in made]
    assert inputs[0]["candidates"] == inputs[1]["candidates"]
    assert inputs[0]["teacher_scores"] != inputs[1]["teacher_scores"]
    assert "teacher_depth" not in made[0].settings


def test_teachers_and_students_of_some_training_queries(
    collection: Collection, tmp_path: Path
) -> None:
    of = settings(
        targets=("test",),
        losses=(Distillation("kl"),),
        shares=(),
        teacher_queries=12,
        student_queries=5,
    )
    assert {"bm25-train-of-12", "bm25-train-of-5"} <= set(run(collection, tmp_path, of))
    clean, test = (list(Groups(tmp_path / "trainsets" / name)) for name in ("clean", "test"))
    assert (len(clean), len(test)) == (12, 12 + 18)
    assert test[:12] == clean
    scores = next((tmp_path / "taught").glob("*clean*"))
    students = {*open_teacher_scores(scores).query_ids}
    assert len(students) == 5
    assert students <= {group.query_id for group in clean}


def test_stopped_early_by_held_out_queries(collection: Collection, tmp_path: Path) -> None:
    training = replace(TRAINING, validate_every=2, patience=1)
    student = replace(SMALL, training=training)
    of = settings(
        targets=("test",),
        validation="validation",
        teacher=student,
        models=(student,),
        losses=(Distillation("kl"),),
        shares=(),
    )
    run(collection, tmp_path, of)
    for name in ("teacher-tk-test", "student-tk-kl-test"):
        manifest = read_manifest(tmp_path / "models" / f"{name}-seed-1")
        assert manifest.content["weights"] == "the best on validation"
        assert manifest.content["validation_ndcg@10"] is not None
        assert manifest.settings["validation_split"] == "validation"
    tuned = load_checkpoint(tmp_path / "models" / "student-tk-kl-test-seed-1").depth
    assert tuned is not None
    # whatever depth was tuned, all six candidates are re-ranked
    assert (
        read_manifest(tmp_path / "runs" / "student-tk-kl-test-seed-1-on-test.run").settings["depth"]
        == 6
    )


def test_the_sources_and_what_is_taught() -> None:
    of = settings(shares=(0.5, 0.0, 1.0, 0.25), dose_target="validation", dose_loss="ranknet")
    assert of.sources() == [
        CLEAN,
        Source("test", 1.0),
        Source("validation", 1.0),
        Source("validation", 0.25),
        Source("validation", 0.5),
    ]
    assert (
        [way.loss for _, way in of.taught(CLEAN)]
        == [way.loss for _, way in of.taught(Source("test", 1.0))]
        == ["kl", "ranknet"]
    )
    assert [way.loss for _, way in of.taught(Source("validation", 0.5))] == ["ranknet"]
    assert [source.name for source in of.sources()] == [
        "clean",
        "test",
        "validation",
        "validation-0.25",
        "validation-0.5",
    ]
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
        (
            "hinge",
            (
                "--loss: wanted one that reads a teacher's scores (margin_mse, kl, ranknet); found "
                "'hinge'"
            ),
        ),
        ("kl:1", "--loss: wanted groups of 2 passages or more; found kl:1"),
        ("kl:2:0", "--loss: wanted a part of the steps above 0, at most 1; found 0"),
        ("kl:2:nan", "--loss: wanted a part of the steps above 0, at most 1; found nan"),
    ],
)
def test_ways_that_are_none(text: str, line: str) -> None:
    with pytest.raises(SettingError) as caught:
        Distillation.parse(text)
    assert str(caught.value).startswith(line)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"targets": ()}, "--target: wanted at least one, each once; found none"),
    ({"targets": ("test", "test")}, "--target: wanted at least one, each once; found test, test"),
    ({"source": "test"}, "--source, --target: wanted different splits; found 'test' as both"),
    (
        {"validation": "test"},
        "--validation-split: wanted a split beside the source and the targets; found 'test'",
    ),
    ({"models": ()}, "--models: wanted at least one, each once; found none"),
    (
        {"losses": (Distillation("kl"), Distillation("kl", 3))},
        "--loss: wanted at least one, each once; found kl, kl",
    ),
    ({"seeds": (1, 1)}, "--seeds: wanted at least one, each once; found 1, 1"),
    (
        {"shares": (0.5, 1.5)},
        "--share: wanted shares of a target's queries from 0 to 1, each once; found 0.5, 1.5",
    ),
    (
        {"shares": (0.5, 0.5)},
        "--share: wanted shares of a target's queries from 0 to 1, each once; found 0.5, 0.5",
    ),
    (
        {"contaminating": ("dl19",)},
        "--contaminate: wanted targets of the study (test, validation); found 'dl19'",
    ),
    (
        {"contaminating": ("test", "test")},
        "--contaminate: wanted each target once; found test, test",
    ),
    ({"contaminating": ()}, "--share: wanted a target to contaminate with; found none"),
    (
        {"dose_target": "dl19"},
        "--dose-target: wanted targets of the study (test, validation); found 'dl19'",
    ),
    (
        {"contaminating": ("test",), "dose_target": "validation"},
        "--dose-target: wanted one of the study's own (test); found 'validation'",
    ),
    (
        {"dose_student": "bert_dot"},
        "--dose-student: wanted one of the study's own (tk); found 'bert_dot'",
    ),
    (
        {"dose_loss": "margin_mse"},
        "--dose-loss: wanted one of the study's own (kl, ranknet); found 'margin_mse'",
    ),
    (
        {"negatives_from": "random"},
        "--negatives-from: wanted teacher or candidates; found 'random'",
    ),
    ({"depth": 0}, "--depth: wanted at least 1; found 0"),
    ({"teacher_queries": 0}, "--teacher-queries: wanted at least 1; found 0"),
    ({"target_relevant_from": 0}, "--target-relevant-from: wanted at least 1; found 0"),
    (
        {"candidates": {"dev": Path()}},
        "--candidates: wanted splits of the study (train, test, validation); found 'dev'",
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
                r"wanted the splits train, test, dl19; found no dl19 \(there are .*posbias merge "
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


def test_the_manifest_says_what_was_run(finished: Path) -> None:
    manifest = read_manifest(finished / "results")
    study = manifest.settings["study"]
    assert (manifest.command, study["source"], study["targets"]) == (
        "study contamination",
        "train",
        ["test", "validation"],
    )
    assert (study["dose_target"], study["dose_student"], study["dose_loss"]) == ("test", "tk", "kl")
    assert study["teacher"]["training"]["loss"] == "lce"
    assert study["losses"][1] == {"loss": "ranknet", "group_size": 3, "part": 0.5}
    assert manifest.input("training set test 0.5") is not None
    assert set(load(finished / "results")["split"]) >= {"test", "validation"}

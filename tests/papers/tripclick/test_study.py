"""The TripClick study end to end on planted clicks: its steps, an interruption, a dry run, every
bad setting.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from positionbias.clicks.settings import ClickSettings
from positionbias.clicks.trainset import write_click_set
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.run import Run
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.tripclick import REGENERATED
from positionbias.papers.tripclick.settings import (
    JudgedSplit,
    TripClickSettings,
)
from positionbias.papers.tripclick.study import run_study, write_study_set
from positionbias.planted.clicks import PASSED_OVER, TRUE
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.training.config import TrainConfig
from tests.tiny import TINY, candidates, planted

TRAINING = TrainConfig(batch_size=8, threads=1, max_steps=3, validate_every=1)
ORIGINAL = {"original": PASSED_OVER}
SETS_OF = (REGENERATED, "original")


def settings(**changes: Any) -> TripClickSettings:
    given: dict[str, Any] = {
        "tests": (JudgedSplit("test", TRUE), JudgedSplit("test")),
        "models": (ModelSettings("tk", TINY, TRAINING),),
        "negatives_of": ORIGINAL,
        "complete_qrels": TRUE,
        "negatives": 3,
        "train_depth": 20,
        "depth": 5,
        "depths": (2, 5, 12),
        "retrieval_depth": 12,
    }
    return TripClickSettings(**{**given, **changes})


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    # 26 training, 4 validation and 30 test queries: of fewer a Wilcoxon test takes long
    place = tmp_path_factory.mktemp("tripclick") / "clicks"
    return write_planted(
        place,
        PlantedSettings(
            queries=60, passages=60 * 6, answers_each=3, test_share=0.5, validation_share=0.06
        ),
    )


def steps(collection: Collection, of: TripClickSettings, folder: Path) -> list[str]:
    """Return the steps of the study, by a dry run."""
    workspace = Workspace(folder / "study", dry_run=True)
    run_study(collection, of, workspace)
    assert not (folder / "study").exists()
    return [step.name for step in workspace.planned]


def test_the_steps(collection: Collection, tmp_path: Path) -> None:
    """Every kind of system: re-rankers of words and of an encoder on two sets, their ensemble, a
    retriever.
    """
    encoded = [
        ModelSettings(kind, None, TRAINING, encoder="minilm") for kind in ("bert_cat", "bert_dot")
    ]
    models = (ModelSettings("tk", TINY, TRAINING), *encoded)
    rerankers = [
        step
        for model in ("tk", "bert_cat")
        for name in SETS_OF
        for step in (f"train-{model}-{name}-seed-1", f"rerank-{model}-{name}-seed-1-on-test")
    ]
    dot = "bert_dot-regenerated-seed-1"
    assert steps(collection, settings(models=models, ensemble=("tk", "bert_cat")), tmp_path) == [
        "bm25-train",
        "bm25-test",
        *(f"trainset-{name}" for name in SETS_OF),
        *rerankers,
        *(f"train-{dot}", f"encode-{dot}", f"retrieve-{dot}-retrieving-test"),
        "ensemble-seed-1-on-test",
        "measure",
    ]


def test_sets_hold_what_they_say(collection: Collection, tmp_path: Path) -> None:
    true = {(q.query_id, q.passage_id) for q in collection.qrels("train", TRUE) if q.grade}
    clicks = {(q.query_id, q.passage_id) for q in collection.qrels("train")}
    passed = {
        (q.query_id, q.passage_id) for q in collection.qrels("train", PASSED_OVER) if not q.grade
    }
    run = candidates(collection, tmp_path, depth=20)["train"]
    drawn = {}
    for name in SETS_OF:
        groups = list(write_study_set(tmp_path / name, collection, run, name, settings()))
        assert {(g.query_id, g.passage_ids[0]) for g in groups} <= clicks
        drawn[name] = [(g.query_id, g.passage_ids[1]) for g in groups]
        assert not clicks.intersection(drawn[name])
    assert set(drawn["original"]) <= passed
    assert true.intersection(drawn["original"])
    given = settings(negatives_of={}, trainsets={"mine": tmp_path / "original"})
    assert [step for step in steps(collection, given, tmp_path) if step.startswith("train")] == [
        "trainset-regenerated",
        "train-tk-regenerated-seed-1",
        "train-tk-mine-seed-1",
    ]


def test_a_curve_has_the_depths_that_bm25_gives() -> None:
    assert settings(depths=(5, 10, 20)).curve == [5, 10]


def test_an_ensemble_is_measured_as_deep_as_its_members(tmp_path: Path) -> None:
    first = Run("bm25", [("q", ["a", "b", "c", "d", "e"], [5.0, 4.0, 3.0, 2.0, 1.0])])
    # z of the first three: one 1.40, -0.54, -0.86 of b, c, a; other the same of b, a, c; what they
    # say of d and e is below the depth
    one = Run("one", [("q", ["b", "c", "a", "e", "d"], [9.0, 3.0, 2.0, 1.0, 0.0])])
    other = Run("other", [("q", ["e", "b", "a", "c"], [99.0, 90.0, 30.0, 20.0])])
    runs = {run.name: tmp_path / f"{run.name}.run" for run in (first, one, other)}
    for run in (first, one, other):
        run.save(runs[run.name])
    members = {name: runs[name] for name in ("one", "other")}
    place = Workspace(tmp_path / "study").ensembled(
        "both", members, runs["bm25"], split="test", depth=3
    )
    made = Run.from_file(place)["q"]
    assert made.passage_ids == ["b", "c", "a", "d", "e"]  # c and a are tied
    third = (2 - 14 / 3) / math.sqrt(86 / 9) / 2 + (3 - 14 / 3) / math.sqrt(86 / 9) / 2
    assert made.scores[1:3] == pytest.approx([third, third])


def test_validation_is_at_the_depth_that_is_measured() -> None:
    for validation, depths in ((None, (1, 100)), ("validation", (150, 150))):
        (model,) = settings(
            validation=validation, depth=150, depths=(2,), retrieval_depth=200
        ).models
        assert (model.training.least_depth, model.training.most_depth) == depths


def test_regenerated_negatives_are_those_of_trainset_clicks(tmp_path: Path) -> None:
    plain = planted(tmp_path / "planted")  # no set of judgements but its own
    run = candidates(plain, tmp_path, depth=12)["train"]
    study = settings(
        tests=(JudgedSplit("test"),), negatives_of={}, complete_qrels=None, train_depth=9
    )
    ours = write_study_set(tmp_path / "ours", plain, run, study.sets[0], study)
    theirs = write_click_set(
        tmp_path / "theirs", plain, run, ClickSettings(negatives=3, train_depth=9)
    )
    assert sorted(ours) == sorted(theirs)
    assert len(ours) > 50


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            {"tests": (JudgedSplit("test", "dctr"),)},
            "wanted judgements 'dctr' of split 'test'; found true, passed-over",
        ),
        ({"complete_qrels": "all"}, "wanted judgements 'all' of split 'train'"),
    ],
    ids=["test-judgements", "truth"],
)
def test_what_is_not_in_the_collection_is_one_line(
    collection: Collection, tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError) as caught:
        steps(collection, settings(**changes), tmp_path)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", ":true", "test:"])
def test_a_test_is_a_split_with_or_without_judgements(text: str) -> None:
    with pytest.raises(SettingError, match="wanted SPLIT or SPLIT:JUDGEMENTS"):
        JudgedSplit.parse(text)
    assert JudgedSplit.parse("head_test:dctr").label == "head_test.dctr"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            {"tests": (JudgedSplit("train"),)},
            "--source, --test-split, --validation-split: wanted at least one, each once",
        ),
        ({"depth": 13}, "--depth: wanted at most --retrieval-depth"),
        ({"negatives_of": {"a b": TRUE}}, "wanted a name of letters"),
        (
            {"models": (ModelSettings("tk", TINY, TrainConfig(group_size=6)),)},
            "--group-size: wanted 2, as models are trained on triples; found 6",
        ),
    ],
    ids=lambda value: value.split(":")[0].replace(" ", "-") if isinstance(value, str) else "",
)
def test_bad_settings_are_one_line(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingError) as caught:
        settings(**changes)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)

"""What a TripClick study refuses before its first step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import DependencyError, InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.retrieval import Retrieval
from positionbias.core.run import Run, write_run
from positionbias.dense import approximate
from positionbias.experiments import candidates
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.papers.tripclick.settings import (
    OWN_JUDGEMENTS,
    JudgedSplit,
    Negatives,
    StoredSet,
    TripClickSettings,
)
from positionbias.papers.tripclick.study import check_study, run_study
from positionbias.papers.tripclick.trainsets import write_study_set
from positionbias.planted.generator import PlantedSettings, write_planted
from tests.tiny import TINY, tiny_encoder

from .made_up import judged_collection


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return write_planted(
        tmp_path_factory.mktemp("checks") / "clicks", PlantedSettings(queries=20, passages=100)
    )


def settings(**changes: Any) -> TripClickSettings:
    given: dict[str, Any] = {
        "tests": (JudgedSplit("test"),),
        "models": (ModelSettings("tk", TINY),),
    }
    return TripClickSettings(**{**given, **changes})


def test_what_cannot_be_measured_or_begun_with_shows_before_the_first_step(
    planted: Collection, tmp_path: Path
) -> None:
    other, runs = judged_collection(tmp_path / "judged")
    of = settings(negatives_of=(Negatives("own", OWN_JUDGEMENTS),), negatives=1)
    write_study_set(tmp_path / "of-another", other, runs, of.sets[1], of)
    with create_collection(tmp_path / "unjudged") as writer:
        writer.add_passages([Passage("a", "the lamp"), Passage("b", "the sun")])
        writer.add_split("train", [Query("q", "lamp")], [Qrel("q", "a", 1), Qrel("q", "b", 0)])
        writer.add_qrels("train", "own", [Qrel("q", "b", 0)])
        writer.add_split("test", [Query("t", "sun")], [Qrel("t", "a", 0)])
        writer.add_split("validation", [Query("v", "sun")], [])
        writer.add_split("judged", [Query("j", "sun")], [Qrel("j", "b", 1)])
        writer.finish(Manifest("collection", "unjudged", "a test"))
    unjudged = Collection(tmp_path / "unjudged")
    write_run(tmp_path / "train.run", Run("train", [("q", ["a", "nothing"], [2.0, 1.0])]))
    (tmp_path / "no-encoder").mkdir()
    plain: dict[str, Any] = {"tests": (JudgedSplit("judged"),)}
    empty = ModelSettings("bert_cat", encoder=str(tmp_path / "no-encoder"))
    for found, changes, named in (
        (
            unjudged,
            plain | {"tests": (JudgedSplit("test"),)},
            "wanted --test-split test with a relevant passage for at least one of its queries",
        ),
        (
            unjudged,
            plain | {"validation": "validation"},
            "wanted --validation-split validation with a relevant passage",
        ),
        (
            unjudged,
            plain | {"candidates": {"train": tmp_path / "train.run"}},
            "found 1 of 2 that are not in it, the first 'nothing'",
        ),
        (
            unjudged,
            plain | {"candidates": {"judged": tmp_path / "train.run"}},
            "found 1 of 2 that are not in it",
        ),
        (
            unjudged,
            plain | {"negatives_of": (Negatives("x", "own"),)},
            "wanted 'own' to mean the unnamed set of split 'train'",
        ),
        (unjudged, plain | {"models": (empty,)}, "no-encoder: wanted an encoder's folder"),
        (
            planted,
            {"trainsets": (StoredSet("mine", stored=tmp_path / "of-another"),)},
            "found the unknown query 'q1'",
        ),
    ):
        with pytest.raises((InputError, SettingError)) as caught:
            run_study(found, settings(**changes), Workspace(tmp_path / "study"))
        assert named in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "study").exists()


def test_an_index_without_its_package_shows_at_once(
    planted: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximate, "find_spec", lambda name: None)
    encoder = str(tiny_encoder(tmp_path / "encoder"))
    of = settings(models=(ModelSettings("bert_dot", encoder=encoder),), index="hnsw")
    with pytest.raises(DependencyError, match="--index hnsw: wanted faiss; found none"):
        check_study(planted, of)


def test_a_given_run_of_training_queries_is_read_at_its_beginning(
    planted: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "train.run"
    retrieve_run(planted, Retrieval("train", 3), Bm25Settings(), place)
    with monkeypatch.context() as patch:
        patch.setattr(candidates, "read_run", lambda path: pytest.fail("read whole"))
        patch.setattr(candidates, "LOOKED_AT", 2)
        check_study(planted, settings(candidates={"train": place}))
    with pytest.raises(InputError, match="wanted queries of split 'test'; found none"):
        check_study(planted, settings(candidates={"test": place}))

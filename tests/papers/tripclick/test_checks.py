"""What a TripClick study refuses before its first step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings
from positionbias.papers.tripclick.study import run_study
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from tests.tiny import TINY


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
    tmp_path: Path,
) -> None:
    with create_collection(tmp_path / "unjudged") as writer:
        writer.add_passages([Passage("a", "the lamp"), Passage("b", "the sun")])
        writer.add_split("train", [Query("q", "lamp")], [Qrel("q", "a", 1), Qrel("q", "b", 0)])
        writer.add_split("test", [Query("t", "sun")], [Qrel("t", "a", 0)])
        writer.add_split("validation", [Query("v", "sun")], [])
        writer.add_split("judged", [Query("j", "sun")], [Qrel("j", "b", 1)])
        writer.finish(Manifest("collection", "unjudged", "a test"))
    unjudged = Collection(tmp_path / "unjudged")
    Run("train", [("q", ["a", "nothing"], [2.0, 1.0])]).save(tmp_path / "train.run")
    plain: dict[str, Any] = {"tests": (JudgedSplit("judged"),)}
    for found, changes, named in (
        (
            unjudged,
            plain | {"tests": (JudgedSplit("test"),)},
            "wanted a relevant passage for a query of test; found none",
        ),
        (
            unjudged,
            plain | {"candidates": {"train": tmp_path / "train.run"}},
            "found 1 of 2 that are not in it, the first 'nothing'",
        ),
    ):
        with pytest.raises(InputError) as caught:
            run_study(found, settings(**changes), Workspace(tmp_path / "study"))
        assert named in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "study").exists()

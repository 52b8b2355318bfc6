"""``posbias study dose`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection

from ..tiny import TINY, planted
from .conftest import RunPosbias


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("dose") / "planted")


def test_the_command(run_posbias: RunPosbias, collection: Collection, tmp_path: Path) -> None:
    given = ["study", "dose", collection.path, "--answers-in", "0:0.4", "--answers-in", "0:1", "--out", "./study", "--depth", 6]
    dry = run_posbias(*given, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "select-answers-0-0_4-original" in dry.stdout
    assert not (tmp_path / "study").exists()
    done = run_posbias(*given, "--answers-in", "0.5:0.2")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--answers-in: wanted LOW:HIGH with 0 ≤ LOW < HIGH ≤ 1, as in 0:0.2; found 0.5:0.2" in done.stderr
    assert "Missing option '--answers-in'" in run_posbias("study", "dose", collection.path, "--out", "./x").stderr


def test_the_command_runs_and_goes_on(run_posbias: RunPosbias, collection: Collection, tmp_path: Path) -> None:
    tiny = [f"{name}={getattr(TINY, name)}" for name in ("dimension", "layers", "heads", "head_size", "feed_forward")]
    given = [
        "study",
        "dose",
        collection.path,
        "--answers-in",
        "0:0.4",
        "--answers-in",
        "0:1",
        "--out",
        "./study",
        "--depth",
        6,
        "--train-depth",
        6,
    ]
    given += ["--max-steps", 2, "--validate-every", 2, "--threads", 1, "--only", "original", "--probe-passages", 20, "--json"]
    given += ["--seeds", 1, "--rotations", 1]
    for assignment in tiny:
        given += ["--set", assignment]
    done = run_posbias(*given)
    assert done.returncode == 0, done.stderr
    assert {item["facts"].get("variant") for item in json.loads(done.stdout)["results"]} == {
        None,
        "answers in 0:0.4",
        "answers in 0:1",
    }
    assert (tmp_path / "study" / "report.html").is_file()
    assert (tmp_path / "study" / "tables" / "doses.csv").is_file()
    again = run_posbias(*given)
    assert again.stdout == done.stdout
    assert again.stderr.count("done before") == again.stderr.count(": ") - 2  # all but the two lines at the end

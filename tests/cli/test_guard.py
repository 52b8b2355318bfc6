"""``--overwrite`` replaces artefacts of ours, and never what the command reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from positionbias.cli.main import posbias
from positionbias.core.collection import Collection
from positionbias.core.errors import OutputExistsError, PositionBiasError, SettingError
from positionbias.core.run import Run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_collection: Collection) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    small_collection.path.rename(tmp_path / "home" / "small")
    Run("a", [("q1", ["p1", "p2"], [2.0, 1.0])]).save("a.run")
    Run("b", [("q1", ["p1", "p2"], [1.0, 2.0])]).save("b.run")
    return tmp_path


def call(*arguments: str) -> PositionBiasError:
    error = CliRunner().invoke(posbias, arguments, standalone_mode=False).exception
    assert isinstance(error, PositionBiasError), error
    return error


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (
            "collection select small --answers-in 0:0.5 --out home/small",
            "found home/small, which is the input small",
        ),
        ("debias a.run --set format=tsv --out a.run", "found a.run, which is the input a.run"),
        ("debias small --out ./home", "found ./home, which holds the input small"),
        (
            "collection merge x=small y=home/small --out home/small",
            "found home/small, which is the input small",
        ),
        (
            "retrieve small --split test --out home/small/passages",
            "which stands in the input small",
        ),
        ("report home/small --out page.html --tables home/small", "--tables: wanted a place apart"),
    ],
)
def test_an_input_is_never_replaced(home: Path, arguments: str, found: str) -> None:
    before = files(home)
    error = call(*arguments.split(), "--overwrite")
    assert isinstance(error, SettingError)
    assert found in str(error)
    assert files(home) == before


@pytest.mark.parametrize(
    ("command", "given", "out", "found"),
    [
        (
            "position-bias small",
            "--word-vectors words/words.txt",
            "words",
            "found words, which holds the input",
        ),
        (
            "position-bias small",
            "--models bert_cat --encoder encoder",
            "encoder",
            "found encoder, which is the input encoder",
        ),
        (
            "position-bias small",
            "--set candidates=test=a.run",
            "a.run",
            "found a.run, which is the input a.run",
        ),
        ("pooling", "--task A a.run a.run b.run", "b.run", "found b.run, which is the input b.run"),
    ],
)
def test_no_input_of_a_study_is_its_output(
    home: Path, command: str, given: str, out: str, found: str
) -> None:
    Path("words").mkdir()
    for words in ("words.txt", "words/words.txt"):
        Path(words).write_text("word 1 2\n")
    for folder in ("encoder", "start"):
        Path(folder).mkdir()
        Path(folder, "manifest.json").write_text("{}")
    before = files(home)
    error = call("study", *command.split(), *given.split(), "--out", out)
    assert isinstance(error, SettingError), error
    assert "--out: wanted a place apart from what is read" in str(error)
    assert found in str(error)
    assert files(home) == before


@pytest.mark.parametrize("out", ["home/small/rotated", "./home/../home/small/rotated"])
def test_nothing_new_is_put_into_an_input(home: Path, out: str) -> None:
    before = files(home)
    error = call("debias", "small", "--out", out)
    assert isinstance(error, SettingError)
    assert (
        f"--out: wanted a place apart from what is read; found {out}, which stands in the "
        "input small"
    ) in str(error)
    assert files(home) == before


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_study_is_no_file(home: Path, dry: tuple[str, ...]) -> None:
    error = call("study", "position-bias", "small", "--out", "a.run", *dry)
    assert "--out: wanted a folder for the study; found a.run, a file; give another" in str(error)


def test_a_name_that_is_no_path_is_not_compared(home: Path) -> None:
    arguments = "model ensemble a.run b.run --name c.run --out c.run --overwrite".split()
    for _ in range(2):
        assert CliRunner().invoke(posbias, arguments, standalone_mode=False).exception is None


@pytest.mark.parametrize("out", [".", "notes"])
def test_a_users_folder_is_kept(home: Path, out: str) -> None:
    (home / "notes").mkdir()
    (home / "notes" / "mine.txt").write_text("mine")
    (home / "manifest.json").write_text(json.dumps({"name": "somebody's"}))
    before = files(home)
    place = "./notes" if out == "notes" else out
    assert isinstance(
        call("debias", "small", "--out", place, "--overwrite"), OutputExistsError | SettingError
    )
    assert files(home) == before

"""``list_artefacts``: a row an artefact, from two folders, as text and JSON."""

import json
from pathlib import Path

import pytest

import positionbias as pb
from positionbias.core.errors import InputError
from tests.tiny import candidates, planted


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    candidates(planted(tmp_path / "home" / "kept"), Path())
    return tmp_path / "home"


def test_both_folders_are_listed_by_default(shelf: Path):
    found = pb.list_artefacts()
    assert [(one.name, one.kind) for one in found.artefacts] == [
        ("kept", "collection"), ("test.run", "run"), ("train.run", "run"), ("validation.run", "run"),
    ]  # fmt: skip
    assert found.artefacts[1].inputs == ("kept",)
    text = str(found)
    assert text.startswith(f"Under $POSBIAS_HOME ({shelf})")
    assert "In this folder" in text
    document = json.loads(json.dumps(found.to_json()))
    assert [one["name"] for one in document["artefacts"]] == [one.name for one in found.artefacts]
    assert list(found.to_frame()["kind"]) == [one.kind for one in found.artefacts]


def test_where_home_is_the_working_folder_each_stands_once(shelf: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(shelf)
    assert [one.name for one in pb.list_artefacts().artefacts] == ["kept"]


def test_one_folder_by_its_path_and_by_its_name(shelf: Path):
    assert [one.path for one in pb.list_artefacts(shelf).artefacts] == [shelf / "kept"]
    assert [one.path for one in pb.list_artefacts("kept").artefacts] == [shelf / "kept"]


def test_nothing_there_is_said_and_no_folder_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    assert str(pb.list_artefacts()) == f"no artefacts in {tmp_path / 'none'}, ."
    (tmp_path / "a.txt").touch()
    with pytest.raises(InputError, match=r"a.txt: wanted a folder; found a file; check the path"):
        pb.list_artefacts("a.txt")
    with pytest.raises(InputError, match=r"a.tx: wanted a folder; found nothing there; did you mean a.txt\?"):
        pb.list_artefacts("a.tx")

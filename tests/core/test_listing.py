"""Artefacts by their manifests: ours, damaged ones of ours, and what is somebody else's."""

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.found import artefacts_in, names_of, splits_of
from positionbias.core.listing import listed
from positionbias.core.manifest import Manifest, write_manifest
from tests.tiny import planted


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a collection, its damaged copies, and others' manifests; $POSBIAS_HOME beside it."""
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    home.mkdir()
    monkeypatch.setenv("POSBIAS_HOME", str(home))
    monkeypatch.chdir(here)
    good = planted(Path("good")).path / "manifest.json"
    for name, text in {
        "cut": good.read_text()[:300],
        "changed": good.read_text().replace('"passages": ', '"passages": 1'),
        "app": '{"name": "a web page", "icons": []}',
        "list": '{\n  "kind": "List", "items": []\n}',
        ".partial": good.read_text(),
    }.items():
        Path(name).mkdir()
        Path(name, "manifest.json").write_text(text)
    Path("plain").mkdir()
    Path("cut.run.manifest.json").write_text("")  # as any program might leave it
    return home


def test_ours_are_listed_and_damaged_ones_named(shelf: Path):
    found = [one for one in map(listed, artefacts_in(Path())) if one is not None]
    assert [(one.name, one.kind) for one in found] == [("changed", "collection"), ("cut", "collection"), ("good", "collection")]
    changed, cut, good = found
    assert changed.fault.startswith("wanted a manifest as it was written; found one that was changed since")
    assert "wanted a posbias manifest" in cut.fault
    counts = json.loads(Path("good/manifest.json").read_text())["content"]
    assert good.holds.startswith(f"{counts['passages']:,} passages, {counts['splits']['train']['queries']:,} train queries")
    files = [path for path in Path("good").rglob("*") if path.is_file() and path.name != "manifest.json"]
    assert good.bytes == sum(path.stat().st_size for path in files if "cache" not in path.parts)
    assert good.fault == ""


def test_under_home_all_that_is_damaged_is_ours(shelf: Path):
    for name, text in {"empty": "", "noise": "\0\1", "cut.run": "{"}.items():
        (shelf / f"{name}.manifest.json").write_text(text)
    found = [listed(one) for one in artefacts_in(shelf)]
    assert [(one.name, bool(one.fault)) for one in found if one] == [("cut.run", True), ("empty", True), ("noise", True)]


def test_a_folder_that_is_an_artefact_is_its_only_row(shelf: Path):
    assert [one.path for one in artefacts_in(Path("good"))] == [Path("good")]
    assert list(artefacts_in(Path("nowhere"))) == []


def test_a_study_is_one_row(shelf: Path):
    Path("mine/results").mkdir(parents=True)
    Path("mine/steps").mkdir()
    write_manifest(Path("mine/results/manifest.json"), Manifest("results", "n", "study position-bias"))
    (study,) = (one for one in artefacts_in(Path()) if one.kind == "study")
    described = listed(study)
    assert described is not None
    assert (described.name, described.command, described.fault) == ("mine", "study position-bias", "")


def test_names_and_splits_for_completion(shelf: Path):
    Path("good").rename(shelf / "kept")
    assert names_of("collection") == ["changed", "cut", "kept"]
    assert names_of("run") == []
    assert splits_of("kept") == Collection(shelf / "kept").splits
    assert splits_of("cut") == splits_of("app") == splits_of("nowhere") == []

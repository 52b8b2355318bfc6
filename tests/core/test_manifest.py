"""Manifests: relative inputs, a round trip, and one line for what is none of ours."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from positionbias import overlap_leakage
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.files import sha256_file
from positionbias.core.manifest import (
    InputRef,
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    read_manifest,
    write_manifest,
)
from positionbias.core.seal import seal_file, signed
from tests.sealing import reseal


def test_an_input_stands_relative_to_its_artefact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "data" / "train.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "work")
    for given in ("../data/train.json", tmp_path / "data" / "train.json"):
        ref = input_ref("train", given, sha256_file(given), artefact="made")
        assert ref == InputRef("train", "../../data/train.json", sha256_file(given))
    # the pair moves together, and the reference still leads there
    (tmp_path / "work" / "made").mkdir()
    shutil.copytree(tmp_path, tmp_path.parent / "elsewhere")
    assert (tmp_path.parent / "elsewhere" / "work" / "made" / ref.path).read_text() == "{}"


def test_a_manifest_goes_round(tmp_path: Path) -> None:
    given = Manifest(
        kind="run",
        name="bm25",
        command="retrieve",
        settings={"k1": 0.9, "depth": 100},
        seed=3,
        inputs=(InputRef("collection", "../c", "ab"), InputRef("collection", "../d", "cd")),
        content={"checksum": "ef"},
        licence="invented",
        notes=("a decision",),
        versions=package_versions("numpy", "no-such-package"),
        provenance=provenance(workers=2),
    )
    (tmp_path / "bm25.run").write_text("q1 Q0 p1 1 1.0 bm25\n")
    path = manifest_path(tmp_path / "bm25.run")
    assert path.name == "bm25.run.manifest.json"
    write_manifest(path, given)
    again = read_manifest(tmp_path / "bm25.run", kind="run")
    assert again == replace(given, files={"bm25.run": seal_file(tmp_path / "bm25.run")})
    assert again.comparable() == given.comparable()
    assert again.input("collection") == InputRef("collection", "../c", "ab")
    assert again.input("model") is None
    assert again.versions["no-such-package"] == "not installed"
    assert set(again.provenance) == {"created", "platform", "cores", "workers"}
    assert "provenance" not in again.comparable()


def test_no_absolute_path_is_written(small_collection) -> None:
    text = (small_collection.path / "manifest.json").read_text()
    assert str(small_collection.path.parent) not in text


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], "wanted a posbias manifest; found other JSON"),
        ({"name": "x"}, "wanted a posbias manifest; found other JSON"),
        (
            {"kind": "run", "format_version": 2},
            "wanted manifest format 1; found format 2; make the artefact again",
        ),
        (
            {"kind": "run", "format_version": 1},
            "wanted fields as posbias writes them; found .*name",
        ),
        (
            {"kind": "run", "format_version": 1, "name": "x", "command": "x", "colour": 1},
            "found .*colour",
        ),
        (
            {
                "kind": "run",
                "format_version": 1,
                "name": "x",
                "command": "x",
                "inputs": [{"role": "x"}],
            },
            "found .*path",
        ),
        (
            {"kind": "checkpoint", "format_version": 1, "name": "x", "command": "x"},
            "wanted a posbias run; found a checkpoint",
        ),
    ],
)
def test_what_is_no_manifest_of_ours_is_one_line(tmp_path: Path, record: Any, message: str) -> None:
    (tmp_path / "manifest.json").write_text(
        json.dumps(signed({**record, "files": {}}) if "kind" in record else record)
    )
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path, kind="run")


PATHS = [
    "../../../X",
    "/tmp/X",
    "..",
    ".",
    "a/b",
    "..\\X",
    "C:X",
    "C:\\X",
    "new\nline",
    "nul\0",
    "x" * 256,
    "ä" * 128,
]


@pytest.mark.parametrize(
    "kind", ["collection", "checkpoint", "vectors", "trainset", "index", "passages", "export"]
)
@pytest.mark.parametrize("name", PATHS)
def test_a_name_that_is_a_path_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    write_manifest(tmp_path / "manifest.json", Manifest(kind, name, "a test"))
    with pytest.raises(InputError, match="is no name of an artefact") as error:
        read_manifest(tmp_path)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("name", ["Größe, 東京 (2)", "a.b-c_d+e", "x" * 255, "", "ab:c"])
def test_other_names_are_read(tmp_path: Path, name: str) -> None:
    write_manifest(tmp_path / "manifest.json", Manifest("collection", name, "a test"))
    assert read_manifest(tmp_path).name == name
    for kind in ("results", "teacher-scores"):
        write_manifest(tmp_path / "manifest.json", Manifest(kind, "rerank:BAAI/bge-m3", "a test"))
        # a title, of which no file is named
        assert read_manifest(tmp_path).name == "rerank:BAAI/bge-m3"


def test_a_collection_that_is_named_by_a_path_is_not_opened(
    small_collection: Collection, tmp_path: Path
) -> None:
    reseal(small_collection.path, lambda record: record.update(name="../../../X"))
    with pytest.raises(InputError, match="manifest.json: '../../../X' is no name of an artefact"):
        Collection(small_collection.path)
    with pytest.raises(InputError, match="is no name of an artefact"):
        overlap_leakage(
            [small_collection.path], tests=[small_collection.path], out=tmp_path / "a" / "b" / "c"
        )
    assert not list(tmp_path.rglob("*X*"))


def test_an_artefact_without_manifest_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"x.run: wanted a posbias run; found no x.run.manifest.json; check the path",
    ):
        read_manifest(tmp_path / "x.run", kind="run")

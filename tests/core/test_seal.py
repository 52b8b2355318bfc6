"""Damage is found where it is read: every file of an artefact, and manifests that were changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import (
    Manifest,
    manifest_if_any,
    manifest_path,
    read_manifest,
    write_manifest,
)
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seal import (
    seal_folder,
    verified,
)
from positionbias.report.verification import manifests_in, verify
from tests.sealing import reseal


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    place = tmp_path / "c"
    with create_collection(place) as writer:
        writer.add_passages(
            Passage(f"p{number}", f"text {number} " * 40) for number in range(9_000)
        )
        writer.add_split(
            "test", [Query("q1", "what")], [Qrel("q1", "p1", 1)], [Answer("q1", "p1", "text", 0, 4)]
        )
        writer.add_qrels("test", "more", [Qrel("q1", "p2", 2)])
        writer.finish(Manifest("collection", "c", "a test"))
    return place


def flip(path: Path, at: int) -> None:
    """Change one byte, and neither size nor time."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[at] ^= 0x01
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_content_is_named_and_nothing_else(tmp_path: Path) -> None:
    for name in ("manifest.json", "a/manifest.json", "a/b", ".partial", "cache/index", "a/cache/b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert list(seal_folder(tmp_path)) == ["a/b", "a/cache/b", "a/manifest.json"]
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    with pytest.raises(
        InputError, match="link: wanted a regular file in an artefact; found a link"
    ):
        seal_folder(tmp_path)


READS: dict[str, Callable[[Path], object]] = {
    "passages/00000.arrow": lambda place: list(Collection(place).passages()),
    "queries/test.parquet": lambda place: Collection(place).queries("test"),
    "qrels/test.parquet": lambda place: Collection(place).qrels("test"),
    "qrels/test.more.parquet": lambda place: Collection(place).table("qrels.more", "test"),
    "answers/test.parquet": lambda place: Collection(place).answers("test"),
    "ids.arrow": lambda place: Collection(place).find(["p1"]),
}


@pytest.mark.parametrize("name", READS)
def test_one_changed_byte_is_found_where_it_is_read(collection: Path, name: str) -> None:
    READS[name](collection)
    flip(collection / name, (collection / name).stat().st_size // 2)
    with pytest.raises(
        InputError, match=rf"{name}: wanted the content that its manifest names; found other bytes"
    ):
        READS[name](collection)


def test_a_changed_manifest_is_refused(collection: Path) -> None:
    path = collection / "manifest.json"
    path.write_text(path.read_text().replace('"passages": 9000', '"passages": 9001'))
    with pytest.raises(
        InputError,
        match=(
            "manifest.json: wanted a manifest as it was written; found one that was changed since"
        ),
    ):
        Collection(collection)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda record: record.update(seed="three"),
            "found Expected `int | null`, got `str` - at `seed`",
        ),
        (
            lambda record: record["content"].update(passages="many"),
            "found Expected `int`, got `str` - at `passages`",
        ),
        (lambda record: record.update(versions="\ud800"), "found 'utf-8' codec can't encode"),
        (lambda record: record.pop("name"), "missing required field `name`"),
    ],
)
def test_a_field_of_another_type_is_one_line(
    collection: Path, change: Callable[[dict], object], message: str
) -> None:
    reseal(collection, change)
    with pytest.raises(InputError) as error:
        Collection(collection)
    assert message in str(error.value)


def test_a_run_may_be_renamed_with_its_manifest_and_reached_by_a_link(tmp_path: Path) -> None:
    path = tmp_path / "bm25.run"
    Run("bm25", [("q1", ["a", "b"], [2.0, 1.0])]).save(path)
    write_manifest(manifest_path(path), Manifest("run", "bm25", "retrieve"))
    manifest_path(path).rename(tmp_path / "other.run.manifest.json")
    moved = path.rename(tmp_path / "other.run")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "link.run").symlink_to(moved)
    for place in (moved, tmp_path / "links" / "link.run"):
        assert list(Run.from_file(place)["q1"].passage_ids) == ["a", "b"]
    assert read_manifest(moved).name == "bm25"
    assert [verify(manifest).fault for manifest in manifests_in(tmp_path)] == [""]
    moved.write_text(moved.read_text().replace(" a ", " c "))
    for place in (moved, tmp_path / "links" / "link.run"):
        with pytest.raises(InputError, match="wanted the content that its manifest names"):
            Run.from_file(place)
    assert "other.run: wanted the content" in verify(manifest_path(moved)).fault


@pytest.mark.parametrize("leave", [os.mkfifo, lambda place: os.symlink("nowhere", place)])
def test_a_manifest_that_is_no_file_is_not_taken_for_none(
    tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    path = tmp_path / "bm25.run"
    Run("bm25", [("q1", ["a", "b"], [2.0, 1.0])]).save(path)
    assert manifest_if_any(path) is None
    leave(manifest_path(path))
    with pytest.raises(
        InputError, match=r"wanted a posbias artefact; found bm25.run.manifest.json that is no file"
    ):
        manifest_if_any(path)
    with pytest.raises(
        InputError,
        match=(
            r"bm25.run.manifest.json: wanted a posbias manifest; found something other than a file"
        ),
    ):
        Run.from_file(path)


def test_what_others_leave_beside_is_no_part_of_a_collection(collection: Path) -> None:
    (collection / "passages" / "._00000.arrow").write_text("of a Macintosh")
    (collection.parent / "manifest.json").write_text('{"name": "an extension"}')
    (collection / "notes").symlink_to(collection.parent / "manifest.json")
    assert Collection(collection).texts(["p1"]) == ["text 1 " * 40]
    found = [verify(manifest) for manifest in manifests_in(collection.parent)]
    assert [(item.kind, item.fault, item.strange) for item in found] == [("collection", "", 1)]


def add_index(collection: Path) -> Path:
    index = collection / "cache" / "some" / "index"
    index.parent.mkdir(parents=True)
    index.write_bytes(bytes(400))
    write_manifest(index.parent / "manifest.json", Manifest("index", "some", "a test"))
    return index


def test_an_artefact_whose_manifest_is_gone_is_missed_for_its_cache(collection: Path) -> None:
    add_index(collection)
    manifest_path(collection).unlink()
    for place in (collection, collection.parent):
        index, gone = (verify(manifest) for manifest in manifests_in(place))
        assert (index.kind, index.fault, gone.path) == ("index", "", collection)
        assert "manifest.json: wanted a readable file; found No such file" in gone.fault


def test_verify_names_what_is_damaged(collection: Path) -> None:
    index_file = add_index(collection)
    assert [verify(path).fault for path in manifests_in(collection.parent)] == ["", ""]
    flip(index_file, 200)
    (collection / "answers" / "test.parquet").unlink()
    (collection / "notes.txt").write_text("mine")
    index, whole = (verify(path) for path in manifests_in(collection.parent))
    assert "cache/some/index: wanted the content" in index.fault
    assert "test.parquet: wanted" in whole.fault
    assert "No such file" in whole.fault


def test_a_file_that_shrinks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_bytes(b"x" * 100)
    write_manifest(tmp_path / "manifest.json", Manifest("vectors", "v", "encode"))
    (tmp_path / "vectors").write_bytes(b"x" * 99)
    with pytest.raises(
        InputError, match="vectors: wanted 100 bytes, as its manifest says; found 99"
    ):
        verified(tmp_path / "vectors")
    with pytest.raises(
        InputError, match="vectors: wanted 100 bytes, as its manifest says; found 99"
    ):
        read_manifest(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: wanted a regular file; found something else"):
        verified(tmp_path / "pipe")

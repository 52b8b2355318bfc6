"""Merged collections: everything is there under its prefix, splits are joined, and the parts can be
distinguished again.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import OutputExistsError, SettingError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.publish import work_folder
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.corpora.merge import merge
from positionbias.engine.local import map_shards


@pytest.fixture
def other(tmp_path: Path) -> Collection:
    """Ids and a split that the small collection has too, a split of its own, a further judgement
    set, a judgement of nothing.
    """
    with create_collection(tmp_path / "other") as writer:
        writer.add_blocks(
            list, [[Passage("p-lamp", "Another lamp: p-lamp.")], [Passage("x:y", "")]]
        )
        writer.add_split(
            "test", [Query("q3", "which lamp")], [Qrel("q3", "p-lamp", 3), Qrel("q3", "lost", 1)]
        )
        writer.add_qrels("test", "raw", [Qrel("q3", "x:y", 0)])
        writer.add_split(
            "extra", [Query("q9", "what")], [], [Answer("q9", "p-lamp", "lamp", 8, 12)]
        )
        writer.finish(
            Manifest(
                "collection", "other", "a test", licence="invented too", notes=("a decision",)
            ),
            allow_absent=True,
        )
    return Collection(tmp_path / "other")


def test_everything_is_there_under_its_prefix(
    small_collection: Collection, other: Collection, tmp_path: Path
) -> None:
    merged = merge({"A": small_collection, "B.2": other}, tmp_path / "merged")
    assert [passage.passage_id for passage in merged.passages()] == [
        *(f"A:{item}" for item in small_collection.passage_ids()), "B.2:p-lamp", "B.2:x:y",
    ]  # fmt: skip
    for prefix, part in (("A", small_collection), ("B.2", other)):
        ids = part.passage_ids()
        assert merged.texts([f"{prefix}:{item}" for item in ids]) == part.texts(ids)
    assert merged.splits == ["train", "test", "extra"]
    assert [query.query_id for query in merged.queries("test")] == [
        "A:q3",
        "A:q4",
        "A:q5",
        "B.2:q3",
    ]
    assert merged.queries("test")[0].fields == {"type": "entity"}
    assert merged.qrels("test")[-2:] == [
        Qrel("B.2:q3", "B.2:p-lamp", 3),
        Qrel("B.2:q3", "B.2:lost", 1),
    ]
    assert (merged.qrels_names("test"), merged.qrels("test", "raw")) == (
        ["raw"],
        [Qrel("B.2:q3", "B.2:x:y", 0)],
    )
    assert len(merged.answers("test")) == len(small_collection.answers("test"))
    assert merged.answers("extra") == [Answer("B.2:q9", "B.2:p-lamp", "lamp", 8, 12)]
    manifest = merged.manifest
    assert manifest.licence == "A: invented; B.2: invented too"
    assert "a decision" in manifest.notes
    assert manifest.content["absent"] == {"test": {"judgements": 1, "passages": 1}}
    assert manifest.content["merged"]["B.2"] == {
        "checksum": other.checksum,
        "passages": 2,
    }
    assert [(item.role, item.path) for item in manifest.inputs] == [
        ("A", "../small"),
        ("B.2", "../other"),
    ]


def test_two_workers_write_the_same_and_order_does_not_count(
    small_collection: Collection, other: Collection, tmp_path: Path
) -> None:
    one = merge({"A": small_collection, "B": other}, tmp_path / "1" / "merged")
    two = merge(
        {"A": small_collection, "B": other},
        tmp_path / "2" / "merged",
        map_shards=partial(map_shards, workers=2),
    )
    files = {
        path.relative_to(one.path)
        for path in one.path.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert len(files) >= 8
    for file in files:
        assert (one.path / file).read_bytes() == (two.path / file).read_bytes(), file
    assert read_manifest(one.path).comparable() == read_manifest(two.path).comparable()
    swapped = merge({"B": other, "A": small_collection}, tmp_path / "3" / "merged")
    assert (
        swapped.manifest.content["passages_checksum"] == one.manifest.content["passages_checksum"]
    )


def test_what_cannot_be_merged_is_one_line(small_collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="wanted two collections or more; found 1"):
        merge({"A": small_collection}, tmp_path / "merged")
    for prefix in ("a b", "a:b", "", "a/b"):
        with pytest.raises(
            SettingError, match=r"wanted a prefix of letters, digits, '_', '.' and '-'"
        ):
            merge({"A": small_collection, prefix: small_collection}, tmp_path / "merged")
    with pytest.raises(OutputExistsError):
        merge({"A": small_collection, "B": small_collection}, small_collection.path)
    assert not (tmp_path / "merged").exists()


def test_an_interrupted_merge_goes_on(
    small_collection: Collection, other: Collection, tmp_path: Path
) -> None:
    parts, out, made = {"A": small_collection, "B": other}, tmp_path / "merged", []

    def interrupted(function, items):  # type: ignore[no-untyped-def]
        for item in items:
            if len(made) == 2:
                raise KeyboardInterrupt
            made.append(item)
            yield function(item)

    with pytest.raises(KeyboardInterrupt):
        merge(parts, out, map_shards=interrupted)
    finished = work_folder(out) / "content" / "passages" / "00001.arrow"
    before = finished.stat().st_ino
    merged = merge(parts, out)
    assert (merged.path / "passages" / "00001.arrow").stat().st_ino == before
    assert merged.checksum == merge(parts, tmp_path / "whole").checksum

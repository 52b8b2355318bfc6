"""Passages and training groups left out: what goes with them, what stays, the ledger,
and runs that were interrupted.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.publish import work_folder
from positionbias.core.records import Passage, Qrel, Query
from positionbias.corpora.groups_without import groups_without
from positionbias.corpora.left_out import LeftOut, What
from positionbias.corpora.without import without
from positionbias.report.verification import verify

WHY: JsonObject = {"test_id": "t1", "found_by": ["exact"]}


def leaving(what: What, *items: str, split: str = "train") -> LeftOut:
    return LeftOut(
        split, {item: [WHY] for item in items}, "They leak.", "leakage clean", {}, what=what
    )


def ledger(folder: Path, name: str) -> list[JsonObject]:
    return [
        json.loads(line)
        for line in (folder / "left_out" / name).read_text(encoding="utf-8").splitlines()
    ]


def judged(collection: Collection, split: str) -> list[tuple[str, str]]:
    return [(qrel.query_id, qrel.passage_id) for qrel in collection.qrels(split)]


def test_a_passage_goes_with_its_judgements_and_answers_in_every_split(
    small_collection: Collection, tmp_path: Path
) -> None:
    gone = leaving("passages", "p-tower", "p-gate", "nowhere")
    made = without(small_collection, tmp_path / "clean", gone)
    assert made.passage_ids() == ["p-lamp", "p-bridge", "p-cafe", "p-empty", "p-word"]
    assert made.texts(["p-cafe"]) == small_collection.texts(["p-cafe"])
    assert judged(made, "train") == [("q1", "p-lamp")]  # both of p-gate went
    assert judged(made, "test") == [("q3", "p-bridge"), ("q3", "p-word"), ("q5", "p-cafe")]
    assert [answer.query_id for answer in made.answers("test")] == ["q3", "q5", "q5"]
    assert made.queries("train") == small_collection.queries("train")
    assert made.queries("test") == small_collection.queries("test")  # fields too
    # in stored order, whatever the order of the reasons
    assert ledger(made.path, "passages.jsonl") == [
        {"passage_id": item, "reasons": [WHY]} for item in ("p-gate", "p-tower")
    ]
    assert made.manifest.content["left_out"] == {
        "split": "train",
        "passages": 7,
        "left_out": 2,
        "qrels_left_out": 3,  # two of p-gate, one of p-tower
        "answers_left_out": 2,
        "named_and_not_there": 1,
        "checksum": sha256_file(made.path / "left_out" / "passages.jsonl"),
        "queries_without_judgement": 2,  # q2 and q4
    }
    found = verify(made.path / "manifest.json")
    assert found.fault == ""


def test_a_shard_may_lose_every_passage_and_further_judgements_go_too(tmp_path: Path) -> None:
    with create_collection(tmp_path / "source") as writer:
        writer.add_passages([Passage("a", "one"), Passage("b", "two")])
        writer.add_passages([Passage("c", "three")])
        writer.add_split("train", [Query("q", "which")], [Qrel("q", "a", 1), Qrel("q", "c", 1)])
        writer.add_qrels("train", "second", [Qrel("q", "c", 2), Qrel("q", "b", 0)])
        writer.finish(Manifest("collection", "source", "a test"))
    made = without(Collection(tmp_path / "source"), tmp_path / "clean", leaving("passages", "c"))
    assert (made.passage_ids(), made.texts(["b", "a"])) == (["a", "b"], ["two", "one"])
    assert made.absent(["c", "a"]) == ["c"]
    assert list(made.qrels("train", "second")) == [Qrel("q", "b", 0)]
    with pytest.raises(InputError, match="wanted passages to keep; found reasons to remove all 3"):
        without(
            Collection(tmp_path / "source"),
            tmp_path / "none",
            leaving("passages", *(x for x in "abc")),
        )
    assert not (tmp_path / "none").exists()


def test_nothing_named_leaves_the_same_content(
    small_collection: Collection, tmp_path: Path
) -> None:
    made = without(small_collection, tmp_path / "made", leaving("passages"))
    assert made.checksum == small_collection.checksum


def test_an_interrupted_run_goes_on_to_equal_bytes(tmp_path: Path) -> None:
    with create_collection(tmp_path / "source") as writer:
        for number in range(4):
            writer.add_passages(
                Passage(f"p{number}{letter}", f"text {number} {letter}") for letter in "abc"
            )
        writer.add_split("train", [Query("q", "which")], [Qrel("q", "p0a", 1)])
        writer.finish(Manifest("collection", "source", "a test"))
    source, gone = (
        Collection(tmp_path / "source"),
        leaving("passages", "p1b", "p3a"),
    )
    whole, made = without(source, tmp_path / "whole", gone), []

    def interrupted(function, items):  # type: ignore[no-untyped-def]
        for item in items:
            if len(made) == 2:
                raise KeyboardInterrupt
            made.append(item)
            yield function(item)

    with pytest.raises(KeyboardInterrupt):
        without(source, tmp_path / "clean", gone, map_shards=interrupted)
    finished = work_folder(tmp_path / "clean") / "content" / "passages" / "00001.arrow"
    before = finished.stat().st_ino
    again = without(source, tmp_path / "clean", gone)
    assert (again.path / "passages" / "00001.arrow").stat().st_ino == before
    assert not work_folder(tmp_path / "clean").exists()
    ours, theirs = (
        {
            place.relative_to(of.path): place.read_bytes()
            for place in sorted(of.path.rglob("*"))
            if place.is_file()
        }
        for of in (again, whole)
    )
    # its name and time
    assert {name for name in ours if ours[name] != theirs[name]} == {Path("manifest.json")}
    assert again.checksum == whole.checksum


def groups_at(place: Path) -> Groups:
    groups = [
        TrainingGroup("q1", ("p1", "n1"), (1, 0)),
        TrainingGroup("q1", ("p2", "n2"), (1, 0)),
        TrainingGroup("q2", ("p1", "n3"), (1, 0)),
        TrainingGroup("q3", ("p3", "p1", "n1"), (1, 0, 0)),
    ]
    place.mkdir()
    made = Manifest("trainset", place.name, "a test", licence="invented")
    write_groups(place, lambda part: part, [groups[:2], groups[2:]], made, splits=["train"])
    return Groups(place)


@pytest.mark.parametrize(
    ("what", "item", "stay"),
    [
        ("queries", "q1", [("q2", "p1"), ("q3", "p3")]),
        ("passages", "p1", [("q1", "p2")]),  # also as a negative
    ],
)
def test_groups_go_as_a_whole(
    tmp_path: Path, what: What, item: str, stay: list[tuple[str, str]]
) -> None:
    source = groups_at(tmp_path / "set")
    made = groups_without(source, tmp_path / "clean", leaving(what, item))
    assert [(group.query_id, group.passage_ids[0]) for group in made] == stay
    assert made.splits == ("train",)
    named = "query_id" if what == "queries" else "passage_id"
    assert ledger(made.path, "groups.jsonl") == [{named: item, "reasons": [WHY]}]
    assert read_manifest(made.path).content["left_out"]["groups"] == 4
    assert verify(made.path / "manifest.json").fault == ""


def test_a_training_set_that_would_be_empty_is_refused(tmp_path: Path) -> None:
    gone = leaving("queries", "q1", "q2", "q3")
    with pytest.raises(
        InputError, match="wanted training groups to keep; found reasons to remove all 4"
    ):
        groups_without(groups_at(tmp_path / "set"), tmp_path / "clean", gone)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["set"]

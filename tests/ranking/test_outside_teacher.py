"""An outside teacher's file is checked against the collection: what is not there, an order alone,
and what tells nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage, Query
from positionbias.ranking.outside_teacher import take_in
from positionbias.ranking.teacher_scores import TeacherScores, open_teacher_scores


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    place = tmp_path_factory.mktemp("outside") / "small"
    with create_collection(place) as writer:
        writer.add_passages(Passage(name, f"text of {name}") for name in "abcd")
        writer.add_split("train", [Query("q1", "one"), Query("q2", "two")], [])
        writer.add_split("test", [Query("t1", "three")], [])
        writer.finish(Manifest("collection", "small", "a test"))
    return Collection(place)


def taken(collection: Collection, folder: Path, text: str, **options: Any) -> TeacherScores:
    (folder / "gpt.v2.tsv").write_text(text)
    return take_in(collection, "train", folder / "gpt.v2.tsv", folder / "scores", **options)


def test_scores_are_stored_with_where_they_came_from(
    collection: Collection, tmp_path: Path
) -> None:
    teacher = taken(collection, tmp_path, "q2 a 1\nq1 b -2\nq1 a 0.5\n")
    assert (teacher.name, teacher.split, teacher.order_only) == ("gpt", "train", False)
    assert teacher.scores("q1", ["b", "a"]) == (-2.0, 0.5)
    manifest = read_manifest(teacher.path, kind="teacher-scores")
    assert [ref.role for ref in manifest.inputs] == ["scores", "collection"]
    assert (manifest.content["pairs"], manifest.content["queries"]) == (3, 2)
    assert sorted(path.name for path in teacher.path.iterdir()) == ["manifest.json", "scores"]
    assert open_teacher_scores(tmp_path / "gpt.v2.tsv").ranked("q1", 9) == teacher.ranked("q1", 9)
    with pytest.raises(OutputExistsError):
        taken(collection, tmp_path, "q1 b 1\n")


def test_an_order_alone_leaves_nothing_of_the_scores(
    collection: Collection, tmp_path: Path
) -> None:
    run = "q1 Q0 c 1 1000 x\nq1 Q0 a 2 3 x\nq1 Q0 b 3 3 x\nq1 Q0 d 4 -7 x\nq2 Q0 a 1 12 x\n"
    teacher = taken(collection, tmp_path, run, order_only=True, name="mine")
    assert (teacher.name, teacher.order_only) == ("mine", True)
    # a and b tie, and stay tied
    assert teacher.scores("q1", ["c", "a", "b", "d"]) == (-1.0, -2.0, -2.0, -3.0)
    assert teacher.scores("q2", ["a"]) == (-1.0,)
    assert "mean" not in read_manifest(teacher.path).content


OTHERS = "q1 a 1\nq1 b 2\nt1 a 1\nt1 b 2\nq2 z 1\nq2 a 3\nq1 z 0\nx9 a 1\n"


def test_scores_for_others_are_counted_and_named(collection: Collection, tmp_path: Path) -> None:
    message = (
        "gpt.v2.tsv:3: wanted scores of queries and passages of small; found 3 for queries not in "
        "split 'train', the first 't1', 'x9'; 2 of unknown passages, the first 'z'; check --split "
        "and that the file belongs to this collection, or give --set only_known=true to "
        "skip them"
    )
    with pytest.raises(InputError) as error:
        taken(collection, tmp_path, OTHERS)
    assert str(error.value).endswith(message)
    assert not (tmp_path / "scores").exists()


def test_only_known_leaves_the_others_out(collection: Collection, tmp_path: Path) -> None:
    teacher = taken(collection, tmp_path, OTHERS, only_known=True)
    assert {query_id: teacher.ranked(query_id, 9) for query_id in teacher.query_ids} == {
        "q1": ["b", "a"],
        "q2": ["a"],
    }
    content = read_manifest(teacher.path).content
    assert (content["pairs_of_unknown_queries"], content["pairs_of_unknown_passages"]) == (3, 2)


@pytest.mark.parametrize("order_only", [False, True])
def test_what_tells_nothing_apart_is_no_teacher(
    collection: Collection, tmp_path: Path, order_only: bool
) -> None:
    with pytest.raises(
        InputError,
        match=(
            "distinguish a query's passages; found none: all passages of each query have the same"
        ),
    ):
        taken(
            collection,
            tmp_path,
            "q1 Q0 a 1 0 x\nq1 Q0 b 2 0 x\nq2 Q0 a 1 5 x\n",
            order_only=order_only,
        )
    with pytest.raises(
        InputError, match="found 2 for queries not in split 'train', the first 'x'; check --split"
    ):
        taken(collection, tmp_path, "x a 1\nx b 2\n", order_only=order_only, only_known=True)


def test_faults(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gpt.v2.tsv:2: wanted a finite score; found 'nan'"):
        taken(collection, tmp_path, "q1 a 1\nq1 b nan\n")
    with pytest.raises(InputError, match="wanted a file of scores; found no such file"):
        take_in(collection, "train", tmp_path / "nowhere", tmp_path / "scores")
    with pytest.raises(InputError, match="wanted split 'dev'; found train, test"):
        take_in(collection, "dev", tmp_path / "gpt.v2.tsv", tmp_path / "scores")
    assert not (tmp_path / "scores").exists()

"""Answers of a table of their own, attached to a collection that has none."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import positionbias as pb
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Answer
from positionbias.formats.answers import AttachedAnswers, attach_answers

LAMP = "The lamp of Orvell burns green oil."
COLLECTION = [
    {"passage_id": "p1", "passage": LAMP, "query_id": "q1", "query": "What?", "split": "train"},
    {
        "passage_id": "2",
        "passage": "It hangs in the hall.",
        "query_id": "7",
        "query": "Where?",
        "answer": "hall",
    },
    {
        "passage_id": "3",
        "passage": "A bell.",
        "query_id": "q1",
        "query": "What?",
        "split": "train",
        "label": 0,
    },
]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return pb.import_table(COLLECTION, out=tmp_path / "c")


def table(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_answers_go_to_their_splits_and_what_does_not_fit_is_counted(
    tmp_path: Path, collection: Collection
) -> None:
    rows: list[dict[str, Any]] = [
        {"qid": "q1", "pid": "p1", "answer": "green oil", "answer_start": 25},
        {"qid": 7, "pid": 2, "answer": ["it", "hangs"], "answer_start": None},
        {"qid": 7, "pid": 2, "answer": "hall"},  # which it has
        {"qid": "q9", "pid": "p1", "answer": "not in the passage"},
        {"qid": "q1", "pid": "p9", "answer": "oil"},
        {"qid": "q1", "pid": None, "answer": "oil"},
        {"qid": "q1", "pid": "p1", "answer": "petrol"},
        {"qid": "q1", "pid": "p1", "answer": []},
        {"qid": "q1", "pid": "p1", "answer": [5, 999]},
        {"qid": "q1", "pid": 3.0, "answer": "bell"},
        {"qid": "q1", "pid": "2", "answer": "hall"},
    ]
    made = attach_answers(collection, table(tmp_path, rows), tmp_path / "with")
    assert made.answers("train") == [Answer("q1", "p1", "green oil", 25, 34)]
    assert made.answers("test") == [
        Answer("7", "2", "hall"),
        Answer("7", "2", "it"),
        Answer("7", "2", "hangs"),
    ]
    for split in ("train", "test"):
        assert (made.queries(split), made.qrels(split)) == (
            collection.queries(split),
            collection.qrels(split),
        )
    assert list(made.passages()) == list(collection.passages())
    facts = made.manifest.content_as(AttachedAnswers, "attached")
    assert facts.added == {"train": 1, "test": 2}
    assert facts.columns == {
        "query_id": "qid",
        "passage_id": "pid",
        "answer": "answer",
        "answer_start": "answer_start",
    }
    assert (facts.counts.rows, facts.counts.again) == (11, {"answers": 1})
    assert facts.counts.left_out == {
        "unknown query": 1,
        "unknown passage": 2,
        "text not found in passage": 1,
        "no answer": 1,
        "passage judged not relevant": 1,
        "passage not judged for the query": 1,
        "answer: offsets outside the passage": 1,
    }
    assert facts.counts.first["unknown query"].endswith("answers.jsonl, line 4")


def test_csv_says_the_same(tmp_path: Path, collection: Collection) -> None:
    with open(tmp_path / "answers.csv", "w", newline="") as handle:
        csv.writer(handle).writerows(
            [("query-id", "corpus-id", "answer"), ("q1", "p1", "green oil")]
        )
    made = attach_answers(collection, tmp_path / "answers.csv", tmp_path / "with")
    assert made.answers("train") == [Answer("q1", "p1", "green oil")]


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (
            {"qid": "q1", "answer": "oil"},
            "wanted a column passage_id; found qid, answer; give it a usual name",
        ),
        ({"qid": "q1", "pid": "p1", "text": "oil"}, "wanted a column answer; found qid, pid, text"),
        (
            {"qid": "q9", "pid": "p1", "answer": "oil"},
            r"wanted new answers .*; found none in 1 rows \(unknown query: 1\); check",
        ),
    ],
)
def test_what_cannot_be_attached_is_one_line(
    tmp_path: Path, collection: Collection, row: dict[str, Any], wanted: str
) -> None:
    with pytest.raises(InputError, match=wanted):
        attach_answers(collection, table(tmp_path, [row]), tmp_path / "with")
    assert not (tmp_path / "with").exists()

"""Tables of other people's making: every form gives the same collection, and what does not fit is
counted or named.
"""

from __future__ import annotations

import csv
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from positionbias.core import collection_writer
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.formats.columns import Columns
from positionbias.formats.table import TableSource, import_table
from positionbias.formats.validation_draw import ValidationDraw

LAMP = "The lamp of Orvell burns green oil."
ROWS: list[dict[str, Any]] = [
    {
        "pid": "p1",
        "context": LAMP,
        "qid": "q1",
        "question": "What does it burn?",
        "answer": "green oil",
        "answer_start": 25,
    },
    {
        "pid": "p2",
        "context": 'It hangs in the "north" hall, says Ö.',
        "qid": "q1",
        "question": "What does it burn?",
        "label": 0,
    },
    {"pid": "p1", "context": LAMP, "qid": "q2", "question": "Whose lamp?", "answer": "Orvell"},
    {"pid": "p3", "context": "Nobody asked for this one.", "qid": None, "question": None},
]
NAMES = ("pid", "context", "qid", "question", "answer", "answer_start", "label")


def as_lines(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    return path


def as_list(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "rows.json"
    path.write_text(json.dumps(rows, indent=1))
    return path


def as_csv(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "rows.csv"
    with open(path, "w", newline="", encoding="utf-8-sig") as handle:
        writer = csv.DictWriter(handle, NAMES)
        writer.writeheader()
        writer.writerows(rows)
    return path


def as_tsv(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "rows.tsv"
    lines = [
        NAMES,
        *(
            [str(row.get(name) or ("0" if row.get(name) == 0 else "")) for name in NAMES]
            for row in rows
        ),
    ]
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    return path


def as_parquet(place: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(
        pa.Table.from_pylist([{name: row.get(name) for name in NAMES} for row in rows]),
        place / "rows.parquet",
    )
    return place / "rows.parquet"


def as_parquet_of(place: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), place / "hub.parquet")
    return place / "hub.parquet"


def as_gz(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "rows.csv.gz"
    path.write_bytes(gzip.compress(as_csv(place, rows).read_bytes()))
    return path


def as_zst(place: Path, rows: list[dict[str, Any]]) -> Path:
    path = place / "rows.jsonl.zst"
    path.write_bytes(zstandard.compress(as_lines(place, rows).read_bytes()))
    return path


def made(path: Path, out: Path, *, validation: int = 0, **columns: str) -> Collection:
    draw = ValidationDraw(validation)
    return import_table([path], out, columns=Columns(**columns), validation=draw)


def read(data: Any, out: Path, **columns: Any) -> Collection:
    """The collection of records, a frame or a data set."""
    return import_table([data], out, columns=Columns(**columns), validation=ValidationDraw())


def counts(collection: Collection) -> Any:
    return collection.manifest.content_as(TableSource, "source").counts


@pytest.mark.parametrize("write", [as_lines, as_list, as_csv, as_tsv, as_parquet, as_gz, as_zst])
def test_every_form_is_the_same_collection(
    tmp_path: Path, write: Callable[[Path, list[dict[str, Any]]], Path]
) -> None:
    collection = made(write(tmp_path, ROWS), tmp_path / "c")
    assert list(collection.passages()) == [
        Passage("p1", LAMP),
        Passage("p2", 'It hangs in the "north" hall, says Ö.'),
        Passage("p3", "Nobody asked for this one."),
    ]
    assert collection.queries("test") == [
        Query("q1", "What does it burn?"),
        Query("q2", "Whose lamp?"),
    ]
    assert collection.qrels("test") == [
        Qrel("q1", "p1", 1),
        Qrel("q1", "p2", 0),
        Qrel("q2", "p1", 1),
    ]
    assert collection.answers("test") == [
        Answer("q1", "p1", "green oil", 25, 34),
        Answer("q2", "p1", "Orvell", None, None),
    ]
    assert counts(collection).left_out == {}


def texts_of(path: Path, out: Path) -> list[str]:
    return [passage.text for passage in made(path, out, passage="passage").passages()]


@pytest.mark.parametrize(
    "texts",
    [
        ['a 5" disk', '"Titanic" sank', "plain"],
        ['"To be, or not to be"', "What, then?"],  # a quotation, as the other comma is in no quotes
        ['"Titanic"', "plain"],
        ['"Titanic"', 'He said "hello".'],
        ['"he said ""no"""', '"Titanic" sank'],
        ['"opens', "and never closes"],
        ['"opens', 'and closes"'],
    ],
)
def test_quotes_of_a_text_stay(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(
        "passage\tid\n" + "".join(f"{text}\t{number}\n" for number, text in enumerate(texts))
    )
    assert texts_of(path, tmp_path / "c") == texts


def test_records_frames_and_data_sets_are_the_same_collection(tmp_path: Path) -> None:
    import datasets

    rows = [{name: row.get(name) for name in NAMES} for row in ROWS]
    wanted = made(as_lines(tmp_path, ROWS), tmp_path / "c").checksum
    assert read(iter(rows), tmp_path / "r").checksum == wanted
    assert read(pd.DataFrame(rows), tmp_path / "f").checksum == wanted
    assert read(datasets.Dataset.from_list(rows), tmp_path / "d").checksum == wanted


def test_a_plain_name_is_a_folder_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = read([{"passage": LAMP}], "mine")
    assert made.path == Path("mine")
    assert Collection("mine").checksum == made.checksum


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, "records: wanted objects, one a row; found NoneType; give dicts"),
        ([{"passage": LAMP}, 5], "records: wanted objects, one a row; found 5 as number 2;"),
        ([{0: LAMP}], "records: wanted objects, one a row; found an object as number 1;"),
        (
            pd.DataFrame([["a", "b"]], columns=["passage", "passage"]),
            "frame: wanted a name for each column; found 'passage' twice; rename one of them",
        ),
        ("none-*.csv", "none-.*: wanted tables; found none of CSV, TSV, JSON lines or Parquet"),
    ],
)
def test_what_is_no_table_is_one_line(tmp_path: Path, given: Any, wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        read(given, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_folder_a_glob_and_a_mapping_are_several_tables(tmp_path: Path) -> None:
    (tmp_path / "in" / "data").mkdir(parents=True)
    (tmp_path / "in" / "README.md").write_text("no table")
    as_parquet(tmp_path / "in", ROWS[:2]).rename(tmp_path / "in" / "data" / "train.parquet")
    as_lines(tmp_path / "in", ROWS[2:]).rename(tmp_path / "in" / "data" / "dev-1.jsonl")
    folder = read(tmp_path / "in", tmp_path / "c")
    assert folder.splits == ["validation", "train"]
    assert len(folder) == 3
    pattern = read(f"own={tmp_path}/in/data/*.parquet", tmp_path / "d")
    assert (pattern.splits, len(pattern)) == (["own"], 2)
    parts = {"dev": ROWS[2:], "train": pd.DataFrame(ROWS[:2])}
    assert read(parts, tmp_path / "e").checksum == folder.checksum


def test_csv_may_have_semicolons_and_forty_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    others = ";".join(f"c{number}" for number in range(38))
    path.write_text(f'passage;query;{others}\n"a, b\n""c""";q, r;{";" * 37}\n')
    collection = read(path, tmp_path / "c")
    assert [passage.text for passage in collection.passages()] == ['a, b\n"c"']
    assert [query.text for query in collection.queries("test")] == ["q, r"]


def test_memory_is_bounded_by_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 38 MB of text more, hashes are held, and the passages of a shard: measured by Python."""
    monkeypatch.setattr(collection_writer, "SHARD_PASSAGES", 4_096)
    monkeypatch.setattr(collection_writer, "SPLIT_ROWS", 4_096)
    peaks = []
    for rows in (8_192, 24_576):
        records = ({"passage": f"{number} " * 400} for number in range(rows))
        tracemalloc.start()
        read(records, tmp_path / f"{rows}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 10 << 20


def test_columns_that_only_later_rows_have_are_refused(tmp_path: Path) -> None:
    rows = [*([{"passage": LAMP, "query": "What?"}] * 5_000), {"passage": LAMP, "answer": "oil"}]
    with pytest.raises(
        InputError,
        match="records: wanted the columns of its first rows; found passage, query, answer",
    ):
        read(rows, tmp_path / "c")


def test_a_frame_goes_out_and_comes_back(tmp_path: Path) -> None:
    collection = made(as_lines(tmp_path, ROWS), tmp_path / "c")
    frame = collection.to_pandas("test")
    assert frame.columns.tolist() == [
        "query_id",
        "query",
        "passage_id",
        "passage",
        "label",
        "answer",
        "answer_start",
    ]
    again = read(frame, tmp_path / "again")
    for name in ("queries", "qrels", "answers"):
        assert getattr(again, name)("test") == getattr(collection, name)("test")


@pytest.mark.parametrize(
    ("value", "start", "wanted"),
    [
        ("green oil", "25", [("green oil", 25)]),
        ("green oil", 3, [("green oil", 25)]),  # it stands elsewhere, once
        ("the", 0, [("the", None)]),  # not there as it is written
        (["green oil", "oil"], [25, 31], [("green oil", 25), ("oil", 31)]),
        ({"text": ["oil"], "answer_start": [31]}, None, [("oil", 31)]),
        ([{"text": "oil", "answer_start": 31}], None, [("oil", 31)]),
        ([25, 34], None, [("green oil", 25)]),
        ({"start": 25, "end": 34}, None, [("green oil", 25)]),
        (np.array([25, 34]), None, [("green oil", 25)]),
        (np.array([[25, 34], [4, 8]]), None, [("green oil", 25), ("lamp", 4)]),
        ([np.int64(25), np.int32(34)], None, [("green oil", 25)]),
        ([25.0, 34.0], None, [("green oil", 25)]),
        ({"start": np.int64(25), "end": np.float32(34)}, None, [("green oil", 25)]),
        (pd.Series(["oil"]), None, [("oil", None)]),
        ("oil", -1, [("oil", None)]),
        ("", None, []),
        (None, None, []),
        (float("nan"), float("nan"), []),
        (7, None, [("7", None)]),
    ],
)
def test_answers_have_many_forms(
    tmp_path: Path, value: Any, start: Any, wanted: list[tuple[str, int | None]]
) -> None:
    row = {"passage": LAMP, "query": "What?", "answer": value, "answer_start": start}
    found = read([row], tmp_path / "c").answers("test")
    assert [(answer.text, answer.start) for answer in found] == wanted


def test_whole_floats_are_ids(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"pid": [1, None, 2.5], "passage": ["One.", "Two.", "Three."], "query": "Which?"}
    )
    found = read(frame, tmp_path / "c")
    assert [(text, passage_id == "1") for passage_id, text in found.passages()] == [
        ("One.", True),
        ("Two.", False),
    ]
    assert counts(found).left_out == {"passage id: not a text": 1}


def test_a_row_may_have_several_passages(tmp_path: Path) -> None:
    rows = [
        {
            "query": "Which?",
            "answer": "Two",
            "passage": ["One.", "Two.", "Three."],
            "label": [0, 1, 0],
        },
        {"query": "Uneven?", "passage": ["Four.", "Five."], "label": [1]},
        {"query": "None?", "passage": [], "label": []},
    ]
    found = read(rows, tmp_path / "c")
    assert [qrel.grade for qrel in found.qrels("test")] == [0, 1, 0]
    assert [found.texts([answer.passage_id]) for answer in found.answers("test")] == [["Two."]]
    assert counts(found).left_out == {
        "lists of passages, ids and labels of different lengths": 1,
        "no passage": 1,
    }


def test_the_hub_s_squad_with_unanswerable_questions(tmp_path: Path) -> None:
    answers = [{"text": ["oil"], "answer_start": [31]}, {"text": [], "answer_start": []}]
    rows = [
        {"id": f"q{n}", "title": "t", "context": LAMP, "question": f"What {n}?", "answers": own}
        for n, own in enumerate(answers)
    ]
    collection = made(as_parquet_of(tmp_path, rows), tmp_path / "c")
    assert [query.query_id for query in collection.queries("test")] == ["q0"]
    assert counts(collection).unanswerable == 1


def test_rows_that_do_not_fit_are_counted_by_cause(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"passage": "  ", "query": "a"},
        {"passage": 3, "query": "a"},
        {"passage": "x", "query": ["a"]},
        {"passage": "x", "query": "a", "label": 0.5},
        {"passage": "x", "query": "a", "label": -1},
        {"passage": "x", "query": "a", "answer": [3, 9]},
        {"passage": "x \ud800", "query": "a"},
        {"passage": "fits", "query": "a", "label": "1.0"},
        {"passage": "x", "query": "a", "label": 10**12},
        {"passage": "x", "query": "a", "answer": {"start": 0.5, "end": 1}},
        {"passage": "x", "query": "a", "answer": pd.DataFrame({"text": ["x"]})},
    ]
    collection = read(rows, tmp_path / "c")
    assert [passage.text for passage in collection.passages()] == ["fits"]
    found = counts(collection)
    assert found.rows == 11
    assert found.left_out == {
        "no passage": 1,
        "passage: not a text": 1,
        "query: not a text": 1,
        LABEL: 2,
        "unlabelled (label -1)": 1,
        "answer: offsets outside the passage": 1,
        "answer: offsets that are not whole numbers": 1,
        "answer: not a text": 1,
        "passage: text that is not valid Unicode": 1,
    }
    assert found.first[LABEL] == "records, number 4"


LABEL = "label: not a whole number from 0 to 1,000,000; classes need --grade CLASS=GRADE"
CLASSES = [
    {"passage": "relevant", "query": "a", "label": "entailment"},
    {"passage": "not", "query": "a", "label": "not_entailment"},
    {"passage": "unlabelled", "query": "b", "label": -1},
    {"passage": "neither", "query": "b", "label": "neutral"},
    {"passage": ["x", "y"], "query": "c", "label": ["neutral", "entailment"]},
]


def test_labels_that_are_classes_are_refused_without_grades(tmp_path: Path) -> None:
    message = f"wanted rows with a passage; found none of 5 .*{LABEL}: 4; unlabelled"
    with pytest.raises(InputError, match=message):
        read(CLASSES, tmp_path / "c")
    passages = [{name: row[name] for name in ("passage", "label")} for row in CLASSES]
    # without queries nothing is judged
    assert len(read(passages, tmp_path / "c")) == 6


def test_classes_have_the_grades_that_are_given(tmp_path: Path) -> None:
    made = read(CLASSES, tmp_path / "c", grade={"entailment": "2", "neutral": "1"})
    grades = {passage.text: passage.passage_id for passage in made.passages()}
    assert {qrel.passage_id: qrel.grade for qrel in made.qrels("test")} == {
        grades["relevant"]: 2,
        grades["not"]: 0,
        grades["neither"]: 1,
        grades["x"]: 1,
        grades["y"]: 2,
    }
    assert counts(made).left_out == {"unlabelled (label -1)": 1}
    assert "grades: entailment 2, not_entailment 0, -1 left out, neutral 1" in list(
        counts(made).remarks()
    )
    left_out = read(CLASSES, tmp_path / "d", grade={"entailment": "1", "neutral": "-1"})
    assert [qrel.grade for qrel in left_out.qrels("test")] == [1, 0]
    with pytest.raises(
        InputError,
        match="wanted a class 'entailed' among the labels; found entailment, not_entailment, ",
    ):
        read(CLASSES, tmp_path / "e", grade={"entailed": "1"})


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        # two spans as one list are no texts "0", "4" ...
        ([0, 4, 25, 34], "answer: more offsets than a start and an end"),
        ([0.5, 4.0], "answer: offsets that are not whole numbers"),
        ([3, 4], "answer: offsets of white space"),
        ([[0, 3], [3, 4]], "answer: offsets of white space"),
        ({"answer_start": [4]}, "answer: an object without text, start or end"),
    ],
)
def test_numbers_that_are_no_spans_are_not_read_as_texts(
    tmp_path: Path, answer: Any, cause: str
) -> None:
    rows = [
        {"passage": LAMP, "query": "a", "answer": answer},
        {"passage": LAMP, "query": "b", "answer": [" ", 1995]},
    ]
    collection = read(rows, tmp_path / "c")
    assert counts(collection).left_out == {cause: 1}
    # white space alone is no answer
    assert [answer.text for answer in collection.answers("test")] == ["1995"]


@pytest.mark.parametrize(
    "form", [lambda row: row, lambda row: {**row, "passage": [row["passage"]]}]
)
def test_answers_of_passages_judged_not_relevant_are_left_out_and_counted(
    tmp_path: Path, form: Any
) -> None:
    row = {"passage": LAMP, "query": "What?", "label": 0}
    rows = [
        {**row, "answer": "oil"},
        {**row, "answer": None},
        {**row, "answer": ""},
        {"passage": LAMP, "label": 0, "answer": "oil"},
    ]
    collection = read(map(form, rows), tmp_path / "c")
    assert collection.answers("test") == []
    assert counts(collection).not_relevant == 1
    assert "1 pair judged not relevant, answers left out" in list(counts(collection).remarks())


def test_splits_in_capitals_are_the_usual_ones_and_names_that_cannot_be_are_counted(
    tmp_path: Path,
) -> None:
    splits = ["TRAIN", "Validation", "Dev", "Test", "Own", "my split"]
    rows = [{"passage": LAMP, "query": "What?", "split": split} for split in splits]
    collection = read(rows, tmp_path / "c")
    assert sorted(collection.splits) == ["Own", "test", "train", "validation"]
    (cause,) = counts(collection).left_out
    assert cause.startswith("split: a name with characters other than letters")
    assert counts(collection).first[cause] == "records, number 6"


def test_what_stands_twice_is_one(tmp_path: Path) -> None:
    row = {"passage": LAMP, "query": "What?", "answer": "oil"}
    collection = read([row, row, {**row, "label": 2}, {**row, "split": "dev"}], tmp_path / "c")
    assert len(collection) == 1
    assert [(split, collection.split_facts[split].queries) for split in collection.splits] == [
        ("test", 1),
        ("validation", 1),
    ]
    assert [qrel.grade for qrel in collection.qrels("test")] == [1]
    assert counts(collection).again == {
        "passages": 3,
        "queries": 2,
        "pairs": 2,
        "pairs with another label; the first is used": 1,
        "answers": 2,
    }


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("", "a.csv", "wanted a table; found an empty file"),
        (
            "passage,passage\nx,y\n",
            "a.csv",
            "a.csv: wanted a name for each column; found 'passage' twice",
        ),
        (
            "passage,query\nx,y,z\n",
            "a.csv",
            "a.csv:2: wanted 2 columns, as the first line has; found 3",
        ),
        (
            'passage,query\n"x,y\n',
            "a.csv",
            "a.csv:2: wanted CSV; found unexpected end of data",
        ),
        (
            "one,other\nx,y\n",
            "a.csv",
            "wanted a column of passages; found one, other; name it with --passage",
        ),
        (
            '{"passage": "x"}\n[1]\n',
            "a.jsonl",
            "a.jsonl: wanted one JSON object a line; found a list as line 2",
        ),
        ('[{"passage": "x"}, 3]', "a.json", "wanted a JSON list of objects; found 3 as row 2"),
        (
            '{"passage": "x"\n',
            "a.jsonl",
            "a.jsonl:1: wanted one JSON object a line; found Expecting",
        ),
        (
            '{"passage": ""}\n',
            "a.jsonl",
            r"wanted rows with a passage; found none of 1 \(no passage: 1\); check the columns",
        ),
        (
            '{"pid": "p", "passage": "x"}\n{"pid": "p", "passage": "y"}\n',
            "a.jsonl",
            (
                "wanted one text a passage id; found passage 'p' with two texts, in rows 1 and 2; "
                "name another column with --passage-id"
            ),
        ),
        ("PAR1 and no more", "a.parquet", "wanted a complete Parquet file; found"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, text: str, name: str, wanted: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=wanted):
        made(path, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="wanted a column 'quote'; found pid, .*; give one of these to --answer"
    ):
        made(as_lines(tmp_path, ROWS), tmp_path / "c", answer="quote")


def test_validation_is_drawn_by_passage(tmp_path: Path) -> None:
    rows = [{"passage": f"Text {n // 2}.", "query": f"q {n}", "answer": "Text"} for n in range(40)]
    path = as_lines(tmp_path, rows)
    draw = ValidationDraw(10)
    collection = import_table([f"train={path}"], tmp_path / "c", columns=Columns(), validation=draw)
    assert [collection.split_facts[split].queries for split in ("train", "validation")] == [30, 10]
    passages = [
        {qrel.passage_id for qrel in collection.qrels(split)} for split in ("train", "validation")
    ]
    assert not passages[0] & passages[1]
    assert len(collection.answers("train")) == 30
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "answers",
        "ids.arrow",
        "manifest.json",
        "passages",
        "qrels",
        "queries",
    ]
    with pytest.raises(
        SettingError,
        match="--validation-queries: wanted fewer than the 40 training queries; found 40",
    ):
        import_table(
            [f"train={path}"], tmp_path / "d", columns=Columns(), validation=ValidationDraw(40)
        )

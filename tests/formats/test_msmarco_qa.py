"""MS MARCO QA: the three published layouts become the same collection, and one line for each
fault.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.formats import msmarco_qa
from positionbias.formats.msmarco_qa import import_msmarco_qa

LAMP = "The lamp of Orvell burns green oil."
GATE = "Travellers pass\tthe gate at dusk.\r\nâ\x80\x99\x00"
TOWER = "塔の高さは四十メートルです。"

Row = dict[str, Any]


def passages(*marked: tuple[str, int | None]) -> list[Row]:
    found = [
        {"is_selected": mark, "passage_text": text, "url": "http://x"} for text, mark in marked
    ]
    return [{key: value for key, value in item.items() if value is not None} for item in found]


def release() -> list[Row]:
    """Four rows: an answered one, one without an answer, an answer in two passages, an answer whose
    passage is not selected.
    """
    return [
        {
            "answers": ["green oil", "green oil", "", "burns green oil"],
            "passages": passages((GATE, 0), (LAMP, 1)),
            "query": "what burns",
            "query_id": 11,
            "query_type": "ENTITY",
            "wellFormedAnswers": ["The lamp burns “green” oil."],
        },
        {
            "answers": ["No Answer Present."],
            "passages": passages((LAMP, 0), (TOWER, 0)),
            "query": ")who lit it",
            "query_id": 12,
            "query_type": "PERSON",
            "wellFormedAnswers": "[]",
        },
        {
            "answers": ["dusk"],
            "passages": passages((GATE, 1), (GATE, 0), (TOWER, 1)),
            "query": "when",
            "query_id": 13,
            "query_type": "NUMERIC",
            "wellFormedAnswers": [],
        },
        {
            "answers": ["never"],
            "passages": passages((TOWER, 0)),
            "query": "when not",
            "query_id": 14,
            "query_type": "NUMERIC",
            "wellFormedAnswers": "[]",
        },
    ]


def as_lines(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_columns(rows: Sequence[Row]) -> bytes:
    names = dict.fromkeys(name for row in rows for name in row)
    table = {name: {str(number): row[name] for number, row in enumerate(rows)} for name in names}
    return json.dumps(table, separators=(",", ":")).encode()


def as_parquet(rows: Sequence[Row], *, group: int = 2) -> bytes:
    """The Hub's form: passages as an object of lists, is_selected -1 where it is not known."""
    texts = pa.list_(pa.string())
    schema = pa.schema(
        [
            ("answers", texts),
            (
                "passages",
                pa.struct(
                    [("is_selected", pa.list_(pa.int32())), ("passage_text", texts), ("url", texts)]
                ),
            ),
            ("query", pa.string()),
            ("query_id", pa.int32()),
            ("query_type", pa.string()),
            ("wellFormedAnswers", texts),
        ]
    )
    lists = [
        {
            **row,
            "answers": row.get("answers", []),
            "passages": {
                "is_selected": [item.get("is_selected", -1) for item in row["passages"]],
                "passage_text": [item["passage_text"] for item in row["passages"]],
                "url": [item["url"] for item in row["passages"]],
            },
            "wellFormedAnswers": []
            if row.get("wellFormedAnswers") in ("[]", None)
            else row["wellFormedAnswers"],
        }
        for row in rows
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(lists, schema), sink, row_group_size=group)
    return sink.getvalue().to_pybytes()


def save(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def passage_id(text: str) -> str:
    return f"p{key64(0, 'msmarco qa passage id', text):016x}"


def imported(folder: Path, data: bytes, **settings: Any) -> Collection:
    return import_msmarco_qa({"train": [save(folder / "release", data)]}, folder / "qa", **settings)


def test_rows_become_queries_judgements_and_answers(tmp_path: Path) -> None:
    qa = imported(tmp_path, as_lines(release()))
    lamp, gate, tower = map(passage_id, (LAMP, GATE, TOWER))
    # each text once, where it first stands, with every character
    assert [tuple(passage) for passage in qa.passages()] == [
        (gate, GATE),
        (lamp, LAMP),
        (tower, TOWER),
    ]
    assert qa.queries("train") == [
        Query(
            "11", "what burns", {"type": "ENTITY", "well_formed": '["The lamp burns “green” oil."]'}
        ),
        Query("12", ")who lit it", {"type": "PERSON"}),
        Query("13", "when", {"type": "NUMERIC"}),
        Query("14", "when not", {"type": "NUMERIC"}),
    ]
    assert qa.qrels("train") == [
        Qrel("11", gate, 0), Qrel("11", lamp, 1),
        Qrel("12", lamp, 0), Qrel("12", tower, 0),
        Qrel("13", gate, 1), Qrel("13", tower, 1),  # the gate stands twice, once selected
        Qrel("14", tower, 0),
    ]  # fmt: skip
    assert qa.answers("train") == [
        Answer("11", lamp, "green oil"),
        Answer("11", lamp, "burns green oil"),
        Answer("13", gate, "dusk"),
        Answer("13", tower, "dusk"),
    ]
    assert qa.manifest.content["source"] == {
        "format": "msmarco-qa",
        "passages": {"read": 8, "distinct": 3},
        "splits": {
            "train": {
                "queries": 4, "rows": 4, "merged_rows": 0, "selected": 3, "not_selected": 4,
                "not_judged": 0,
                "rows_without_answers": 0, "no_answer_present": 1, "empty_answers": 1,
                "repeated_answers": 1,
                "answers_without_selected_passage": 1, "rows_without_type": 0,
            }
        },
    }  # fmt: skip
    assert "non-commercial" in qa.manifest.licence


def test_only_the_selected_are_judged_where_asked(tmp_path: Path) -> None:
    qa = imported(tmp_path, as_lines(release()), selected_only=True)
    assert [qrel.grade for qrel in qa.qrels("train")] == [1, 1, 1]
    assert len(qa) == 3


LAYOUTS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "lines": as_lines,
    "lines with a byte-order mark, Windows line ends, no last newline": lambda rows: (
        b"\xef\xbb\xbf" + as_lines(rows).replace(b"\n", b"\r\n")[:-2]
    ),
    "lines.gz": lambda rows: gzip.compress(as_lines(rows)),
    "columns": as_columns,
    "columns.gz": lambda rows: gzip.compress(as_columns(rows)),
    "columns.zst": lambda rows: zstandard.compress(as_columns(rows)),
    "parquet": as_parquet,
    "parquet in one row group": partial(as_parquet, group=99),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_layouts_give_the_same(tmp_path: Path, layout: str) -> None:
    (tmp_path / "plain").mkdir()
    plain = imported(tmp_path / "plain", as_lines(release()))
    qa = imported(tmp_path, LAYOUTS[layout](release()))
    assert qa.checksum == plain.checksum
    assert qa.manifest.content["source"] == plain.manifest.content["source"]
    assert sorted(path.name for path in qa.path.iterdir()) == [
        "answers",
        "ids.arrow",
        "manifest.json",
        "passages",
        "qrels",
        "queries",
    ]


def evaluation_rows() -> list[Row]:
    """As the releases' evaluation files: no answers, nothing selected."""
    rows = release()
    for row in rows:
        row.pop("answers")
        row.pop("wellFormedAnswers")
        row["passages"] = [
            {key: value for key, value in item.items() if key != "is_selected"}
            for item in row["passages"]
        ]
    return rows


@pytest.mark.parametrize("layout", ["lines", "columns", "parquet"])
def test_what_evaluation_files_leave_out_is_counted(tmp_path: Path, layout: str) -> None:
    rows = evaluation_rows()
    file = save(tmp_path / "test.file", LAYOUTS[layout](rows))
    train = save(tmp_path / "train.file", as_lines(release()[:1]))
    qa = import_msmarco_qa({"test": [file], "train": [train]}, tmp_path / "qa")
    assert qa.splits == ["train", "test"]
    assert (len(qa.queries("test")), qa.qrels("test"), qa.answers("test")) == (4, [], [])
    counts = qa.manifest.content["source"]["splits"]["test"]
    # the gate stands twice in one row: 8 candidates, 7 pairs; Parquet has an empty list for no
    # answers
    assert (counts["not_judged"], counts["selected"]) == (7, 0)
    assert counts["rows_without_answers"] == (0 if layout == "parquet" else 4)
    assert len(qa) == 3


def test_rows_of_one_query_are_one_query(tmp_path: Path) -> None:
    rows = release()[:1] * 2 + release()[1:2]
    rows[1] = {
        **rows[1],
        "answers": ["oil", "green oil"],
        "query_type": None,
        "passages": passages((LAMP, 1), (GATE, 1)),
    }
    qa = imported(tmp_path, as_lines(rows))
    assert {query.query_id for query in qa.queries("train")} == {"11", "12"}
    assert {qrel[1:] for qrel in qa.qrels("train") if qrel.query_id == "11"} == {
        (passage_id(GATE), 1),
        (passage_id(LAMP), 1),
    }
    assert [answer.text for answer in qa.answers("train")] == [
        "green oil",
        "burns green oil",
        "oil",
        "oil",
        "green oil",
    ]
    counts = qa.manifest.content["source"]["splits"]["train"]
    assert (
        counts["rows"],
        counts["queries"],
        counts["merged_rows"],
        counts["rows_without_type"],
    ) == (3, 2, 1, 1)


def test_files_of_a_split_come_together_and_splits_stay_apart(tmp_path: Path) -> None:
    rows = release()
    first, second = (
        save(tmp_path / name, as_lines(part)) for name, part in (("a", rows[:2]), ("b", rows[2:]))
    )
    both = import_msmarco_qa({"train": [first, second]}, tmp_path / "both")
    one = import_msmarco_qa({"train": [save(tmp_path / "c", as_columns(rows))]}, tmp_path / "one")
    assert both.checksum == one.checksum
    apart = import_msmarco_qa({"validation": [second], "train": [first]}, tmp_path / "apart")
    assert [
        [query.query_id for query in apart.queries(split)] for split in ("train", "validation")
    ] == [
        ["11", "12"],
        ["13", "14"],
    ]
    assert apart.manifest.content["passages_checksum"] == one.manifest.content["passages_checksum"]
    assert [(item.role, item.path) for item in apart.manifest.inputs] == [
        ("train", "../a"),
        ("validation", "../b"),
    ]


def test_wellformed_answers_that_were_taken_for_characters_are_none(tmp_path: Path) -> None:
    forms: list[Any] = ["[]", "", [], ["[]"], ["[", "]"], None]
    rows = [
        {**release()[1], "query_id": number, "wellFormedAnswers": form}
        for number, form in enumerate(forms)
    ]
    qa = imported(tmp_path, as_lines(rows))
    assert {tuple(query.fields) for query in qa.queries("train")} == {("type",)}


def test_texts_that_share_an_id_are_refused_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = msmarco_qa.keys64

    def colliding(seed: int, purpose: str, keys: Sequence[bytes]) -> Any:
        hashes = real(seed, purpose, keys).copy()
        return hashes * 0 if purpose == "msmarco qa passage id" else hashes

    monkeypatch.setattr(msmarco_qa, "keys64", colliding)
    with pytest.raises(InputError, match="found two texts of the id 'p0000000000000000'"):
        imported(tmp_path, as_lines(release()))


def test_a_taken_place_is_kept(tmp_path: Path) -> None:
    qa = imported(tmp_path, as_lines(release()))
    with pytest.raises(OutputExistsError):
        imported(tmp_path, as_lines(release()[:1]))
    assert Collection(qa.path).checksum == qa.checksum
    assert len(imported(tmp_path, as_lines(release()[:1]), overwrite=True).queries("train")) == 1


@pytest.mark.parametrize("files", [{}, {"train": []}, {"dev": ["x"]}])
def test_no_file_or_another_split_is_refused(tmp_path: Path, files: dict[str, list[str]]) -> None:
    with pytest.raises(SettingError, match="wanted files of train, validation, test"):
        import_msmarco_qa(files, tmp_path / "qa")

"""MS MARCO QA: each fault is one line that names its place, whatever bytes come; and the real
pairs.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.formats.msmarco_qa import import_msmarco_qa

from .test_msmarco_qa import as_columns, as_lines, as_parquet, imported, passages, release

ROW = release()[0]


def second(**changed: Any) -> bytes:
    """Two rows as lines; the second is changed."""
    row = {
        key: value for key, value in {**ROW, "query_id": 2, **changed}.items() if value != "gone"
    }
    return as_lines([ROW, row])


def column(name: str, value: Any) -> bytes:
    """Two rows as columns; the second's value is changed."""
    rows = [ROW, {**ROW, "query_id": 2}]
    rows[1] = {**rows[1], name: value}
    return as_columns(rows)


def parquet_without(name: str) -> bytes:
    table = pq.read_table(pa.BufferReader(as_parquet([ROW])))
    sink = pa.BufferOutputStream()
    pq.write_table(table.drop_columns([name]), sink)
    return sink.getvalue().to_pybytes()


FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "release: wanted an MS MARCO QA release; found an empty file"),
    "blank": (b" \n\n", "release: wanted an MS MARCO QA release; found an empty file"),
    "a byte-order mark alone": (b"\xef\xbb\xbf\n",
    "release: wanted rows of an MS MARCO QA release; found none"),
    "another blank alone": ("\x85".encode(),
    "release: wanted rows of an MS MARCO QA release; found none"),
    "a bad line": (as_lines([ROW]) + b'{"query": \n',
    "release:2: wanted one JSON object a line; found Expecting value at column 11"),
    "a line that is a list": (as_lines([ROW]) + b"[]\n",
    "release:2: wanted an object with query, query_id and passages; found a list"),
    "no UTF-8": (as_lines([ROW]) + b'{"query": "\xe9"}\n',
    "release:2: wanted text in UTF-8; found the byte 0xe9"),
    "no query": (second(query="gone"),
    "release:2: wanted 'query' as text; found no such key, or null"),
    "no query id": (second(query_id=None),
    "release:2: wanted 'query_id' as a whole number or text without spaces; found no such key"),
    "a query id with a space": (second(query_id="1 2"),
    "release:2: wanted 'query_id' as a whole number or text without spaces; found '1 2'"),
    "a query id that is true": (second(query_id=True), "text without spaces; found True"),
    "a query id that is a list": (second(query_id=[1]), "text without spaces; found a list"),
    "a query type that is a number": (second(query_type=3),
    "release:2: wanted 'query_type' as text; found 3;"),
    "no passages": (second(passages="gone"),
    "release:2: wanted 'passages' as a list; found no such key, or null"),
    "passages as texts": (second(passages=["x"]),
    "release:2: wanted 'passages' as a list of objects; found something else in it"),
    "a passage without text": (second(passages=[{"is_selected": 1}]),
    "release:2: wanted 'passage_text' as text; found no such key"),
    "selected twice": (second(passages=passages(("x", 2))),
    "release:2: wanted 'is_selected' as 0 or 1; found 2;"),
    "selected in words": (second(passages=[{"is_selected": "1", "passage_text": "x"}]),
    "wanted 'is_selected' as 0 or 1; found '1';"),
    "selected as a list": (second(passages=[{"is_selected": [1], "passage_text": "x"}]),
    "wanted 'is_selected' as 0 or 1; found a list;"),
    "lists of two lengths": (second(passages={"passage_text": ["x"], "is_selected": [1, 0]}),
    "lists passage_text and is_selected of equal length"),
    "answers as text": (second(answers="x"),
    "release:2: wanted 'answers' as a list of texts; found 'x'"),
    "an answer that is null": (second(answers=[None]),
    "release:2: wanted 'answers' as text; found no such key, or null"),
    "wellFormedAnswers as text": (second(wellFormedAnswers="It."),
    "release:2: wanted 'wellFormedAnswers' as a list of texts; found 'It.'"),
    "half a surrogate pair": (
    as_lines([ROW]) + b'{"query_id": 2, "query": "\\ud83d", "passages": []}\n',
    "release:2: wanted 'query' in valid Unicode; found half a surrogate pair"),
    "two texts of one id": (second(query_id=11, query="another"),
    "release: wanted one text per query id; found two for '11': 'what burns' and 'another'"),
    "a bad value in a column": (column("query", 5),
    "release: wanted 'query' as text; found 5 (row 1)"),
    "a bad passage in a column": (column("passages", [{}]),
    "release: wanted 'passage_text' as text; found no such key, or null (row 1)"),
    "columns cut short": (as_columns([ROW])[:-40],
    "release: wanted column-oriented JSON; found parse error: premature EOF"),
    "a column without a row": (as_columns(release()).replace(b'"2":"when",', b""),
    "release: wanted the same rows in every column; found answers: 2, passages: 2, query: 3,"),
    "columns without queries": (b'{"answers":{"0":[]},"query_id":{"0":1}}',
    "release: wanted 'query' as text; found no such key, or null (row 0)"),
    "a damaged archive": (gzip.compress(as_columns(release()))[:-30],
    "release: wanted an MS MARCO QA release, whole; found Compressed file ended"),
    "a damaged archive of lines": (gzip.compress(as_lines(release()))[:-30],
    "found Compressed file ended"),
    "Parquet cut short": (as_parquet(release())[:-9],
    "release: wanted a complete Parquet file; found "),
    "Parquet with a name that is no UTF-8": (
    as_parquet([ROW]).replace(b"passage_text", b"passage_tex\xce"),
    "release: wanted a complete Parquet file; found 'utf-8' codec"),
    "Parquet without passages": (parquet_without("passages"),
    "release: wanted the columns passages, query, query_id; found no passages"),
    "Parquet with a bad mark": (as_parquet([ROW, {**ROW, "passages": passages(("x", 7))}]),
    "found 7 (row 1 of row group 0 and those after it)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line(tmp_path: Path, fault: str) -> None:
    data, message = FAULTS[fault]
    with pytest.raises(InputError) as raised:
        imported(tmp_path, data)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


@pytest.mark.parametrize("place", ["nowhere", "."])
def test_no_such_file_is_one_line(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match="wanted a readable file; found "):
        import_msmarco_qa({"train": [tmp_path / place]}, tmp_path / "qa")


def test_a_line_of_ten_megabytes_and_strange_texts_pass(tmp_path: Path) -> None:
    texts = ["x" * 10_000_000, "", " ", "\x00\r\n\t\u2028\ufeff", "日本語。中文。", "Iâ\x80\x99m"]
    qa = imported(
        tmp_path, as_lines([{**ROW, "passages": passages(*((text, 1) for text in texts))}])
    )
    assert [passage.text for passage in qa.passages()] == texts
    assert len(qa.answers("train")) == 2 * len(texts)


WHOLE = {
    "lines": as_lines(release()),
    "columns": as_columns(release()),
    "parquet": as_parquet(release()),
}
PIECES = [
    b"",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b",",
    b"\n",
    b"\x00",
    b"\xff",
    b"0",
    b"-1",
    b"null",
    b'"query_id":',
    b"\\ud800",
]


@settings(max_examples=25)
@given(
    layout=st.sampled_from(sorted(WHOLE)),
    places=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from(PIECES), st.integers(0, 9)),
        min_size=1,
        max_size=3,
    ),
)
def test_whatever_bytes_come_there_is_a_collection_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, layout: str, places: list[tuple[float, bytes, int]]
) -> None:
    folder, data = tmp_path_factory.mktemp("qa"), WHOLE[layout]
    for share, piece, dropped in places:
        at = int(share * len(data))
        data = data[:at] + piece + data[at + dropped :]
    try:
        qa = imported(folder, data)
    except InputError as error:
        said = str(error)
        assert "\n" not in said
        assert [path.name for path in folder.iterdir()] == ["release"]
    else:
        assert len(qa.texts(qa.passage_ids())) == len(qa)
        assert {answer.passage_id for answer in qa.answers("train")} <= set(qa.passage_ids())


@pytest.mark.realdata
def test_real_pairs_come_in_and_most_answers_are_in_front(
    tmp_path: Path, posbias_data: Path
) -> None:
    file = posbias_data / "msmarco_spans" / "qa_v1.1_form.jsonl"
    qa = import_msmarco_qa({"train": [file]}, tmp_path / "qa")
    # 254 pairs of 253 queries: query 1000459 has two rows; 347 answers, one of them twice in its
    # row
    assert (
        len(qa),
        len(qa.queries("train")),
        len(qa.qrels("train")),
        len(qa.answers("train")),
    ) == (254, 253, 254, 346)
    texts = dict(qa.passages())
    starts = [
        texts[answer.passage_id].find(answer.text) / len(texts[answer.passage_id])
        for answer in qa.answers("train")
    ]
    assert min(starts) >= 0
    share = sum(start < 0.1 for start in starts) / len(starts)
    assert 0.35 < share < 0.38
    # a text holds U+0085
    rows = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
    again = imported(tmp_path, as_columns(rows), overwrite=True)
    assert again.checksum == qa.checksum
    assert Collection(again.path).checksum == qa.checksum

"""Raw JSON lines rotated: only the characters of the texts move."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError
from positionbias.positions.raw_formats import rotate_jsonl
from positionbias.positions.rotate import Rotation, rotate

WORDS = Rotation(words="whitespace")


def rotated(text: str | bytes, rotation: Rotation = WORDS) -> str:
    data = text.encode() if isinstance(text, str) else text
    block = Block("test.jsonl", 0, 0, len(data), data=data, lines_before=0)
    return rotate_jsonl(rotation, block)[0].decode()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        # the cut of "one two three four" under the id p1 is before "two" (the doctest of rotate)
        (
            '{"_id": "p1", "title": "a b c", "text": "one two three four", "metadata": {}}',
            '{"_id": "p1", "title": "a b c", "text": "two three four one ", "metadata": {}}',
        ),
        (
            '{"contents": "one two three four", "id": "p1"}',
            '{"contents": "two three four one ", "id": "p1"}',
        ),
        # escapes and spaces are written in one way
        (
            '{ "docid" :"p1" , "segment" : "one two three\\/3 four" ,"n":1.50, "\\u00fc": 3}',
            '{"docid": "p1", "segment": "two three/3 four one ", "n": 1.5, "\\u00fc": 3}',
        ),
    ],
)
def test_only_the_text_moves(line: str, wanted: str) -> None:
    assert rotated(line + "\n") == wanted + "\n"
    assert rotated(line) == wanted


JSON_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    JSON_TEXT,
    st.lists(JSON_TEXT, max_size=2),
    st.dictionaries(JSON_TEXT, JSON_TEXT, max_size=2),
)
MORE = st.dictionaries(
    JSON_TEXT.filter(lambda key: key not in ("_id", "text", "passages")), VALUE, max_size=3
)


@given(
    st.lists(st.tuples(JSON_TEXT.filter(bool), JSON_TEXT, MORE), max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_any_content(
    rows: list[tuple[str, str, dict[str, Any]]], ascii_only: bool, text_first: bool
) -> None:
    def written(records: list[dict[str, Any]]) -> str:
        return "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)

    def record(passage_id: str, text: str, more: dict[str, Any]) -> dict[str, Any]:
        return (
            {"text": text, **more, "_id": passage_id}
            if text_first
            else {"_id": passage_id, **more, "text": text}
        )

    wanted = [
        record(passage_id, rotate(text, passage_id, words="whitespace"), more)
        for passage_id, text, more in rows
    ]
    # json writes a character in one way only, so the bytes can be foretold
    assert rotated(written([record(*row) for row in rows])) == written(wanted)


def test_blank_lines_stay_and_a_byte_order_mark_does_not() -> None:
    line = '{"id": "p1", "text": "one two three four"}'
    moved = line.replace("one two three four", "two three four one ")
    assert rotated(f"\ufeff{line}\r\n\n \n{line}\n\n") == f"{moved}\n\n \n{moved}\n\n"


def test_a_row_of_ms_marco_qa_has_each_passage_rotated_under_its_query_and_index() -> None:
    texts = ["alpha beta gamma delta", "one two three four five six", "", "word"]
    row = {
        "answers": ["beta"],
        "passages": [{"is_selected": 0, "passage_text": text, "url": "u"} for text in texts],
        "query": "what",
        "query_id": 9652,
        "wellFormedAnswers": "[]",
    }
    wanted = [WORDS.apply(text, "9652", index) for index, text in enumerate(texts)]
    found = json.loads(rotated(json.dumps(row)))
    assert [item["passage_text"] for item in found["passages"]] == wanted
    assert wanted != texts
    assert {**found, "passages": []} == {**row, "passages": []}
    columns = {**row, "passages": {"is_selected": [0] * 4, "passage_text": texts, "url": ["u"] * 4}}
    assert json.loads(rotated(json.dumps(columns)))["passages"]["passage_text"] == wanted


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "wanted one JSON object a line; found a JSON list"),
        ('{"id": }', "found Expecting value"),
        ('{"id": "p", 3: "x"}', "found Expecting property name enclosed in double quotes"),
        (
            '{"query_id": 1, "passages": {"url": []}}',
            "wanted 'passages' with a list 'passage_text'; found none",
        ),
        ('{"id": "p", "text": "x"} {}', "found Extra data"),
        ('{"id": "p", "text": "x"', "found Expecting ',' delimiter"),
        ('{"id": "p", "text": "a\x00b"}', "found Invalid control character at"),
        ('{"id": ' + "[" * 100_000, "wanted one JSON object a line"),
        ('{"id": ' + "1" * 5_000 + "}", "wanted one JSON object a line"),
        ('{"id": "p", "title": "x"}', "wanted a key for the text (text, contents, "),
        ('{"id": "", "text": "x"}', "wanted 'id' as text or a whole number; found none"),
        ('{"id": "p", "text": 7}', "wanted 'text' as text; found something else"),
        (
            '{"id": "p", "text": "\\ud800"}',
            "wanted 'text' in valid Unicode; found half a surrogate pair",
        ),
        (
            '{"passages": [], "query": "x"}',
            "wanted 'query_id' as text or a whole number; found none",
        ),
        (
            '{"query_id": 1, "passages": [{"url": "u"}]}',
            "wanted 'passage_text' in each of 'passages'; found one without it",
        ),
    ],
    ids=range(15),
)
def test_a_bad_line_is_named(line: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        rotated('{"id": "p", "text": "good"}\n' + line + "\n")
    assert str(caught.value).startswith("test.jsonl:2: wanted ")
    assert said in str(caught.value)


def test_a_line_that_is_not_utf8_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^test\.jsonl:2: wanted text in UTF-8; found the byte 0xe9"
    ):
        rotated(b'{"id": "p", "text": "good"}\n{"id": "p", "text": "caf\xe9"}\n')

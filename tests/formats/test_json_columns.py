"""Column-oriented JSON: rows joined over columns, however the file is cut while it is read, and one
line for each fault.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.formats import json_scanner
from positionbias.formats.json_columns import column_blocks, has_columns

TABLE = {"a": {"0": "x", "1": 'é "}" 日本'}, "b": {"0": [1, {"0": 2}], "1": -1.5e3}}


def rows(
    path: Path, columns: tuple[str, ...] = ("a", "b"), **settings: Any
) -> list[tuple[int, dict[str, Any]]]:
    return [row for block in column_blocks(path, columns, **settings) for row in block.rows()]


def save(folder: Path, data: bytes | str) -> Path:
    path = folder / "t.json"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_rows_are_joined_over_the_columns(tmp_path: Path) -> None:
    wanted = [(0, {"a": "x", "b": [1, {"0": 2}]}), (1, {"a": 'é "}" 日本', "b": -1500.0})]
    for text in (
        json.dumps(TABLE),
        json.dumps(TABLE, ensure_ascii=False, indent=3),
        "\ufeff" + json.dumps(TABLE) + "\r\n",
    ):
        assert rows(save(tmp_path, text)) == wanted
    assert rows(save(tmp_path, json.dumps(TABLE)), ("b",)) == [
        (number, {"b": row["b"]}) for number, row in wanted
    ]


def test_what_is_no_column_of_rows_is_skipped(tmp_path: Path) -> None:
    text = (
        '{"version": 2.1, "a": {"7": null, "3": true}, "of others": {"x": [1], "7": 2}, "b": {"7": '
        '1, "3": 2}, "c": "}"}'
    )
    with pytest.raises(InputError, match="a row number in double quotes and a colon"):
        rows(save(tmp_path, text))
    text = text.replace('"x": [1], ', "")
    assert rows(save(tmp_path, text)) == [(7, {"a": None, "b": 1}), (3, {"a": True, "b": 2})]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    values=st.lists(st.tuples(VALUES, VALUES), max_size=6),
    chunk=st.integers(1, 40),
    mark=st.integers(1, 3),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(",", ":"), (" , ", "\n:\t")]),
)
def test_any_table_survives_any_cut(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[tuple[Any, Any]],
    chunk: int,
    mark: int,
    ascii_only: bool,
    separators: tuple[str, str],
) -> None:
    table = {
        name: {str(row): pair[at] for row, pair in enumerate(values)}
        for at, name in enumerate("ab")
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_scanner, "_CHUNK", chunk)
        patch.setattr(json_scanner, "ROWS_A_MARK", mark)
        path = save(
            tmp_path_factory.mktemp("t"),
            json.dumps(table, ensure_ascii=ascii_only, separators=separators),
        )
        found = rows(path, size=1)
    assert found == [(row, {"a": pair[0], "b": pair[1]}) for row, pair in enumerate(values)]


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        (b'{"a":{"0":', True),
        (b'\xef\xbb\xbf \n{ "a b" :\t{ "12" : "x', True),
        (b'{"a": {}', True),
        (b'{"a": ["0"', False),
        (b'{"passages": {"is_selected": [1]', False),
        (b'[{"a": {"0": 1', False),
        (b"", False),
        (b"PAR1", False),
    ],
)
def test_the_first_bytes_tell(head: bytes, columns: bool) -> None:
    assert has_columns(head) == columns


FAULTS = {
    "empty": ("",
    "wanted column-oriented JSON: an object of columns; found the end of the file at byte 0"),
    "a list": ("[1]", "an object of columns; found '[' at byte 0"),
    "cut in a value": ('{"a": {"0": "x', "valid JSON; found the end of the file at byte 12"),
    "cut in a list": ('{"a": {"0": [1, 2', "valid JSON; found the end of the file at byte 17"),
    "cut in a word": ('{"a": {"0": tru', "valid JSON; found Expecting value at byte 12"),
    "cut after a value": ('{"a": {"0": 1',
    "a comma or a closing brace; found the end of the file at byte 13"),
    "cut after a column": ('{"a": {"0": 1}',
    "a comma or a closing brace; found the end of the file at byte 14"),
    "cut in a row number": ('{"a": {"0": 1, "1',
    "a row number in double quotes and a colon; found '\"' at byte 15"),
    "cut after a comma": ('{"a": {"0": 1,',
    "a row number in double quotes and a colon; found the end of the file at byte 14"),
    "no JSON": ('{"a": {"0": [1 2]}}' + " " * 99,
    "valid JSON; found Expecting ',' delimiter at byte 15"),
    "a raw line break in a text": ('{"a": {"0": "x\n"}}' + " " * 99,
    "valid JSON; found Invalid control character at at byte 14"),
    "more after the end": ('{"a": {"0": 1}} {',
    "nothing after the closing brace; found '{' at byte 16"),
    "no colon": ('{"a" {"0": 1}}', "a colon after 'a'; found '{' at byte 5"),
    "no name": ('{1: {"0": 1}}', "a name in double quotes; found '1' at byte 1"),
    "no row number": ('{"a": {"x": 1}}',
    "a row number in double quotes and a colon; found '\"' at byte 7"),
    "a column twice": ('{"a": {"0": 1}, "a": {"0": 1}}',
    "every column once; found column 'a' twice"),
    "no such column": ('{"c": {"0": 1}}', "wanted the columns a, b; found none of them"),
    "a row twice": ('{"a": {"0": 1, "0": 2}}',
    "wanted every row once in a column; found row 0 twice in column 'a'"),
    "a row twice in a later one": ('{"a": {"0": 1, "1": 2}, "b": {"0": 1, "1": 1, "0": 1}}',
    "found row 0 twice in column 'b'"),
    "a missing row": ('{"a": {"0": 1, "5": 2, "6": 3}, "b": {"0": 1}}',
    "found no row 5 in column 'b', and 1 more rows missing"),
    "a row too many": ('{"a": {"0": 1}, "b": {"0": 1, "8": 1}}', "found no row 8 in column 'a'"),
    "another order": ('{"a": {"0": 1, "1": 2}, "b": {"1": 1, "0": 2}}',
    "found row 1 of column 'b' where column 'a' has row 0"),
    "an empty column": ('{"a": {"0": 1}, "b": {}}', "found no row 0 in column 'b'"),
    "nested too deep": ('{"a": {"0": ' + "[" * 200_000 + "}}", "valid JSON; found "),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_a_fault_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, chunk: int
) -> None:
    monkeypatch.setattr(json_scanner, "_CHUNK", chunk)
    text, message = FAULTS[fault]
    with pytest.raises(InputError) as raised:
        rows(save(tmp_path, text))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_byte_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"t\.json: .* in UTF-8; found the byte 0xff at byte 23, in column 'b'"
    ):
        rows(save(tmp_path, b'{"a":{"0":1},"b":{"0":"\xff"}}'))


def test_a_value_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSBIAS_MAX_LINE", str(1 << 20))
    monkeypatch.setattr(json_scanner, "_CHUNK", 1 << 16)
    with pytest.raises(
        InputError,
        match=(
            "wanted at most 1,048,576 bytes a line; found a longer value at byte 10; "
            ".*POSBIAS_MAX_LINE"
        ),
    ):
        rows(save(tmp_path, '{"a":{"0":"' + "x" * (3 << 20)))


def test_a_value_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    [(_, row)] = rows(save(tmp_path, json.dumps({"a": {"0": "é" * 5_000_000}})))
    assert len(row["a"]) == 5_000_000


def test_a_file_that_changes_while_it_is_read_is_said(tmp_path: Path) -> None:
    path = save(tmp_path, json.dumps(TABLE))
    [block] = column_blocks(path, ("a", "b"))
    for changed in (
        "",
        json.dumps(TABLE).replace('"1": -1', '"0": -1'),
        json.dumps(TABLE).replace("[1, ", "[1 3"),
    ):
        save(tmp_path, changed)
        with pytest.raises(InputError, match="wanted an unchanged file"):
            list(block.rows())

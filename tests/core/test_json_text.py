"""A key twice in an object is one clear line, wherever JSON is read: else one of two texts would go
on unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.blocks import file_blocks
from positionbias.core.errors import InputError
from positionbias.core.files import read_json
from positionbias.core.json_text import parse_json
from positionbias.formats.json_lines import json_lines
from positionbias.leakage.pairs import read_pairs
from positionbias.positions.raw_files import debias_file
from positionbias.positions.rotate import Rotation

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "json": ('{"a": 1, "b": 2, "a": 3}', read_json),
    "lines": (
        '{"a": {"a": 1, "a": 2}}',
        lambda path: [list(json_lines(block)) for block in file_blocks(path)],
    ),
    "pairs": (
        '{"train_id": "1", "train_id": "2", "test_id": "a", "a": 1, "a": 2}',
        lambda path: list(read_pairs(path)),
    ),
    "debias jsonl": (
        '{"id": "1", "text": "one two three", "text": "four five six"}',
        lambda path: debias_file(path, path.with_name("out"), Rotation(), "jsonl"),
    ),
    "debias jsonl, inside": (
        '{"id": "1", "a": {"a": 1, "a": 2}, "text": "four five six"}',
        lambda path: debias_file(path, path.with_name("out"), Rotation(), "jsonl"),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_key_twice_is_refused_and_named(tmp_path: Path, reader: str) -> None:
    text, read = READERS[reader]
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(
        InputError, match=r"file.*: wanted .*; found the key '\w+' twice in an object"
    ):
        read(path)
    assert not (tmp_path / "out").exists()


def test_the_same_key_in_two_objects_is_no_fault() -> None:
    assert parse_json('[{"a": {"a": 1}}, {"a": 2}]') == [{"a": {"a": 1}}, {"a": 2}]

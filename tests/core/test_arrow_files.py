"""Arrow files that somebody made up: offsets that point anywhere end in one line, never in a read
out of bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

from positionbias.core.errors import InputError
from positionbias.core.shards import ArrowFiles

TEXT = pa.schema([("id", pa.string()), ("text", pa.string())])
LISTS = pa.schema(
    [("id", pa.string()), ("many", pa.list_(pa.string())), ("scores", pa.list_(pa.float32()))]
)
TEXTS = {"id": ["a", "bb", "ccc"], "text": ["one", "", "three"]}
MANY = {"id": ["a", "bb"], "many": [["x", "yy"], ["zzz"]], "scores": [[0.5, 1.0], None]}


def write(path: Path, schema: pa.Schema, *tables: dict[str, list], **options: object) -> Path:
    with (
        pa.OSFile(str(path), "wb") as sink,
        ipc.new_file(sink, schema, options=ipc.IpcWriteOptions(**options)) as writer,
    ):
        for table in tables:
            writer.write_batch(pa.record_batch(table, schema=schema))
    return path


def read(path: Path, schema: pa.Schema = TEXT, nulls: frozenset[str] = frozenset()) -> list[dict]:
    batches = ArrowFiles([path], schema, do="make it again", nulls=nulls)
    return [row for batch in batches for row in batch.to_pylist()]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "f.arrow", TEXT, TEXTS, {"id": [], "text": []}, TEXTS)
    file = ArrowFiles([path], TEXT)
    assert (len(file), file.file_starts.tolist()) == (6, [0, 6])
    assert [(batch["id"][row].as_py()) for batch, row in file.at(np.array([3, 2]))] == ["a", "ccc"]
    assert [row["text"] for row in read(path)] == ["one", "", "three"] * 2
    listed = read(write(tmp_path / "g.arrow", LISTS, MANY), LISTS, frozenset({"scores"}))
    assert listed[1] == {"id": "bb", "many": ["zzz"], "scores": None}


@pytest.mark.parametrize(
    "change",
    [
        lambda offsets: [0, 1 << 30, 1 << 30, 1 << 30],
        lambda offsets: [-(1 << 30), *offsets[1:]],
        lambda offsets: [offsets[0], -5, *offsets[2:]],
        lambda offsets: [offsets[0], 1 << 30, *offsets[2:]],
        lambda offsets: [*offsets[:-1], offsets[-1] + 100],
        lambda offsets: [offsets[0], offsets[2], offsets[1], offsets[3]],
    ],
)
def test_offsets_that_point_elsewhere_are_one_line(
    tmp_path: Path, change: Callable[[list[int]], list[int]]
) -> None:
    path = write(
        tmp_path / "f.arrow",
        TEXT,
        {"id": ["a", "bb", "ccc"], "text": ["one", "twotwo", "threethreethree"]},
    )
    content, before = path.read_bytes(), [0, 3, 9, 24]
    old, new = (struct.pack("<4i", *values) for values in (before, change(before)))
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))
    with pytest.raises(
        InputError, match=r"f.arrow: wanted a whole Arrow file; found .*; make it again"
    ):
        read(path)


def test_offsets_of_lists_are_checked_too(tmp_path: Path) -> None:
    many = [[f"{number}"] * number for number in range(1, 6)]
    path = write(
        tmp_path / "f.arrow", LISTS, {"id": list("abcde"), "many": many, "scores": [[1.0]] * 5}
    )
    content = path.read_bytes()
    old = np.cumsum([0, 1, 2, 3, 4, 5]).astype("<i4").tobytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, np.array([0, 1, 3, 6, 10, 1 << 28], "<i4").tobytes()))
    with pytest.raises(InputError, match="wanted a whole Arrow file"):
        read(path, LISTS)


def test_other_columns_nulls_and_packing_are_refused(tmp_path: Path) -> None:
    other = write(
        tmp_path / "a.arrow",
        pa.schema([("id", pa.string()), ("text", pa.int64())]),
        {"id": ["a"], "text": [1]},
    )
    with pytest.raises(InputError, match="wanted columns id, text; found"):
        read(other)
    with pytest.raises(InputError, match="found 1 nulls"):
        read(write(tmp_path / "b.arrow", TEXT, {"id": ["a"], "text": [None]}))
    packed = write(
        tmp_path / "c.arrow",
        TEXT,
        {"id": ["a"] * 1000, "text": ["b" * 100] * 1000},
        compression="zstd",
    )
    with pytest.raises(InputError, match="wanted uncompressed columns"):
        read(packed)


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_is_more_than_one_line(tmp_path: Path, seed: int) -> None:
    content = write(tmp_path / "f.arrow", LISTS, MANY, MANY).read_bytes()
    random = np.random.default_rng(seed)
    for trial in range(60):
        damaged = bytearray(content)
        for at in random.integers(0, len(content), 1 + trial % 3).tolist():
            damaged[at] = int(random.integers(0, 256))
        (tmp_path / "f.arrow").write_bytes(damaged)
        try:
            read(tmp_path / "f.arrow", LISTS, frozenset({"scores"}))
        except (InputError, UnicodeDecodeError):
            continue


def test_text_that_is_not_unicode_is_one_line(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f.arrow", TEXT, {"id": ["a", "bb", "ccc"], "text": ["one", "two", "forty-four"]}
    )
    path.write_bytes(path.read_bytes().replace(b"forty-four", b"forty\xfffour"))
    with pytest.raises(
        InputError, match=r"f.arrow: wanted a whole Arrow file; found .*UTF8.*; make it again"
    ):
        read(path)


def test_lists_of_several_lengths_in_a_row_are_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "f.arrow", LISTS, {**MANY, "scores": [[0.5, 1.0], [2.0, 3.0]]})
    with pytest.raises(
        InputError,
        match=r"f.arrow: wanted a whole Arrow file; found lists of several lengths in one row",
    ):
        read(path, LISTS, frozenset({"scores"}))

"""Raw Parquet rotated: one column changes, row group by row group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.engine.local import map_shards
from positionbias.positions.raw_files import RotatedFile, debias_file
from positionbias.positions.rotate import Rotation, rotate
from positionbias.positions.settings import RawForm

TEXTS = ["one two three four", None, "word", "Im Café „Zur Brücke“ kostet der Tee drei Kronen.", "", "a b c d e f g", "x y"]


def table(type_: Any = None, **more: Any) -> pa.Table:
    columns = {
        "docid": pa.array([f"p{number}" for number in range(len(TEXTS))]),
        "n": pa.array(range(len(TEXTS)), pa.int16()),
        "text": pa.array(TEXTS, type_ or pa.string()),
        "tags": pa.array([["a", "b"]] * len(TEXTS)),
        **more,
    }
    return pa.table(columns).replace_schema_metadata({"made by": "a test"})


PARQUET = RawForm("parquet")


def debias(source: Path, out: Path, form: RawForm = PARQUET, **more: Any) -> RotatedFile:
    return debias_file(source, out, Rotation(words="whitespace"), form, **more)


WANTED = [text if text is None else rotate(text, f"p{number}", words="whitespace") for number, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_texts_are_rotated_and_all_else_stays(tmp_path: Path, type_: pa.DataType) -> None:
    original = table()
    original = original.set_column(2, pa.field("text", type_), original["text"].cast(type_))
    pq.write_table(
        original,
        tmp_path / "in.parquet",
        row_group_size=3,
        compression={"text": "gzip", "n": "none", "docid": "zstd", "tags.list.element": "snappy"},
    )
    rotated = debias(tmp_path / "in.parquet", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["text"].to_pylist() == WANTED
    assert found.schema.equals(pq.read_schema(tmp_path / "in.parquet"), check_metadata=True)
    assert found.drop_columns("text").equals(original.drop_columns("text"))
    before, after = (pq.ParquetFile(tmp_path / name).metadata for name in ("in.parquet", "out.parquet"))
    assert [after.row_group(group).num_rows for group in range(after.num_row_groups)] == [3, 3, 1]
    for column in range(before.num_columns):
        assert after.row_group(0).column(column).compression == before.row_group(0).column(column).compression
    assert {name: count for name, count in rotated.passages.items() if count} == {
        "rotated": sum(a != b for a, b in zip(TEXTS, WANTED, strict=True)),  # all four that can be
        "without_text": 1, "without_words": 1, "one_word": 1,
    }  # fmt: skip


def test_whole_numbers_are_ids_too_and_columns_can_be_named(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet")
    debias(tmp_path / "in.parquet", tmp_path / "out.parquet", RawForm("parquet", "n", "text"))
    wanted = [text if text is None else rotate(text, str(number), words="whitespace") for number, text in enumerate(TEXTS)]
    assert pq.read_table(tmp_path / "out.parquet")["text"].to_pylist() == wanted


def test_two_workers_write_the_same_bytes_and_finished_row_groups_are_kept(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet", row_group_size=2)
    debias(tmp_path / "in.parquet", tmp_path / "one.parquet")
    debias(tmp_path / "in.parquet", tmp_path / "two.parquet", map_shards=lambda f, items: map_shards(f, items, workers=2))
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()

    made: list[int] = []

    def counted(stop_after: int) -> Any:
        def over(function: Any, items: Any) -> Any:
            for number, item in enumerate(items):
                if number == stop_after:
                    raise KeyboardInterrupt
                made.append(number)
                yield function(item)

        return over

    with pytest.raises(KeyboardInterrupt):
        debias(tmp_path / "in.parquet", tmp_path / "three.parquet", map_shards=counted(2))
    assert not (tmp_path / "three.parquet").exists()
    parts = sorted(tmp_path.rglob("*.arrow"))
    times = [path.stat().st_mtime_ns for path in parts]
    assert len(parts) == 2

    def check_kept(function: Any, items: Any) -> Any:
        yield from map(function, items)
        assert [path.stat().st_mtime_ns for path in parts] == times  # verified, not made again

    debias(tmp_path / "in.parquet", tmp_path / "three.parquet", map_shards=check_kept)
    assert (tmp_path / "three.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()
    assert not list(tmp_path.rglob("*.arrow"))


@pytest.mark.parametrize(
    ("columns", "form", "said"),
    [
        (
            {},
            RawForm("parquet", "nr"),
            "wanted a column for --id-field (nr); found the columns docid, n, text, tags; name it with --id-field",
        ),
        ({}, RawForm("parquet", None, "tags"), "wanted 'tags' as a column of text; found list<"),
        ({}, RawForm("parquet", "tags"), "wanted 'tags' as a column of text or whole numbers; found list<"),
        (
            {"docid": pa.array([None, *"abcdef"])},
            RawForm("parquet"),
            "wanted an id in every row of 'docid'; found none in row 0 of row group 0",
        ),
    ],
    ids=["no column", "no text", "no id", "null id"],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, columns: dict[str, Any], form: RawForm, said: str) -> None:
    pq.write_table(table(**columns), tmp_path / "in.parquet")
    with pytest.raises(InputError) as caught:
        debias(tmp_path / "in.parquet", tmp_path / "out.parquet", form)
    assert said in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("damage", ["cut", "other", "flipped"])
def test_a_damaged_file_is_one_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(table(), path)
    content = path.read_bytes()
    middle = bytes(byte ^ 0xFF for byte in content[4:60])
    path.write_bytes(
        {"cut": content[:-20], "other": b"p1\tno Parquet\n", "flipped": content[:4] + middle + content[60:]}[damage]
    )
    with pytest.raises(InputError, match="wanted a complete Parquet file"):
        debias(path, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_parquet_is_not_compressed_as_a_whole(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet")
    with pytest.raises(SettingError, match="--out: wanted no compression around Parquet"):
        debias(tmp_path / "in.parquet", tmp_path / "out.parquet.gz")

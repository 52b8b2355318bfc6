"""Which raw format a file has."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.positions.raw_formats import format_of
from positionbias.positions.settings import RawFormat

SQUAD = {"version": "1.1", "data": [{"title": "t", "paragraphs": []}]}
ROWS = '{"query_id": 1, "passages": []}\n{"query_id": 2, "passages": []}\n'


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("collection.tsv.gz", "", "tsv"),
        ("corpus.ndjson.zst", "", "jsonl"),
        ("train_v1.1.json", ROWS, "jsonl"),
        ("noending", ROWS, "jsonl"),
        ("noending", "p1\tone two\n", "tsv"),
    ],
)
def test_a_format_is_told_by_name_or_content(
    tmp_path: Path, name: str, content: str, kind: RawFormat
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert format_of(path) == kind


def test_a_compressed_file_is_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "train.json.gz"
    path.write_bytes(gzip.compress(ROWS.encode()))
    assert format_of(path) == "jsonl"


# its first line is cut
LONG = {"data": [{"title": "t", "paragraphs": [{"context": "x" * (1 << 21), "qas": []}]}]}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(SQUAD),
        json.dumps(LONG),
    ],
)
def test_squad_is_to_be_imported(tmp_path: Path, content: str) -> None:
    path = tmp_path / "dev.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(
        InputError,
        match=r"dev.json: .*found other JSON, such as SQuAD's; import it \(posbias import squad",
    ):
        format_of(path)


@pytest.mark.parametrize("name", ["part.parquet", "part"])
def test_parquet_is_to_be_imported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("PAR1 …")
    with pytest.raises(
        InputError,
        match=r"found Parquet; import it \(posbias import table\), and rotate the collection",
    ):
        format_of(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found an empty file"),
        (b"no tab\n", "found a file that begins like neither"),
        (b'{"query": {\n"0": "x"}}', "found other JSON, such as SQuAD's; import it"),
        (b"\x1f\x8b\x08", "a raw file, whole; found"),
    ],
    ids=["empty", "text", "columns", "cut"],
)
def test_an_unknown_format_is_said_to_be_unknown(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        format_of(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted a readable file"):
        format_of(tmp_path / "none")

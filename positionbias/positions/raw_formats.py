"""Identify a file's raw format by its name, else by its beginning."""

from __future__ import annotations

import json
from pathlib import Path

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.positions.settings import RAW_FORMATS, RawFormat

_ENDINGS: dict[str, RawFormat] = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HEAD = 1 << 20


def format_of(path: Path) -> RawFormat:
    """Return the format of a file, plain, ``.gz`` or ``.zst``.

    Raises:
        InputError: an unreadable or empty file, or one of another format.
    """
    name = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if known := _ENDINGS.get(name.suffix):
        return known
    with input_errors(path, wanted="a raw file"), open_bytes(path) as handle:
        head = handle.read(_HEAD)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if name.suffix == ".parquet" or head.startswith(b"PAR1"):
        raise _other(path, "Parquet", "import it (posbias import table), and rotate the collection")
    if text.startswith(b"{") and _is_jsonl(text):
        return "jsonl"
    if text.startswith((b"{", b"[")):
        do = "import it (posbias import squad, msmarco-qa or table), and rotate the collection"
        raise _other(path, "other JSON, such as SQuAD's", do)
    if b"\t" in text.partition(b"\n")[0]:
        return "tsv"
    found = "an empty file" if not text else "a file that begins like neither"
    raise _other(path, found, "give its --format")


def _other(path: Path, found: str, do: str) -> InputError:
    return bad_input(
        path, wanted=f"one of the formats {', '.join(RAW_FORMATS)}", found=found, do=do
    )


def _is_jsonl(text: bytes) -> bool:
    """Return True if the first line is an object by itself, and no SQuAD."""
    first, newline, _ = text.partition(b"\n")
    if not newline and len(text) >= _HEAD // 2:  # the line is cut
        return b'"data"' not in text and b'"paragraphs"' not in text
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):  # the document has several lines
        return False
    return isinstance(record, dict) and not isinstance(record.get("data"), list)

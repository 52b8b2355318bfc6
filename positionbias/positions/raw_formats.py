"""Identify a file's raw format by its name, else by its beginning."""

from __future__ import annotations

import json
from pathlib import Path

from positionbias.core.errors import bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.positions.settings import RAW_FORMATS, RawFormat

__all__ = ["format_of"]

_ENDINGS: dict[str, RawFormat] = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_HEAD = 1 << 20


def format_of(path: Path) -> RawFormat:
    """Return the format of a file, plain, ``.gz`` or ``.zst``; ``.json`` is SQuAD or JSON lines, by its content.

    Raises:
        InputError: an unreadable or empty file, or one that looks like none of the four.
    """
    name = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if known := _ENDINGS.get(name.suffix):
        return known
    with input_errors(path, wanted="a raw file"), open_bytes(path) as handle:
        head = handle.read(_HEAD)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    if text.startswith(b"{"):
        return _json_format(path, text)
    if b"\t" in text.partition(b"\n")[0]:
        return "tsv"
    raise bad_input(
        path,
        wanted=f"one of the formats {', '.join(RAW_FORMATS)}",
        found="an empty file" if not text else "a file that begins like none of them",
        do="give its --format",
    )


def _json_format(path: Path, text: bytes) -> RawFormat:
    first, newline, _ = text.partition(b"\n")
    if newline or len(text) < _HEAD // 2:  # else the line is cut
        try:
            record = json.loads(first)
            return "squad" if isinstance(record.get("data"), list) else "jsonl"
        except (ValueError, RecursionError):
            pass  # not JSON by itself: the document has several lines
    if b'"data"' in text or b'"paragraphs"' in text:
        return "squad"
    raise bad_input(
        path,
        wanted="SQuAD, or JSON lines",
        found="other JSON",
        do="give its --format; import a release in columns (MS MARCO QA v2.1) with: posbias import msmarco-qa",
    )

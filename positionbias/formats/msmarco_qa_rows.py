"""Read the three published layouts of the MS MARCO QA releases as blocks of checked rows.

- v1.1: JSON lines, a row a line. (v2.1 after Microsoft's own conversion and the Hub's JSON export
  look the same.)
- v2.1: column-oriented JSON. A compressed file is first unpacked into the work folder, as its
  columns follow one another.
- the Hub's Parquet: lists, and passages as an object of three lists.

A file's first bytes identify its layout.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.core.blocks import BLOCK_BYTES, file_blocks
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.formats.json_columns import column_blocks, has_columns
from positionbias.formats.json_lines import FIX, Bad, named, text_of
from positionbias.formats.row_blocks import LineRows, RowBlock, parquet_blocks

COLUMNS = ("answers", "passages", "query", "query_id", "query_type", "wellFormedAnswers")
_REQUIRED = ("passages", "query", "query_id")
UNKNOWN = -1  # written by the Hub where is_selected is absent
_HEAD = 1 << 16
_WHAT = "an MS MARCO QA release"


class Candidate(NamedTuple):
    """A passage that the annotator saw; ``selected`` is 1, 0, or -1 where the release does not
    say.
    """

    text: str
    selected: int


class Row(NamedTuple):
    """A query of the releases; ``answers`` is None where the release has none (its evaluation
    files).
    """

    query_id: str
    query: str
    query_type: str | None
    answers: list[str] | None
    well_formed: list[str]
    passages: list[Candidate]


def qa_blocks(path: Path | str, work: Path, size: int = BLOCK_BYTES) -> Iterable[RowBlock]:
    """Return a release file's rows in blocks of about ``size`` bytes; a compressed file may be
    unpacked in ``work``.

    The result is a list if finding the blocks took a pass through the file; each block is then only
    byte ranges.

    Raises:
        InputError: no such file, an empty one, none of the three layouts, or a malformed file.
    """
    with input_errors(path, wanted=_WHAT), open_bytes(path) as handle:
        head = handle.read(_HEAD)
    if head.startswith(b"PAR1"):
        return parquet_blocks(path, COLUMNS, _REQUIRED, size)
    if has_columns(head):
        return column_blocks(_plain(Path(path), work), COLUMNS, source=str(path), size=size)
    if not head.strip():
        raise bad_input(path, wanted=_WHAT, found="an empty file", do="check the path")
    return map(LineRows, file_blocks(path, size))


def _plain(path: Path, work: Path) -> Path:
    """Return the file itself, or its unpacked copy."""
    with input_errors(path, wanted=_WHAT), open(path, "rb") as raw, open_bytes(path) as handle:
        start = handle.read(4)
        if raw.read(4) == start:
            return path
        work.mkdir(parents=True, exist_ok=True)
        unpacked = work / f"{len(list(work.iterdir())):05d}.json"
        with open(unpacked, "wb") as target:
            target.write(start)
            shutil.copyfileobj(handle, target, 1 << 20)
    return unpacked


def checked_rows(block: RowBlock) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a block with their numbers.

    Raises:
        InputError: a missing key, one of another type, or text with half a surrogate pair (with the
            row's place).
    """
    for number, record in block.rows():
        yield number, _Reader(partial(block.bad_row, number)).row(record)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A checker of one row; ``bad`` makes its errors."""

    bad: Bad

    def row(self, record: Any) -> Row:
        if not isinstance(record, dict):
            raise self.error("an object with query, query_id and passages", named(record))
        query_id = record.get("query_id")
        if type(query_id) is int:
            query_id = str(query_id)
        if not isinstance(query_id, str) or query_id.split() != [query_id]:
            raise self.error("'query_id' as a whole number or text without spaces", named(query_id))
        query_type = record.get("query_type")
        return Row(
            self.text(query_id, "query_id"),
            self.text(record.get("query"), "query"),
            None if query_type is None else self.text(query_type, "query_type"),
            None if record.get("answers") is None else self.texts(record["answers"], "answers"),
            self.well_formed(record.get("wellFormedAnswers")),
            self.passages(record.get("passages")),
        )

    def passages(self, value: Any) -> list[Candidate]:
        if isinstance(value, dict):  # the Hub's form: an object of lists
            texts = value.get("passage_text")
            selected = value.get("is_selected")
            if (
                not isinstance(texts, list)
                or not isinstance(selected, list | None)
                or len(texts) != len(selected or texts)
            ):
                raise self.error(
                    "'passages' with lists passage_text and is_selected of equal length", "others"
                )
            pairs = zip(texts, selected or [None] * len(texts), strict=True)
            return [self.candidate(text, mark) for text, mark in pairs]
        if not isinstance(value, list):
            raise self.error("'passages' as a list", named(value))
        if not all(isinstance(item, dict) for item in value):
            raise self.error("'passages' as a list of objects", "something else in it")
        return [self.candidate(item.get("passage_text"), item.get("is_selected")) for item in value]

    def candidate(self, text: Any, selected: Any) -> Candidate:
        if selected is None:
            selected = UNKNOWN
        if selected not in (0, 1, UNKNOWN):
            raise self.error("'is_selected' as 0 or 1", named(selected))
        return Candidate(self.text(text, "passage_text"), int(selected))

    def well_formed(self, value: Any) -> list[str]:
        """Parse well-formed answers: a list, or "[]" as text for none, which a conversion may have
        split into characters.
        """
        if value is None or value in ("[]", "", ["[]"], ["[", "]"]):
            return []
        return self.texts(value, "wellFormedAnswers")

    def texts(self, value: Any, key: str) -> list[str]:
        if not isinstance(value, list):
            raise self.error(f"{key!r} as a list of texts", named(value))
        return [self.text(item, key) for item in value]

    def text(self, value: Any, key: str) -> str:
        return text_of(value, key, self.bad)

    def error(self, wanted: str, found: str) -> InputError:
        return self.bad(wanted=wanted, found=found, do=FIX)

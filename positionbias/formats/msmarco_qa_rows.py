"""Read the three published layouts of the MS MARCO QA releases as blocks of checked rows.

- v1.1: JSON lines, a row a line. (v2.1 after Microsoft's own conversion, and the Hub's JSON export, look alike.)
- v2.1: column-oriented JSON. A compressed file is first unpacked into the work folder, as its columns follow one another.
- the Hub's Parquet: lists, and passages as an object of three lists.

A file's first bytes identify its layout.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from positionbias.core.blocks import BLOCK_BYTES, Block, file_blocks
from positionbias.core.budgets import check_ratio
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.core.input_state import file_mark
from positionbias.formats.json_columns import column_blocks, has_columns
from positionbias.formats.json_lines import FIX, Bad, json_lines, named, text_of

__all__ = ["COLUMNS", "UNKNOWN", "Candidate", "Row", "RowBlock", "checked_rows", "qa_blocks"]

COLUMNS = ("answers", "passages", "query", "query_id", "query_type", "wellFormedAnswers")
_REQUIRED = ("passages", "query", "query_id")
UNKNOWN = -1  # written by the Hub where is_selected is absent
_HEAD = 1 << 16
_WHAT = "an MS MARCO QA release"


class Candidate(NamedTuple):
    """A passage that the annotator saw; ``selected`` is 1, 0, or -1 where the release does not say."""

    text: str
    selected: int


class Row(NamedTuple):
    """A query of the releases; ``answers`` is None where the release has none (its evaluation files)."""

    query_id: str
    query: str
    query_type: str | None
    answers: list[str] | None
    well_formed: list[str]
    passages: list[Candidate]


class RowBlock(Protocol):
    """Some rows of one file, picklable and small enough for memory."""

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Yield each row with its number for ``bad_row``."""

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        """Return an error about one row, with its place in the file."""

    def fingerprint(self) -> str:
        """Return an identifier of the block across runs."""


@dataclass(frozen=True, slots=True)
class LineRows:
    """Rows as JSON lines."""

    block: Block

    def rows(self) -> Iterator[tuple[int, Any]]:
        return json_lines(self.block)

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        return self.block.bad_line(number, wanted=wanted, found=found, do=do)

    def fingerprint(self) -> str:
        return self.block.fingerprint()


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """The rows of the row groups ``[first, end)`` of a Parquet file."""

    path: str
    first: int
    end: int

    def rows(self) -> Iterator[tuple[int, Any]]:
        import pyarrow.parquet as pq

        number = 0
        with _parquet_errors(self.path), pq.ParquetFile(self.path) as table:
            names = [name for name in COLUMNS if name in table.schema_arrow.names]
            for batch in table.iter_batches(512, row_groups=list(range(self.first, self.end)), columns=names):
                for record in batch.to_pylist():
                    yield number, record
                    number += 1

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        place = f"row {number} of row group {self.first} and those after it"
        return bad_input(self.path, wanted=wanted, found=f"{found} ({place})", do=do)

    def fingerprint(self) -> str:
        return f"{sorted(file_mark(self.path).items())} {self.first}-{self.end}"


def qa_blocks(path: Path | str, work: Path, size: int = BLOCK_BYTES) -> Iterable[RowBlock]:
    """Return a release file's rows in blocks of about ``size`` bytes; a compressed file may be unpacked in ``work``.

    The result is a list where finding the blocks took a pass through the file, and each is only ranges of it.

    Raises:
        InputError: no such file, an empty one, none of the three layouts, or a layout that is broken.
    """
    with input_errors(path, wanted=_WHAT), open_bytes(path) as handle:
        head = handle.read(_HEAD)
    if head.startswith(b"PAR1"):
        return _parquet_blocks(path, size)
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


def _parquet_blocks(path: Path | str, size: int) -> list[RowBlock]:
    import pyarrow.parquet as pq

    with _parquet_errors(path), pq.ParquetFile(path) as table:
        names, found = table.schema_arrow.names, table.metadata
        sizes = [found.row_group(group).total_byte_size for group in range(found.num_row_groups)]
    check_ratio(path, Path(path).stat().st_size, sum(sizes))
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        raise bad_input(
            path, wanted=f"the columns {', '.join(_REQUIRED)}", found=f"no {', '.join(missing)}", do="check the path"
        )
    blocks: list[RowBlock] = []
    first, held = 0, 0
    for group, group_size in enumerate(sizes):
        held += group_size
        if held >= size or group == len(sizes) - 1:
            blocks.append(ParquetRows(str(path), first, group + 1))
            first, held = group + 1, 0
    return blocks


@contextmanager
def _parquet_errors(path: Path | str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        found = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise bad_input(path, wanted="a whole Parquet file", found=found, do="fetch the file again") from None


def checked_rows(block: RowBlock) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a block with their numbers.

    Raises:
        InputError: a key is missing, of another type, or holds half a surrogate pair; the row's place is named.
    """
    for number, record in block.rows():
        yield number, _Reader(partial(block.bad_row, number)).row(record)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A checker of one row; ``bad`` makes the error about it."""

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
            if not isinstance(texts, list) or not isinstance(selected, list | None) or len(texts) != len(selected or texts):
                raise self.error("'passages' with lists passage_text and is_selected of one length", "others")
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
        """Parse well-formed answers: a list, or the text "[]" for none, which a conversion may have split into characters."""
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

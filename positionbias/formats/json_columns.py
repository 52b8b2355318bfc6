"""Read column-oriented JSON of any size: an object of columns, each an object from row number to
value, as pandas writes it.

    {"query": {"0": "…", "1": "…"}, "passages": {"0": [...], "1": [...]}, …}

The columns follow one another, so a row is spread over the whole file. One pass records the byte
offsets of each column's rows, every 256 rows, and checks that all columns have the same rows; any
worker can then read a block of rows from its offsets. Memory: one value and 8 bytes per row in the
pass; later, the bytes of one block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.core.blocks import BLOCK_BYTES
from positionbias.core.errors import InputError, bad_input
from positionbias.core.input_state import file_mark
from positionbias.core.json_text import Json
from positionbias.formats.json_scanner import FIX, WHAT, Column, ColumnScanner

if TYPE_CHECKING:
    import numpy as np

_FIRST_COLUMN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"\\]*"\s*:\s*\{\s*(?:"[0-9]+"\s*:|\})')


def has_columns(head: bytes) -> bool:
    """Return True if a file with this head is column-oriented: its first value is an object with a
    row number as key.
    """
    return _FIRST_COLUMN.match(head) is not None


class Piece(NamedTuple):
    """Some rows of one column: bytes ``[start, end)`` of the file."""

    column: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """Consecutive rows; errors name ``source``, the given file; ``path`` is the plain file with the
    bytes.
    """

    source: str
    path: str
    pieces: tuple[Piece, ...]

    def rows(self) -> Iterator[tuple[int, dict[str, Json]]]:
        """Yield each row's number and its values by column.

        Raises:
            InputError: not UTF-8, or the file has changed.
        """
        columns = [self._members(piece) for piece in self.pieces]
        if len(set(map(len, columns))) > 1:
            raise self._changed()
        names = [piece.column for piece in self.pieces]
        for key, *values in zip(columns[0], *(column.values() for column in columns), strict=True):
            yield int(key), dict(zip(names, values, strict=True))

    def _members(self, piece: Piece) -> dict[str, Json]:
        with open(self.path, "rb") as handle:
            handle.seek(piece.start)
            data = handle.read(piece.end - piece.start)
        if len(data) < piece.end - piece.start:
            raise self._changed()
        try:
            return json.loads(f"{{{data.decode()}}}")
        except UnicodeDecodeError as error:
            raise bad_input(
                self.source,
                wanted=f"{WHAT} in UTF-8",
                found=(
                    f"the byte 0x{data[error.start]:02x} at byte {piece.start + error.start:,}, in "
                    f"column {piece.column!r}"
                ),
                do="convert the file",
            ) from None
        except ValueError:
            raise self._changed() from None

    def _changed(self) -> InputError:
        return bad_input(
            self.source, wanted="an unchanged file", found="other bytes", do="run again"
        )

    def fingerprint(self) -> str:
        """Return an identifier of the block across runs."""
        return f"{sorted(file_mark(self.source).items())} {self.pieces}"

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        """Return an error about one row."""
        return bad_input(self.source, wanted=wanted, found=f"{found} (row {number})", do=do)


def column_blocks(
    path: Path | str,
    columns: Collection[str],
    *,
    source: str | None = None,
    size: int = BLOCK_BYTES,
) -> list[ColumnBlock]:
    """Return the rows of a plain file in blocks of about ``size`` bytes, with the ``columns``
    present, in the file's order.

    ``source`` is the given file, if ``path`` is its unpacked copy.

    Raises:
        InputError: not column-oriented JSON (with the byte of the fault), a truncated file, none of
            the columns, or columns with different rows.
    """
    source = source or str(path)
    with open(path, "rb") as handle:
        found = {
            name: column
            for name, column in ColumnScanner(handle, source).columns()
            if name in columns
        }
    if not found:
        raise bad_input(
            source,
            wanted=f"the columns {', '.join(columns)}",
            found="none of them",
            do="check the path",
        )
    _require_same_rows(found, source)
    return list(_cut(found, str(path), source, size))


def _cut(found: dict[str, Column], path: str, source: str, size: int) -> Iterator[ColumnBlock]:
    marks = len(next(iter(found.values())).starts)
    first = 0
    for mark in range(marks):
        held = sum(column.ends[mark] - column.starts[first] for column in found.values())
        if held >= size or mark == marks - 1:
            pieces = (
                Piece(name, column.starts[first], column.ends[mark])
                for name, column in found.items()
            )
            yield ColumnBlock(source, path, tuple(pieces))
            first = mark + 1


def _require_same_rows(found: dict[str, Column], source: str) -> None:
    """Check that every column has the same rows in the same order, each once."""
    numbers = {name: np.frombuffer(column.numbers, np.int64) for name, column in found.items()}
    leading, first = next(iter(numbers.items()))
    if (row := _twice(first)) is not None:
        raise bad_input(
            source,
            wanted="every row once in a column",
            found=f"row {row} twice in column {leading!r}",
            do=FIX,
        )
    for name, other in numbers.items():
        if not np.array_equal(first, other):
            raise bad_input(
                source,
                wanted="the same rows in every column",
                found=_difference(leading, first, name, other),
                do=FIX,
            )


def _difference(leading: str, first: np.ndarray, name: str, other: np.ndarray) -> str:
    for without, missing in (
        (name, np.setdiff1d(first, other)),
        (leading, np.setdiff1d(other, first)),
    ):
        if len(missing):
            more = f", and {len(missing) - 1:,} more rows missing" if len(missing) > 1 else ""
            return f"no row {missing[0]} in column {without!r}{more}"
    if (row := _twice(other)) is not None:
        return f"row {row} twice in column {name!r}"
    place = int(np.flatnonzero(first != other)[0])
    return f"row {other[place]} of column {name!r} where column {leading!r} has row {first[place]}"


def _twice(numbers: np.ndarray) -> int | None:
    """Return the smallest repeated number."""
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[counts > 1][0]) if len(values) < len(numbers) else None

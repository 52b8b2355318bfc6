"""Column-oriented JSON of any size: one object of columns, each an object from row number to value, as pandas writes a table.

    {"query": {"0": "…", "1": "…"}, "passages": {"0": [...], "1": [...]}, …}

The columns stand one after the other, so a row is spread over the whole file. One pass through the file notes at which bytes each
column's rows stand, 256 rows at a time, and that every column has the same rows; a block of rows is then read from its places, by
whoever needs it. Memory: one value at a time in the pass (and 8 bytes a row), the bytes of one block when it is read.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from positionbias.core.blocks import BLOCK_BYTES
from positionbias.core.errors import InputError, bad_input
from positionbias.core.shard_work import file_state

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ColumnBlock", "column_blocks", "has_columns"]

ROWS_A_MARK = 256
VALUE_BYTES = 256 << 20  # the longest value that is read
_CHUNK = 4 << 20
_NEAR_THE_END = 64  # an error this near to the end of what was read may come from the cut
_WHAT = "column-oriented JSON"
_MEND = "check that the file is complete, or fetch it again"
_DECODER = json.JSONDecoder()
_WHITESPACE = re.compile(r"[ \t\n\r]*")
_ROW = re.compile(r'"([0-9]{1,18})"[ \t\n\r]*:')
_FIRST_COLUMN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"\\]*"\s*:\s*\{\s*(?:"[0-9]+"\s*:|\})')


def has_columns(head: bytes) -> bool:
    """Whether a file that begins with these bytes is column-oriented: its first value is an object with a row number as key."""
    return _FIRST_COLUMN.match(head) is not None


class Piece(NamedTuple):
    """The members of some rows in one column: bytes ``[start, end)`` of the file."""

    column: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """Consecutive rows; ``source`` is the file that was given, which messages name, ``path`` the plain one that holds the bytes."""

    source: str
    path: str
    pieces: tuple[Piece, ...]

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each row's number, and its values by column.

        Raises:
            InputError: not UTF-8.
        """
        columns = [self._members(piece) for piece in self.pieces]
        names = [piece.column for piece in self.pieces]
        for key, *values in zip(columns[0], *(column.values() for column in columns), strict=True):
            yield int(key), dict(zip(names, values, strict=True))

    def _members(self, piece: Piece) -> dict[str, Any]:
        with open(self.path, "rb") as handle:
            handle.seek(piece.start)
            data = handle.read(piece.end - piece.start)
        try:
            return json.loads(f"{{{data.decode()}}}")
        except UnicodeDecodeError as error:
            raise bad_input(
                self.source,
                wanted=f"{_WHAT} in UTF-8",
                found=f"the byte 0x{data[error.start]:02x} at byte {piece.start + error.start:,}, in column {piece.column!r}",
                do="convert the file",
            ) from None
        except ValueError:
            raise bad_input(self.source, wanted="a file that stays as it is", found="other bytes", do="run again") from None

    def fingerprint(self) -> str:
        """What tells that an interrupted run worked on the same block."""
        return f"{sorted(file_state(self.source).items())} {self.pieces}"

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        """The error about one row."""
        return bad_input(self.source, wanted=wanted, found=f"{found} (row {number})", do=do)


@dataclass(slots=True)
class _Column:
    """Where a column's rows stand: all row numbers, and the first and last byte of every ``ROWS_A_MARK`` rows."""

    numbers: array = field(default_factory=lambda: array("q"))
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


def column_blocks(
    path: Path | str, columns: Collection[str], *, source: str | None = None, size: int = BLOCK_BYTES
) -> list[ColumnBlock]:
    """The rows of a plain file in blocks of about ``size`` bytes, with those of ``columns`` that the file has, in its order.

    ``source`` is the file that was given, where ``path`` is what it held unpacked.

    Raises:
        InputError: not column-oriented JSON (with the byte where it breaks), cut short, none of the columns, or columns whose
            rows differ.
    """
    source = source or str(path)
    with open(path, "rb") as handle:
        found = {name: column for name, column in _Scanner(handle, source).columns() if name in columns}
    if not found:
        raise bad_input(source, wanted=f"the columns {', '.join(columns)}", found="none of them", do="check the path")
    _require_same_rows(found, source)
    return list(_cut(found, str(path), source, size))


def _cut(found: dict[str, _Column], path: str, source: str, size: int) -> Iterator[ColumnBlock]:
    marks = len(next(iter(found.values())).starts)
    first = 0
    for mark in range(marks):
        held = sum(column.ends[mark] - column.starts[first] for column in found.values())
        if held >= size or mark == marks - 1:
            pieces = (Piece(name, column.starts[first], column.ends[mark]) for name, column in found.items())
            yield ColumnBlock(source, path, tuple(pieces))
            first = mark + 1


def _require_same_rows(found: dict[str, _Column], source: str) -> None:
    """Every column has the rows of the first, once each, in the same order."""
    import numpy as np

    numbers = {name: np.frombuffer(column.numbers, np.int64) for name, column in found.items()}
    leading, first = next(iter(numbers.items()))
    values, counts = np.unique(first, return_counts=True)
    if len(values) < len(first):
        found_twice = f"row {values[counts > 1][0]} twice in column {leading!r}"
        raise bad_input(source, wanted="every row once in a column", found=found_twice, do=_MEND)
    for name, other in numbers.items():
        if not np.array_equal(first, other):
            raise bad_input(
                source, wanted="the same rows in every column", found=_difference(leading, first, name, other), do=_MEND
            )


def _difference(leading: str, first: np.ndarray, name: str, other: np.ndarray) -> str:
    import numpy as np

    for without, missing in ((name, np.setdiff1d(first, other)), (leading, np.setdiff1d(other, first))):
        if len(missing):
            more = f", and {len(missing) - 1:,} rows more" if len(missing) > 1 else ""
            return f"no row {missing[0]} in column {without!r}{more}"
    values, counts = np.unique(other, return_counts=True)
    if len(values) < len(other):
        return f"row {values[counts > 1][0]} twice in column {name!r}"
    place = int(np.flatnonzero(first != other)[0])
    return f"row {other[place]} of column {name!r} where column {leading!r} has row {first[place]}"


class _Scanner:
    """Reads the file's outer two levels as they come.

    Bytes are decoded as Latin-1, so that a place in the text is a place in the file; no text leaves this class but names of columns.
    """

    def __init__(self, stream: IO[bytes], source: str) -> None:
        self.stream, self.source = stream, source
        self.text, self.at = "", 0
        self.before = 0  # bytes of the file before ``text``
        self.ended = False

    def columns(self) -> Iterator[tuple[str, _Column]]:
        """Each column with its rows; whatever is no object of rows is passed over."""
        self.more()
        if self.text.startswith("\xef\xbb\xbf"):
            self.at = 3
        seen: set[str] = set()
        self.take("{", "an object of columns")
        for name in self.names():
            if name in seen:
                raise self.error("every column once", f"column {name!r} twice")
            seen.add(name)
            if self.peek() == "{":
                yield name, self.column()
            else:
                self.value()
        if self.peek():
            raise self.error("nothing after the closing brace", repr(self.text[self.at]))

    def names(self) -> Iterator[str]:
        """The keys of an object whose brace has been taken; the caller reads each one's value."""
        more = self.peek() != "}"
        while more:
            if self.peek() != '"':
                raise self.error("a name in double quotes", self.seen())
            name = str(self.value())
            self.take(":", f"a colon after {name!r}")
            yield name
            more = self.peek() == ","
            self.at += more
        self.take("}", "a comma or a closing brace")

    def column(self) -> _Column:
        """The rows of a column; stands at its brace."""
        column = _Column()
        self.take("{", "an object of rows")
        more = self.peek() != "}"
        while more:
            self.peek()
            start = self.before + self.at
            number = self.row_number()
            self.value()
            if len(column.numbers) % ROWS_A_MARK == 0:
                column.starts.append(start)
                column.ends.append(start)
            column.numbers.append(number)
            column.ends[-1] = self.before + self.at
            more = self.peek() == ","
            self.at += more
        self.take("}", "a comma or a closing brace")
        return column

    def row_number(self) -> int:
        found = _ROW.match(self.text, self.at)
        if found is None:  # at the end of what was read, or no row number
            self.more()
            found = _ROW.match(self.text, self.at)
        if found is None:
            raise self.error("a row number in double quotes and a colon", self.seen())
        self.at = found.end()
        return int(found[1])

    def peek(self) -> str:
        """The next character that is no white space; "" at the file's end."""
        while True:
            found = _WHITESPACE.match(self.text, self.at)
            assert found is not None
            self.at = found.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, character: str, wanted: str) -> None:
        if self.peek() != character:
            raise self.error(wanted, self.seen())
        self.at += 1

    def value(self) -> Any:
        """Decode the value that comes next, reading on for as long as it lasts."""
        self.peek()
        while True:
            broken: tuple[str, int] | None = None
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                broken = error.msg, error.pos
                if not error.msg.startswith("Unterminated string") and error.pos < len(self.text) - _NEAR_THE_END:
                    raise self.error("valid JSON", error.msg, at=error.pos) from None
            except (RecursionError, ValueError) as error:  # nested beyond Python's stack, or a number of thousands of digits
                raise self.error("valid JSON", str(error)) from None
            else:
                if end < len(self.text) or self.ended:  # else a number may go on in what was not yet read
                    self.at = end
                    return value
            if len(self.text) - self.at > VALUE_BYTES:
                raise self.error(f"values of at most {VALUE_BYTES >> 20} MB", "a longer one")
            if not self.more() and broken:
                message, at = broken
                cut = message.startswith("Unterminated string") or at >= len(self.text.rstrip())
                raise self.error("valid JSON", "the end of the file" if cut else message, at=at)

    def more(self) -> bool:
        """Read on, at least as much again as is held, and drop what has been passed; False at the file's end."""
        data = self.stream.read(max(_CHUNK, len(self.text) - self.at))
        if not data:
            self.ended = True
            return False
        self.text = self.text[self.at :] + data.decode("latin-1")
        self.before += self.at
        self.at = 0
        return True

    def seen(self) -> str:
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end of the file"

    def error(self, wanted: str, found: str, *, at: int | None = None) -> InputError:
        place = self.before + (self.at if at is None else at)
        return bad_input(self.source, wanted=f"{_WHAT}: {wanted}", found=f"{found} at byte {place:,}", do=_MEND)

"""Scan the outer two levels of column-oriented JSON as a stream."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from positionbias.core.budgets import LINE
from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import DECODER

WHAT = "column-oriented JSON"
FIX = "check that the file is complete, or fetch it again"
ROWS_A_MARK = 256
_CHUNK = 4 << 20
_NEAR_THE_END = 256  # an error this near the end of the text may come from the cut
_WHITESPACE = re.compile(r"[ \t\n\r]*")
_ROW = re.compile(r'"([0-9]{1,18})"[ \t\n\r]*:')


@dataclass(slots=True)
class Column:
    """A column's position: all row numbers, and the first and last byte of every ``ROWS_A_MARK``
    rows.
    """

    numbers: array = field(default_factory=lambda: array("q"))
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class ColumnScanner:
    """A scanner of the file's outer two levels.

    Bytes are decoded as Latin-1, so positions in the text are positions in the file. Only column
    names leave this class as text.
    """

    def __init__(self, stream: IO[bytes], source: str) -> None:
        self.stream, self.source = stream, source
        self.text, self.at = "", 0
        self.before = 0  # bytes of the file before ``text``
        self.ended = False
        self.longest = LINE.limit

    def columns(self) -> Iterator[tuple[str, Column]]:
        """Yield each column with its rows; skips values that are not row objects."""
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
        """Yield the keys of an object after its opening brace; the caller reads each value."""
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

    def column(self) -> Column:
        """Read the rows of a column, from its opening brace."""
        column = Column()
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
        while (found := _ROW.match(self.text, self.at)) is None:
            if len(self.text) - self.at < _NEAR_THE_END and self.more():
                continue
            raise self.error("a row number in double quotes and a colon", self.seen())
        self.at = found.end()
        return int(found[1])

    def peek(self) -> str:
        """Return the next character that is not white space; "" at the file's end."""
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
        """Decode the next value, reading on until it is complete."""
        self.peek()
        while True:
            broken: tuple[str, int] | None = None
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                broken = error.msg, error.pos
                if (
                    not error.msg.startswith("Unterminated string")
                    and error.pos < len(self.text) - _NEAR_THE_END
                ):
                    raise self.error("valid JSON", error.msg, at=error.pos) from None
            except (
                RecursionError,
                ValueError,
                # nested beyond Python's stack, a repeated key, or a number of thousands of digits
            ) as error:
                raise self.error("valid JSON", str(error)) from None
            else:
                # else a number may continue: "1e+" gives 1
                if end + 3 <= len(self.text) or self.ended:
                    self.at = end
                    return value
            if len(self.text) - self.at > self.longest:
                place = f"a longer value at byte {self.before + self.at:,}"
                raise LINE.exceeded(self.source, found=place, do=f"{FIX}, ")
            if not self.more() and broken:
                message, at = broken
                cut = message.startswith("Unterminated string") or at >= len(self.text.rstrip())
                raise self.error("valid JSON", "the end of the file" if cut else message, at=at)

    def more(self) -> bool:
        """Drop consumed text and read at least as much as is left; return False at the file's
        end.
        """
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
        return bad_input(
            self.source, wanted=f"{WHAT}: {wanted}", found=f"{found} at byte {place:,}", do=FIX
        )

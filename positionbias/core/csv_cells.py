"""CSV that is safe in spreadsheets: text that they would run as a formula gets a leading
apostrophe, their own convention.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import TextIO

# also after apostrophes, so that reading undoes writing
_FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)


def write_rows(handle: TextIO, rows: Iterable[Iterable[object]], *, delimiter: str = ",") -> None:
    """Write rows of text and numbers, with Unix line ends; ``read_cell`` restores each text."""
    lines = csv.writer(_UnixLines(handle), delimiter=delimiter, lineterminator="\r\n")
    lines.writerows([_cell(cell) for cell in row] for row in rows)


def read_cell(text: str) -> str:
    """Return the text that ``write_rows`` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


class _UnixLines:
    """A writer with Unix line ends whose ``csv`` still quotes carriage returns within cells, which
    would end the row.
    """

    def __init__(self, handle: TextIO) -> None:
        self._handle = handle

    def write(self, line: str) -> int:
        return self._handle.write(line.removesuffix("\r\n") + "\n")


def _cell(value: object) -> object:
    return (
        f"'{value}"
        if isinstance(value, str) and _FORMULA.match(value) and not is_number(value)
        else value
    )


def is_number(text: str) -> bool:
    """Return True if a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True

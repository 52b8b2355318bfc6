"""Read the three published layouts of the MS MARCO QA releases as checked rows.

- v1.1: JSON lines, a row a line. (v2.1 after Microsoft's own conversion and the Hub's JSON export
  look the same.)
- v2.1: column-oriented JSON, as pandas writes it: ``{"query": {"0": "…", …}, "passages": …}``. The
  columns follow one another, so the file is read at one place for each column.
- the Hub's Parquet: lists, and passages as an object of three lists.

A file's first bytes identify its layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import ijson

from positionbias.core.blocks import file_blocks
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.formats.json_lines import FIX, Bad, named, text_of
from positionbias.formats.row_blocks import LineRows, parquet_blocks

COLUMNS = ("answers", "passages", "query", "query_id", "query_type", "wellFormedAnswers")
_REQUIRED = ("passages", "query", "query_id")
UNKNOWN = -1  # written by the Hub where is_selected is absent
_HEAD = 1 << 16
_WHAT = "an MS MARCO QA release"
_BY_COLUMNS = "column-oriented JSON"
_FIRST_COLUMN = re.compile(rb'\s*\{\s*"[^"\\]*"\s*:\s*\{\s*(?:"[0-9]+"\s*:|\})')


class Row(NamedTuple):
    """A query of the releases, with the ``passages`` that its annotator saw; ``selected`` is 1, 0,
    or -1 where the release does not say.

    ``answers`` is None where the release has none (its evaluation files).
    """

    query_id: str
    query: str
    query_type: str | None
    answers: list[str] | None
    well_formed: list[str]
    passages: list[str]
    selected: list[int]


def qa_rows(path: Path | str) -> Iterator[Row]:
    """Yield the rows of a release's file.

    Raises:
        InputError: no such file, an empty one, none of the three layouts, or an invalid row (with
            its place): a missing key, one of another type, or text with half a surrogate pair.
    """
    with input_errors(path, wanted=_WHAT), open_bytes(path) as handle:
        head = handle.read(_HEAD)
    blocks: Iterable[Any]
    if head.startswith(b"PAR1"):
        blocks = parquet_blocks(path, COLUMNS, _REQUIRED)
    elif _FIRST_COLUMN.match(head):
        blocks = [_ColumnRows(path)]
    elif not head.strip():
        raise bad_input(path, wanted=_WHAT, found="an empty file", do="check the path")
    else:
        blocks = map(LineRows, file_blocks(path))
    for block in blocks:
        for number, record in block.rows():
            yield _Reader(partial(block.bad_row, number)).row(record)


class _ColumnRows(NamedTuple):
    """The rows of column-oriented JSON."""

    path: Path | str

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row's number and its values by column; columns may be missing."""
        try:
            with ExitStack() as opened, input_errors(self.path, wanted=_WHAT):
                columns = {}
                for name in COLUMNS:
                    handle = opened.enter_context(open_bytes(self.path))
                    cells = ijson.kvitems(handle, name, use_float=True)
                    if (first := next(cells, None)) is not None:
                        columns[name] = chain([first], cells)
                for pairs in zip_longest(*columns.values(), fillvalue=("no row", None)):
                    numbers, values = zip(*pairs, strict=True)
                    if len({*numbers}) > 1:
                        places = zip(columns, numbers, strict=True)
                        raise bad_input(
                            self.path,
                            wanted="the same rows in every column",
                            found=", ".join(f"{name}: {number}" for name, number in places),
                            do=FIX,
                        )
                    yield numbers[0], dict(zip(columns, values, strict=True))
        except (ijson.JSONError, UnicodeDecodeError) as error:
            found = " ".join(str(error).partition("\n")[0].split())
            raise bad_input(self.path, wanted=_BY_COLUMNS, found=found, do=FIX) from error

    def bad_row(self, number: str, *, wanted: str, found: str, do: str) -> InputError:
        """Return an error about one row."""
        return bad_input(self.path, wanted=wanted, found=f"{found} (row {number})", do=do)


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
        well_formed = record.get("wellFormedAnswers")
        if well_formed in (None, "[]", "", ["[]"], ["[", "]"]):  # as conversions write none
            well_formed = []
        return Row(
            self.text(query_id, "query_id"),
            self.text(record.get("query"), "query"),
            None if query_type is None else self.text(query_type, "query_type"),
            None if record.get("answers") is None else self.texts(record["answers"], "answers"),
            self.texts(well_formed, "wellFormedAnswers"),
            *self.passages(record.get("passages")),
        )

    def passages(self, value: Any) -> tuple[list[str], list[int]]:
        """Return the passages' texts, and their marks."""
        if isinstance(value, dict):  # the Hub's form: an object of lists
            texts: Any = value.get("passage_text")
            marks: Any = value.get("is_selected")
            known = isinstance(texts, list) and isinstance(marks, list | None)
            if not known or len(texts) != len(marks or texts):
                raise self.error(
                    "'passages' with lists passage_text and is_selected of equal length", "others"
                )
            marks = marks or [None] * len(texts)
        elif not isinstance(value, list):
            raise self.error("'passages' as a list", named(value))
        elif not all(isinstance(item, dict) for item in value):
            raise self.error("'passages' as a list of objects", "something else in it")
        else:
            texts, marks = (
                [item.get(name) for item in value] for name in ("passage_text", "is_selected")
            )
        return self.texts(texts, "passage_text"), list(map(self.mark, marks))

    def mark(self, value: Any) -> int:
        if value is None:
            return UNKNOWN
        if value not in (0, 1, UNKNOWN):
            raise self.error("'is_selected' as 0 or 1", named(value))
        return int(value)

    def texts(self, value: Any, key: str) -> list[str]:
        if not isinstance(value, list):
            raise self.error(f"{key!r} as a list of texts", named(value))
        return [self.text(item, key) for item in value]

    def text(self, value: Any, key: str) -> str:
        return text_of(value, key, self.bad)

    def error(self, wanted: str, found: str) -> InputError:
        return self.bad(wanted=wanted, found=found, do=FIX)

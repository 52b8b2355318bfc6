"""Read tables: JSON lines, a JSON list of objects, CSV, TSV and Parquet; text forms may be
compressed (.gz, .zst).

A file's content identifies its form, except TSV, which is known by its name. CSV follows RFC 4180.
TSV has no quoting, unless its cells are quoted as csv, pandas or Excel write them (``_is_quoted``).
Both begin with a line of column names. Only a JSON list is held in memory whole.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from positionbias.core.blocks import file_blocks
from positionbias.core.budgets import LINE
from positionbias.core.errors import bad_input
from positionbias.core.files import input_errors, open_bytes, read_json
from positionbias.core.input_state import file_mark
from positionbias.core.progress import remark
from positionbias.core.row_values import BATCH_ROWS, Cells
from positionbias.core.tables import Table, arrow_batches, in_batches, table_of
from positionbias.formats.json_lines import FIX, json_lines, named
from positionbias.formats.row_blocks import parquet_blocks, parquet_columns
from positionbias.formats.sources import plain_name

__all__ = ["Form", "open_table", "table_form"]

Form = Literal["parquet", "lines", "list", "separated"]

_HEAD = 1 << 12
_BOM = b"\xef\xbb\xbf"
_TSV = (".tsv", ".tab")
_BLOCK = 1 << 20  # bytes of text held in memory


def open_table(path: Path | str) -> Table:
    """Open a table by its content.

    Raises:
        InputError: no such file, an empty one, or an unknown form; while reading rows, an invalid
            one (with its line).
    """
    path = Path(path)
    match table_form(path):
        case "parquet":
            return Table(str(path), "row", parquet_columns(path), partial(_parquet_rows, path))
        case "lines":
            return table_of(in_batches(_json_rows(path)), str(path), "line")
        case "list":
            return table_of(in_batches(_listed(path)), str(path), "row")
        case _:
            return _separated(path, "\t" if plain_name(path.name).endswith(_TSV) else ",")


def table_form(path: Path | str) -> Form:
    """Return the form of a table, by its first bytes.

    Raises:
        InputError: no such file, or an empty one.
    """
    with input_errors(path, wanted="a table"), open_bytes(path) as handle:
        head = handle.read(_HEAD).removeprefix(_BOM).lstrip()
    if not head:
        raise bad_input(path, wanted="a table", found="an empty file", do="check the path")
    begins: dict[bytes, Form] = {b"PAR1": "parquet", b"{": "lines", b"[": "list"}
    return next((form for begin, form in begins.items() if head.startswith(begin)), "separated")


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Cells]:
    return arrow_batches(
        batch for block in parquet_blocks(path, columns) for batch in block.batches(BATCH_ROWS)
    )


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    before = 0
    for block in file_blocks(path, _BLOCK):
        for number, value in json_lines(block):
            if not isinstance(value, dict):
                raise block.bad_line(
                    number, wanted="one JSON object a line", found=named(value), do=FIX
                )
            yield before + number + 1, value
        before += block.read().count(b"\n")


def _listed(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, value in enumerate(read_json(path, what="a JSON list of objects"), 1):
        if not isinstance(value, Mapping):
            raise bad_input(
                path,
                wanted="a JSON list of objects",
                found=f"{named(value)} as item {number}",
                do=FIX,
            )
        yield number, value


def _separated(path: Path, separator: str) -> Table:
    csv.field_size_limit(LINE.limit)
    if separator == "\t" and not _is_quoted(path, **file_mark(path)):
        reader = csv.reader(_lines(path), delimiter=separator, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(_lines(path), delimiter=separator, strict=True)
    records = _records(reader, path)
    _, names = next(records, (0, []))
    if twice := [name for name in names if names.count(name) > 1]:
        raise bad_input(
            path, line=1, wanted="unique column names", found=f"{twice[0]!r} twice", do="rename one"
        )
    return Table(
        str(path), "line", names, partial(_cells, _checked(records, len(names), path), names)
    )


def _lines(path: Path) -> Iterator[str]:
    """Yield a file's lines with their ends."""
    return chain.from_iterable(
        io.StringIO(_whole_lines(block.text()), newline="\n") for block in file_blocks(path, _BLOCK)
    )


@lru_cache(maxsize=64)
def _is_quoted(path: Path, **_mark: object) -> bool:
    """Return whether the cells of a TSV file are quoted; a remark says so.

    They are if the file reads as such and a quoted cell holds a doubled quote, a tab or a line
    break, or if no other cell has a quote and those quoted are all texts, or all cells with a comma
    (as Excel quotes them). Else quotes are text, as in MS MARCO's files.
    """
    consumed: list[str] = []

    def lines() -> Iterator[str]:
        for line in _lines(path):
            consumed.append(line)
            yield line

    width, quoted, proved = 0, 0, False
    plain = {"text": 0, "comma": 0, "quote": 0}  # cells that are not quoted
    without_comma = 0  # quoted ones
    reader = csv.reader(lines(), delimiter="\t", strict=True)
    try:
        for values in reader:
            raw, at = "".join(consumed), 0
            width = width or len(values)
            # each is a row by itself
            rows = len(consumed) > 1 and all(line.count("\t") == width - 1 > 0 for line in consumed)
            consumed.clear()
            if rows or (values and len(values) != width):
                raise csv.Error
            for value in values:
                if raw.startswith('"', at):
                    quoted += 1
                    proved = proved or any(mark in value for mark in '"\t\n\r')
                    without_comma += "," not in value
                    at += len(value) + value.count('"') + 3
                else:
                    plain["text"] += not _is_number(value)
                    plain["comma"] += "," in value
                    plain["quote"] += '"' in value
                    at += len(value) + 1
    except csv.Error:
        if proved:
            remark(
                f"{path.name}: some cells look quoted, but not those of line {reader.line_num:,}: "
                "quotes are kept as text"
            )
        return False
    whole = (
        quoted > 0
        and not plain["quote"]
        and (not plain["text"] or not (plain["comma"] or without_comma))
    )
    if proved or whole:
        remark(
            f"{path.name}: its cells are quoted, as csv, pandas and Excel quote them: read without "
            "the quotes"
        )
    return proved or whole


def _is_number(text: str) -> bool:
    return not text or bool(re.fullmatch(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", text))


def _whole_lines(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _cells(
    records: Iterator[tuple[int, list[str]]], names: Sequence[str], wanted: Sequence[str]
) -> Iterator[Cells]:
    while batch := list(islice(records, BATCH_ROWS)):
        numbers, rows = zip(*batch, strict=True)
        columns = zip(names, zip(*rows, strict=True), strict=True)
        yield Cells(
            numbers,
            {
                name: [value or None for value in column]
                for name, column in columns
                if name in wanted
            },
        )


def _checked(
    records: Iterable[tuple[int, list[str]]], width: int, path: Path
) -> Iterator[tuple[int, list[str]]]:
    for line, values in records:
        if len(values) != width:
            raise bad_input(
                path,
                line=line,
                wanted=f"{width} columns, as the first line has",
                found=f"{len(values)}",
                do="fix the line; in CSV, quote text with line breaks",
            )
        yield line, values


def _records(reader: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        for values in reader:
            if values:
                yield reader.line_num, values
    except csv.Error as error:
        raise bad_input(
            path, line=reader.line_num, wanted="CSV", found=str(error), do="fix the line"
        ) from None

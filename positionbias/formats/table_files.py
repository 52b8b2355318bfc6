"""Tables as people keep them: JSON lines, a JSON list of objects, CSV, TSV and Parquet, the text forms plain, .gz or .zst.

A file's content identifies its form, but for TSV, which is known by its name. CSV is that of RFC 4180; in TSV nothing is quoted. Both begin with a
line of column names. Only a JSON list is held whole.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from positionbias.core.blocks import file_blocks, file_lines
from positionbias.core.budgets import LINE
from positionbias.core.errors import bad_input
from positionbias.core.files import input_errors, open_bytes, read_json
from positionbias.core.rows import Numbered
from positionbias.core.tables import Table, table_of
from positionbias.formats.json_lines import FIX, json_lines, named
from positionbias.formats.row_blocks import parquet_blocks, parquet_columns
from positionbias.formats.sources import plain_name

__all__ = ["open_table"]

_HEAD = 1 << 12
_BOM = b"\xef\xbb\xbf"
_TSV = (".tsv", ".tab")


def open_table(path: Path | str) -> Table:
    """Open a table by its content.

    Raises:
        InputError: no such file, an empty one, or in none of the forms; from the rows, a broken one (its line is named).
    """
    path = Path(path)
    with input_errors(path, wanted="a table"), open_bytes(path) as handle:
        head = handle.read(_HEAD).removeprefix(_BOM).lstrip()
    if head.startswith(b"PAR1"):
        return Table(str(path), "row", parquet_columns(path), partial(_parquet_rows, path))
    if head.startswith(b"{"):
        return table_of(_json_rows(path), str(path), "line")
    if head.startswith(b"["):
        return table_of(_listed(path), str(path), "row")
    if not head:
        raise bad_input(path, wanted="a table", found="an empty file", do="check the path")
    return _separated(path, "\t" if plain_name(path.name).endswith(_TSV) else ",")


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Numbered]:
    rows = (row for block in parquet_blocks(path, columns) for _, row in block.rows())
    return enumerate(rows, 1)


def _json_rows(path: Path) -> Iterator[Numbered]:
    before = 0
    for block in file_blocks(path):
        number = -1
        for number, value in json_lines(block):
            if not isinstance(value, dict):
                raise block.bad_line(number, wanted="one JSON object a line", found=named(value), do=FIX)
            yield before + number + 1, value
        before += block.read().count(b"\n")


def _listed(path: Path) -> Iterator[Numbered]:
    for number, value in enumerate(read_json(path, what="a JSON list of objects"), 1):
        if not isinstance(value, Mapping):
            raise bad_input(path, wanted="a JSON list of objects", found=f"{named(value)} as item {number}", do=FIX)
        yield number, value


def _separated(path: Path, separator: str) -> Table:
    csv.field_size_limit(LINE.limit)
    lines = (f"{line}\n" for _, line in file_lines(path))
    if separator == "\t":
        reader = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=separator, strict=True)
    names = next(_records(reader, path), (0, []))[1]
    if twice := [name for name in names if names.count(name) > 1]:
        raise bad_input(path, line=1, wanted="a line of column names", found=f"{twice[0]!r} twice", do="give each its own name")
    return Table(str(path), "line", names, lambda columns: _objects(reader, names, path))


def _objects(reader: Any, names: Sequence[str], path: Path) -> Iterator[Numbered]:
    for line, values in _records(reader, path):
        if len(values) != len(names):
            wanted = f"{len(names)} columns, as the first line has"
            raise bad_input(
                path,
                line=line,
                wanted=wanted,
                found=f"{len(values)}",
                do="fix the line; a text with line breaks needs CSV's quotes",
            )
        yield line, {name: value or None for name, value in zip(names, values, strict=True)}


def _records(reader: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise bad_input(path, line=reader.line_num, wanted="CSV", found=str(error), do="fix the line") from None
        if values:
            yield reader.line_num, values

"""Open tables: files of JSON lines, JSON lists, CSV, TSV and Parquet, folders and globs of them,
data sets of the package datasets, pandas frames and iterables of dictionaries.

A file's content identifies its form, except TSV, which is known by its name. CSV follows RFC 4180,
with commas, semicolons or tabs. The text forms may be compressed (.gz, .zst). Only a JSON list is
held in memory whole.
"""

from __future__ import annotations

import csv
import glob
import io
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from positionbias.core.blocks import file_blocks
from positionbias.core.csv_cells import is_number
from positionbias.core.errors import DependencyError, bad_input
from positionbias.core.files import LINE, input_errors, open_bytes, read_json
from positionbias.core.places import input_place
from positionbias.formats.columns import SPLIT_WORDS
from positionbias.formats.json_lines import FIX, json_lines, named
from positionbias.formats.row_blocks import parquet_blocks, parquet_columns
from positionbias.formats.trec_import import split_and_name

BATCH_ROWS = 4_096
_BLOCK = 1 << 20  # bytes of text held in memory
_TSV = re.compile(r"\.(tsv|tab)(\.gz|\.zst)?$")
_IN_FOLDERS = re.compile(r"\.(csv|tsv|tab|jsonl|ndjson|parquet)(\.gz|\.zst)?$")
HUB = "hf:"  # before the name of a data set of the Hub
_SAVED = ("dataset_dict.json", "state.json")
Values = dict[str, Any]


class Table(NamedTuple):
    """A table that is read once: ``read(columns)`` yields each row's number, which counts the
    table's ``unit``, and its values by the keys of ``columns``, the names by meaning.

    Reading JSON adds the keys that only later objects have to ``names``.
    """

    source: str
    unit: str
    names: list[str]
    read: Callable[[Mapping[str, str]], Iterator[tuple[int, Values]]]


def sources_of(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield each table in what a user gives, for ``open_table``, with the split of its rows.

    ``data`` is a file, folder or glob, which may follow ``SPLIT=``; ``hf:NAME[:SUBSET]``, a data
    set of the Hub; a pandas frame, a data set or an iterable of dictionaries; or a mapping from
    splits to these.

    Raises:
        InputError: no such file, or a folder without tables.
    """
    if isinstance(data, Mapping):
        for split, part in data.items():
            for _, source in sources_of(part):
                yield SPLIT_WORDS.get(split.lower(), split), source
    elif isinstance(data, str | Path):
        split, name = split_and_name(str(data), default="")
        if name.startswith(HUB):
            yield from sources_of(load_hub(*name.removeprefix(HUB).split(":", 1)))
            return
        path = input_place(name)
        if _is_saved(path):
            yield from sources_of(load_hub(str(path)))
            return
        paths = [path]
        if path.is_dir():
            paths = sorted(file for file in path.rglob("*") if _IN_FOLDERS.search(file.name))
        elif glob.has_magic(name) and not path.exists():
            paths = sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not paths:
            found = "none of CSV, TSV, JSON lines or Parquet"
            raise bad_input(path, wanted="tables", found=found, do="check the path")
        yield from ((split or split_of_file(file.name), file) for file in paths)
    else:
        yield "test", data


def split_of_file(name: str) -> str:
    """Return the split named in a file's name, else test.

    >>> split_of_file("squad-train.jsonl"), split_of_file("dev_v2.csv"), split_of_file("a.parquet")
    ('train', 'validation', 'test')
    """
    words = re.split(r"[^a-z]+", name.lower())
    return next((SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS), "test")


def load_hub(name: str, subset: str = "") -> Any:
    """Return a data set of the Hugging Face Hub or its splits, from the package's cache, a folder
    or the network.

    Raises:
        InputError: no such data set or configuration.
        DependencyError: datasets is not installed.
    """
    try:
        import datasets
    except ImportError as error:
        raise DependencyError(
            "hf: wanted the package datasets; found it is not installed; run: pip install "
            '"positionbias[hf]"'
        ) from error
    try:
        if _is_saved(Path(name)):
            return datasets.load_from_disk(name)
        return datasets.load_dataset(name, subset or None)
    except Exception as error:  # many types: its own, the Hub's, fsspec's, Arrow's
        wanted, do = (
            "a data set of the Hub, or its folder",
            "check the name; a subset follows it, hf:NAME:SUBSET",
        )
        found = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise bad_input(name, wanted=wanted, found=found, do=do) from error


def _is_saved(folder: Path) -> bool:
    """Return True for what ``Dataset.save_to_disk`` of the package datasets leaves."""
    return any((folder / name).is_file() for name in _SAVED)


def open_table(source: Any, split: str = "") -> Table:
    """Open a table: a file, by its content, a pandas frame, a data set, or an iterable of
    dictionaries.

    Raises:
        InputError: none of these, no such file or an empty one; while reading, an invalid row
            (with its line).
    """
    if isinstance(source, Path):
        return _open_file(source)
    if isinstance(source, pd.DataFrame):
        frame = source.set_axis(list(map(str, source.columns)), axis=1)
        return Table("frame", "row", list(frame.columns), partial(_rows, frame))
    if hasattr(source, "select_columns"):
        return _arrow(
            f"data set/{split}",
            list(source.column_names),
            lambda names: source.select_columns(names).with_format("arrow").iter(BATCH_ROWS),
        )
    wanted, do = "objects, one a row", "give dicts, a pandas frame or a path"
    if not isinstance(source, Iterable):
        raise bad_input("records", wanted=wanted, found=type(source).__name__, do=do)
    return _objects("records", "number", enumerate(source, 1), wanted)


def _open_file(path: Path) -> Table:
    with input_errors(path, wanted="a table"), open_bytes(path) as handle:
        head = handle.read(1 << 12).removeprefix(BOM_UTF8).lstrip()
    if not head:
        raise bad_input(path, wanted="a table", found="an empty file", do="check the path")
    if head.startswith(b"PAR1"):

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            for block in parquet_blocks(path, names):
                yield from block.batches(BATCH_ROWS)

        return _arrow(str(path), parquet_columns(path), batches)
    if head.startswith(b"{"):
        return _objects(str(path), "line", _json_rows(path), "one JSON object a line")
    if head.startswith(b"["):
        wanted = "a JSON list of objects"
        return _objects(str(path), "row", enumerate(read_json(path, what=wanted), 1), wanted)
    return _separated(path)


def _arrow(source: str, names: list[str], batches: Callable[[list[str]], Iterable[Any]]) -> Table:
    """Return a table of Arrow's batches; class numbers of ``datasets`` become the classes'
    names.
    """

    def read(columns: Mapping[str, str]) -> Iterator[tuple[int, Values]]:
        before = 0
        for batch in batches(list(dict.fromkeys(columns.values()))):
            lists = {what: batch.column(name).to_pylist() for what, name in columns.items()}
            metadata = json.loads((batch.schema.metadata or {}).get(b"huggingface", b"{}"))
            features = metadata.get("info", {}).get("features", {})
            for what, name in columns.items():
                if features.get(name, {}).get("_type") == "ClassLabel":
                    classes = dict(enumerate(features[name].get("names") or ()))
                    lists[what] = [classes.get(value, value) for value in lists[what]]
            for row in zip(*lists.values(), strict=True):
                before += 1
                yield before, dict(zip(lists, row, strict=True))

    return Table(source, "row", names, read)


def _json_rows(path: Path) -> Iterator[tuple[int, Any]]:
    before = 0
    for block in file_blocks(path, _BLOCK):
        for number, value in json_lines(block):
            yield before + number + 1, value
        before += block.read().count(b"\n")


def _objects(source: str, unit: str, rows: Iterable[tuple[int, Any]], wanted: str) -> Table:
    """Return a table of numbered objects, in which keys may be missing."""
    names: dict[str, None] = {}

    def objects() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, row in rows:
            if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
                found = f"{named(row)} as {unit} {number:,}"
                raise bad_input(source, wanted=wanted, found=found, do=FIX)
            names.update(dict.fromkeys(row))
            yield number, row

    stream = objects()
    head = list(islice(stream, BATCH_ROWS))
    table = Table(source, unit, list(names), lambda columns: read(columns))

    def read(columns: Mapping[str, str]) -> Iterator[tuple[int, Values]]:
        for number, row in chain(head, stream):
            yield number, {what: row.get(name) for what, name in columns.items()}
        table.names[:] = names

    return table


def _separated(path: Path) -> Table:
    csv.field_size_limit(LINE.limit)
    head = next(file_blocks(path)).text()
    separator = "\t" if _TSV.search(path.name) else max(",;\t", key=head.partition("\n")[0].count)
    quoted = separator != "\t" or _is_quoted(head)
    lines = (io.StringIO(part.text(), newline="\n") for part in file_blocks(path, _BLOCK))
    reader = csv.reader(
        chain.from_iterable(lines),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=quoted,
    )
    with _csv_errors(path, reader):
        names = next(reader)

    def read(columns: Mapping[str, str]) -> Iterator[tuple[int, Values]]:
        places = {what: names.index(name) for what, name in columns.items()}
        with _csv_errors(path, reader):
            for cells in filter(None, reader):
                if len(cells) != len(names):
                    raise bad_input(
                        path,
                        line=reader.line_num,
                        wanted=f"{len(names)} columns, as the first line has",
                        found=f"{len(cells)}",
                        do="fix the line; in CSV, quote text with line breaks",
                    )
                yield reader.line_num, {what: cells[at] or None for what, at in places.items()}

    return Table(str(path), "line", names, read)


@contextmanager
def _csv_errors(path: Path, reader: Any) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        found, do = str(error), "fix the line"
        raise bad_input(path, line=reader.line_num, wanted="CSV", found=found, do=do) from None


def _rows(frame: pd.DataFrame, columns: Mapping[str, str]) -> Iterator[tuple[int, Values]]:
    rows = frame[list(columns.values())].itertuples(index=False, name=None)
    return enumerate((dict(zip(columns, row, strict=True)) for row in rows), 1)


def _is_quoted(text: str) -> bool:
    """Return True if the cells of a TSV file are quoted, as csv, pandas and Excel write them.

    They are if no quote stands elsewhere and a quoted cell holds a doubled quote, a tab or a line
    break, or all texts are quoted, or all cells with a comma and no others. Else quotes are text,
    as in MS MARCO's files.
    """
    text = text[: text.rfind('"')] if text.count('"') % 2 else text  # a cell cut at the block's end
    tabs = {line.count("\t") for line in text.splitlines()}
    character = r'[^"\t\n]' if len(tabs) == 1 else '[^"]'  # where each line is a row
    cell = re.compile(rf'(?:^|(?<=\t))"((?:{character}|"")*)"(?=[\t\r\n]|$)', re.MULTILINE)
    cells, rest = cell.findall(text), cell.sub("", text)
    if '"' in rest or not cells:
        return False
    return (
        any(mark in value for value in cells for mark in ('""', "\t", "\n"))
        or all(map(is_number, rest.split()))
        or ("," not in rest and all("," in value for value in cells))
    )

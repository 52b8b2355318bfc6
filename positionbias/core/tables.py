"""Turn tables of passages, queries and answers into a collection, with validation queries drawn if
asked for.

Rows are read once, in one process. Memory grows only by hashes, about 45 bytes a row; drawing
validation queries also holds the ids and judgements of the training queries.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.collection_writer import (
    CollectionWriter,
    SplitWriter,
    Texts,
    create_collection,
)
from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.errors import bad_input
from positionbias.core.files import remove
from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.progress import Progress, step
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.row_reader import RowReader
from positionbias.core.row_values import BATCH_ROWS, Cells, Objects, RowBatch, RowCounts, leads
from positionbias.core.split_tables import KIND
from positionbias.core.validation_draw import (
    HeldOut,
    HoldOut,
    ValidationDraw,
    draw_validation,
    part,
    sharing_passages,
)

__all__ = [
    "Table",
    "TableSource",
    "arrow_batches",
    "dataset_tables",
    "in_batches",
    "table_of",
    "write_tables",
]

_ALLOCATIONS = 200_000  # between two garbage collections
_DRAWING = "drawing"  # the folder of training records until validation queries are drawn
_NOTES = (
    (
        "Rows with the same passage, or the same query of a split, are one; without an id it is a "
        "hash of the text."
    ),
    (
        "A row without a label is of grade 1; a query with an empty list of answers is left out, "
        "and its passage kept."
    ),
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is read once. ``read(columns)`` yields numbered rows with at least these
    columns; ``unit`` is what the numbers count.

    If it is ``growing``, later rows may have further columns, which are added to ``names`` during
    reading.
    """

    source: str
    unit: str
    names: Sequence[str]
    read: Callable[[Sequence[str]], Iterable[RowBatch]]
    growing: bool = False


def table_of(batches: Iterable[Objects], source: str, unit: str) -> Table:
    """Return a table of objects, in which keys may be missing; the keys of the first batch are its
    columns.

    Raises:
        InputError: a key that is not a text.
    """
    stream = iter(batches)
    first = next(stream, Objects((), ()))
    names: list[str] = []
    _add_names(names, first, source)

    def read(columns: Sequence[str]) -> Iterator[RowBatch]:
        for batch in chain([first], stream):
            _add_names(names, batch, source)
            yield batch

    return Table(source, unit, names, read, growing=len(first.rows) == BATCH_ROWS)


def _add_names(names: list[str], batch: Objects, source: str) -> None:
    """Add the objects' new keys to ``names``."""
    if set().union(*batch.rows) <= set(names):
        return
    further = [name for name in dict.fromkeys(chain.from_iterable(batch.rows)) if name not in names]
    if others := [name for name in further if not isinstance(name, str)]:
        raise bad_input(source, wanted="keys as text", found=repr(others[0]), do="name the columns")
    names.extend(further)


def in_batches(numbered: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Objects]:
    """Yield numbered objects in batches."""
    stream = iter(numbered)
    while batch := list(islice(stream, BATCH_ROWS)):
        yield Objects(*zip(*batch, strict=True))


def dataset_tables(data: Any, name: str) -> list[tuple[str, Table]]:
    """Return the splits of a ``datasets.DatasetDict``, or one ``Dataset`` as split test, as tables.

    Raises:
        InputError: neither of these.
    """
    splits = data if isinstance(data, Mapping) else {"test": data}
    if others := [own for own in splits.values() if not hasattr(own, "select_columns")]:
        raise bad_input(
            name,
            wanted="a Dataset or DatasetDict",
            found=type(others[0]).__name__,
            do="use from_records for rows",
        )
    return [
        (
            SPLIT_WORDS.get(split.lower(), split),
            Table(f"{name}/{split}", "row", own.column_names, partial(_dataset_rows, own)),
        )
        for split, own in splits.items()
    ]


def _dataset_rows(data: Any, columns: Sequence[str]) -> Iterator[Cells]:
    return arrow_batches(data.select_columns(list(columns)).with_format("arrow").iter(BATCH_ROWS))


def arrow_batches(tables: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[Cells]:
    """Yield the rows of Arrow tables or batches, numbered from 1 over all of them; class numbers of
    ``datasets`` become the classes' names.
    """
    before = 0
    for table in tables:
        columns = {
            name: column.to_pylist()
            for name, column in zip(table.schema.names, table.columns, strict=True)
        }
        classes = _class_names((table.schema.metadata or {}).get(b"huggingface", b"{}"))
        columns |= {
            name: _named(columns[name], names) for name, names in classes.items() if name in columns
        }
        yield Cells(range(before + 1, before + table.num_rows + 1), columns)
        before += table.num_rows


@lru_cache(maxsize=16)
def _class_names(metadata: bytes) -> Mapping[str, Sequence[str]]:
    """Return the names of the classes of columns that are a ``ClassLabel``, or lists of it, as
    ``datasets`` writes features into a schema.
    """
    classes = {}
    try:
        for name, feature in json.loads(metadata)["info"]["features"].items():
            while "feature" in feature:
                feature = feature["feature"]
            if feature["_type"] == "ClassLabel" and feature["names"]:
                classes[name] = [str(own) for own in feature["names"]]
    except (ValueError, KeyError, TypeError, AttributeError):  # other metadata, of any form
        return classes
    return classes


def _named(values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    return [
        _named(value, names)
        if isinstance(value, list)
        else names[value]
        if value in range(len(names))
        else value
        for value in values
    ]


@dataclass(frozen=True, slots=True)
class TableSource:
    """The manifest's facts about tables: the columns read from each, and counts of rows."""

    format: str
    columns: Mapping[str, Mapping[str, str]]
    counts: RowCounts


def write_tables(
    tables: Iterable[tuple[str, Table]],
    out: Path,
    *,
    columns: Columns,
    validation: ValidationDraw,
    command: str,
    inputs: Sequence[InputRef],
    overwrite: bool = False,
) -> None:
    """Make a collection of open tables, each with the default split of its rows.

    Raises:
        InputError: as ``import_table``.
        SettingError: as ``import_table``.
    """
    with create_collection(out, overwrite=overwrite) as writer, _fewer_garbage_collections():
        held = (
            SplitWriter(writer.folder / _DRAWING, "train", checked=True)
            if validation.validation_queries
            else None
        )
        reader = RowReader(
            lambda split: held if held and split == "train" else writer.split(split, checked=True)
        )
        read: dict[str, Mapping[str, str]] = {}
        writer.add_texts(_passages(tables, columns, reader, read))
        if not writer.passages:
            causes = "; ".join(
                f"{cause}: {count:,}" for cause, count in reader.counts.left_out.items()
            )
            found = f"none of {reader.counts.rows:,}" + (f" ({causes})" if causes else "")
            raise bad_input(
                ", ".join(read) or out,
                wanted="rows with a passage",
                found=found,
                do="check the columns",
            )
        if unknown := [name for name in columns.grades if name not in reader.counts.grades]:
            found = ", ".join(reader.counts.grades) or "no classes"
            raise bad_input(
                ", ".join(read),
                wanted=f"a class {unknown[0]!r} among the labels",
                found=found,
                do="give one of these to --grade",
            )
        drawn = _draw(writer, held, validation) if held else None
        remove(writer.folder / _DRAWING)
        source = TableSource("table", read, reader.counts)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=command,
                settings={
                    "columns": columns.named(),
                    **({"grades": columns.grades} if columns.grade else {}),
                    **(asdict(validation) if drawn else {}),
                },
                seed=validation.seed if drawn else None,
                inputs=tuple(inputs),
                notes=_NOTES,
                content={
                    "source": asdict(source),
                    **({"validation": asdict(drawn.recorded())} if drawn else {}),
                },
            )
        )


@contextmanager
def _fewer_garbage_collections() -> Iterator[None]:
    """Let Python collect garbage less often: rows have no reference cycles, and the search takes a
    sixth of the time.
    """
    often = gc.get_threshold()
    gc.set_threshold(often[0] and max(often[0], _ALLOCATIONS), *often[1:])
    try:
        yield
    finally:
        gc.set_threshold(*often)


def _passages(
    tables: Iterable[tuple[str, Table]],
    columns: Columns,
    reader: RowReader,
    read: dict[str, Mapping[str, str]],
) -> Iterator[Texts]:
    """Yield the passages of all tables, and record the columns read from each."""
    for split, table in tables:
        own = columns.of(table.names, table.source, growing=table.growing)
        read[Path(table.source).name] = own.named()
        batches = _checked(table, columns, own)
        with step(Path(table.source).name, None, unit="rows") as progress:
            yield from reader.passages(
                _counted(batches, progress), own, split=split, source=table.source, unit=table.unit
            )


def _checked(table: Table, columns: Columns, own: Columns) -> Iterator[RowBatch]:
    """Yield a table's rows.

    Raises:
        InputError: later rows have a column that would have been guessed, or no row has a named
            one.
    """
    known = len(table.names)
    sought = [
        column for column in own.named().values() if column not in table.names and "." in column
    ]
    without: dict[str, dict[str, None]] = {}  # keys of objects that lack a sought column
    for batch in table.read(own.read_from(table.names)):
        if len(table.names) > known:
            known = len(table.names)
            columns.check_guesses(
                own, table.names, f"{table.source}, {table.unit}s from {batch.numbers[0]:,}"
            )
        sought = [column for column in sought if not _reached(batch, column, without)]
        yield batch
    columns.of(table.names, table.source)
    for column in sought:
        if column in without:
            raise columns.no_column(column, without[column], table.source)


def _reached(batch: RowBatch, column: str, without: dict[str, dict[str, None]]) -> bool:
    """Return True if some row has this column within objects; else note the keys that such objects
    have.
    """
    if any(value is not None for value in batch.column(column)):
        return True
    first, *steps = column.split(".")
    for value in batch.column(first):
        try:
            led = leads(value, steps)
        except RecursionError:  # nested too deep
            led = None
        if led:
            return True
        if led is False:
            keys = value if isinstance(value, Mapping) else ()
            without.setdefault(column, {}).update(dict.fromkeys(f"{first}.{key}" for key in keys))
    return False


def _counted(batches: Iterable[RowBatch], progress: Progress) -> Iterator[RowBatch]:
    for batch in batches:
        yield batch
        progress.advance(len(batch.numbers))


def _draw(writer: CollectionWriter, held: SplitWriter, validation: ValidationDraw) -> HeldOut:
    """Divide the training records, held in a folder of their own, into the splits train and
    validation.
    """
    held.close()
    queries = [
        Query(query_id, "")
        for batch in _rows(held.queries_path, ["query_id"])
        for (query_id,) in batch
    ]
    qrels = [Qrel(*row) for batch in _rows(held.qrels_paths[0]) for row in batch]
    groupings = {validation.by: {} if validation.by == HoldOut.QUERY else sharing_passages(qrels)}
    drawn = draw_validation(
        queries,
        validation.validation_queries,
        validation.seed,
        purpose="table validation",
        groupings=groupings,
    )
    parts = writer.split("train"), writer.split("validation")
    for query_rows in _rows(held.queries_path):
        for split, own in zip(
            parts, part([Query(*row[:2]) for row in query_rows], drawn.query_ids), strict=True
        ):
            split.add(own)
    for qrel_rows in _rows(held.qrels_paths[0]):
        for split, judged in zip(
            parts, part([Qrel(*row) for row in qrel_rows], drawn.query_ids), strict=True
        ):
            split.add((), judged)
    for answer_rows in _rows(held.answers_path):
        for split, answers in zip(
            parts, part([Answer(*row) for row in answer_rows], drawn.query_ids), strict=True
        ):
            split.add((), (), answers)
    return drawn


def _rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a file by batch; an absent file has none."""
    if path.exists():
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=columns):
                yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

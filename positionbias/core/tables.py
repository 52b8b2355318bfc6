"""Tables of passages, queries and answers as a collection, with validation queries drawn where they are asked for.

Rows are read once, in one process; memory does not grow with them but by hashes, about 45 bytes a row. Where validation queries are drawn, the
ids of the training queries and their judgements are held, too.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.collection_writer import CollectionWriter, SplitWriter, Texts, create_collection
from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.errors import bad_input
from positionbias.core.files import remove
from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.progress import Progress, step
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.row_values import BATCH_ROWS, Cells, Objects, RowBatch, RowCounts, leads
from positionbias.core.rows import RowReader
from positionbias.core.split_tables import KIND
from positionbias.core.validation_draw import HeldOut, HoldOut, ValidationDraw, draw_validation, part, sharing_passages

__all__ = ["Table", "TableSource", "arrow_batches", "dataset_tables", "in_batches", "table_of", "write_tables"]

_ALLOCATIONS = 200_000  # between two searches for garbage
_DRAWING = "drawing"  # the folder of training records until the validation queries among them are drawn
_NOTES = (
    "Rows with the same passage, or the same query of a split, are one; without an id it is a hash of the text.",
    "A row without a label is of grade 1; a query with an empty list of answers is left out, and its passage kept.",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is read once: ``read(columns)`` gives its rows with their numbers, which count in ``unit``, and at least these columns.

    Where it is ``growing``, later rows may have further columns; ``names`` gets them while rows are read.
    """

    source: str
    unit: str
    names: Sequence[str]
    read: Callable[[Sequence[str]], Iterable[RowBatch]]
    growing: bool = False


def table_of(batches: Iterable[Objects], source: str, unit: str) -> Table:
    """Return a table of objects, which may leave keys out: those of the first batch together name its columns.

    Raises:
        InputError: a key that is no text.
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
    """Add the keys of objects that are not among ``names``."""
    if set().union(*batch.rows) <= set(names):
        return
    further = [name for name in dict.fromkeys(chain.from_iterable(batch.rows)) if name not in names]
    if others := [name for name in further if not isinstance(name, str)]:
        raise bad_input(source, wanted="keys as text", found=repr(others[0]), do="name the columns")
    names.extend(further)


def in_batches(numbered: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Objects]:
    """Yield objects, which come with their numbers, in batches."""
    stream = iter(numbered)
    while batch := list(islice(stream, BATCH_ROWS)):
        yield Objects(*zip(*batch, strict=True))


def dataset_tables(data: Any, name: str) -> list[tuple[str, Table]]:
    """Return the splits of a ``datasets.DatasetDict``, or one ``Dataset`` as split test, as tables.

    Raises:
        InputError: something else.
    """
    splits = data if isinstance(data, Mapping) else {"test": data}
    if others := [own for own in splits.values() if not hasattr(own, "select_columns")]:
        raise bad_input(name, wanted="a Dataset or DatasetDict", found=type(others[0]).__name__, do="use from_records for rows")
    return [
        (SPLIT_WORDS.get(split.lower(), split), Table(f"{name}/{split}", "row", own.column_names, partial(_dataset_rows, own)))
        for split, own in splits.items()
    ]


def _dataset_rows(data: Any, columns: Sequence[str]) -> Iterator[Cells]:
    return arrow_batches(data.select_columns(list(columns)).with_format("arrow").iter(BATCH_ROWS))


def arrow_batches(tables: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[Cells]:
    """Yield the rows of Arrow's tables or batches, numbered from 1 over all of them."""
    before = 0
    for table in tables:
        columns = {name: column.to_pylist() for name, column in zip(table.schema.names, table.columns, strict=True)}
        yield Cells(range(before + 1, before + table.num_rows + 1), columns)
        before += table.num_rows


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
    """Make a collection of open tables, each with the split of its rows.

    Raises:
        InputError: as ``import_table``.
        SettingError: as ``import_table``.
    """
    with create_collection(out, overwrite=overwrite) as writer, _fewer_garbage_collections():
        held = SplitWriter(writer.folder / _DRAWING, "train", checked=True) if validation.validation_queries else None
        reader = RowReader(lambda split: held if held and split == "train" else writer.split(split, checked=True))
        read: dict[str, Mapping[str, str]] = {}
        writer.add_texts(_passages(tables, columns, reader, read))
        if not writer.passages:
            causes = "; ".join(f"{cause}: {count:,}" for cause, count in reader.counts.left_out.items())
            found = f"none of {reader.counts.rows:,}" + (f" ({causes})" if causes else "")
            raise bad_input(", ".join(read) or out, wanted="rows with a passage", found=found, do="check the columns")
        drawn = _draw(writer, held, validation) if held else None
        remove(writer.folder / _DRAWING)
        source = TableSource("table", read, reader.counts)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=command,
                settings={"columns": columns.named(), **(asdict(validation) if drawn else {})},
                seed=validation.seed if drawn else None,
                inputs=tuple(inputs),
                notes=_NOTES,
                content={"source": asdict(source), **({"validation": asdict(drawn.recorded())} if drawn else {})},
            )
        )


@contextmanager
def _fewer_garbage_collections() -> Iterator[None]:
    """Let Python look for cycles of objects less often: rows have none, and looking takes a sixth of the time."""
    often = gc.get_threshold()
    gc.set_threshold(often[0] and max(often[0], _ALLOCATIONS), *often[1:])
    try:
        yield
    finally:
        gc.set_threshold(*often)


def _passages(
    tables: Iterable[tuple[str, Table]], columns: Columns, reader: RowReader, read: dict[str, Mapping[str, str]]
) -> Iterator[Texts]:
    """Yield the passages of all tables, and keep the columns that were read from each."""
    for split, table in tables:
        own = columns.of(table.names, table.source, growing=table.growing)
        read[Path(table.source).name] = own.named()
        batches = _checked(table, columns, own)
        with step(Path(table.source).name, None, unit="rows") as progress:
            yield from reader.passages(_counted(batches, progress), own, split=split, source=table.source, unit=table.unit)


def _checked(table: Table, columns: Columns, own: Columns) -> Iterator[RowBatch]:
    """Yield a table's rows.

    Raises:
        InputError: later rows have a column that would have been guessed, or no row has one that was named.
    """
    known = len(table.names)
    sought = [column for column in own.named().values() if column not in table.names and "." in column]
    without: dict[str, dict[str, None]] = {}  # names in the objects that do not have a sought column
    for batch in table.read(own.read_from(table.names)):
        if len(table.names) > known:
            known = len(table.names)
            columns.check_guesses(own, table.names, f"{table.source}, {table.unit}s from {batch.numbers[0]:,}")
        sought = [column for column in sought if not _reached(batch, column, without)]
        yield batch
    columns.of(table.names, table.source)
    for column in sought:
        if column in without:
            raise columns.no_column(column, without[column], table.source)


def _reached(batch: RowBatch, column: str, without: dict[str, dict[str, None]]) -> bool:
    """Return True if some row has this column within objects; note what such objects have otherwise."""
    if any(value is not None for value in batch.column(column)):
        return True
    first, *steps = column.split(".")
    for value in batch.column(first):
        try:
            led = leads(value, steps)
        except RecursionError:  # in lists within lists
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
    """Part the training records, which stand in a folder of their own, into the splits train and validation."""
    held.close()
    queries = [Query(query_id, "") for batch in _rows(held.queries_path, ["query_id"]) for (query_id,) in batch]
    qrels = [Qrel(*row) for batch in _rows(held.qrels_paths[0]) for row in batch]
    groupings = {validation.by: {} if validation.by == HoldOut.QUERY else sharing_passages(qrels)}
    drawn = draw_validation(
        queries, validation.validation_queries, validation.seed, purpose="table validation", groupings=groupings
    )
    parts = writer.split("train"), writer.split("validation")
    for query_rows in _rows(held.queries_path):
        for split, own in zip(parts, part([Query(*row[:2]) for row in query_rows], drawn.query_ids), strict=True):
            split.add(own)
    for qrel_rows in _rows(held.qrels_paths[0]):
        for split, judged in zip(parts, part([Qrel(*row) for row in qrel_rows], drawn.query_ids), strict=True):
            split.add((), judged)
    for answer_rows in _rows(held.answers_path):
        for split, answers in zip(parts, part([Answer(*row) for row in answer_rows], drawn.query_ids), strict=True):
            split.add((), (), answers)
    return drawn


def _rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a file by batch; an absent file has none."""
    if path.exists():
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=columns):
                yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

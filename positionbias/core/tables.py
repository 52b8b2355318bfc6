"""Tables of passages, queries and answers as a collection, with validation queries drawn where they are asked for.

Rows are read once, in one process; memory does not grow with them but by hashes, about 50 bytes a row. Where validation queries are drawn, the
ids of the training queries and their judgements are held, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from positionbias.core.collection_writer import CollectionWriter, SplitWriter, create_collection
from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.errors import bad_input
from positionbias.core.files import remove
from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.progress import track
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.rows import Numbered, RowCounts, RowReader
from positionbias.core.split_tables import KIND
from positionbias.core.validation_draw import HeldOut, HoldOut, ValidationDraw, draw_validation, part, sharing_passages

__all__ = ["Table", "TableSource", "dataset_tables", "table_of", "write_tables"]

_LOOKED_AT = 1_000  # objects may leave a key out: the first ones together name the columns
_BATCH = 1_000
_DRAWING = "drawing"  # the folder of training records until the validation queries among them are drawn
_NOTES = (
    "Rows with the same passage, or the same query of a split, are one; without an id it is a hash of the text [decision].",
    "A row without a label is of grade 1; a query with an empty list of answers is left out, and its passage kept [decision].",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is read once: ``read(columns)`` gives its rows with their numbers, which count in ``unit``, and at least these columns."""

    source: str
    unit: str
    names: Sequence[str]
    read: Callable[[Sequence[str]], Iterable[Numbered]]


def table_of(rows: Iterable[Numbered], source: str, unit: str) -> Table:
    """Return a table of objects, whose first rows name its columns."""
    stream = iter(rows)
    first = list(islice(stream, _LOOKED_AT))
    names = list(dict.fromkeys(name for _, row in first for name in row))
    return Table(source, unit, names, lambda columns: chain(first, stream))


def dataset_tables(data: Any, name: str) -> list[tuple[str, Table]]:
    """Return the splits of a ``datasets.DatasetDict``, or one ``Dataset`` as split test, as tables."""
    splits = data if isinstance(data, Mapping) else {"test": data}
    return [
        (SPLIT_WORDS.get(split, split), Table(f"{name}/{split}", "row", own.column_names, partial(_dataset_rows, own)))
        for split, own in splits.items()
    ]


def _dataset_rows(data: Any, columns: Sequence[str]) -> Iterator[Numbered]:
    number = 0
    for table in data.select_columns(list(columns)).with_format("arrow").iter(_BATCH):
        for row in table.to_pylist():
            number += 1
            yield number, row


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
    with create_collection(out, overwrite=overwrite) as writer:
        held = SplitWriter(writer.folder / _DRAWING, "train") if validation.validation else None
        reader = RowReader(lambda split: held if held and split == "train" else writer.split(split))
        read: dict[str, Mapping[str, str]] = {}
        writer.add_passages(_passages(tables, columns, reader, read))
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


def _passages(
    tables: Iterable[tuple[str, Table]], columns: Columns, reader: RowReader, read: dict[str, Mapping[str, str]]
) -> Iterator[Passage]:
    """Yield the passages of all tables, and keep the columns that were read from each."""
    for split, table in tables:
        own = columns.of(table.names, table.source)
        read[Path(table.source).name] = own.named()
        rows = track(table.read(own.read_from(table.names)), Path(table.source).name, unit="rows")
        yield from reader.passages(rows, own, split=split, source=table.source, unit=table.unit)


def _draw(writer: CollectionWriter, held: SplitWriter, validation: ValidationDraw) -> HeldOut:
    """Part the training records, which stand in a folder of their own, into the splits train and validation."""
    held.close()
    queries = [Query(query_id, "") for batch in _rows(held.queries_path, ["query_id"]) for (query_id,) in batch]
    qrels = [Qrel(*row) for batch in _rows(held.qrels_paths[0]) for row in batch]
    groupings = {validation.by: {} if validation.by == HoldOut.QUERY else sharing_passages(qrels)}
    drawn = draw_validation(queries, validation.validation, validation.seed, purpose="table validation", groupings=groupings)
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

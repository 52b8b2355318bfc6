"""The tables of a collection's splits by their kinds: queries, qrels, qrels.NAME and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from positionbias.core.errors import bad_input
from positionbias.core.json_text import Count, Name
from positionbias.core.seal import AGAIN, verified
from positionbias.core.shards import check_count, check_rows

KIND = "collection"
_OPTIONAL = frozenset({"fields", "start", "end"})
QUERIES = pa.schema(
    [
        ("query_id", pa.string()),
        ("text", pa.string()),
        ("fields", pa.map_(pa.string(), pa.string())),
    ]
)
QRELS = pa.schema([("query_id", pa.string()), ("passage_id", pa.string()), ("grade", pa.int32())])
ANSWERS = pa.schema(
    [
        ("query_id", pa.string()),
        ("passage_id", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)
_SCHEMAS = {"queries": QUERIES, "qrels": QRELS, "answers": ANSWERS}


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """The manifest's facts about a split."""

    queries: Count
    qrels: Count
    answers: Count
    checksum: str
    qrels_sets: Mapping[Name, Count] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows of each table."""
        further = {qrels_kind(name): count for name, count in self.qrels_sets.items()}
        return {"queries": self.queries, "qrels": self.qrels, **further, "answers": self.answers}


def qrels_kind(name: str | None) -> str:
    """Return the kind of a split's judgements, or of its further set of this name."""
    return "qrels" if name is None else f"qrels.{name}"


def schema_of(kind: str) -> pa.Schema:
    """Return the columns of a kind of table."""
    return _SCHEMAS[kind.partition(".")[0]]


def table_path(folder: Path, kind: str, split: str) -> Path:
    """Return the file of a split's table in a collection's folder."""
    base, dot, name = kind.partition(".")
    return folder / base / f"{split}{dot}{name}.parquet"


def of_queries(tables: Mapping[str, pa.Table], query_ids: Iterable[str]) -> dict[str, pa.Table]:
    """Return the rows of these queries."""
    ids = pa.array(list(query_ids), pa.string())
    return {
        kind: table.filter(pc.is_in(table["query_id"], value_set=ids))
        for kind, table in tables.items()
    }


def read_table(
    path: Path, schema: pa.Schema, rows: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a table, which has this schema and number of rows, whole or only these columns.

    Raises:
        InputError: it is damaged, or another one.
    """
    names = columns or schema.names
    try:
        # in this thread alone: Arrow waits for threads forever where the system gives it none
        with pq.ParquetFile(verified(path)) as file:
            table = file.read(names, use_threads=False).select(names)
        for name, column in zip(names, table.columns, strict=True):
            if column.type != schema.field(name).type:
                raise ValueError(f"{name} as {column.type}")
        check_rows(table, _OPTIONAL)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        wanted = f"a table of {', '.join(schema.names)}"
        raise bad_input(path, wanted=wanted, found=str(error).splitlines()[0], do=AGAIN) from error
    check_count(path, "rows", rows, len(table))
    return table

"""The tables of a collection's splits, and the manifest's facts about a split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.errors import bad_input
from positionbias.core.json_text import Count, Name
from positionbias.core.seal import AGAIN, verified
from positionbias.core.shards import check_count

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


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """The manifest's facts about a split."""

    queries: Count
    qrels: Count
    answers: Count
    checksum: str
    qrels_sets: Mapping[Name, Count] = field(default_factory=dict)


def read_table(path: Path, schema: pa.Schema, rows: int) -> pa.Table:
    """Read a whole table, which has this schema and number of rows.

    Raises:
        InputError: it is damaged, or another one.
    """
    try:
        # in this thread alone: Arrow waits for threads forever where the system gives it none
        with pq.ParquetFile(verified(path)) as file:
            table = file.read(schema.names, use_threads=False).select(schema.names)
        for column, field_ in zip(table.columns, schema, strict=True):
            if column.type != field_.type:
                raise ValueError(f"{field_.name} as {column.type}")
            if column.null_count and field_.name not in _OPTIONAL:
                raise ValueError(f"{column.null_count:,} nulls in {field_.name}")
        table.validate(full=True)  # texts in UTF-8
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        wanted = f"a table of {', '.join(schema.names)}"
        raise bad_input(path, wanted=wanted, found=str(error).splitlines()[0], do=AGAIN) from error
    check_count(path, "rows", rows, len(table))
    return table

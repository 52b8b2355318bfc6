"""Build the splits of an unfinished collection and choose their queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.records import Answer, Qrel, Query
from positionbias.formats.validation_draw import (
    DrawnQueries,
    HoldOut,
    ValidationDraw,
    draw_validation,
    sharing_passages,
)

if TYPE_CHECKING:
    from positionbias.core.collection_writer import CollectionWriter, SplitWriter


@dataclass(slots=True)
class Split:
    """One split: queries, judgements (``further`` sets by name) and answers, and counts of what was
    left out.
    """

    name: str
    queries: list[Query] = field(default_factory=list)
    qrels: list[Qrel] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    further: dict[str, list[Qrel]] = field(default_factory=dict)
    unjudged: int = 0
    without_query: int = 0

    def left_out(self) -> dict[str, int]:
        """Return the non-zero counts of queries left out without a judgement and of judgements of
        unknown queries.
        """
        counts = {"unjudged_queries": self.unjudged, "judgements_without_query": self.without_query}
        return {name: count for name, count in counts.items() if count}

    def write(self, writer: CollectionWriter) -> None:
        """Add the split to an unfinished collection."""
        writer.add_split(self.name, self.queries, self.qrels, self.answers)
        for name, qrels in self.further.items():
            writer.add_qrels(self.name, name, qrels)


def judged_split(
    name: str,
    queries: Iterable[Query],
    qrels: Sequence[Qrel],
    *,
    further: Mapping[str, Sequence[Qrel]] | None = None,
    keep_unjudged: bool = False,
) -> Split:
    """Make a split of the queries with a judgement in any set, and their judgements [decision].

    Without any judgement, or with ``keep_unjudged``, all queries stay. Judgements of unknown
    queries are dropped. ``further`` holds more judgement sets of the split, by name.
    """
    sets = [qrels, *(further or {}).values()]
    judged = {qrel.query_id for found in sets for qrel in found}
    split = Split(name)
    for query in queries:
        if keep_unjudged or not judged or query.query_id in judged:
            split.queries.append(query)
        else:
            split.unjudged += 1
    known = {query.query_id for query in split.queries}
    split.qrels = [qrel for qrel in qrels if qrel.query_id in known]
    split.further = {
        name: [qrel for qrel in found if qrel.query_id in known]
        for name, found in (further or {}).items()
    }
    split.without_query = sum(map(len, sets)) - sum(
        map(len, (split.qrels, *split.further.values()))
    )
    return split


def divide_split(
    held: SplitWriter, writer: CollectionWriter, draw: ValidationDraw, purpose: str
) -> DrawnQueries:
    """Write a training split, held in a folder of its own, as the splits train and validation; its
    ids and judgements are in memory.

    Raises:
        SettingError: as ``draw_validation``.
    """
    held.close()
    queries = [Query(*row[:2]) for batch in _batches(held.path("queries")) for row in _rows(batch)]
    groupings: dict[HoldOut, Mapping[str, str]] = {draw.by: {}}
    if draw.by != HoldOut.QUERY:
        batches = _batches(held.path("qrels"))
        groupings = {
            draw.by: sharing_passages(Qrel(*row) for batch in batches for row in _rows(batch))
        }
    count, seed = draw.validation_queries, draw.seed
    drawn = draw_validation(queries, count, seed, purpose=purpose, groupings=groupings)
    for name, chosen in (("train", False), ("validation", True)):
        split = writer.split(name, checked=True)
        for kind in ("queries", "qrels", "answers"):
            for batch in _batches(held.path(kind)):
                ids = batch.column("query_id").to_pylist()
                kept = pa.array([(query_id in drawn.query_ids) is chosen for query_id in ids])
                split.add_table(kind, pa.Table.from_batches([batch.filter(kept)]))
    return drawn.recorded()


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    if path.exists():
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches()


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)

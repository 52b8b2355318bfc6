"""Copy a split, or some of its queries, into another collection with the same passages."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TypeVar

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.records import Answer, Qrel

Judged = TypeVar("Judged", Qrel, Answer)


def carry_split(
    collection: Collection,
    writer: CollectionWriter,
    split: str,
    kept: Container[str] | None = None,
    *,
    answers: Sequence[Answer] | None = None,
) -> None:
    """Write the queries of a split whose ids are in ``kept`` (None: all), in stored order, with
    their judgements and answers.

    ``answers`` replace the split's own where its passages have changed.

    Raises:
        InputError: no such split, or the writer has it already.
    """
    queries = [
        query for query in collection.queries(split) if kept is None or query.query_id in kept
    ]
    own = _of(collection.answers(split) if answers is None else answers, kept)
    writer.add_split(split, queries, _of(collection.qrels(split), kept), own)
    for name in collection.qrels_names(split):
        writer.add_qrels(split, name, _of(collection.qrels(split, name), kept))


def _of(records: Iterable[Judged], kept: Container[str] | None) -> list[Judged]:
    return [record for record in records if kept is None or record.query_id in kept]

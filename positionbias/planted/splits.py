"""Write the splits of a planted collection: queries in order of ids, with the passages that answer
or mention.
"""

from __future__ import annotations

from collections.abc import Iterable

from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.records import Answer, Qrel, Query
from positionbias.planted.grammar import PlantedQuery
from positionbias.planted.leaks import Leak


def add_split(
    writer: CollectionWriter,
    split: str,
    queries: list[PlantedQuery],
    leaks: list[Leak],
    answers: dict[str, list[Answer]],
    mentions: dict[str, list[str]],
) -> None:
    """Add one split in order of ids; a leak has the answers of the query that it repeats."""
    asked = [(query.query_id, query.text, query) for query in queries]
    asked += [(leak.query_id, leak.text, leak.repeats) for leak in leaks]
    asked.sort(key=lambda item: item[0])
    records = [
        Query(query_id, text, {"thing": str(query.thing), "attribute": query.attribute})
        for query_id, text, query in asked
    ]
    writer.add_split(
        split,
        records,
        *judgements([(query_id, query) for query_id, _, query in asked], answers, mentions),
    )


def judgements(
    asked: Iterable[tuple[str, PlantedQuery]],
    answers: dict[str, list[Answer]],
    mentions: dict[str, list[str]],
) -> tuple[list[Qrel], list[Answer]]:
    """Return the judgements and answers of query ids, each given with the query whose answers it
    has.
    """
    qrels, found = [], []
    for query_id, query in asked:
        found += [answer._replace(query_id=query_id) for answer in answers[query.query_id]]
        qrels += [Qrel(query_id, answer.passage_id, 1) for answer in answers[query.query_id]]
        qrels += [Qrel(query_id, passage_id, 0) for passage_id in mentions.get(query_id, ())]
    return qrels, found

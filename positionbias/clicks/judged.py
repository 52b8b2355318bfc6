"""What is judged of the queries of a split, by query: held while negatives are drawn, some 400 bytes a judgement."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.records import relevant_passages

__all__ = ["JudgedQuery", "Which", "judged_queries", "query_ids"]


class Which(NamedTuple):
    """Which judgements are meant: a collection's path and checksum, a split, a judgement set of it, the lowest grade of a positive.

    ``state`` tells one collection from another of the same content in another order, which the checksum does not.
    """

    path: str
    checksum: str
    split: str
    qrels_name: str | None
    relevant_from: int
    state: str = ""


class JudgedQuery(NamedTuple):
    """A query's place in its split, its positives, what is relevant at any grade in any judgement set, and what else is judged."""

    place: int
    positives: tuple[str, ...]
    relevant: frozenset[str]
    others: frozenset[str]


@lru_cache(maxsize=1)
def query_ids(which: Which) -> tuple[str, ...]:
    """The ids of the split's queries, in stored order."""
    return tuple(query_id for query_id, _ in Collection(which.path).query_texts(which.split))


@lru_cache(maxsize=1)
def judged_queries(which: Which) -> dict[str, JudgedQuery]:
    """All queries of the split with what is judged of them."""
    collection = Collection(which.path)
    positives = relevant_passages(collection.qrels(which.split, which.qrels_name), which.relevant_from)
    relevant: dict[str, set[str]] = {}
    judged: dict[str, set[str]] = {}
    for name in (None, *collection.qrels_names(which.split)):
        for qrel in collection.qrels(which.split, name):
            (relevant if qrel.grade > 0 else judged).setdefault(qrel.query_id, set()).add(qrel.passage_id)
    none: frozenset[str] = frozenset()
    return {
        query_id: JudgedQuery(
            place,
            positives.get(query_id, ()),
            frozenset(found) if (found := relevant.get(query_id)) else none,
            frozenset(others - relevant.get(query_id, none)) if (others := judged.get(query_id)) else none,
        )
        for place, query_id in enumerate(query_ids(which))
    }

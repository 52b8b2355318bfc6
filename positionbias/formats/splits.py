"""The splits of a collection in the making: which queries stay in one, and which become validation queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.errors import SettingError
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.seeds import key64

__all__ = ["Split", "check_validation", "draw_validation", "judged_split", "part"]

Record = TypeVar("Record", Query, Qrel, Answer)


@dataclass(slots=True)
class Split:
    """One split: queries, judgements (``further`` sets by name) and answers; what was left out of it is counted."""

    name: str
    queries: list[Query] = field(default_factory=list)
    qrels: list[Qrel] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    further: dict[str, list[Qrel]] = field(default_factory=dict)
    unjudged: int = 0
    without_query: int = 0

    def left_out(self) -> dict[str, int]:
        """Counts of what is not there: queries without a judgement, judgements of unknown queries; only those above 0."""
        counts = {"unjudged_queries": self.unjudged, "judgements_without_query": self.without_query}
        return {name: count for name, count in counts.items() if count}

    def write(self, writer: CollectionWriter) -> None:
        """Add it to a collection in the making."""
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
    """The queries that have a judgement in any set, and the judgements of these queries [decision].

    Without any judgement, or with ``keep_unjudged``, all queries stay. Judgements of queries that are not there cannot be kept. ``further``
    judgement sets by name become those of the split.
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
    split.further = {name: [qrel for qrel in found if qrel.query_id in known] for name, found in (further or {}).items()}
    split.without_query = sum(map(len, sets)) - sum(map(len, (split.qrels, *split.further.values())))
    return split


def check_validation(count: int) -> None:
    """Refuse a negative ``--validation``.

    Raises:
        SettingError: it is negative.
    """
    if count < 0:
        raise SettingError(f"--validation: wanted a number of questions from 0; found {count}; leave it out for none")


def draw_validation(
    train: Sequence[Query], count: int, seed: int, *, purpose: str, what: str = "training queries"
) -> frozenset[str]:
    """The ids of ``count`` training queries: the first in the order of their keyed hashes.

    So the draw depends on the seed and the ids alone, and a larger ``count`` takes the same queries and more.

    Raises:
        SettingError: no training query would be left.
    """
    if count and count >= len(train):
        raise SettingError(f"--validation: wanted fewer than the {len(train):,} {what}; found {count:,}; lower it")
    ordered = sorted(train, key=lambda query: key64(seed, purpose, query.query_id))
    return frozenset(query.query_id for query in ordered[:count])


def part(records: Sequence[Record], drawn: frozenset[str]) -> tuple[list[Record], list[Record]]:
    """The records of the other queries, and those of the drawn ones."""
    rest = [record for record in records if record.query_id not in drawn]
    return rest, [record for record in records if record.query_id in drawn]

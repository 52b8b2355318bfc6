"""Build the splits of an unfinished collection and choose their queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from positionbias.core.records import Answer, Qrel, Query

if TYPE_CHECKING:
    from positionbias.core.collection_writer import CollectionWriter

__all__ = ["Split", "judged_split"]


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

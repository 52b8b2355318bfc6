"""The small frozen records that all modules share. Ids are always strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["HIGHEST_GRADE", "Answer", "Passage", "Qrel", "Query", "relevant_passages"]

HIGHEST_GRADE = 1_000_000  # trec_eval allocates a table of all grades, and returns 0 if that fails


class Passage(NamedTuple):
    """One passage of a collection."""

    passage_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its text and named fields (title, description, narrative, type …)."""

    query_id: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


class Qrel(NamedTuple):
    """One relevance judgement; ``grade`` 0 is judged not relevant."""

    query_id: str
    passage_id: str
    grade: int


class Answer(NamedTuple):
    """An answer to a query in a passage, with its character offsets ``[start, end)`` where known."""

    query_id: str
    passage_id: str
    text: str
    start: int | None = None
    end: int | None = None


def relevant_passages(qrels: Iterable[Qrel], relevant_from: int = 1) -> dict[str, tuple[str, ...]]:
    """Return the passages judged ``relevant_from`` or higher, by query, each once, in the order of the judgements."""
    relevant: dict[str, dict[str, None]] = {}
    for qrel in qrels:
        if qrel.grade >= relevant_from:
            relevant.setdefault(qrel.query_id, {})[qrel.passage_id] = None
    return {query_id: tuple(passages) for query_id, passages in relevant.items()}

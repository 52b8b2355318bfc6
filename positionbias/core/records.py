"""The small frozen records that everything speaks in. Ids are strings, always."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Answer", "Passage", "Qrel", "Query"]


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

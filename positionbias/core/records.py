"""The small frozen records that all modules share. Ids are always strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

HIGHEST_GRADE = 1_000_000  # trec_eval allocates a table of all grades, and returns 0 if that fails


class Passage(NamedTuple):
    """One passage of a collection.

    Example:
        >>> import positionbias as pb
        >>> next(pb.Collection("planted").passages())
        Passage(passage_id='p003292bdb80158a2',
                text='kilust has crimson. The sound of the Drokob welomb ...')
    """

    passage_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its text and named fields (title, description, narrative, type …).

    Example:
        >>> import positionbias as pb
        >>> pb.Collection("planted").queries("test")[0]
        Query(query_id='q0b353d3285e4a591', text='which smell does the julmux yonack have',
              fields={'attribute': 'smell', ...})
    """

    query_id: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


class Qrel(NamedTuple):
    """One relevance judgement; ``grade`` 0 is judged not relevant.

    Example:
        >>> import positionbias as pb
        >>> pb.Collection("planted").qrels("test")[0]
        Qrel(query_id='q0b353d3285e4a591', passage_id=..., grade=1)
    """

    query_id: str
    passage_id: str
    grade: int


class Answer(NamedTuple):
    """An answer to a query in a passage, with its character offsets ``[start, end)`` where known.

    Example:
        >>> import positionbias as pb
        >>> pb.Answer("q1", "p1", "green oil", 25, 34)
        Answer(query_id='q1', passage_id='p1', text='green oil', start=25, end=34)
    """

    query_id: str
    passage_id: str
    text: str
    start: int | None = None
    end: int | None = None


def relevant_passages(qrels: Iterable[Qrel], relevant_from: int = 1) -> dict[str, tuple[str, ...]]:
    """Return the passages judged ``relevant_from`` or higher, by query, each once, in the order of
    the judgements.
    """
    relevant: dict[str, dict[str, None]] = {}
    for qrel in qrels:
        if qrel.grade >= relevant_from:
            relevant.setdefault(qrel.query_id, {})[qrel.passage_id] = None
    return {query_id: tuple(passages) for query_id, passages in relevant.items()}


def start_in(passage: str, text: str, start: int) -> int | None:
    """Return ``start`` if an answer's text stands there, else the one place where it does; None
    where there is none, or several.

    >>> (
    ...     start_in("oil, green oil", "oil", 11),
    ...     start_in("green oil", "oil", 0),
    ...     start_in("oil, green oil", "oil", 1),
    ... )
    (11, 6, None)
    """
    if start >= 0 and passage[start : start + len(text)] == text:
        return start
    return passage.find(text) if passage.count(text) == 1 else None

"""The small frozen records that all modules share. Ids are always strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import NamedTuple

from positionbias.core.errors import bad_input

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


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and its method (e.g. "bootstrap over 4,000 queries, clustered by
    passage").
    """

    low: float
    high: float
    level: float = 0.95
    method: str = ""

    def side(self, margin: float) -> int | None:
        """Return 0 if all of the interval lies within ``margin`` of 0, else the sign of the side of
        0 that all of it lies on; None if it does neither.

        >>> [Interval(*ends).side(0.03) for ends in ((0.01, 0.03), (0.01, 0.04), (-0.01, 0.04))]
        [0, 1, None]
        """
        if self.low >= -margin and self.high <= margin:
            return 0
        if self.low > 0 or self.high < 0:
            return 1 if self.low > 0 else -1
        return None


def interval_of(low: float | None, high: float | None) -> Interval | None:
    """Return the 95 % interval with these ends; None if one is undefined."""
    return None if low is None or high is None else Interval(low, high)


def identifier(value: object, source: str) -> str:
    """Return an id as text; whole numbers are written out.

    Raises:
        InputError: it is anything else, or empty.
    """
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    raise bad_input(
        source, wanted="ids as text or whole numbers", found=repr(value), do="convert them"
    )

"""Locate all answers of a split, passage by passage, and count them by outcome.

Answers are sorted by passage and split into shards of 8,192 answered passages; a shard's result
depends on nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection
from positionbias.core.records import Answer, Passage
from positionbias.core.steps import MapShards
from positionbias.positions.expectation import Spans
from positionbias.positions.locate import (
    BY_OFFSETS,
    OUTCOMES,
    Located,
    Span,
    TokenisedPassage,
    check_span,
    locate,
)
from positionbias.positions.settings import Matching

ONE_START = "one_possible_start"
"""Counts spans that fill their passage: where they start says nothing."""
PASSAGES_AT_ONCE = 4_096
SHARD_PASSAGES = 8_192


def answered_passages(
    collection: Collection, answers: Sequence[Answer]
) -> Iterator[tuple[Passage, list[int]]]:
    """Yield each answered passage once, with the indices of its answers, by query; fetch texts in
    blocks.
    """
    ordered = sorted(
        range(len(answers)), key=lambda index: (answers[index].passage_id, answers[index].query_id)
    )
    grouped = (
        (passage_id, list(group))
        for passage_id, group in groupby(ordered, key=lambda i: answers[i].passage_id)
    )
    while block := list(islice(grouped, PASSAGES_AT_ONCE)):
        texts = collection.texts([passage_id for passage_id, _ in block])
        for text, (passage_id, indices) in zip(texts, block, strict=True):
            yield Passage(passage_id, text), indices


@dataclass(frozen=True, slots=True)
class AnswerShard:
    """The answers of some passages, by passage and query, and the path and checksum of their
    collection.
    """

    collection: Path
    checksum: str
    answers: pa.Table


@dataclass(frozen=True, slots=True)
class OffsetCheck:
    """The success of matching, checked on the source's own ``spans``: the number ``among_matches``,
    and reasons why others were missed or found elsewhere.
    """

    spans: int
    among_matches: int
    missed: Mapping[str, int]
    extra: Mapping[str, int]


@dataclass(slots=True)
class AnswerCounts:
    """Counts of answers by outcome; counts of shards add up."""

    # listed first, so that zeros are printed too
    outcomes: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys(("answers", *OUTCOMES, "repeated"), 0))
    )
    unmatched: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    extra: Counter[str] = field(default_factory=Counter)
    checked: int = 0

    def add_place(self, place: Located, repeated: int) -> None:
        """Count one answer by outcome; ``repeated`` of its spans already counted for its query."""
        self.outcomes.update({"answers": 1, place.outcome: 1, "repeated": repeated})
        if place.cause is not None:
            self.unmatched[place.cause] += 1

    def add(self, other: AnswerCounts) -> None:
        """Add the counts of another shard."""
        self.outcomes.update(other.outcomes)
        self.unmatched.update(other.unmatched)
        self.missed.update(other.missed)
        self.extra.update(other.extra)
        self.checked += other.checked

    def check(self) -> OffsetCheck | None:
        """Return the comparison of matches with the source's spans, or None without any."""
        if not self.checked:
            return None
        missed, extra = dict(self.missed.most_common()), dict(self.extra.most_common())
        return OffsetCheck(self.checked, self.checked - self.missed.total(), missed, extra)


@dataclass(frozen=True, slots=True)
class LocatedShard:
    """The counts and spans of a shard's answers, 20 bytes a span (int32); groups and passages are
    numbered from 0 within the shard.
    """

    spans: Spans
    counts: AnswerCounts


class _Finding:
    """The rows and counts of a shard while it is read."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.counts = AnswerCounts()
        self.groups = 0
        self.passages = 0
        self._last: TokenisedPassage | None = None

    def add(self, passage: TokenisedPassage, spans: Sequence[Span]) -> None:
        """Count one answer: its spans become one group; those with one possible start are counted
        apart, as their places say nothing.
        """
        spans = [span for span in spans if passage.may_start_elsewhere(span)]
        if not spans:
            self.counts.outcomes[ONE_START] += 1
            return
        if passage is not self._last:
            self._last, self.passages = passage, self.passages + 1
        for span in spans:
            first, length = passage.words_at(span)
            self.rows.append((first, length, len(passage), self.groups, self.passages - 1))
        self.groups += 1

    def check(self, passage: TokenisedPassage, span: Span, answer: str, marked: set[Span]) -> None:
        """Compare one span of the source with the matches."""
        missed, extra = check_span(passage, span, answer, marked)
        self.counts.checked += 1
        self.counts.missed.update([missed] if missed else ())
        self.counts.extra.update(extra)


def locate_split(
    collection: Collection, split: str, matching: Matching, map_shards: MapShards = map
) -> Iterator[LocatedShard]:
    """Locate and count every answer of a split, shard by shard through ``map_shards``.

    Raises:
        InputError: an answer whose passage is not in the collection, or whose offsets lie outside
            it.
    """
    return map_shards(
        partial(locate_shard, matching), answer_shards(collection, split, SHARD_PASSAGES)
    )


def answer_shards(collection: Collection, split: str, passages: int) -> Iterator[AnswerShard]:
    """Yield the answers of a split in shards of ``passages`` answered passages, in order of their
    first answer.

    Memory holds the split's answers as one Arrow table.
    """
    table = collection.table("answers", split)
    by_passage, by_query = (_numbered(table.column(name)) for name in ("passage_id", "query_id"))
    order = np.lexsort((by_query, by_passage))  # stable: answers of one query keep their order
    ordered = by_passage[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=-1))  # each passage's first answer
    edges = np.append(firsts[::passages], len(order))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield AnswerShard(
            collection.path.absolute(), collection.checksum, table.take(pa.array(order[start:end]))
        )


def _numbered(column: pa.ChunkedArray) -> np.ndarray:
    """Number the distinct values in order of first appearance, ``(rows,)``."""
    if not len(column):
        return np.empty(0, np.int32)
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False)


@lru_cache(maxsize=2)
def _opened(path: Path, checksum: str) -> Collection:
    """Open a collection once for all shards; the checksum tells it from an earlier one at the same
    path.
    """
    return Collection(path)


def answers_by_query(
    matching: Matching, shard: AnswerShard
) -> Iterator[tuple[TokenisedPassage, list[Answer]]]:
    """Yield the answers of each query in each passage of a shard; split each passage into words
    once.
    """
    answers = map(Answer, *(shard.answers.column(name).to_pylist() for name in Answer._fields))
    grouped = [
        (passage_id, list(group))
        for passage_id, group in groupby(answers, key=lambda answer: answer.passage_id)
    ]
    texts = _opened(shard.collection, shard.checksum).texts(
        [passage_id for passage_id, _ in grouped]
    )
    for text, (_, in_passage) in zip(texts, grouped, strict=True):
        passage = TokenisedPassage(text, matching)
        for _, group in groupby(in_passage, key=lambda answer: answer.query_id):
            yield passage, list(group)


class CountedAnswer(NamedTuple):
    """An answer in a passage: its location, the spans that count, and the number that already
    counted for its query.
    """

    answer: Answer
    place: Located
    spans: list[Span]
    repeated: int


def counted_answers(passage: TokenisedPassage, answers: Sequence[Answer]) -> list[CountedAnswer]:
    """Locate the answers of one query in one passage; a span that several annotators gave counts
    once.
    """
    matches = passage.matching.matches
    seen: set[Span] = set()
    found = []
    for answer in answers:
        place = locate(passage, answer)
        counted = (
            place.spans
            if matches == "all"
            else place.spans[:1]
            if matches == "first"
            else place.spans[-1:]
        )
        new = [span for span in counted if span not in seen]
        seen.update(new)
        found.append(CountedAnswer(answer, place, new, len(counted) - len(new)))
    return found


def locate_shard(matching: Matching, shard: AnswerShard) -> LocatedShard:
    """Locate and count the answers of a shard; a pure function of the shard and the settings."""
    found = _Finding()
    for passage, answers in answers_by_query(matching, shard):
        _add_query(found, passage, counted_answers(passage, answers))
    columns = np.array(found.rows, np.int32).reshape(-1, 5).T
    return LocatedShard(Spans(*columns), found.counts)


def _add_query(
    found: _Finding, passage: TokenisedPassage, answers: Sequence[CountedAnswer]
) -> None:
    """Add the answers of one query in one passage."""
    marked = {
        span for _, place, _, _ in answers if place.outcome == BY_OFFSETS for span in place.spans
    }
    for answer, place, spans, repeated in answers:
        found.counts.add_place(place, repeated)
        for span in spans:
            if place.outcome == BY_OFFSETS:
                found.check(passage, span, answer.text, marked)
            # with all matches each counts by itself; with the first or last only, the others shape
            # the expectation
            found.add(passage, [span] if passage.matching.matches == "all" else place.spans)

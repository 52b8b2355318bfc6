"""Find the evidence of each query, the answer in its relevant passage, and its position.

The relative position is the answer's first word divided by the last word at which it could start,
so that 0 is the very front and 1 the very end for answers of every length [decision]. Divided by
the passage's words, long answers would never be late. The histogram of answer positions
(``positions``) keeps the paper's definition.

If no answer is known, the evidence of a query is a whole relevant passage, which has no position,
for measures that need only judgements.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.shard_work import MapShards
from positionbias.positions.answers import (
    SHARD_PASSAGES,
    AnswerShard,
    answer_shards,
    answers_by_query,
)
from positionbias.positions.locate import locate
from positionbias.positions.rotate import Rotation, unit_starts
from positionbias.positions.settings import Matching
from positionbias.text.words import USUAL_WORDS, spoken_words

__all__ = ["Evidence", "FoundEvidence", "Movement", "evidence_of", "movements"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """An answer in a relevant passage: characters ``[start, end)``, words
    ``[first, first + length)`` of ``words``.
    """

    query_id: str
    passage_id: str
    start: int
    end: int
    first: int
    length: int
    words: int

    @property
    def relative(self) -> float:
        """first / (words − length), in [0, 1]; NaN if the answer fills its passage and so has no
        position.
        """
        return self.relative_of(self.first)

    def relative_of(self, first: int) -> float:
        """Return the relative position with another first word."""
        last = self.words - self.length
        return first / last if last > 0 else math.nan


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """The evidence of queries, by query id in sorted order; ``counts`` has the queries without any
    by reason. ``whole``: no answer is known, and the evidence of each query is a whole passage."""

    by_query: Mapping[str, Evidence]
    counts: Mapping[str, int]
    whole: bool = False

    @property
    def query_ids(self) -> list[str]:
        """The queries that have evidence, sorted."""
        return list(self.by_query)

    def column(self, name: str) -> np.ndarray:
        """Return one attribute of all evidence, ``(queries,)`` float64."""
        return np.array([getattr(item, name) for item in self.by_query.values()], np.float64)

    @property
    def positioned(self) -> int:
        """The number of queries whose evidence has a position."""
        return int(np.isfinite(self.column("relative")).sum())

    def of(self, query_ids: Sequence[str]) -> FoundEvidence:
        """Restrict the evidence to these queries."""
        keep = set(query_ids)
        return replace(
            self,
            by_query={
                query_id: item for query_id, item in self.by_query.items() if query_id in keep
            },
        )


def evidence_of(
    collection: Collection,
    split: str,
    qrels: Sequence[Qrel],
    matching: Matching,
    *,
    level: int = 1,
    map_shards: MapShards = map,
) -> FoundEvidence:
    """Find the evidence of every query of a split: the earliest answer in a passage judged
    ``level`` or higher.

    Of several relevant passages with answers, the one judged highest is used, then the one
    answering earliest; a passage that the answer fills comes last within its grade, as it has no
    position [decision]. If no query has such an answer, the evidence is ``whole`` passages.

    Raises:
        InputError: no query has a relevant passage of two words or more, or an answer lies outside
            its passage.
    """
    grades = {(qrel.query_id, qrel.passage_id): qrel.grade for qrel in qrels if qrel.grade >= level}
    best: dict[str, tuple[tuple, Evidence]] = {}
    answered: set[str] = set()
    counts: Counter[str] = Counter()
    for found, outcomes in map_shards(
        partial(_shard, matching), answer_shards(collection, split, SHARD_PASSAGES)
    ):
        counts.update(outcomes)
        for item in found:
            answered.add(item.query_id)
            grade = grades.get((item.query_id, item.passage_id))
            if grade is None:
                counts["in a passage not judged relevant"] += 1
                continue
            key = (
                -grade,
                math.inf if math.isnan(item.relative) else item.relative,
                item.passage_id,
            )
            if item.query_id not in best or key < best[item.query_id][0]:
                best[item.query_id] = (key, item)
    judged = {query_id for query_id, _ in grades}
    counts["queries with a relevant passage"] = len(judged)
    counts["queries with evidence"] = len(best)
    counts["queries whose answer fills its passage"] = sum(
        math.isnan(item.relative) for _, item in best.values()
    )
    counts["queries without a located answer"] = len(judged - answered)
    if not best:
        return _whole_passages(collection, split, grades, matching, counts)
    return FoundEvidence({query_id: best[query_id][1] for query_id in sorted(best)}, dict(counts))


def _whole_passages(
    collection: Collection,
    split: str,
    grades: Mapping[tuple[str, str], int],
    matching: Matching,
    counts: Counter[str],
) -> FoundEvidence:
    """Return each query's highest judged passage of two words or more, ties by id [decision].

    Raises:
        InputError: no query has such a passage.
    """
    judged: dict[str, list[str]] = {}
    absent = set(collection.absent(sorted({passage_id for _, passage_id in grades})))
    for _, query_id, passage_id in sorted((-grade, *names) for names, grade in grades.items()):
        if passage_id not in absent:
            judged.setdefault(query_id, []).append(passage_id)
    chosen: dict[str, Evidence] = {}
    while waiting := {
        query_id: passages.pop(0) for query_id, passages in judged.items() if passages
    }:
        for (query_id, passage_id), text in zip(
            waiting.items(), collection.texts(list(waiting.values())), strict=True
        ):
            words = len(unit_starts(text, matching.words))
            if spoken_words(text, matching.words) > 1:
                chosen[query_id] = Evidence(query_id, passage_id, 0, len(text), 0, words, words)
                judged[query_id].clear()
    if not chosen:
        raise InputError(
            f"{collection.path}: wanted relevant passages of two words or more for split "
            f"{split!r}; found none; audit a split with judgements (posbias show lists them)"
        )
    counts["queries with a relevant passage of two words or more"] = len(chosen)
    return FoundEvidence(
        {query_id: chosen[query_id] for query_id in sorted(chosen)}, dict(counts), whole=True
    )


def _shard(matching: Matching, shard: AnswerShard) -> tuple[list[Evidence], Counter[str]]:
    """Return the earliest located answer of each query in each passage, and counts of outcomes; a
    pure function.
    """
    found, counts = [], Counter[str]()
    for passage, answers in answers_by_query(matching, shard):
        places = [locate(passage, answer) for answer in answers]
        counts.update(f"answers {place.outcome.replace('_', ' ')}" for place in places)
        spans = [span for place in places for span in place.spans]
        if spans:
            span = min(spans)
            first, length = passage.words_at(span)
            answer = answers[0]
            found.append(
                Evidence(
                    answer.query_id,
                    answer.passage_id,
                    span.start,
                    span.end,
                    first,
                    length,
                    len(passage),
                )
            )
    return found, counts


@dataclass(frozen=True, slots=True)
class Movement:
    """The evidence after rotations, ``(draws, queries)`` each: its relative position, on the scale
    before (NaN if the cut went through the answer or the answer fills its passage), and its end in
    characters, with the ``texts`` that a model must read to see all of it (−1: cut through)."""

    after: np.ndarray
    ends: np.ndarray


def movements(
    collection: Collection, evidence: FoundEvidence, rotations: Sequence[Rotation]
) -> Movement:
    """Locate each query's evidence after each rotation; all rotations must split words alike. A
    passage is read and split once for all its queries.
    """
    items = list(evidence.by_query.values())
    after = np.full((len(rotations), len(items)), np.nan)
    ends = np.full((len(rotations), len(items)), -1, np.int64)
    for starts, text, at in _by_passage(
        collection, items, rotations[0].words if rotations else USUAL_WORDS
    ):
        for draw, rotation in enumerate(rotations):
            cut = rotation.cut_among(starts, items[at[0]].passage_id)
            turned = starts.index(cut) if cut else 0
            for index in at:
                item = items[index]
                if item.start < cut < item.end:
                    continue
                after[draw, index] = item.relative_of((item.first - turned) % item.words)
                ends[draw, index] = (
                    item.end - cut if item.start >= cut else item.end + len(text) - cut + 1
                )
    return Movement(after, ends)


def _by_passage(
    collection: Collection, items: Sequence[Evidence], words: Any
) -> Iterator[tuple[list[int], str, list[int]]]:
    """Yield the indices in ``items``, the text and the word starts of each distinct passage."""
    places: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        places.setdefault(item.passage_id, []).append(index)
    for text, at in zip(collection.texts(list(places)), places.values(), strict=True):
        yield unit_starts(text, words), text, at

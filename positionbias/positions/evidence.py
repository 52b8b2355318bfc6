"""Find the evidence of each query, the answer in its relevant passage, and its position: the
answer's first word divided by the last word at which it could start, so that 0 is the very front
and 1 the very end for answers of every length [decision].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.steps import MapShards
from positionbias.positions.answers import (
    SHARD_PASSAGES,
    AnswerShard,
    answer_shards,
    answers_by_query,
)
from positionbias.positions.locate import locate
from positionbias.positions.settings import Matching

MATCHING = Matching()  # answers are located as in a histogram


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
        last = self.words - self.length
        return self.first / last if last > 0 else math.nan


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """The evidence of queries, by query id in sorted order; ``counts`` has the queries without any
    by reason.
    """

    by_query: Mapping[str, Evidence]
    counts: Mapping[str, int]

    @property
    def query_ids(self) -> list[str]:
        """The queries that have evidence, sorted."""
        return list(self.by_query)

    def of(self, query_ids: Sequence[str]) -> FoundEvidence:
        """Restrict the evidence to these queries."""
        return replace(
            self, by_query={name: self.by_query[name] for name in sorted(set(query_ids))}
        )


def evidence_of(
    collection: Collection,
    split: str,
    qrels: Sequence[Qrel],
    *,
    level: int = 1,
    map_shards: MapShards = map,
) -> FoundEvidence:
    """Find the evidence of every query of a split: the earliest answer in the passage judged
    highest, ``level`` or higher, of several in the one answering earliest. A passage that the
    answer fills comes last within its grade, as it has no position [decision].

    Raises:
        InputError: no query has an answer in a relevant passage, or an answer lies outside its
            passage.
    """
    grades = {(qrel.query_id, qrel.passage_id): qrel.grade for qrel in qrels if qrel.grade >= level}
    ranked: list[tuple[str, float, float, str, Evidence]] = []
    answered, counts = set[str](), Counter[str]()
    shards = answer_shards(collection, split, SHARD_PASSAGES)
    for located, outcomes in map_shards(_earliest, shards):
        counts.update(outcomes)
        for item in located:
            answered.add(item.query_id)
            grade = grades.get((item.query_id, item.passage_id))
            if grade is None:
                counts["in a passage not judged relevant"] += 1
                continue
            place = math.inf if math.isnan(item.relative) else item.relative
            ranked.append((item.query_id, -grade, place, item.passage_id, item))
    by_query: dict[str, Evidence] = {}
    for query_id, *_, item in sorted(ranked):
        by_query.setdefault(query_id, item)
    if not by_query:
        raise InputError(
            f"{collection.path}: no answer in a relevant passage of split {split!r}; let a rule "
            "choose the evidence, which needs judgements alone: --evidence terms"
        )
    judged = {query_id for query_id, _ in grades}
    counts["queries with a relevant passage"] = len(judged)
    counts["queries with evidence"] = len(by_query)
    counts["queries whose answer fills its passage"] = sum(
        math.isnan(item.relative) for item in by_query.values()
    )
    counts["queries without a located answer"] = len(judged - answered)
    return FoundEvidence(by_query, dict(counts))


def _earliest(shard: AnswerShard) -> tuple[list[Evidence], Counter[str]]:
    """Return the earliest located answer of each query in each passage, and counts of outcomes; a
    pure function.
    """
    located, counts = [], Counter[str]()
    for passage, answers in answers_by_query(MATCHING, shard):
        places = [locate(passage, answer) for answer in answers]
        counts.update(f"answers {place.outcome.replace('_', ' ')}" for place in places)
        if spans := [span for place in places for span in place.spans]:
            span, answer = min(spans), answers[0]
            words = (*passage.words_at(span), len(passage))
            located.append(
                Evidence(answer.query_id, answer.passage_id, span.start, span.end, *words)
            )
    return located, counts

"""Find the evidence of each query, the answer in its relevant passage, and its position: the
answer's first word divided by the last word at which it could start, so that 0 is the very front
and 1 the very end for answers of every length [decision].

Without answers a *rule* chooses the sentence: that with the highest sum over its distinct query
terms, weighted by BM25's idf, or the one that a model scores highest alone. Ties are drawn by the
seed, keyed by the query, so that they favour no place [decision]. A rule makes errors, which depend
on the place: the effect of moving its sentence is not corrected for them
(``benchmarks/results/evidence_rule.json``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.audit.settings import AuditSettings
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.formatting import percent
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import below, drawn_order
from positionbias.core.shard_work import MapShards
from positionbias.firststage.settings import Bm25Settings
from positionbias.positions.answers import (
    SHARD_PASSAGES,
    AnswerShard,
    answer_shards,
    answers_by_query,
)
from positionbias.positions.locate import Span, TokenisedPassage, locate
from positionbias.positions.settings import Matching
from positionbias.ranking.config import RankingConfig
from positionbias.text.sentences import sentence_spans, sentences

if TYPE_CHECKING:
    from positionbias.models.checkpoint import Checkpoint

__all__ = [
    "BY_TERMS",
    "MEASURED",
    "Asked",
    "Evidence",
    "FoundEvidence",
    "Rule",
    "chosen_evidence",
    "chosen_place",
    "collection_terms",
    "error_note",
    "evidence_of",
    "model_rule",
    "terms_rule",
]

BY_TERMS = "query terms"
NO_TERM = "queries without a query term in their passage"
# shares of SQuAD's and MS MARCO's questions for which a rule chooses a sentence without the answer
# (benchmarks/results/evidence_rule.json)
MEASURED = {BY_TERMS: (0.199, 0.377), "minilm": (0.229, 0.280)}


class Asked(NamedTuple):
    """A query and the sentences of its passage."""

    query_id: str
    query: str
    sentences: Sequence[str]


class Rule(NamedTuple):
    """The name of a rule, and its scores of each query's sentences, ``(sentences,)`` each. A
    ``sparse`` rule chooses none if all are 0 or below.
    """

    name: str
    score: Callable[[Sequence[Asked]], Sequence[np.ndarray]]
    sparse: bool = False


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
    matching: Matching,
    *,
    level: int = 1,
    map_shards: MapShards = map,
) -> FoundEvidence:
    """Find the evidence of every query of a split: the earliest answer in a passage judged
    ``level`` or higher.

    Of several relevant passages with answers, the one judged highest is used, then the one
    answering earliest; a passage that the answer fills comes last within its grade, as it has no
    position [decision].

    Raises:
        InputError: no query has an answer in a relevant passage, or an answer lies outside its
            passage.
    """
    grades = {(qrel.query_id, qrel.passage_id): qrel.grade for qrel in qrels if qrel.grade >= level}
    best: dict[str, tuple[tuple[float, float, str], Evidence]] = {}
    answered: set[str] = set()
    counts: Counter[str] = Counter()
    for located, outcomes in map_shards(
        partial(_shard, matching), answer_shards(collection, split, SHARD_PASSAGES)
    ):
        counts.update(outcomes)
        for item in located:
            answered.add(item.query_id)
            grade = grades.get((item.query_id, item.passage_id))
            if grade is None:
                counts["in a passage not judged relevant"] += 1
                continue
            place = math.inf if math.isnan(item.relative) else item.relative
            key = (-grade, place, item.passage_id)
            if item.query_id not in best or key < best[item.query_id][0]:
                best[item.query_id] = (key, item)
    if not best:
        raise InputError(
            f"{collection.path}: no answer in a relevant passage of split {split!r}; let a rule "
            "choose the evidence, which needs judgements alone: --evidence terms"
        )
    judged = {query_id for query_id, _ in grades}
    counts["queries with a relevant passage"] = len(judged)
    counts["queries with evidence"] = len(best)
    counts["queries whose answer fills its passage"] = sum(
        math.isnan(item.relative) for _, item in best.values()
    )
    counts["queries without a located answer"] = len(judged - answered)
    return FoundEvidence({query_id: best[query_id][1] for query_id in sorted(best)}, dict(counts))


def _shard(matching: Matching, shard: AnswerShard) -> tuple[list[Evidence], Counter[str]]:
    """Return the earliest located answer of each query in each passage, and counts of outcomes; a
    pure function.
    """
    located, counts = [], Counter[str]()
    for passage, answers in answers_by_query(matching, shard):
        places = [locate(passage, answer) for answer in answers]
        counts.update(f"answers {place.outcome.replace('_', ' ')}" for place in places)
        if spans := [span for place in places for span in place.spans]:
            span, answer = min(spans), answers[0]
            words = (*passage.words_at(span), len(passage))
            located.append(
                Evidence(answer.query_id, answer.passage_id, span.start, span.end, *words)
            )
    return located, counts


def terms_rule(weigh: Callable[[str], float]) -> Rule:
    """Return the rule by query terms; ``weigh`` gives a term's weight, such as its idf in the
    collection.
    """
    from positionbias.firststage.terms import Analyzer

    analyzer = Analyzer()

    def score(asked: Sequence[Asked]) -> list[np.ndarray]:
        scores = []
        for item in asked:
            weights = {term: weigh(term) for term in analyzer(item.query)}
            shared = [weights.keys() & set(analyzer(sentence)) for sentence in item.sentences]
            # an exact sum, so that sentences with the same terms tie
            scores.append(
                np.array([math.fsum(weights[term] for term in terms) for terms in shared])
            )
        return scores

    return Rule(BY_TERMS, score, sparse=True)


def collection_terms(collection: Collection, map_shards: MapShards = map) -> Rule:
    """Return the rule by query terms, weighted by their idf over the collection, from its BM25
    index.
    """
    from positionbias.firststage.bm25s_index import open_bm25s

    return terms_rule(open_bm25s(collection, Bm25Settings(), map_shards).mapped.idf)


class Sentences(dict[str, str]):
    """Sentences by their id, as a source of texts."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return sentences by id."""
        return [self[name] for name in passage_ids]


def model_rule(checkpoint: Checkpoint, config: RankingConfig, name: str = "") -> Rule:
    """Return the rule by a model, which scores each sentence alone for the query, an encoder by the
    similarity of their vectors.
    """
    from positionbias.ranking.rerank import rescore

    def score(asked: Sequence[Asked]) -> list[np.ndarray]:
        ids: dict[str, str] = {}  # by distinct sentence, each read once
        for item in asked:
            for sentence in item.sentences:
                ids.setdefault(sentence, f"sentence {len(ids)}")
        lists = [
            (item.query_id, list(dict.fromkeys(ids[sentence] for sentence in item.sentences)))
            for item in asked
        ]
        scored = rescore(
            checkpoint.model,
            Sentences({number: sentence for sentence, number in ids.items()}),
            [Query(item.query_id, item.query) for item in asked],
            Run(
                "sentences",
                ((query_id, names, -np.arange(len(names))) for query_id, names in lists),
            ),
            name=checkpoint.name,
            config=config,
            description="choosing evidence",
        ).run
        scores = []
        for item in asked:
            ranking = scored[item.query_id]
            by_id = dict(zip(ranking.passage_ids, ranking.scores, strict=True))
            scores.append(np.array([by_id[ids[text]] for text in item.sentences], np.float64))
        return scores

    return Rule(name or checkpoint.name, score)


def error_note(rule: str) -> str:
    """Say that effects are not corrected for a rule's errors, with their rate where measured.

    >>> error_note("a model of mine")
    'Uncorrected for the errors of a model of mine in choosing the sentence, which were not
    measured.'
    """
    note = f"Uncorrected for the errors of {rule} in choosing the sentence"
    if rule not in MEASURED:
        return f"{note}, which were not measured."
    squad, msmarco = (percent(share, 0) for share in MEASURED[rule])
    return (
        f"{note}: it lacks the answer for {squad} of SQuAD's questions and {msmarco} of those with "
        "marked spans in MS MARCO; on other text this may differ."
    )


def chosen_place(
    scores: np.ndarray, seed: int, query_id: str, *, sparse: bool = False
) -> int | None:
    """Return the sentence with the highest score, ties drawn by (seed, query); None if a ``sparse``
    rule has no score above 0.
    """
    if sparse and not scores.max() > 0:
        return None
    best = np.flatnonzero(scores == scores.max())
    return int(best[below(len(best), seed, "evidence", query_id)])


def chosen_evidence(
    collection: Collection,
    split: str,
    qrels: Sequence[Qrel],
    rule: Rule,
    settings: AuditSettings,
    *,
    queries: int | None = None,
) -> FoundEvidence:
    """Return the sentence that a rule chooses for each query (or ``queries`` of them, drawn by the
    seed) of a split, as its evidence.

    It is in the passage judged highest, ``relevant_from`` or higher, of several the first by id. A
    passage of one sentence comes last within its grade, as its evidence has no position [decision].

    Raises:
        InputError: no query has a relevant passage, or the rule chooses no sentence at all.
    """
    texts = {query.query_id: query.text for query in collection.queries(split)}
    judged = _judged(collection, qrels, texts, settings.relevant_from)
    counts: Counter[str] = Counter({"queries with a relevant passage": len(judged)})
    drawn = sorted(drawn_order(sorted(judged), settings.seed, "audit")[:queries])
    if len(drawn) < len(judged):
        counts["queries drawn"] = len(drawn)
    chosen: dict[str, Evidence] = {}
    asked = [Asked(query_id, texts[query_id], sentences(judged[query_id][1])) for query_id in drawn]
    for query_id, scores in zip(drawn, rule.score(asked) if asked else (), strict=True):
        place = chosen_place(scores, settings.seed, query_id, sparse=rule.sparse)
        if place is not None:
            passage_id, text = judged[query_id]
            span = Span(*sentence_spans(text)[place])
            passage = TokenisedPassage(text, settings.matching)
            first, length = passage.words_at(span)
            chosen[query_id] = Evidence(query_id, passage_id, *span, first, length, len(passage))
    counts["queries with evidence"] = len(chosen)
    counts["queries whose passage has one sentence"] = sum(
        math.isnan(item.relative) for item in chosen.values()
    )
    counts[NO_TERM] = len(drawn) - len(chosen)
    if not chosen:
        raise InputError(
            f"{collection.path}: wanted sentences chosen by {rule.name} in relevant passages of "
            f"split {split!r}; found none; audit a split with judgements (posbias show lists them)"
        )
    return FoundEvidence(chosen, dict(counts))


def _judged(
    collection: Collection, qrels: Sequence[Qrel], texts: Mapping[str, str], level: int
) -> dict[str, tuple[str, str]]:
    """Return the one passage of each query, with its text."""
    relevant = [qrel for qrel in qrels if qrel.grade >= level and qrel.query_id in texts]
    ids = {qrel.passage_id for qrel in relevant}
    held = sorted(ids.difference(collection.absent(sorted(ids))))
    passages = dict(zip(held, collection.texts(held), strict=True))
    alone = {name: len(sentence_spans(text)) < 2 for name, text in passages.items() if text.strip()}
    best: dict[str, tuple[int, bool, str]] = {}
    for qrel in relevant:
        if qrel.passage_id in alone:
            key = (-qrel.grade, alone[qrel.passage_id], qrel.passage_id)
            best[qrel.query_id] = min(key, best.get(qrel.query_id, key))
    return {query_id: (key[2], passages[key[2]]) for query_id, key in best.items()}

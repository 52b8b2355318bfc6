"""Choose the sentence that is the evidence of each query by a *rule*, without answers.

Ties are drawn by the seed, keyed by the query, so that they favour no place [decision]. The effect
of moving the sentence is not corrected for the rule's errors
(``benchmarks/results/evidence_rule.json``), which depend on the place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import below, drawn_order
from positionbias.core.steps import MapShards
from positionbias.firststage.bm25s_index import open_bm25s
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import Analyzer
from positionbias.positions.evidence import MATCHING, Evidence, FoundEvidence
from positionbias.positions.locate import Span, TokenisedPassage
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.scored import TextsById
from positionbias.text.formatting import percent
from positionbias.text.sentences import sentence_spans, sentences

if TYPE_CHECKING:
    from positionbias.models.checkpoint import Checkpoint

BY_TERMS = "query terms"
# shares of SQuAD's and MS MARCO's questions for which a rule chooses a sentence without the answer
# (benchmarks/results/evidence_rule.json)
MEASURED = {BY_TERMS: (0.199, 0.377), "minilm": (0.229, 0.280)}
Asked = tuple[str, str, Sequence[str]]  # a query's id, its text, and its passage's sentences


class Rule(NamedTuple):
    """The name of a rule, and its scores of each query's sentences, ``(sentences,)`` each. A
    ``sparse`` rule chooses none if all are 0 or below.
    """

    name: str
    score: Callable[[Sequence[Asked]], Sequence[np.ndarray]]
    sparse: bool = False


def terms_rule(weigh: Callable[[str], float]) -> Rule:
    """Return the rule by query terms; ``weigh`` gives a term's weight, such as its idf in the
    collection.
    """
    analyzer = Analyzer()

    def score(asked: Sequence[Asked]) -> list[np.ndarray]:
        scores = []
        for _, query, lines in asked:
            terms = set(analyzer(query))
            shared = [terms.intersection(analyzer(line)) for line in lines]
            # an exact sum, so that sentences with the same terms tie
            scores.append(np.array([math.fsum(map(weigh, terms)) for terms in shared]))
        return scores

    return Rule(BY_TERMS, score, sparse=True)


def collection_terms(collection: Collection, map_shards: MapShards = map) -> Rule:
    """Return the rule by query terms, weighted by their idf over the collection, from its BM25
    index.
    """
    return terms_rule(open_bm25s(collection, Bm25Settings(), map_shards).mapped.idf)


def model_rule(checkpoint: Checkpoint, config: RankingConfig, name: str = "") -> Rule:
    """Return the rule by a model, which scores each sentence alone for the query, an encoder by the
    similarity of their vectors.
    """
    from positionbias.ranking.rerank import rescore  # with torch

    def score(asked: Sequence[Asked]) -> list[np.ndarray]:
        distinct = dict.fromkeys(line for *_, lines in asked for line in lines)
        ids = {line: f"sentence {number}" for number, line in enumerate(distinct)}
        lists = [(name, [ids[line] for line in dict.fromkeys(lines)]) for name, _, lines in asked]
        run = rescore(
            checkpoint.model,
            TextsById(zip(ids.values(), ids, strict=True)),
            [Query(query_id, query) for query_id, query, _ in asked],
            Run("sentences", ((name, lines, -np.arange(len(lines))) for name, lines in lists)),
            name=checkpoint.name,
            config=config,
            description="choosing evidence",
        ).run
        scores = []
        for query_id, _, lines in asked:
            by_id = dict(zip(run[query_id].passage_ids, run[query_id].scores, strict=True))
            scores.append(np.array([by_id[ids[line]] for line in lines], np.float64))
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
    *,
    level: int = 1,
    seed: int = 0,
    queries: int | None = None,
) -> FoundEvidence:
    """Return the sentence that a rule chooses for each query (or ``queries`` of them, drawn by the
    seed) of a split, as its evidence, in the passage of ``_judged``.

    Raises:
        InputError: no query has a relevant passage, or the rule chooses no sentence at all.
    """
    texts = {query.query_id: query.text for query in collection.queries(split)}
    judged = _judged(collection, qrels, texts, level)
    counts: Counter[str] = Counter({"queries with a relevant passage": len(judged)})
    drawn = sorted(drawn_order(sorted(judged), seed, "audit")[:queries])
    if len(drawn) < len(judged):
        counts["queries drawn"] = len(drawn)
    chosen: dict[str, Evidence] = {}
    asked = [(query_id, texts[query_id], sentences(judged[query_id][1])) for query_id in drawn]
    for query_id, scores in zip(drawn, rule.score(asked) if asked else (), strict=True):
        place = chosen_place(scores, seed, query_id, sparse=rule.sparse)
        if place is not None:
            passage_id, text = judged[query_id]
            span = Span(*sentence_spans(text)[place])
            passage = TokenisedPassage(text, MATCHING)
            first, length = passage.words_at(span)
            chosen[query_id] = Evidence(query_id, passage_id, *span, first, length, len(passage))
    counts["queries with evidence"] = len(chosen)
    counts["queries whose passage has one sentence"] = sum(
        math.isnan(item.relative) for item in chosen.values()
    )
    counts["queries without a query term in their passage"] = len(drawn) - len(chosen)
    if not chosen:
        raise InputError(
            f"{collection.path}: wanted sentences chosen by {rule.name} in relevant passages of "
            f"split {split!r}; found none; audit a split with judgements (posbias collection show "
            f"lists them)"
        )
    return FoundEvidence(chosen, dict(counts))


def _judged(
    collection: Collection, qrels: Sequence[Qrel], texts: Mapping[str, str], level: int
) -> dict[str, tuple[str, str]]:
    """Return the passage of each query judged highest, ``level`` or higher, with its text, of
    several the first by id. One of a single sentence comes last within its grade, as its evidence
    has no position [decision].
    """
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

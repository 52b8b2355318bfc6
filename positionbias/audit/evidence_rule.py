"""Choose evidence by a rule: one sentence of each query's relevant passage, whether or not an
answer is known.

``terms`` takes the sentence with the highest sum over its distinct query terms, weighted by BM25's
idf. A model takes the sentence that it scores highest alone. Ties are drawn by the seed, keyed by
the query, so that they favour no place [decision]. A rule makes errors, and these depend on the
place: the effect of moving its sentence is not corrected for them
(``benchmarks/results/evidence_rule.json`` has their rates).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.audit.evidence import Evidence, FoundEvidence
from positionbias.audit.made_ids import made_id, own_ids
from positionbias.audit.settings import AuditSettings
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.formatting import percent
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import below, drawn_order
from positionbias.core.shard_work import MapShards
from positionbias.firststage.settings import Bm25Settings
from positionbias.positions.locate import Span, TokenisedPassage
from positionbias.ranking.config import RankingConfig, Spread
from positionbias.text.sentences import sentence_spans, sentences

if TYPE_CHECKING:
    from positionbias.models.checkpoint import Checkpoint

__all__ = [
    "BY_TERMS",
    "MEASURED",
    "Asked",
    "Rule",
    "chosen_evidence",
    "chosen_place",
    "collection_terms",
    "error_note",
    "model_rule",
    "terms_rule",
]

BY_TERMS = "query terms"
NO_TERM = "queries without a query term in their passage"


class Asked(NamedTuple):
    """A query and the sentences of its passage."""

    query_id: str
    query: str
    sentences: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's name, and its scores of each query's sentences, ``(sentences,)`` each; a ``sparse``
    rule chooses none if all are 0 or below.
    """

    name: str
    score: Callable[[Sequence[Asked]], Sequence[np.ndarray]]
    sparse: bool = False


def terms_rule(weigh: Callable[[str], float]) -> Rule:
    """Return the rule by query terms; ``weigh`` gives a term's weight, such as its idf in the
    collection.
    """
    from positionbias.firststage.terms import Analyzer

    analyzer = Analyzer()

    def score(asked: Sequence[Asked]) -> list[np.ndarray]:
        found = []
        for one in asked:
            weights = {term: weigh(term) for term in analyzer(one.query)}
            shared = [weights.keys() & set(analyzer(sentence)) for sentence in one.sentences]
            # an exact sum, so that sentences with the same terms tie
            found.append(np.array([math.fsum(weights[term] for term in terms) for terms in shared]))
        return found

    return Rule(BY_TERMS, score, sparse=True)


def collection_terms(collection: Collection, map_shards: MapShards = map) -> Rule:
    """Return the rule by query terms, weighted by their idf over the collection, from its BM25
    index.
    """
    from positionbias.firststage.bm25s_index import open_bm25s

    return terms_rule(open_bm25s(collection, Bm25Settings(), map_shards).mapped.idf)


class _Sentences(dict[str, str]):
    """Sentences by an id of their own, as a source of texts."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [self[passage_id] for passage_id in passage_ids]


def model_rule(
    checkpoint: Checkpoint,
    config: RankingConfig | None = None,
    name: str = "",
    spread: Spread | None = None,
) -> Rule:
    """Return the rule by a model, which scores each sentence alone for the query, an encoder by the
    similarity of their vectors.

    ``spread`` has other processes score.
    """
    from positionbias.ranking.rerank import rescore_by_blocks

    def score(asked: Sequence[Asked]) -> list[np.ndarray]:
        ids: dict[str, str] = {}  # by distinct sentence, each read once
        for one in asked:
            for sentence in one.sentences:
                ids.setdefault(sentence, made_id(one.query_id, len(ids)))
        texts = _Sentences(zip(ids.values(), ids, strict=True))
        names = [list(dict.fromkeys(ids[sentence] for sentence in one.sentences)) for one in asked]
        lists = zip(asked, names, strict=True)
        candidates = Run(
            "sentences", ((one.query_id, own, -np.arange(len(own))) for one, own in lists)
        )
        queries = [Query(one.query_id, one.query) for one in asked]
        told = "choosing evidence"
        with own_ids({}):
            run = rescore_by_blocks(
                checkpoint,
                texts,
                queries,
                candidates,
                spread,
                name=checkpoint.name,
                config=config or RankingConfig(),
                description=told,
                carried=True,
            ).run
        found = []
        for one in asked:
            by_id = dict(zip(run[one.query_id].passage_ids, run[one.query_id].scores, strict=True))
            found.append(np.array([by_id[ids[sentence]] for sentence in one.sentences], np.float64))
        return found

    return Rule(name or checkpoint.name, score)


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
    asked = [Asked(query_id, texts[query_id], sentences(judged[query_id][1])) for query_id in drawn]
    found: dict[str, Evidence] = {}
    for one, scores in zip(asked, rule.score(asked) if asked else (), strict=True):
        place = chosen_place(scores, settings.seed, one.query_id, sparse=rule.sparse)
        if place is not None:
            passage_id, text = judged[one.query_id]
            span = Span(*sentence_spans(text)[place])
            passage = TokenisedPassage(text, settings.matching)
            first, length = passage.words_at(span)
            found[one.query_id] = Evidence(
                one.query_id, passage_id, *span, first, length, len(passage)
            )
    counts["queries with evidence"] = len(found)
    counts["queries whose passage has one sentence"] = sum(
        math.isnan(item.relative) for item in found.values()
    )
    counts[NO_TERM] = len(drawn) - len(found)
    if not found:
        raise InputError(
            f"{collection.path}: wanted sentences chosen by {rule.name} in relevant passages of "
            f"split {split!r}; found none; audit a split with judgements (posbias show lists them)"
        )
    return FoundEvidence(found, dict(counts))


def _judged(
    collection: Collection, qrels: Sequence[Qrel], texts: Mapping[str, str], level: int
) -> dict[str, tuple[str, str]]:
    """Return the one passage of each query, with its text."""
    relevant = [qrel for qrel in qrels if qrel.grade >= level and qrel.query_id in texts]
    ids = sorted({qrel.passage_id for qrel in relevant})
    absent = set(collection.absent(ids))
    ids = [passage_id for passage_id in ids if passage_id not in absent]
    several = {
        passage_id: len(sentence_spans(text)) > 1
        for passage_id, text in _texts(collection, ids)
        if text.strip()
    }
    best: dict[str, tuple[int, bool, str]] = {}
    for qrel in relevant:
        if qrel.passage_id in several:
            key = (-qrel.grade, not several[qrel.passage_id], qrel.passage_id)
            best[qrel.query_id] = min(key, best.get(qrel.query_id, key))
    kept = dict(_texts(collection, sorted({key[2] for key in best.values()})))
    return {query_id: (key[2], kept[key[2]]) for query_id, key in best.items()}


def _texts(collection: Collection, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    block = 4_096  # passages looked up at once
    for first in range(0, len(ids), block):
        part = ids[first : first + block]
        yield from zip(part, collection.texts(part), strict=True)


class Wrong(NamedTuple):
    """The shares of SQuAD's and MS MARCO's questions for which a rule chooses a sentence without
    the answer (``benchmarks/results/evidence_rule.json``).
    """

    squad: float
    msmarco: float


MEASURED = {BY_TERMS: Wrong(0.199, 0.377), "minilm": Wrong(0.229, 0.280)}


def error_note(rule: str) -> str:
    """Report the rule's error rate, where measured.

    >>> error_note("a model of mine")
    'Uncorrected for the errors of a model of mine in choosing the sentence, which were not
    measured.'
    """
    wrong = MEASURED.get(rule)
    if wrong is None:
        return (
            f"Uncorrected for the errors of {rule} in choosing the sentence, which were not "
            "measured."
        )
    return (
        f"Uncorrected for the errors of {rule} in choosing the sentence: it lacks the answer for "
        f"{percent(wrong.squad, 0)} of SQuAD's questions and {percent(wrong.msmarco, 0)} of those "
        "with marked spans in MS MARCO; on other text this may differ."
    )

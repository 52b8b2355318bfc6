"""Score the candidates of queries with any kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.progress import Progress
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.protocols import AnyRanker, PassageEncoder, Ranker, Served, VariantScorer
from positionbias.ranking.cached import score_cached
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.pairs import score_by_pair
from positionbias.ranking.scored import PassageTexts, Scored
from positionbias.ranking.texts import score_texts
from positionbias.ranking.variants import score_variants

_FOUND_BLOCK = 1 << 16  # passages looked up at once


def check_passages(collection: Collection, passage_ids: Sequence[str]) -> None:
    """Check that the collection has all of these passages.

    Raises:
        InputError: it has not; one is named.
    """
    for start in range(0, len(passage_ids), _FOUND_BLOCK):
        collection.rows(passage_ids[start : start + _FOUND_BLOCK])


def known_queries(run: Run, queries: Sequence[Query]) -> dict[str, str]:
    """Return the text of each query in the run, in the run's order.

    Raises:
        InputError: the run names a query that is not in the split.
    """
    texts = {query.query_id: query.text for query in queries}
    unknown = [query_id for query_id in run if query_id not in texts]
    if unknown:
        raise InputError(
            f"run {run.name!r}: wanted queries of the split; found {len(unknown):,} unknown, the "
            f"first {unknown[0]!r}; check --split and that the run belongs to this collection"
        )
    return {query_id: texts[query_id] for query_id in run}


def score_candidates(
    model: AnyRanker,
    collection: PassageTexts,
    texts: Mapping[str, str],
    candidates: Run,
    config: RankingConfig,
    bar: Progress,
    *,
    name: str,
    seen: np.ndarray | None = None,
) -> Scored:
    """Score all candidates as ``rescore``; ``texts`` are the queries' texts by id.

    ``seen`` is true for the passages ``(candidates.passage_ids,)`` that were encoded and counted
    before.
    """
    if isinstance(model, Served):
        encoded = [len(texts) + len(candidates.passage_ids)]
        model.begin(
            encoded
            if isinstance(model, PassageEncoder)
            else [len(candidates.numbers(query_id)) for query_id in texts]
        )
    if isinstance(model, VariantScorer):
        base = model.base
        return score_variants(
            model,
            collection,
            bar,
            lambda variants, own: score_candidates(
                base, variants, texts, candidates, config, own, name=name, seen=seen
            ),
        )
    if isinstance(model, PassageEncoder):
        return score_cached(model, collection, texts, candidates, config, bar, seen)
    if isinstance(model, Ranker):
        return score_by_pair(model, collection, texts, candidates, config, bar)
    return score_texts(model, collection, texts, candidates, config, bar, name=name)

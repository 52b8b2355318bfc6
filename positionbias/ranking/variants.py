"""Score with a model over variants of each passage, such as its rotations, and pool the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.models.protocols import VariantScorer
from positionbias.ranking.scored import PassageTexts, Scored

__all__ = ["score_variants", "times_read"]


@dataclass(frozen=True, slots=True)
class VariantTexts:
    """One variant of every passage of a source of texts: the ``place``-th of a model's."""

    source: PassageTexts
    model: VariantScorer
    place: int

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the variants of these passages."""
        return [self.model.variants(text)[self.place] for text in self.source.texts(passage_ids)]


def times_read(model: object) -> int:
    """Return how often each pair is scored: once for each variant, if it has such."""
    return model.times if isinstance(model, VariantScorer) else 1


def score_variants(model: VariantScorer, source: PassageTexts, score: Callable[[PassageTexts], Scored]) -> Scored:
    """Return pooled scores of all candidates; ``score`` scores them once with the model itself, over a source of texts.

    Each variant is scored over all candidates in turn, so a listwise scorer sees whole lists. Counts are sums over the variants, but for
    queries without words.
    """
    done = Scored()
    pooled: dict[str, np.ndarray] = {}
    for place in range(model.times):
        one = score(VariantTexts(source, model, place))
        for query_id, scores in one.scores.items():
            exact = scores.astype(np.float64)
            if query_id not in pooled:
                pooled[query_id] = exact
            elif model.maximum:
                np.maximum(pooled[query_id], exact, out=pooled[query_id])
            else:
                pooled[query_id] += exact
        done.truncated += one.truncated
        done.again += one.again
        done.empty_queries = one.empty_queries
        if one.batch_tokens is not None:
            done.batch_tokens = min(one.batch_tokens, done.batch_tokens or one.batch_tokens)
    divisor = 1 if model.maximum else model.times
    done.scores = {query_id: (scores / divisor).astype(np.float32) for query_id, scores in pooled.items()}
    return done

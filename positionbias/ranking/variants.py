"""Score with a model over variants of each passage, such as its rotations, and pool the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.progress import Progress
from positionbias.models.protocols import VariantScorer
from positionbias.ranking.scored import PassageTexts, Scored


@dataclass(frozen=True, slots=True)
class VariantTexts:
    """One variant of every passage of a source of texts: the ``place``-th of a model's."""

    source: PassageTexts
    model: VariantScorer
    place: int

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the variants of these passages."""
        return [self.model.variants(text)[self.place] for text in self.source.texts(passage_ids)]


class _Share:
    """A progress bar for one of ``times`` readings of each pair: a pair counts when it was read so
    often.
    """

    def __init__(self, bar: Progress, times: int) -> None:
        self._bar, self._times, self._read, self._told = bar, times, 0, 0

    def advance(self, amount: int = 1) -> None:
        self._read += amount
        done = self._read // self._times
        self._bar.advance(done - self._told)
        self._told = done

    def note(self, text: str) -> None:
        self._bar.note(text)


def score_variants(
    model: VariantScorer,
    source: PassageTexts,
    bar: Progress,
    score: Callable[[PassageTexts, Progress], Scored],
) -> Scored:
    """Return pooled scores of all candidates; ``score`` scores them once with the model itself,
    over a source of texts.

    Each variant is scored over all candidates in turn, so a listwise scorer sees whole lists.
    Counts are those of one variant, of what is cut those of the variant with the most.
    """
    done, own = Scored(), _Share(bar, model.times)
    pooled: dict[str, np.ndarray] = {}
    for place in range(model.times):
        one = score(VariantTexts(source, model, place), own)
        for query_id, scores in one.scores.items():
            exact = scores.astype(np.float64)
            if query_id not in pooled:
                pooled[query_id] = exact
            elif model.maximum:
                np.maximum(pooled[query_id], exact, out=pooled[query_id])
            else:
                pooled[query_id] += exact
        done.truncated = max(done.truncated, one.truncated)
        done.again, done.empty = one.again, one.empty  # the same of each
        if one.batch_tokens is not None:
            done.batch_tokens = min(one.batch_tokens, done.batch_tokens or one.batch_tokens)
    divisor = 1 if model.maximum else model.times
    done.scores = {
        query_id: (scores / divisor).astype(np.float32) for query_id, scores in pooled.items()
    }
    return done

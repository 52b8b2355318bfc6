"""Encode texts to arrays with a single-vector model, in batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from positionbias.core.errors import SettingError
from positionbias.core.progress import Progress
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import SingleVector
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.config import RankingConfig

__all__ = ["SingleVectors", "length_one"]

_SIMILARITIES = ("cosine", "dot")
_Encode = Callable[[Sequence[Any]], tuple[Tensor, Tensor]]


class SingleVectors:
    """A model that encodes passages and queries; ``flag`` is the option that named the model, for errors.

    Raises:
        SettingError: the model does not give one vector a text, or compares vectors by a distance.
    """

    def __init__(self, checkpoint: Checkpoint, config: RankingConfig | None = None, *, flag: str = "--model") -> None:
        model = checkpoint.model
        if not isinstance(model, SingleVector):
            raise SettingError(
                f"{flag}: wanted a model with one vector a text (bert_dot, a bi-encoder, a function texts → array); found {checkpoint.name}, of kind "
                f"{model.kind}; give another"
            )
        if model.vector_similarity not in _SIMILARITIES:
            raise SettingError(
                f"{flag}: wanted a model that compares vectors by {' or '.join(_SIMILARITIES)}; found {checkpoint.name}, by "
                f"{model.vector_similarity}; give another"
            )
        self.model: SingleVector = model
        self.similarity = str(model.vector_similarity)
        self.config = config or RankingConfig()
        self.budget = TokenBudget(self.config.tokens(model.device))

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors ``(n, dim)`` float32 of queries."""
        return self.encode(self.model.read_queries(texts), self.model.encode_queries)

    def passages(self, rows: Sequence[Any], bar: Progress | None = None) -> np.ndarray:
        """Return vectors ``(n, dim)`` float32 of passages read by ``model.read_passages``."""
        return self.encode(rows, self.model.encode_passages, bar)

    def encode(self, rows: Sequence[Any], encode: _Encode, bar: Progress | None = None) -> np.ndarray:
        """Return vectors ``(n, dim)`` float32 of texts as the model reads them."""
        out = np.empty((len(rows), self.model.dimension), np.float32)

        def work(batch: np.ndarray) -> None:
            vectors, _ = encode([rows[index] for index in batch])
            out[batch] = vectors[:, 0].float().cpu().numpy()
            if bar is not None:
                bar.advance(len(batch))

        with torch.inference_mode(), self.config.autocast(self.model.device):
            self.budget.work(np.fromiter(map(len, rows), np.int64, len(rows)), work)
        return out


def length_one(vectors: np.ndarray) -> np.ndarray:
    """Scale the vectors to length 1, so that inner products are cosines; zeros stay zeros. Lengths are summed in float64."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    return np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0).astype(np.float32)

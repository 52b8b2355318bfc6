"""Encode texts to arrays with a single-vector model, in batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from positionbias.core.errors import SettingError
from positionbias.core.progress import Progress
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.packed_models import PackedVectors, packed_vectors
from positionbias.models.protocols import SingleVector
from positionbias.models.token_rows import TokenRows
from positionbias.models.transfer import Fetched
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.loading import Elsewhere, Loading

_SIMILARITIES = ("cosine", "dot")
_Encode = Callable[[Sequence[Any]], tuple[Tensor, Tensor]]


class SingleVectors:
    """A model that encodes passages and queries; ``flag`` is the option that named the model, for
    errors.

    Raises:
        SettingError: the model does not give one vector a text, or compares vectors by a distance.
    """

    def __init__(
        self, checkpoint: Checkpoint, config: RankingConfig | None = None, *, flag: str = "--model"
    ) -> None:
        model = checkpoint.model
        if not isinstance(model, SingleVector):
            raise SettingError(
                f"{flag}: wanted a model with one vector a text (bert_dot, a bi-encoder, a "
                f"function texts → array); found {checkpoint.name}, of kind {model.kind}; give "
                "another"
            )
        if model.vector_similarity not in _SIMILARITIES:
            raise SettingError(
                f"{flag}: wanted a model that compares vectors by {' or '.join(_SIMILARITIES)}; "
                f"found {checkpoint.name}, by {model.vector_similarity}; give another"
            )
        self.model: SingleVector = model
        self.similarity = str(model.vector_similarity)
        self.config = config or RankingConfig()
        self.budget = TokenBudget(self.config.tokens(model.device))

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors ``(n, dim)`` float32 of queries."""
        return self.encode(self.model.read_queries(texts), self.model.encode_queries)

    def read_passages(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return passages as the model reads them, in the form that ``passages`` takes fastest."""
        rows = self.model.read_passages(texts)
        return rows if self._packed is None else TokenRows.of(rows)

    def passages(self, rows: Sequence[Any], bar: Progress | None = None) -> np.ndarray:
        """Return vectors ``(n, dim)`` float32 of passages read by ``model.read_passages``."""
        return self.begin_passages(rows, bar)()

    def begin_passages(
        self, rows: Sequence[Any], bar: Progress | None = None
    ) -> Callable[[], np.ndarray]:
        """Begin ``passages``. The function returned gives the vectors; a GPU computes until it is
        called.
        """
        if self._packed is not None:
            return self._begin_packed(self._packed, rows, bar)
        found = self.encode(rows, self.model.encode_passages, bar)
        return lambda: found

    @property
    def packs(self) -> bool:
        """True if passages are encoded packed, on a GPU, while the host goes on."""
        return self._packed is not None

    @cached_property
    def _packed(self) -> PackedVectors | None:
        return packed_vectors(self.model, self.config.dtype(self.model.device))

    @torch.inference_mode()
    def _begin_packed(
        self, packed: PackedVectors, rows: Sequence[Any], bar: Progress | None
    ) -> Callable[[], np.ndarray]:
        texts = rows if isinstance(rows, TokenRows) else TokenRows.of(rows)
        source = packed.source(texts)
        found: list[tuple[np.ndarray, Tensor]] = []

        def work(batch: np.ndarray) -> None:
            found.append((batch, packed.encode(source, batch, texts.lengths[batch])))
            if bar is not None:
                bar.advance(len(batch))

        self.budget.work(texts.lengths, work)
        if not found:
            return lambda: np.empty((0, self.model.dimension), np.float32)
        place = np.argsort(np.concatenate([batch for batch, _ in found]))
        fetched = Fetched(torch.cat([vectors for _, vectors in found]))
        return lambda: fetched.numpy()[place]

    def encode(
        self, rows: Sequence[Any], encode: _Encode, bar: Progress | None = None
    ) -> np.ndarray:
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
    """Scale the vectors to length 1, so that inner products are cosines; zeros stay zeros. Lengths
    are summed in float64.
    """
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    return np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class EncoderElsewhere:
    """How another process gets the encoder."""

    load: Elsewhere
    config: RankingConfig

    @staticmethod
    def of(loading: Loading, model: Checkpoint, config: RankingConfig) -> EncoderElsewhere:
        """Return how to get a model that was loaded so."""
        return EncoderElsewhere(Elsewhere.of(loading, model), config)

    def __call__(self) -> SingleVectors:
        return SingleVectors(self.load(), self.config)

"""BERT_CAT and BERT_DOT over packed texts, for scoring and encoding where the device has fused
attention for them.

They hold a copy of the weights in the precision of the products, so they are made for a step whose
weights do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.cls_only import HEADS
from positionbias.models.packed import PackedBatch, PackedEncoder, packed_encoder
from positionbias.models.packed_attention import packs_on
from positionbias.models.token_rows import TokenRows, TokenSource, cut_pairs


@dataclass(frozen=True, slots=True)
class PackedPairs:
    """A BERT_CAT that scores packed pairs."""

    model: BertCat
    encoder: PackedEncoder

    def source(self, queries: TokenRows, passages: TokenRows) -> TokenSource:
        """Send both sides of pairs to the device."""
        return TokenSource(self.model.encoder.template, (queries, passages), self.model.device)

    def batch(
        self,
        source: TokenSource,
        queries: np.ndarray,
        passages: np.ndarray,
        lengths: tuple[np.ndarray, np.ndarray],
    ) -> PackedBatch:
        """Pack pairs of a source by their indices ``(n,)``; ``lengths`` are those of both sides,
        ``(n,)`` each, before the cut.
        """
        return source.pack((queries, passages), cut_pairs(*lengths, self.model.room))

    @torch.inference_mode()
    def scores(self, batch: PackedBatch) -> Tensor:
        """Return scores ``(n,)`` in full precision."""
        states = self.encoder.cls(batch).float()
        model = self.model
        if model.head is not None:
            return model.scores_of(states)
        whole = model.encoder.model
        return HEADS[type(whole).__name__](whole, states.unsqueeze(1))[:, 0]


def packed_pairs(model: Any, dtype: torch.dtype) -> PackedPairs | None:
    """Return a model's form for packed pairs in ``dtype``; None if it has none, or its device no
    attention for them.
    """
    if type(model) is not BertCat or not packs_on(model.device, dtype):
        return None
    if model.head is None and type(model.encoder.model).__name__ not in HEADS:
        return None
    encoder = packed_encoder(model.encoder.backbone, dtype)
    return None if encoder is None else PackedPairs(model, encoder)


@dataclass(frozen=True, slots=True)
class PackedVectors:
    """A BERT_DOT that encodes packed passages."""

    model: BertDot
    encoder: PackedEncoder

    def source(self, passages: TokenRows) -> TokenSource:
        """Send passages to the device."""
        return TokenSource(self.model.encoder.template, (passages,), self.model.device)

    @torch.inference_mode()
    def encode(self, source: TokenSource, indices: np.ndarray, lengths: np.ndarray) -> Tensor:
        """Return vectors ``(n, dim)`` in full precision of a source's passages by their indices and
        lengths ``(n,)``.
        """
        config = self.model.config
        packed = source.pack((indices,), (np.minimum(lengths, self.model.room),))
        if config.pooling == "cls":
            pooled = self.encoder.cls(packed).float()
        else:
            pooled = _means(self.encoder.states(packed), packed)
        return F.normalize(pooled, dim=-1) if config.normalize else pooled


def packed_vectors(model: Any, dtype: torch.dtype) -> PackedVectors | None:
    """Return a model's form for packed texts in ``dtype``; None if it has none, or its device no
    attention for them.
    """
    if type(model) is not BertDot or not packs_on(model.device, dtype):
        return None
    encoder = packed_encoder(model.encoder.backbone, dtype)
    return None if encoder is None else PackedVectors(model, encoder)


def _means(states: Tensor, batch: PackedBatch) -> Tensor:
    """Return the mean state of each text, ``(n, dim)``, in full precision."""
    lengths = batch.offsets.diff()
    sums = torch.segment_reduce(states.float(), "sum", lengths=lengths.long(), unsafe=True)
    return sums / lengths.unsqueeze(1)

"""TK: shallow Transformers over word vectors, gated, then kernel pooling (position-bias paper, Eqs.
4–6).

Where the paper is silent, settings follow the authors' published code: head size separate from
width, positions as a sine half beside a cosine half, one gate for both sides. Dropout is 0, as
there. Without positions, or with relative ones, a term's vector does not depend on its position in
the text, which makes a baseline for rotating the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.models.attention import RelativePositions, attend
from positionbias.models.kernels import KernelPooling, cosine_matrix
from positionbias.models.linear import FastLinear, linear
from positionbias.models.offset import position_offset
from positionbias.models.protocols import Tokens
from positionbias.models.shapes import TKConfig
from positionbias.models.word_model import WordModel
from positionbias.text.vocabulary import PADDING, Vocabulary

PASSAGE_START = 500  # first position of a passage, as in the paper


def sinusoid_positions(length: int, dimension: int) -> Tensor:
    """Compute position encodings ``(length, dimension)``: sine half, then cosine half, time scales
    1 … 10⁴ over dimension/2 steps.
    """
    half = dimension // 2
    rates = torch.exp(-math.log(1e4) / (half - 1) * torch.arange(half, dtype=torch.float64))
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * rates  # (length, half)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


class TransformerLayer(nn.Module):
    """Self-attention and feed-forward, each added and then normalised (post-norm); no dropout."""

    def __init__(
        self,
        dimension: int,
        heads: int,
        head_size: int,
        feed_forward: int,
        relative_distance: int = 0,
    ) -> None:
        """``relative_distance`` 0: attention without relative positions."""
        super().__init__()
        self.heads, self.head_size = heads, head_size
        self.query = FastLinear(dimension, heads * head_size)
        self.key = FastLinear(dimension, heads * head_size)
        self.value = FastLinear(dimension, heads * head_size)
        self.relative = (
            RelativePositions(head_size, relative_distance) if relative_distance else None
        )
        self.output = FastLinear(heads * head_size, dimension)
        self.norm_attention = nn.LayerNorm(dimension)
        self.expand = FastLinear(dimension, feed_forward)
        self.contract = FastLinear(feed_forward, dimension)
        self.norm_feed_forward = nn.LayerNorm(dimension)

    def forward(self, terms: Tensor, key_mask: Tensor) -> Tensor:
        """``terms (batch, length, dim)``, ``key_mask (batch, length)``: True where attention may
        look.
        """
        batch, length, _ = terms.shape
        shape = (batch, length, self.heads, self.head_size)
        # one product for all three
        parts = (self.query, self.key, self.value)
        weight = torch.cat([part.weight for part in parts])
        bias = torch.cat([part.bias for part in parts])
        query, key, value = (
            rows.view(shape).transpose(1, 2)
            for rows in linear(terms, weight, bias).chunk(3, dim=-1)
        )
        # autocast would force its fused attention, slow in half precision
        with torch.autocast("cpu", enabled=False):
            # (batch, heads, length, head_size)
            mixed = attend(query, key, value, key_mask, self.relative)
        mixed = mixed.transpose(1, 2).reshape(batch, length, self.heads * self.head_size)
        terms = self.norm_attention(terms + self.output(mixed))
        return self.norm_feed_forward(terms + self.contract(F.relu(self.expand(terms))))


class TK(WordModel):
    """The model. It reads word numbers of its vocabulary; 0 is padding and is masked everywhere."""

    kind: ClassVar[str] = "tk"
    shape: ClassVar[type] = TKConfig
    config: TKConfig
    positions: Tensor | None

    def __init__(
        self, config: TKConfig, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None
    ) -> None:
        super().__init__(config, vocabulary, word_vectors)
        length = max(config.query_length, PASSAGE_START + config.passage_length)
        sinusoid = (
            sinusoid_positions(length, config.dimension) if config.positions == "sinusoid" else None
        )
        self.register_buffer("positions", sinusoid, persistent=False)
        distance = config.relative_distance if config.positions == "relative" else 0
        shape = (config.dimension, config.heads, config.head_size, config.feed_forward, distance)
        self.layers = nn.ModuleList(TransformerLayer(*shape) for _ in range(config.layers))
        self.gate = nn.Parameter(torch.tensor(0.5))
        self.pooling = KernelPooling()

    # -- contextualising ---------------------------------------------------------------------------

    def query_vectors(self, numbers: Tensor) -> Tensor:
        """Contextualise query terms: ``(batch, query_len) → (batch, query_len, dim)``."""
        return self._contextualize(numbers, 0)

    def passage_vectors(self, numbers: Tensor) -> Tensor:
        """Contextualise passage terms: ``(batch, passage_len) → (batch, passage_len, dim)``;
        positions start at 500.
        """
        return self._contextualize(numbers, PASSAGE_START + position_offset())

    def _contextualize(self, numbers: Tensor, start: int) -> Tensor:
        embedded = self.embedding(numbers)  # (batch, length, dim)
        mask = numbers != PADDING
        # an empty text attends to padding: finite, and masked later
        key_mask = mask | ~mask.any(dim=1, keepdim=True)
        context = embedded
        if self.positions is not None:
            context = embedded + self._places(start, numbers.shape[1])
        for layer in self.layers:
            context = layer(context, key_mask)
        return self.gate * embedded + (1 - self.gate) * context.to(embedded.dtype)

    def _places(self, first: int, count: int) -> Tensor:
        """Return the encodings of positions ``(count, dim)``; offsets in training may go beyond
        those kept.
        """
        assert self.positions is not None
        if first + count <= len(self.positions):
            return self.positions[first : first + count]
        return sinusoid_positions(first + count, self.dimension)[first:].to(self.positions)

    # -- scoring -----------------------------------------------------------------------------------

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(batch,)`` from term vectors ``(batch, len, dim)`` and masks; a query
        batch of 1 serves all passages.
        """
        # the kernels are narrow (σ = 0.1), so cosines and the rest stay in full precision
        with torch.autocast(query.device.type, enabled=False):
            # (batch, query_len, passage_len)
            cosines = cosine_matrix(query.float(), passage.float())
            return self.pooling(cosines, query_mask, passage_mask)

    # -- its term vectors --------------------------------------------------------------------------

    @property
    def term_layers(self) -> tuple[int]:
        """Implement ``TermEncoder.term_layers``: only the gated terms that enter the cosine
        matrix.
        """
        return (self.config.layers,)

    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """Implement ``TermEncoder.term_vectors``: ``(1, n, longest, dim)``."""
        return self.encode_passages(passages)[0].unsqueeze(0)

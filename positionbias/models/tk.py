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
from positionbias.models.linear import FastLinear
from positionbias.models.offset import position_offset
from positionbias.models.protocols import Tokens
from positionbias.models.shapes import TKConfig
from positionbias.models.tk_pack import Pack, Workspace
from positionbias.models.tk_packed import contextualize, cosines
from positionbias.models.tk_weights import Setting
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

    def in_order(self) -> list[Tensor]:
        """Return weights and biases in the order of ``packed_weights.PARTS``."""
        norm, last = self.norm_attention, self.norm_feed_forward
        parts = (
            self.query,
            self.key,
            self.value,
            self.output,
            norm,
            self.expand,
            self.contract,
            last,
        )
        return [parameter for part in parts for parameter in (part.weight, part.bias)]

    def forward(self, terms: Tensor, key_mask: Tensor) -> Tensor:
        """``terms (batch, length, dim)``, ``key_mask (batch, length)``: True where attention may
        look.
        """
        batch, length, _ = terms.shape
        shape = (batch, length, self.heads, self.head_size)
        query, key, value = (
            part(terms).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
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
        self._spaces: list[Workspace] = []

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
        if self._packs(numbers) and not torch.is_grad_enabled():
            pack = Pack.of((numbers, 0))
            shape = (*numbers.shape, self.dimension)
            return contextualize(
                pack, self._parameters_of(pack), self._setting((start, numbers.shape[1])), shape
            )
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

    # -- packed, on a CPU --------------------------------------------------------------------------

    def _packs(self, numbers: Tensor) -> bool:
        if not numbers.is_cpu or not self.layers or self.config.positions == "relative":
            return False
        half = (
            torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") != torch.bfloat16
        )
        return not half and self.gate.dtype in (torch.float32, torch.float64)

    def _setting(self, *places: tuple[int, int]) -> Setting:
        """``places``: the first position and the number of positions of each side."""
        config, weight = self.config, self.embedding.weight
        if self.positions is None:
            positions = weight.new_zeros(sum(count for _, count in places), self.dimension)
        else:
            positions = torch.cat([self._places(first, count) for first, count in places]).to(
                weight.dtype
            )
        precision = torch.bfloat16 if torch.is_autocast_enabled("cpu") else weight.dtype
        epsilon = self._stack()[0].norm_attention.eps
        return Setting(positions, config.heads, config.head_size, precision, epsilon, self._spaces)

    def _parameters_of(self, pack: Pack) -> list[Tensor]:
        return [
            self.embedding(pack.words),
            self.gate,
            *(p for layer in self._stack() for p in layer.in_order()),
        ]

    def _stack(self) -> list[TransformerLayer]:
        return [layer for layer in self.layers if isinstance(layer, TransformerLayer)]

    def forward(self, queries: Tensor, passages: Tensor) -> Tensor:
        """Return scores ``(k·n,)`` as ``WordModel.forward`` does; on a CPU of texts without
        padding.
        """
        if not self._packs(queries):
            return super().forward(queries, passages)
        pack = Pack.of((queries, 0), (passages, queries.shape[1]))
        asked = torch.arange(len(passages)) % max(1, len(queries))
        pairs = [(query, len(queries) + number) for number, query in enumerate(asked.tolist())]
        setting = self._setting(
            (0, queries.shape[1]),
            (PASSAGE_START + position_offset(), passages.shape[1]),
        )
        shape = (len(passages), queries.shape[1], passages.shape[1])
        found = cosines(pack, pairs, shape, self._parameters_of(pack), setting)
        with torch.autocast("cpu", enabled=False):
            return self.pooling(found, (queries != PADDING)[asked], passages != PADDING)

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

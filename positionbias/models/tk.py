"""TK: shallow Transformers over word vectors, gated, then kernel pooling (position-bias paper, Eqs. 4–6).

Settings follow the authors' published code where the paper is silent: head size apart from width, positions as
a sine half beside a cosine half, one gate for both sides. Dropout is 0, as there. Without positions, or with relative ones, a
term's vector does not depend on where in a text its neighbourhood stands: what rotating the data is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import SettingError
from positionbias.core.files import read_json, write_json
from positionbias.models.attention import RelativePositions, attend
from positionbias.models.kernels import KERNEL_LAYOUTS, KernelLayout, KernelPooling, cosine_matrix
from positionbias.models.linear import FastLinear
from positionbias.models.protocols import Role, Tokens, pad_rows
from positionbias.models.tensors import load_weights, save_tensors
from positionbias.text.vocabulary import PADDING, Vocabulary

__all__ = ["POSITIONS", "TK", "Positions", "TKConfig", "TransformerLayer", "sinusoid_positions"]

Positions = Literal["sinusoid", "none", "relative"]
POSITIONS: tuple[Positions, ...] = get_args(Positions)
GROUP = 8  # passages taken together on a CPU: few enough that what a layer makes of them stays in the processor's cache
WIDTH = 8  # their width is a multiple of it: oneDNN prepares a product of new size for longer than it computes it


@dataclass(frozen=True, slots=True)
class TKConfig:
    """TK's shape.

    ``positions``: ``sinusoid`` (the paper), ``none``, or ``relative`` (Shaw et al. 2018, up to ``relative_distance`` words apart;
    16 as there). ``passage_start``, where a passage's positions begin, is the sinusoid's. ``embedding_deviation`` is used where no
    word vectors are given [decision].
    """

    dimension: int = 300
    layers: int = 2
    heads: int = 16
    head_size: int = 32
    feed_forward: int = 100
    kernels: int = 11
    kernel_layout: KernelLayout = "reference"
    kernel_sigma: float = 0.1
    positions: Positions = "sinusoid"
    relative_distance: int = 16
    query_length: int = 30
    passage_length: int = 200
    passage_start: int = 500
    embedding_deviation: float = 0.4

    def __post_init__(self) -> None:
        sizes = ("dimension", "layers", "heads", "head_size", "feed_forward", "query_length", "passage_length")
        for name in (*sizes, "relative_distance"):
            if getattr(self, name) < 1:
                raise SettingError(f"--{name.replace('_', '-')}: wanted at least 1; found {getattr(self, name)}; raise it")
        if self.dimension % 2 or self.dimension < 4:
            raise SettingError(f"--dimension: wanted an even number from 4; found {self.dimension}; positions need two halves")
        if self.positions not in POSITIONS:
            raise SettingError(f"--positions: wanted {', '.join(POSITIONS)}; found {self.positions!r}; pick one")
        if self.kernels < 3 or self.kernel_layout not in KERNEL_LAYOUTS:
            known = " or ".join(KERNEL_LAYOUTS)
            raise SettingError(
                f"--kernel-layout: wanted at least 3 kernels laid out as {known}; found {self.kernels}, {self.kernel_layout}"
            )
        if not 0 < self.kernel_sigma < math.inf:
            raise SettingError(f"kernel_sigma: wanted a number above 0; found {self.kernel_sigma}; the paper's is 0.1")
        if not 0 <= self.embedding_deviation < math.inf:
            raise SettingError(f"--embedding-deviation: wanted a number from 0; found {self.embedding_deviation}; raise it")
        if self.passage_start < 0:
            raise SettingError(f"passage_start: wanted a position from 0; found {self.passage_start}; the paper's is 500")


def sinusoid_positions(length: int, dimension: int) -> Tensor:
    """Position encodings ``(length, dimension)``: sine half, then cosine half, time scales 1 … 10⁴ over dimension/2 steps."""
    half = dimension // 2
    rates = torch.exp(-math.log(1e4) / (half - 1) * torch.arange(half, dtype=torch.float64))
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * rates  # (length, half)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


class TransformerLayer(nn.Module):
    """Self-attention and feed-forward, each added and then normalised (post-norm); no dropout."""

    def __init__(self, dimension: int, heads: int, head_size: int, feed_forward: int, relative_distance: int = 0) -> None:
        """``relative_distance`` 0: attention without positions of its own."""
        super().__init__()
        self.heads, self.head_size = heads, head_size
        self.query = FastLinear(dimension, heads * head_size)
        self.key = FastLinear(dimension, heads * head_size)
        self.value = FastLinear(dimension, heads * head_size)
        self.relative = RelativePositions(head_size, relative_distance) if relative_distance else None
        self.output = FastLinear(heads * head_size, dimension)
        self.norm_attention = nn.LayerNorm(dimension)
        self.expand = FastLinear(dimension, feed_forward)
        self.contract = FastLinear(feed_forward, dimension)
        self.norm_feed_forward = nn.LayerNorm(dimension)

    def forward(self, terms: Tensor, key_mask: Tensor) -> Tensor:
        """``terms (batch, length, dim)``, ``key_mask (batch, length)``: True where attention may look."""
        batch, length, _ = terms.shape
        shape = (batch, length, self.heads, self.head_size)
        query, key, value = (part(terms).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value))
        with torch.autocast("cpu", enabled=False):  # autocast would force its fused attention, slow in half precision
            mixed = attend(query, key, value, key_mask, self.relative)  # (batch, heads, length, head_size)
        mixed = mixed.transpose(1, 2).reshape(batch, length, self.heads * self.head_size)
        terms = self.norm_attention(terms + self.output(mixed))
        return self.norm_feed_forward(terms + self.contract(F.relu(self.expand(terms))))


class TK(nn.Module):
    """The model. It reads word numbers of its vocabulary; 0 is padding and is masked everywhere."""

    kind: ClassVar[str] = "tk"
    positions: Tensor | None

    def __init__(self, config: TKConfig, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None) -> None:
        """``word_vectors (len(vocabulary), dimension)`` start the embedding; none: normal, with a stated deviation."""
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.embedding = nn.Embedding(len(vocabulary), config.dimension, padding_idx=PADDING, sparse=True)
        with torch.no_grad():
            if word_vectors is None:
                self.embedding.weight.normal_(0.0, config.embedding_deviation)
            else:
                self.embedding.weight.copy_(torch.from_numpy(np.asarray(word_vectors, dtype=np.float32)))
            self.embedding.weight[PADDING] = 0.0
        length = max(config.query_length, config.passage_start + config.passage_length)
        sinusoid = sinusoid_positions(length, config.dimension) if config.positions == "sinusoid" else None
        self.register_buffer("positions", sinusoid, persistent=False)
        distance = config.relative_distance if config.positions == "relative" else 0
        shape = (config.dimension, config.heads, config.head_size, config.feed_forward, distance)
        self.layers = nn.ModuleList(TransformerLayer(*shape) for _ in range(config.layers))
        self.gate = nn.Parameter(torch.tensor(0.5))
        self.pooling = KernelPooling(config.kernel_layout, config.kernels, config.kernel_sigma)

    # -- reading ------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The most words it reads of a passage."""
        return self.config.passage_length

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Queries' word numbers, cut at ``query_length``."""
        return [self.vocabulary.encode(text, self.config.query_length) for text in texts]

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Passages' word numbers, cut at ``passage_length``."""
        return [self.vocabulary.encode(text, self.config.passage_length) for text in texts]

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """As ``Ranker.inputs``: padded word numbers of both sides."""
        return {"queries": pad_rows(queries), "passages": pad_rows(passages)}

    # -- contextualising ----------------------------------------------------------------------------

    def query_vectors(self, numbers: Tensor) -> Tensor:
        """Contextualised query terms: ``(batch, query_len) → (batch, query_len, dim)``."""
        return self._contextualize(numbers, 0)

    def passage_vectors(self, numbers: Tensor) -> Tensor:
        """Contextualised passage terms: ``(batch, passage_len) → (batch, passage_len, dim)``; positions start at 500."""
        return self._contextualize(numbers, self.config.passage_start)

    def _contextualize(self, numbers: Tensor, start: int) -> Tensor:
        embedded = self.embedding(numbers)  # (batch, length, dim)
        mask = numbers != PADDING
        key_mask = mask | ~mask.any(dim=1, keepdim=True)  # an empty text attends to padding: finite, and masked later
        context = embedded
        if self.positions is not None:
            context = embedded + self.positions[start : start + numbers.shape[1]]
        for layer in self.layers:
            context = layer(context, key_mask)
        return self.gate * embedded + (1 - self.gate) * context.to(embedded.dtype)

    # -- scoring ------------------------------------------------------------------------------------

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Scores ``(batch,)`` from term vectors ``(batch, len, dim)`` and masks; a query batch of 1 serves all passages."""
        # the kernels are narrow (σ = 0.1): cosines and what follows stay in full precision
        with torch.autocast(query.device.type, enabled=False):
            cosines = cosine_matrix(query.float(), passage.float())  # (batch, query_len, passage_len)
            return self.pooling(cosines, query_mask, passage_mask)

    def forward(self, queries: Tensor, passages: Tensor) -> Tensor:
        """Scores ``(k·n,)`` of padded word numbers: queries ``(n, query_len)``, each against k passages ``(k·n, passage_len)``.

        Passages go through in groups of alike length, so that hardly any padding is computed: no score depends on it.
        """
        query, query_mask = self.query_vectors(queries), queries != PADDING
        scores, order = [], []
        for index, numbers in _groups(passages):
            asked = index % max(1, len(queries))
            passage = self.passage_vectors(numbers)  # (group, its longest, dim)
            # index_select: its gradient is added up in a fixed order
            scores.append(self.interact(query.index_select(0, asked), query_mask[asked], passage, numbers != PADDING))
            order.append(index)
        return torch.cat(scores)[torch.cat(order).argsort()]

    # -- encoding once, and keeping ------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device

    @property
    def dimension(self) -> int:
        """The width of a term vector."""
        return self.config.dimension

    @property
    def term_layers(self) -> tuple[int]:
        """As ``TermEncoder.term_layers``: only the terms as they enter the cosine matrix, gated."""
        return (self.config.layers,)

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """As ``PassageEncoder.encode_queries``."""
        numbers = pad_rows(queries).to(self.device)
        return self.query_vectors(numbers), numbers != PADDING

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """As ``PassageEncoder.encode_passages``."""
        numbers = pad_rows(passages).to(self.device)
        return self.passage_vectors(numbers), numbers != PADDING

    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """As ``TermEncoder.term_vectors``: ``(1, n, longest, dim)``."""
        return self.encode_passages(passages)[0].unsqueeze(0)

    # -- training and keeping -------------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """The word vectors are updated sparsely; kernel weights learn at a rate of their own."""
        body: list[Tensor] = [p for name, p in self.named_parameters() if not name.startswith(("embedding", "pooling"))]
        return {"embedding": [self.embedding.weight], "kernels": list(self.pooling.parameters()), "body": body}

    def save(self, folder: Path) -> None:
        """Weights, and the words in order."""
        save_tensors(folder / "model.safetensors", self.state_dict())
        write_json(folder / "vocabulary.json", self.vocabulary.words)

    @classmethod
    def load(cls, folder: Path, shape: Mapping[str, Any]) -> Self:
        """As ``Ranker.load``."""
        words = read_json(folder / "vocabulary.json", what="a checkpoint's words")
        model = cls(TKConfig(**shape), Vocabulary(words))
        load_weights(model, folder / "model.safetensors")
        return model


def _groups(passages: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Passages of alike length, longest first: their places in the batch, and their word numbers with hardly any padding.

    All of them at once on a GPU, which is kept waiting by small pieces and not by padding.
    """
    if not passages.is_cpu or len(passages) <= 1:
        yield torch.arange(len(passages), device=passages.device), passages
        return
    lengths = (passages != PADDING).sum(dim=1)
    for index in lengths.argsort(descending=True, stable=True).split(GROUP):
        longest = max(1, int(lengths[index[0]]))
        yield index, passages[index, : -(-longest // WIDTH) * WIDTH]

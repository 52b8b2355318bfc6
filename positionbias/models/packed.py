"""Encoders of BERT's family over packed texts, for inference: no padding, and weights laid out once
for the products of their precision.

The tokens of a batch stand one after another, ``(tokens, dim)``; only attention looks at where
texts begin. States are those of the model up to the rounding of the precision: float32 to 1e-5. The
last layer can be computed for [CLS] alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import InputError
from positionbias.core.process import keep_freed_memory
from positionbias.models.linear import Product, product
from positionbias.models.packed_attention import attend_packed
from positionbias.models.streams import in_streams

# computed by one thread on a CPU: of fewer, the weights' way from memory costs some percent; of
# more, fewer threads have work
_PART_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Texts one after another, without padding, special tokens included: ``numbers``, ``types`` and
    ``positions (tokens,)``.

    ``offsets (n + 1,)`` int32 are where texts begin; ``longest`` is the length of the longest.
    Positions count from 0.
    """

    numbers: Tensor
    types: Tensor | None
    positions: Tensor
    offsets: Tensor
    longest: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def parts(self, tokens: int) -> list[PackedBatch]:
        """Cut a batch of texts into parts of whole texts, of about so many tokens each.

        There are a multiple of four, which have half as many tokens at least, else two or one: so
        threads end together.
        """
        offsets = self.offsets.tolist()
        whole = offsets[-1] / tokens
        count = 4 * math.ceil(whole / 4) if whole >= 2 else 2 if whole >= 0.5 else 1
        ends = [bisect_left(offsets, offsets[-1] * part / count) for part in range(count + 1)]
        return [self._part(first, last) for first, last in pairwise(ends) if first < last]

    def _part(self, first: int, last: int) -> PackedBatch:
        offsets = self.offsets[first : last + 1]
        own = slice(*offsets[[0, -1]].tolist())
        types = None if self.types is None else self.types[own]
        return PackedBatch(
            self.numbers[own],
            types,
            self.positions[own],
            offsets - offsets[0],
            int(offsets.diff().max()),
        )


class _Names(NamedTuple):
    """Paths of an architecture's parts: its stack of layers, and within a layer."""

    stack: str
    query: str
    key: str
    value: str
    output: str
    norm: str
    expand: str
    activation: str
    contract: str
    norm_output: str


_BERT = _Names(
    "encoder.layer",
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "intermediate.intermediate_act_fn",
    "output.dense",
    "output.LayerNorm",
)
_DISTILBERT = _Names(
    "transformer.layer",
    "attention.q_lin",
    "attention.k_lin",
    "attention.v_lin",
    "attention.out_lin",
    "sa_layer_norm",
    "ffn.lin1",
    "ffn.activation",
    "ffn.lin2",
    "output_layer_norm",
)
_ARCHITECTURES = {
    "BertModel": _BERT,
    "RobertaModel": _BERT,
    "XLMRobertaModel": _BERT,
    "CamembertModel": _BERT,
    "ElectraModel": _BERT,
    "DistilBertModel": _DISTILBERT,
}


@dataclass(frozen=True, slots=True)
class _Norm:
    """A layer norm, in the precision of its weights."""

    weight: Tensor
    bias: Tensor
    epsilon: float

    @classmethod
    def of(cls, layer: nn.LayerNorm, dtype: torch.dtype) -> _Norm:
        return cls(layer.weight.detach().to(dtype), layer.bias.detach().to(dtype), layer.eps)

    def __call__(self, states: Tensor) -> Tensor:
        return F.layer_norm(states, states.shape[-1:], self.weight, self.bias, self.epsilon)


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer. ``seen`` computes query, key and value; in the last layer, which can be computed
    for [CLS] alone, key and value, and ``asked`` the query. Norms and residual sums have the
    precision of the states."""

    heads: int
    asked: Product | None
    seen: Product
    output: Product
    norm: _Norm
    expand: Product
    activation: Callable[[Tensor], Tensor]
    contract: Product
    norm_output: _Norm

    def __call__(self, states: Tensor, batch: PackedBatch, *, cls_only: bool = False) -> Tensor:
        """Compute ``(tokens, dim)`` → ``(tokens, dim)``; with ``cls_only`` → ``(n, dim)``, of the
        first tokens.
        """
        narrow = states.to(self.seen.dtype)
        own = batch.offsets[:-1].long() if cls_only else slice(None)  # the rows that are asked for
        shape = (2 if self.asked else 3, self.heads, states.shape[1] // self.heads)
        seen = self.seen(narrow).view(len(states), *shape).unbind(1)
        key, value = seen[-2:]
        query = seen[0] if self.asked is None else self.asked(narrow[own]).view(-1, *shape[1:])
        mixed = attend_packed(query, key, value, batch.offsets, batch.longest).flatten(1)
        states = self.norm(self.output.plus(mixed, states[own]))
        narrow = states.to(self.seen.dtype)
        inner = (
            self.expand.gelu(narrow)
            if self.activation is F.gelu
            else self.activation(self.expand(narrow))
        )
        return self.norm_output(self.contract.plus(inner, states))


class PackedEncoder:
    """The embeddings and layers of an encoder, with the weights of its products laid out for
    ``dtype``.

    Between products states are float32 on a CPU, and in ``dtype`` on a GPU, whose memory would else
    be the limit.
    """

    def __init__(self, backbone: Any, names: _Names, dtype: torch.dtype) -> None:
        embeddings = backbone.embeddings
        self.dtype = torch.float32 if backbone.device.type == "cpu" else dtype

        def table(part: nn.Embedding) -> Tensor:
            return part.weight.detach().to(self.dtype)

        self._words, self._places = (
            table(embeddings.word_embeddings),
            table(embeddings.position_embeddings),
        )
        types = getattr(embeddings, "token_type_embeddings", None)
        self._types = None if types is None else table(types)
        self._norm = _Norm.of(embeddings.LayerNorm, self.dtype)
        # RoBERTa counts positions from after the number of the padding token, which it skips
        self._padding: int | None = embeddings.position_embeddings.padding_idx
        self._first = 0 if self._padding is None else self._padding + 1
        # ELECTRA's embeddings are narrower than its layers
        project = getattr(backbone, "embeddings_project", None)
        self._project = None if project is None else product([project], dtype)
        heads = backbone.config.num_attention_heads
        *inner, last = backbone.get_submodule(names.stack)
        self._layers = [
            _layer(layer, names, heads, dtype, self.dtype, last=layer is last)
            for layer in (*inner, last)
        ]

    def pack(self, inputs: dict[str, Tensor]) -> tuple[PackedBatch, Tensor | None]:
        """Pack padded inputs ``(n, length)``; also return their mask ``(n, length)``, None without
        padding.

        Raises:
            InputError: a row without a token.
        """
        numbers, types = inputs["input_ids"], inputs.get("token_type_ids")
        mask = inputs.get("attention_mask")
        mask = None if mask is None else mask.bool()
        n, length = numbers.shape
        if self._padding is None:
            positions = torch.arange(length, device=numbers.device).expand(n, length)
        else:
            read = numbers.ne(self._padding)
            positions = read.cumsum(dim=1) * read - 1

        def flat(part: Tensor) -> Tensor:
            return part.flatten() if mask is None else part[mask]

        lengths = torch.full((n,), length) if mask is None else mask.sum(dim=1)
        if n and not lengths.min():
            raise InputError(
                "attention_mask: wanted a token in each row; found none in row "
                f"{int(lengths.argmin())} (from 0); leave it out, or give it the special tokens"
            )
        offsets = F.pad(lengths.cumsum(0), (1, 0)).int()
        types = None if types is None else flat(types)
        return PackedBatch(
            flat(numbers), types, flat(positions), offsets, int(lengths.max()) if n else 0
        ), mask

    def cls_of(self, inputs: dict[str, Tensor]) -> Tensor:
        """Implement ``InferenceForm.cls_of``."""
        return self.cls(self.pack(inputs)[0])

    def states_of(self, inputs: dict[str, Tensor]) -> Tensor:
        """Implement ``InferenceForm.states_of``; zero where there is padding."""
        batch, mask = self.pack(inputs)
        states = self.states(batch)
        if mask is None:
            return states.unflatten(0, inputs["input_ids"].shape)
        whole = states.new_zeros(*mask.shape, states.shape[1])
        whole[mask] = states
        return whole

    def states(self, batch: PackedBatch) -> Tensor:
        """Return the last layer's states of all tokens, ``(tokens, dim)``, in ``self.dtype``."""
        return self._run(batch, cls_only=False)

    def cls(self, batch: PackedBatch) -> Tensor:
        """Return the last layer's states of the first tokens, ``(n, dim)``, in ``self.dtype``,
        computed for them alone.
        """
        return self._run(batch, cls_only=True)

    def _run(self, batch: PackedBatch, *, cls_only: bool) -> Tensor:
        if batch.numbers.device.type != "cpu" or not len(batch):
            return self._computed(batch, cls_only=cls_only)
        parts = batch.parts(_PART_TOKENS)
        return torch.cat(in_streams(partial(self._computed, cls_only=cls_only), parts))

    def _computed(self, batch: PackedBatch, *, cls_only: bool) -> Tensor:
        with torch.no_grad(), torch.autocast(batch.numbers.device.type, enabled=False):
            states = self._embedded(batch)
            *layers, last = self._layers
            for layer in layers:
                states = layer(states, batch)
            return last(states, batch, cls_only=cls_only)

    def _embedded(self, batch: PackedBatch) -> Tensor:
        states = F.embedding(batch.numbers, self._words) + F.embedding(
            batch.positions + self._first, self._places
        )
        if self._types is not None:
            states += (
                self._types[0] if batch.types is None else F.embedding(batch.types, self._types)
            )
        states = self._norm(states)
        return (
            states
            if self._project is None
            else self._project(states.to(self._project.dtype)).to(self.dtype)
        )


def _layer(
    layer: Any, names: _Names, heads: int, dtype: torch.dtype, between: torch.dtype, *, last: bool
) -> _Layer:
    part = layer.get_submodule
    query, pair = part(names.query), [part(names.key), part(names.value)]
    return _Layer(
        heads,
        asked=product([query], dtype) if last else None,
        seen=product(pair if last else [query, *pair], dtype),
        output=product([part(names.output)], dtype),
        norm=_Norm.of(part(names.norm), between),
        expand=product([part(names.expand)], dtype),
        activation=_plain(part(names.activation)),
        contract=product([part(names.contract)], dtype),
        norm_output=_Norm.of(part(names.norm_output), between),
    )


def _plain(activation: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return torch's GELU for transformers' module of it, which products can compute with them; any
    other as it is.
    """
    plain = (
        type(activation).__name__ == "GELUActivation" and getattr(activation, "act", None) is F.gelu
    )
    return F.gelu if plain else activation


def is_packable(model: Any) -> bool:
    """Return True if a model has an encoder in float32 with a form for packed texts."""
    return isinstance(model, nn.Module) and any(
        _packs(part) and part.dtype == torch.float32 for part in model.modules()
    )


def _packs(backbone: nn.Module) -> bool:
    return type(backbone).__name__ in _ARCHITECTURES and not getattr(
        backbone.config, "is_decoder", False
    )


def packed_encoder(backbone: Any, dtype: torch.dtype) -> PackedEncoder | None:
    """Return an encoder for packed texts, whose products have a copy of the weights in ``dtype``;
    None for other architectures.
    """
    if not _packs(backbone):
        return None
    if backbone.device.type == "cpu":
        keep_freed_memory()
    return PackedEncoder(backbone, _ARCHITECTURES[type(backbone).__name__], dtype)

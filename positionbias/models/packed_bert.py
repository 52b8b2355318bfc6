"""Encoders of BERT's family over packed texts, for inference: no padding, weights in one precision, one product for q, k and v.

The states are those of the model itself, up to the rounding of the precision. The last layer can be computed for [CLS] alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.models.token_rows import PackedBatch
from positionbias.models.varlen import varlen_attention

__all__ = ["PackedEncoder", "packed_encoder"]


@dataclass(frozen=True, slots=True)
class _Affine:
    """Weight and bias of a linear layer or of a layer norm."""

    weight: Tensor
    bias: Tensor

    def linear(self, states: Tensor) -> Tensor:
        return F.linear(states, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer; ``joint`` computes query, key and value."""

    joint: _Affine
    output: _Affine
    norm: _Affine
    expand: _Affine
    contract: _Affine
    norm_output: _Affine


@dataclass(frozen=True, slots=True)
class _Names:
    """Paths of an architecture's parts: its stack of layers, and within a layer."""

    stack: str
    joint: tuple[str, str, str]
    output: str
    norm: str
    expand: str
    activation: str
    contract: str
    norm_output: str


_BERT = _Names(
    "encoder.layer",
    ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "intermediate.intermediate_act_fn",
    "output.dense",
    "output.LayerNorm",
)
_DISTILBERT = _Names(
    "transformer.layer",
    ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
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


def packed_encoder(backbone: Any, dtype: torch.dtype) -> PackedEncoder | None:
    """Return an encoder for packed texts with a copy of the weights in ``dtype``; None for other architectures."""
    names = _ARCHITECTURES.get(type(backbone).__name__)
    if names is None or getattr(backbone.config, "is_decoder", False):
        return None
    return PackedEncoder(backbone, names, dtype)


class PackedEncoder:
    """The embeddings and layers of an encoder, with weights of its own."""

    def __init__(self, backbone: Any, names: _Names, dtype: torch.dtype) -> None:
        embeddings, config = backbone.embeddings, backbone.config
        self.heads: int = config.num_attention_heads
        norm = embeddings.LayerNorm
        self.epsilon: float = norm.eps
        self._words = embeddings.word_embeddings.weight.detach().to(dtype)
        places = embeddings.position_embeddings
        first = 0 if places.padding_idx is None else places.padding_idx + 1  # RoBERTa counts from after the padding number
        self._places = places.weight.detach()[first:].to(dtype)
        types = getattr(embeddings, "token_type_embeddings", None)
        self._types = None if types is None else types.weight.detach().to(dtype)
        self._norm = _affine(norm, dtype)
        project = getattr(backbone, "embeddings_project", None)  # ELECTRA's embeddings are narrower than its layers
        self._project = None if project is None else _affine(project, dtype)
        layers = list(backbone.get_submodule(names.stack))
        self._activation: Callable[[Tensor], Tensor] = layers[0].get_submodule(names.activation)
        self._layers = [_layer(layer, names, dtype) for layer in layers]

    @torch.inference_mode()
    def states(self, batch: PackedBatch) -> Tensor:
        """Return the last layer's states of all tokens, ``(tokens, dim)``."""
        states = self._embedded(batch)
        for layer in self._layers:
            states = self._computed(layer, states, batch)
        return states

    @torch.inference_mode()
    def cls(self, batch: PackedBatch) -> Tensor:
        """Return the last layer's states of the first tokens, ``(n, dim)``, computed for them alone."""
        states = self._embedded(batch)
        *layers, last = self._layers
        for layer in layers:
            states = self._computed(layer, states, batch)
        return self._computed_cls(last, states, batch)

    def _embedded(self, batch: PackedBatch) -> Tensor:
        states = F.embedding(batch.numbers, self._words) + F.embedding(batch.positions, self._places)
        if self._types is not None:
            states = states + (self._types[0] if batch.types is None else F.embedding(batch.types, self._types))
        states = self._normed(states, self._norm)
        return states if self._project is None else self._project.linear(states)

    def _computed(self, layer: _Layer, states: Tensor, batch: PackedBatch) -> Tensor:
        query, key, value = layer.joint.linear(states).view(len(states), 3, self.heads, -1).unbind(1)
        mixed = varlen_attention(query, key, value, batch.offsets, batch.offsets, batch.longest, batch.longest)
        return self._fed(layer, mixed.reshape(len(states), -1), states)

    def _computed_cls(self, layer: _Layer, states: Tensor, batch: PackedBatch) -> Tensor:
        cls, width = states[batch.offsets[:-1].long()], states.shape[1]
        query = F.linear(cls, layer.joint.weight[:width], layer.joint.bias[:width]).view(len(cls), self.heads, -1)
        joint = F.linear(states, layer.joint.weight[width:], layer.joint.bias[width:])
        key, value = joint.view(len(states), 2, self.heads, -1).unbind(1)
        each = torch.arange(len(cls) + 1, dtype=torch.int32, device=states.device)
        mixed = varlen_attention(query, key, value, each, batch.offsets, 1, batch.longest)
        return self._fed(layer, mixed.reshape(len(cls), -1), cls)

    def _fed(self, layer: _Layer, mixed: Tensor, states: Tensor) -> Tensor:
        states = self._normed(layer.output.linear(mixed) + states, layer.norm)
        inner = self._activation(layer.expand.linear(states))
        return self._normed(layer.contract.linear(inner) + states, layer.norm_output)

    def _normed(self, states: Tensor, norm: _Affine) -> Tensor:
        return F.layer_norm(states, states.shape[-1:], norm.weight, norm.bias, self.epsilon)


def _layer(layer: Any, names: _Names, dtype: torch.dtype) -> _Layer:
    parts = [_affine(layer.get_submodule(name), dtype) for name in names.joint]
    joint = _Affine(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))
    rest = (names.output, names.norm, names.expand, names.contract, names.norm_output)
    return _Layer(joint, *(_affine(layer.get_submodule(name), dtype) for name in rest))


def _affine(part: Any, dtype: torch.dtype) -> _Affine:
    return _Affine(part.weight.detach().to(dtype), part.bias.detach().to(dtype))

"""The weights of TK's layers as their products over packed texts take them, and the sums of their
gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from positionbias.models.tk_pack import Workspace

# parameters of a layer: weight and bias of query, key, value, output, norm, expand, contract, last
# norm
PARTS = 16


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's weights in the precision of its products; query, key and value are joined, queries
    scaled by 1/√size.
    """

    mix: Tensor  # (3 · heads · size, dim)
    mix_bias: Tensor
    output: Tensor
    output_bias: Tensor
    norm: tuple[Tensor, Tensor, float]
    expand: Tensor
    expand_bias: Tensor
    contract: Tensor
    contract_bias: Tensor
    last_norm: tuple[Tensor, Tensor, float]


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of the layers beside their parameters: positions ``(rows, dim)``, the shape of
    attention, the precision of products, each norm's ε, and workspaces that no step is using."""

    positions: Tensor
    heads: int
    head_size: int
    precision: torch.dtype
    epsilon: float
    spaces: list[Workspace]

    def space(self) -> Workspace:
        """Take a workspace out of the free ones; another one while a step's backward pass is still
        to come.
        """
        return self.spaces.pop() if self.spaces else Workspace()


@dataclass(slots=True)
class Weights:
    """Weights that the layers compute with: tables of word vectors ``(U, dim)`` and positions, the
    gate, and the layers.

    ``first_words`` and ``first_places`` are the first layer's queries, keys and values of both
    tables, to be added.
    """

    vectors: Tensor
    gate: Tensor
    layers: list[Layer]
    positions: Tensor
    heads: int
    head_size: int
    precision: torch.dtype
    first_words: Tensor
    first_places: Tensor

    @property
    def width(self) -> int:
        return self.heads * self.head_size

    @classmethod
    def of(cls, parameters: Sequence[Tensor], setting: Setting) -> Weights:
        """Take vectors, gate, and each layer's ``PARTS`` parameters."""
        vectors, gate, *rest = parameters
        layers = [
            _layer(rest[start : start + PARTS], setting) for start in range(0, len(rest), PARTS)
        ]
        mix, mix_bias, half = layers[0].mix, layers[0].mix_bias, setting.precision
        words = vectors.to(half) @ mix.t()
        places = torch.addmm(mix_bias, setting.positions.to(half), mix.t())
        return cls(
            vectors,
            gate,
            layers,
            setting.positions,
            setting.heads,
            setting.head_size,
            half,
            words,
            places,
        )


def _layer(parts: Sequence[Tensor], setting: Setting) -> Layer:
    scale, precision, epsilon = setting.head_size**-0.5, setting.precision, setting.epsilon
    query, query_bias, key, key_bias, value, value_bias, *rest = parts
    (
        output,
        output_bias,
        norm,
        norm_bias,
        expand,
        expand_bias,
        contract,
        contract_bias,
        last,
        last_bias,
    ) = rest
    mix = torch.cat([query * scale, key, value]).to(precision)
    mix_bias = torch.cat([query_bias * scale, key_bias, value_bias]).to(precision)
    plain = (
        part.to(precision)
        for part in (output, output_bias, expand, expand_bias, contract, contract_bias)
    )
    to_output, to_output_bias, to_expand, to_expand_bias, to_contract, to_contract_bias = plain
    return Layer(
        mix,
        mix_bias,
        to_output,
        to_output_bias,
        (norm, norm_bias, epsilon),
        to_expand,
        to_expand_bias,
        to_contract,
        to_contract_bias,
        (last, last_bias, epsilon),
    )


class Sums:
    """The gradients of all parameters, summed over chunks in full precision."""

    def __init__(self, weights: Weights, parameters: Sequence[Tensor], space: Workspace) -> None:
        full = weights.vectors.dtype
        self._weights = weights
        self.vectors, gate, *rest = (torch.zeros_like(parameter) for parameter in parameters)
        self.gate = gate
        self.layers = [rest[start : start + PARTS] for start in range(0, len(rest), PARTS)]
        self.mixes = [torch.zeros(layer.mix.shape, dtype=full) for layer in weights.layers]
        self.mix_biases = [
            torch.zeros(layer.mix_bias.shape, dtype=full) for layer in weights.layers
        ]
        self.first_words = space.take(weights.first_words.shape, full, "first words back").zero_()
        self.first_places = space.take(
            weights.first_places.shape, full, "first places back"
        ).zero_()

    def gradients(self) -> list[Tensor]:
        """Return them in the order of the parameters."""
        weights, half = self._weights, self._weights.precision
        words = self.first_words.to(half)
        self.mixes[0] += words.t() @ weights.vectors.to(half)
        self.mixes[0] += self.first_places.t() @ weights.positions
        self.mix_biases[0] += self.first_places.sum(dim=0)
        self.vectors += words @ weights.layers[0].mix
        for parts, mix, bias in zip(self.layers, self.mixes, self.mix_biases, strict=True):
            weight_parts, bias_parts = mix.split(weights.width), bias.split(weights.width)
            weight_parts[0].mul_(weights.head_size**-0.5)
            bias_parts[0].mul_(weights.head_size**-0.5)
            parts[:6] = [
                part for pair in zip(weight_parts, bias_parts, strict=True) for part in pair
            ]
        return [self.vectors, self.gate, *(part for parts in self.layers for part in parts)]

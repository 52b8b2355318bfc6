"""TK's layers over packed texts on a CPU, forward and backward written out.

Texts of any lengths share rows of a few chunks without padding; a chunk passes through all layers while it stays in the processor's
cache. Attention works text by text. One product makes query, key and value. Those of the first layer are linear in a
word's vector and its position, so they are computed once for each distinct word and each position, and added. All large arrays live in a
``Workspace`` that later steps use again: a training's memory is that of its largest batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from positionbias.models.linear import linear

__all__ = ["Pack", "Setting", "Workspace", "contextualize", "cosines"]

CHUNK = 1024  # rows that pass through the layers together: what they touch fits in the cache
ROWS = 64  # a chunk's rows are a multiple of this, so that oneDNN prepares few sizes of products
BLOCK = 8192  # pairs of words whose attention is computed together: short texts are too little work for a product each
EPSILON = 1e-13  # added to a norm, as in ``kernels.cosine_matrix``

aten = torch.ops.aten


class Workspace:
    """Arrays by name, kept between uses: each grows to the largest size that was asked for."""

    def __init__(self) -> None:
        self._held: dict[tuple[object, ...], Tensor] = {}

    def __deepcopy__(self, memo: object) -> Workspace:
        return Workspace()

    def take(self, shape: Sequence[int], dtype: torch.dtype, *name: object) -> Tensor:
        """Return an array of this name, with arbitrary contents."""
        size, key = math.prod(shape), (dtype, *name)
        held = self._held.get(key)
        if held is None or held.numel() < size:
            self._held.pop(key, None)
            with torch.inference_mode(False):  # a training may use it later
                held = self._held[key] = torch.empty(size, dtype=dtype)
        return held[:size].view(*shape)


class Text(NamedTuple):
    """A text's first row in its chunk, its length, the first row of its positions, and its number."""

    row: int
    length: int
    place: int
    number: int

    @property
    def rows(self) -> slice:
        return slice(self.row, self.row + self.length)

    @property
    def places(self) -> slice:
        return slice(self.place, self.place + self.length)


class Block(NamedTuple):
    """Texts whose attention is computed together, all of one width: their length, perhaps with empty places after it."""

    texts: list[Text]
    width: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Texts that are processed together: rows ``first`` … ``first + size`` of the pack, the last ones perhaps empty.

    ``words`` and ``places (size,)`` are rows of the tables of word vectors and of positions.
    """

    first: int
    size: int
    filled: int
    texts: list[Text]
    words: Tensor
    places: Tensor

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.size)

    def blocks(self, multiple: int) -> list[Block]:
        """Return its texts in blocks whose widths are multiples of ``multiple``; long texts are alone."""
        blocks: list[Block] = []
        for text in self.texts:
            width = -(-text.length // multiple) * multiple
            if blocks and blocks[-1].width == width and (len(blocks[-1].texts) + 1) * width**2 <= BLOCK:
                blocks[-1].texts.append(text)
            else:
                blocks.append(Block([text], width))
        return blocks


@dataclass(frozen=True, slots=True)
class Pack:
    """Texts of one or two sides: the distinct words (U,), chunks, and where each text's rows begin in all."""

    words: Tensor
    chunks: list[Chunk]
    begins: list[int]
    lengths: list[int]
    size: int

    @classmethod
    def of(cls, *sides: tuple[Tensor, int]) -> Pack:
        """Pack padded word numbers ``(n, longest)``; each side with the first row of its positions in their table."""
        masks = [numbers != 0 for numbers, _ in sides]
        by_side = [mask.sum(dim=1).tolist() for mask in masks]
        lengths = [length for side in by_side for length in side]
        places = [place for (_, place), side in zip(sides, by_side, strict=True) for _ in side]
        flat = torch.cat([numbers[mask] for (numbers, _), mask in zip(sides, masks, strict=True)])
        words, rows = flat.unique(return_inverse=True)
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        chunks, begins, first = [], [0] * len(lengths), 0
        for members in _bins(lengths):
            chunk = _chunk(first, [(number, lengths[number], places[number], starts[number]) for number in members], rows)
            for text in chunk.texts:
                begins[text.number] = first + text.row
            chunks.append(chunk)
            first += chunk.size
        return cls(words, chunks, begins, lengths, first)

    def rows(self, number: int) -> slice:
        """Return a text's rows."""
        return slice(self.begins[number], self.begins[number] + self.lengths[number])


def _bins(lengths: Sequence[int]) -> list[list[int]]:
    """Distribute texts that have words over chunks: the longest first, each to the first chunk with room."""
    bins: list[list[int]] = []
    room: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        length = lengths[number]
        if not length:
            break
        place = next((place for place, left in enumerate(room) if left >= length), len(bins))
        if place == len(bins):
            bins.append([])
            room.append(max(CHUNK, length))
        bins[place].append(number)
        room[place] -= length
    return bins


def _chunk(first: int, members: list[tuple[int, int, int, int]], rows: Tensor) -> Chunk:
    texts, filled = [], 0
    for number, length, place, _ in members:
        texts.append(Text(filled, length, place, number))
        filled += length
    size = -(-filled // ROWS) * ROWS
    words, places = torch.zeros(size, dtype=torch.int64), torch.zeros(size, dtype=torch.int64)
    torch.cat([rows[start : start + length] for _, length, _, start in members], out=words[:filled])
    torch.cat([torch.arange(place, place + length) for _, length, place, _ in members], out=places[:filled])
    return Chunk(first, size, filled, texts, words, places)


# -- weights --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's weights in the precision of its products; query, key and value are joined, queries scaled by 1/√size."""

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
    """What the layers need beside their parameters: positions ``(rows, dim)``, the shape of attention, the precision of products,
    each norm's ε, and workspaces that no step is using."""

    positions: Tensor
    heads: int
    head_size: int
    precision: torch.dtype
    epsilon: float
    spaces: list[Workspace]

    def space(self) -> Workspace:
        """Take a workspace out of the free ones; another one while a step's backward pass is still to come."""
        return self.spaces.pop() if self.spaces else Workspace()


@dataclass(slots=True)
class Weights:
    """What the layers compute with: tables of word vectors ``(U, dim)`` and positions, the gate, and the layers.

    ``first_words`` and ``first_places`` are the first layer's queries, keys and values of both tables, to be added.
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
        layers = [_layer(rest[start : start + PARTS], setting) for start in range(0, len(rest), PARTS)]
        mix, mix_bias, half = layers[0].mix, layers[0].mix_bias, setting.precision
        words = vectors.to(half) @ mix.t()
        places = torch.addmm(mix_bias, setting.positions.to(half), mix.t())
        return cls(vectors, gate, layers, setting.positions, setting.heads, setting.head_size, half, words, places)


PARTS = 16  # parameters of a layer: weight and bias of query, key, value, output, norm, expand, contract, last norm


def _layer(parts: Sequence[Tensor], setting: Setting) -> Layer:
    scale, precision, epsilon = setting.head_size**-0.5, setting.precision, setting.epsilon
    query, query_bias, key, key_bias, value, value_bias, *rest = parts
    output, output_bias, norm, norm_bias, expand, expand_bias, contract, contract_bias, last, last_bias = rest
    mix = torch.cat([query * scale, key, value]).to(precision)
    mix_bias = torch.cat([query_bias * scale, key_bias, value_bias]).to(precision)
    plain = (part.to(precision) for part in (output, output_bias, expand, expand_bias, contract, contract_bias))
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


# -- forward ----------------------------------------------------------------------------------------------


class Attention(NamedTuple):
    """A block's queries, keys and values, each (texts · heads, width, size), and shares (texts · heads, width, width)."""

    texts: list[Text]
    parts: tuple[Tensor, Tensor, Tensor]
    shares: Tensor


@dataclass(slots=True)
class Kept:
    """One layer's arrays of one chunk that its backward pass reads."""

    terms: Tensor  # (rows, dim), in the precision of products; of the first layer unused
    attention: list[Attention]
    mixed: Tensor  # (rows, heads · size)
    summed: Tensor  # (rows, dim), before the first norm
    moments: tuple[Tensor, Tensor]
    normed: Tensor  # (rows, dim), in the precision of products
    expanded: Tensor  # (rows, feed-forward)
    last_summed: Tensor
    last_moments: tuple[Tensor, Tensor]


class Scratch(NamedTuple):
    """What a block's attention works with: scores (n, width, width), mixed values (n, width, size), gradients of heads (3, n, …)."""

    scores: Tensor
    mixed: Tensor
    back: Tensor


class Run:
    """The layers over one pack, with arrays from a workspace. ``keep``: also what the backward pass reads."""

    def __init__(self, pack: Pack, weights: Weights, space: Workspace, *, keep: bool) -> None:
        self.pack, self.weights, self.space, self.keep = pack, weights, space, keep
        self.full = weights.vectors.dtype
        self.half = weights.precision
        self.kept: list[list[Kept]] = []
        self.ends: list[Tensor] = []
        self._scratches: dict[tuple[int, int], Scratch] = {}

    def _take(self, shape: Sequence[int], dtype: torch.dtype, name: str, *of: object) -> Tensor:
        """Return an array: one for each chunk and layer if it is kept, else one for all."""
        return self.space.take(shape, dtype, name, *(of if self.keep else ()))

    def forward(self) -> Iterator[tuple[Chunk, Tensor]]:
        """Yield each chunk with its gated vectors ``(rows, dim)``, valid until the next."""
        weights, space = self.weights, self.space
        dimension = weights.vectors.shape[1]
        for number, chunk in enumerate(self.pack.chunks):
            shape = (chunk.size, dimension)
            terms = space.take(shape, self.full, "terms")
            torch.index_select(weights.vectors, 0, chunk.words, out=terms)
            terms += torch.index_select(weights.positions, 0, chunk.places, out=space.take(shape, self.full, "scratch"))
            kept = []
            for depth, layer in enumerate(weights.layers):
                one, terms = self._layer(chunk, layer, terms, number, depth)
                kept.append(one)
            self.kept.append(kept)
            self.ends.append(terms)
            embedded = torch.index_select(weights.vectors, 0, chunk.words, out=space.take(shape, self.full, "embedded"))
            yield chunk, torch.lerp(terms, embedded, weights.gate, out=space.take(shape, self.full, "gated"))

    def _layer(self, chunk: Chunk, layer: Layer, terms: Tensor, number: int, depth: int) -> tuple[Kept, Tensor]:
        weights, of = self.weights, (number, depth)
        rows, dimension = terms.shape
        low = terms
        if depth:
            low = self._low(terms, "terms low", *of)
            mix = self.space.take((rows, 3 * weights.width), self.half, "mix")
            torch.addmm(layer.mix_bias, low, layer.mix.t(), out=mix)
        else:
            mix = self.space.take((rows, 3 * weights.width), self.half, "mix")
            torch.index_select(weights.first_words, 0, chunk.words, out=mix)
        mixed = self._take((rows, weights.width), self.half, "mixed", *of)
        mixed[chunk.filled :].zero_()
        attention = self._attend(chunk, mix, mixed, of)
        summed = self._take((rows, dimension), self.full, "summed", *of)
        torch.add(terms, linear(mixed, layer.output, layer.output_bias), out=summed)
        both = of if self.half == self.full else ()  # else their copy in half precision is kept
        normed, moments = self._norm(summed, layer.norm, "norm", of, both)
        normed_low = self._low(normed, "norm low", *of)
        expanded = self._take((rows, len(layer.expand)), self.half, "expanded", *of)
        torch.addmm(layer.expand_bias, normed_low, layer.expand.t(), out=expanded).relu_()
        last_summed = self._take((rows, dimension), self.full, "last summed", *of)
        torch.add(normed, linear(expanded, layer.contract, layer.contract_bias), out=last_summed)
        out, last_moments = self._norm(
            last_summed, layer.last_norm, "last norm", of, of if layer is weights.layers[-1] else both
        )
        return Kept(low, attention, mixed, summed, moments, normed_low, expanded, last_summed, last_moments), out

    def _low(self, rows: Tensor, name: str, *of: object) -> Tensor:
        if self.half == self.full:
            return rows
        return self._take(rows.shape, self.half, name, *of).copy_(rows)

    def _norm(
        self, rows: Tensor, norm: tuple[Tensor, Tensor, float], name: str, of: tuple[int, int], kept: Sequence[int]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        out = self._take(rows.shape, self.full, name, *kept)
        mean, rate = (self._take((len(rows), 1), self.full, f"{name} {which}", *of) for which in ("mean", "rate"))
        weight, bias, epsilon = norm
        aten.native_layer_norm.out(rows, [rows.shape[1]], weight, bias, epsilon, out0=out, out1=mean, out2=rate)
        return out, (mean, rate)

    def _attend(self, chunk: Chunk, mix: Tensor, mixed: Tensor, of: tuple[int, int]) -> list[Attention]:
        """Write every text's attention into ``mixed``; return what it was computed from."""
        heads, size = self.weights.heads, self.weights.head_size
        blocks = chunk.blocks(1 if self.half == self.full else 8)  # oneDNN, for half precision, prepares products of each size
        all_heads = self._flat("heads", [len(texts) * 3 * heads * width * size for texts, width in blocks], *of)
        all_shares = self._flat("shares", [len(texts) * heads * width**2 for texts, width in blocks], *of)
        kept = []
        for (texts, width), flat_heads, flat_shares in zip(blocks, all_heads, all_shares, strict=True):
            count = len(texts)
            parts = flat_heads.view(3, count, heads, width, size)
            query, key, value = parts.view(3, count * heads, width, size).unbind()
            share = flat_shares.view(count * heads, width, width)
            scores, out, _ = self._scratch(count, width)
            for place, text in enumerate(texts):
                self._read_heads(text, mix, parts[:, place], first=not of[1])
            torch.bmm(query, key.transpose(1, 2), out=scores)
            for place, text in enumerate(texts):
                if text.length < width:
                    scores[place * heads : (place + 1) * heads, :, text.length :].fill_(-math.inf)
            torch._softmax(scores, -1, False, out=share)
            torch.bmm(share, value, out=out)
            for text, one in zip(texts, out.split(heads), strict=True):
                mixed[text.rows].view(text.length, heads, size).copy_(one[:, : text.length].transpose(0, 1))
            kept.append(Attention(texts, (query, key, value), share))
        return kept

    def _read_heads(self, text: Text, mix: Tensor, into: Tensor, *, first: bool) -> None:
        """Copy a text's queries, keys and values into ``(3, heads, width, size)``; in the first layer add those of its positions."""
        heads, size, length = self.weights.heads, self.weights.head_size, text.length
        rows = mix[text.rows].view(length, 3, heads, size).permute(1, 2, 0, 3)
        if first:
            places = self.weights.first_places[text.places].view(length, 3, heads, size).permute(1, 2, 0, 3)
            torch.add(rows, places, out=into[:, :, :length])
        else:
            into[:, :, :length].copy_(rows)
        into[:, :, length:].zero_()

    def _flat(self, name: str, sizes: Sequence[int], *of: object) -> Sequence[Tensor]:
        return self._take((sum(sizes),), self.half, name, *of).split(sizes)

    def _scratch(self, count: int, width: int) -> Scratch:
        """Return the arrays that the attention of so many texts of this width works with."""
        found = self._scratches.get((count, width))
        if found is None:
            take, size, batch = self.space.take, self.weights.head_size, count * self.weights.heads
            scores, mixed = take((batch, width, width), self.half, "scores"), take((batch, width, size), self.half, "attended")
            found = self._scratches[count, width] = Scratch(
                scores, mixed, take((3, batch, width, size), self.half, "heads back")
            )
        return found

    # -- backward -----------------------------------------------------------------------------------------

    def backward(self, number: int, gradient: Tensor, sums: Sums) -> None:
        """Add to ``sums`` what follows from the gradient of a chunk's gated vectors ``(rows, dim)``, zero in empty rows."""
        chunk, weights, space = self.pack.chunks[number], self.weights, self.space
        embedded = torch.index_select(weights.vectors, 0, chunk.words, out=space.take(gradient.shape, self.full, "embedded"))
        through = torch.mul(gradient, 1 - weights.gate, out=space.take(gradient.shape, self.full, "through"))
        sums.gate += torch.dot(gradient.flatten(), embedded.sub_(self.ends[number]).flatten())
        for depth in reversed(range(len(weights.layers))):
            self._layer_back(chunk, number, depth, through, sums)
        to_words = through.add_(gradient.mul_(weights.gate))
        sums.vectors.scatter_add_(0, chunk.words[:, None].expand_as(to_words), to_words)

    def _layer_back(self, chunk: Chunk, number: int, depth: int, gradient: Tensor, sums: Sums) -> None:
        """Turn the gradient of a layer's output, in place, into that of its input; the first layer's without its heads."""
        layer, kept, into = self.weights.layers[depth], self.kept[number][depth], sums.layers[depth]
        take, rows = self.space.take, chunk.size
        back = take(gradient.shape, self.full, "back")
        self._norm_back(gradient, kept.last_summed, kept.last_moments, layer.last_norm, back, into[14], into[15])
        low = self._low(back, "back low")
        self._add_product(into[12], low, kept.expanded)
        into[13] += back.sum(dim=0)
        inner = linear(low, layer.contract.t())
        aten.threshold_backward.grad_input(inner, kept.expanded, 0, grad_input=inner)
        self._add_product(into[10], inner, kept.normed)
        into[11] += self._column_sums(inner)
        back += linear(inner, layer.expand.t())
        self._norm_back(back, kept.summed, kept.moments, layer.norm, gradient, into[8], into[9])
        low = self._low(gradient, "back low")
        self._add_product(into[6], low, kept.mixed)
        into[7] += gradient.sum(dim=0)
        mixed = linear(low, layer.output.t())
        mix = take((rows, 3 * self.weights.width), self.half, "mix")
        mix[chunk.filled :].zero_()
        self._attend_back(chunk, kept, mixed, mix)
        if depth:
            self._add_product(sums.mixes[depth], mix, kept.terms)
            sums.mix_biases[depth] += self._column_sums(mix)
            gradient += linear(mix, layer.mix.t())
            return
        full = mix if self.half == self.full else take(mix.shape, self.full, "mix full").copy_(mix)
        sums.first_words.scatter_add_(0, chunk.words[:, None].expand_as(full), full)
        for text in chunk.texts:
            sums.first_places[text.places] += full[text.rows]

    def _add_product(self, total: Tensor, gradient: Tensor, rows: Tensor) -> None:
        """Add a weight's gradient, gradientᵀ · rows."""
        if self.half == self.full:
            total.addmm_(gradient.t(), rows)
        else:
            total += torch.mm(gradient.t(), rows, out=self.space.take(total.shape, self.half, "weight back"))

    def _column_sums(self, rows: Tensor) -> Tensor:
        return torch.mm(torch.ones(1, len(rows), dtype=rows.dtype), rows)[0]

    def _norm_back(
        self,
        gradient: Tensor,
        rows: Tensor,
        moments: tuple[Tensor, Tensor],
        norm: tuple[Tensor, Tensor, float],
        out: Tensor,
        to_weight: Tensor,
        to_bias: Tensor,
    ) -> None:
        weight, bias, _ = norm
        parts = [self.space.take(weight.shape, self.full, name) for name in ("norm weight", "norm bias")]
        shape, which = [rows.shape[1]], [True, True, True]
        aten.native_layer_norm_backward.out(
            gradient, rows, shape, *moments, weight, bias, which, out0=out, out1=parts[0], out2=parts[1]
        )
        to_weight += parts[0]
        to_bias += parts[1]

    def _attend_back(self, chunk: Chunk, kept: Kept, mixed: Tensor, mix: Tensor) -> None:
        """Write the gradient of every text's queries, keys and values into ``mix``, from that of its attention."""
        heads, size = self.weights.heads, self.weights.head_size
        for texts, (query, key, value), share in kept.attention:
            count, width = len(texts), share.shape[1]
            scores, given, back = self._scratch(count, width)
            for text, one in zip(texts, given.split(heads), strict=True):
                one[:, : text.length].copy_(mixed[text.rows].view(text.length, heads, size).transpose(0, 1))
                one[:, text.length :].zero_()
            torch.bmm(share.transpose(1, 2), given, out=back[2])
            torch.bmm(given, value.transpose(1, 2), out=scores)
            torch._softmax_backward_data(scores, share, -1, self.half, grad_input=scores)
            torch.bmm(scores, key, out=back[0])
            torch.bmm(scores.transpose(1, 2), query, out=back[1])
            for text, one in zip(texts, back.view(3, count, heads, width, size).unbind(1), strict=True):
                rows = one[:, :, : text.length].permute(2, 0, 1, 3)
                mix[text.rows].view(text.length, 3, heads, size).copy_(rows)


class Sums:
    """The gradients of all parameters, summed over chunks in full precision."""

    def __init__(self, weights: Weights, parameters: Sequence[Tensor], space: Workspace) -> None:
        full = weights.vectors.dtype
        self._weights = weights
        self.vectors, gate, *rest = (torch.zeros_like(parameter) for parameter in parameters)
        self.gate = gate
        self.layers = [rest[start : start + PARTS] for start in range(0, len(rest), PARTS)]
        self.mixes = [torch.zeros(layer.mix.shape, dtype=full) for layer in weights.layers]
        self.mix_biases = [torch.zeros(layer.mix_bias.shape, dtype=full) for layer in weights.layers]
        self.first_words = space.take(weights.first_words.shape, full, "first words back").zero_()
        self.first_places = space.take(weights.first_places.shape, full, "first places back").zero_()

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
            parts[:6] = [part for pair in zip(weight_parts, bias_parts, strict=True) for part in pair]
        return [self.vectors, self.gate, *(part for parts in self.layers for part in parts)]


# -- what a model calls -------------------------------------------------------------------------------------


def contextualize(pack: Pack, parameters: Sequence[Tensor], setting: Setting, shape: Sequence[int]) -> Tensor:
    """Return gated vectors, padded by zeros to ``shape (n, longest, dim)``, without gradients."""
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        weights, space = Weights.of(parameters, setting), setting.space()
        out = torch.zeros(*shape, dtype=weights.vectors.dtype)
        for chunk, gated in Run(pack, weights, space, keep=False).forward():
            for text in chunk.texts:
                out[text.number, : text.length] = gated[text.rows]
        setting.spaces.append(space)
    return out


def cosines(
    pack: Pack, pairs: Sequence[tuple[int, int]], shape: Sequence[int], parameters: Sequence[Tensor], setting: Setting
) -> Tensor:
    """Return the cosines of all term pairs of two texts each: ``shape (pairs, longest, longest)``, 0 beyond their lengths."""
    found: Tensor = _Cosines.apply(pack, pairs, shape, setting, *parameters)
    return found


class _Cosines(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, pack: Pack, pairs: Sequence[tuple[int, int]], shape: Sequence[int], setting: Setting, *parameters: Tensor
    ) -> Tensor:
        keep = any(ctx.needs_input_grad)
        with torch.autocast("cpu", enabled=False):
            weights, space = Weights.of(parameters, setting), setting.space()
            run = Run(pack, weights, space, keep=keep)
            full = weights.vectors.dtype
            units = space.take((pack.size, weights.vectors.shape[1]), full, "units")
            norms = space.take((pack.size, 1), full, "norms")
            for chunk, gated in run.forward():
                torch.linalg.vector_norm(gated, dim=1, keepdim=True, out=norms[chunk.rows])
                torch.div(gated, norms[chunk.rows] + EPSILON, out=units[chunk.rows])
            out = torch.zeros(*shape, dtype=full)
            for place, (one, other) in enumerate(pairs):
                part = out[place, : pack.lengths[one], : pack.lengths[other]]
                torch.mm(units[pack.rows(one)], units[pack.rows(other)].t(), out=part)
        if keep:
            ctx.run, ctx.units, ctx.norms, ctx.pairs, ctx.spaces = run, units, norms, pairs, setting.spaces
            ctx.save_for_backward(*parameters)
        else:
            setting.spaces.append(space)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        run, units, norms = ctx.run, ctx.units, ctx.norms
        pack: Pack = run.pack
        with torch.autocast("cpu", enabled=False):
            sums = Sums(run.weights, ctx.saved_tensors, run.space)
            back = run.space.take(units.shape, run.full, "units back").zero_()
            for place, (one, other) in enumerate(ctx.pairs):
                rows, columns = pack.rows(one), pack.rows(other)
                part = gradient[place, : pack.lengths[one], : pack.lengths[other]]
                back[rows].addmm_(part, units[columns])
                back[columns].addmm_(part.t(), units[rows])
            for number, chunk in enumerate(pack.chunks):
                _norm_back(back[chunk.rows], units[chunk.rows], norms[chunk.rows])
                run.backward(number, back[chunk.rows], sums)
            found = sums.gradients()
        ctx.spaces.append(run.space)
        ctx.run = ctx.units = ctx.norms = None  # another step may use the workspace from here on
        return (None, None, None, None, *found)


def _norm_back(gradient: Tensor, unit: Tensor, norm: Tensor) -> None:
    """Turn the gradient of u = v / (|v| + ε) into that of v: (du − u (u · du) (|v| + ε) / |v|) / (|v| + ε)."""
    along = (gradient * unit).sum(dim=1, keepdim=True)
    along *= (norm + EPSILON) / norm.clamp_min(torch.finfo(norm.dtype).tiny)
    gradient.addcmul_(unit, along, value=-1).div_(norm + EPSILON)

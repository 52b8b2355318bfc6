"""TK's layers over a pack, forward and backward written out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from positionbias.models.linear import linear
from positionbias.models.tk_pack import Chunk, Pack, Text, Workspace
from positionbias.models.tk_weights import Layer, Sums, Weights

aten = torch.ops.aten


class Attention(NamedTuple):
    """A block's queries, keys and values, each (texts · heads, width, size), and shares (texts ·
    heads, width, width).
    """

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
    """Arrays that a block's attention works with: scores (n, width, width), mixed values (n, width,
    size), gradients of heads (3, n, …).
    """

    scores: Tensor
    mixed: Tensor
    back: Tensor


class PackedLayers:
    """The layers over one pack, with arrays from a workspace. ``keep``: also what the backward pass
    reads.
    """

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
            terms += torch.index_select(
                weights.positions, 0, chunk.places, out=space.take(shape, self.full, "scratch")
            )
            kept = []
            for depth, layer in enumerate(weights.layers):
                one, terms = self._layer(chunk, layer, terms, number, depth)
                kept.append(one)
            self.kept.append(kept)
            self.ends.append(terms)
            embedded = torch.index_select(
                weights.vectors, 0, chunk.words, out=space.take(shape, self.full, "embedded")
            )
            yield (
                chunk,
                torch.lerp(
                    terms, embedded, weights.gate, out=space.take(shape, self.full, "gated")
                ),
            )

    def _layer(
        self, chunk: Chunk, layer: Layer, terms: Tensor, number: int, depth: int
    ) -> tuple[Kept, Tensor]:
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
            last_summed,
            layer.last_norm,
            "last norm",
            of,
            of if layer is weights.layers[-1] else both,
        )
        return Kept(
            low, attention, mixed, summed, moments, normed_low, expanded, last_summed, last_moments
        ), out

    def _low(self, rows: Tensor, name: str, *of: object) -> Tensor:
        if self.half == self.full:
            return rows
        return self._take(rows.shape, self.half, name, *of).copy_(rows)

    def _norm(
        self,
        rows: Tensor,
        norm: tuple[Tensor, Tensor, float],
        name: str,
        of: tuple[int, int],
        kept: Sequence[int],
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        out = self._take(rows.shape, self.full, name, *kept)
        mean, rate = (
            self._take((len(rows), 1), self.full, f"{name} {which}", *of)
            for which in ("mean", "rate")
        )
        weight, bias, epsilon = norm
        aten.native_layer_norm.out(
            rows, [rows.shape[1]], weight, bias, epsilon, out0=out, out1=mean, out2=rate
        )
        return out, (mean, rate)

    def _attend(
        self, chunk: Chunk, mix: Tensor, mixed: Tensor, of: tuple[int, int]
    ) -> list[Attention]:
        """Write every text's attention into ``mixed``; return what it was computed from."""
        heads, size = self.weights.heads, self.weights.head_size
        # oneDNN, for half precision, prepares products of each size
        blocks = chunk.blocks(1 if self.half == self.full else 8)
        all_heads = self._flat(
            "heads", [len(texts) * 3 * heads * width * size for texts, width in blocks], *of
        )
        all_shares = self._flat(
            "shares", [len(texts) * heads * width**2 for texts, width in blocks], *of
        )
        kept = []
        for (texts, width), flat_heads, flat_shares in zip(
            blocks, all_heads, all_shares, strict=True
        ):
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
                mixed[text.rows].view(text.length, heads, size).copy_(
                    one[:, : text.length].transpose(0, 1)
                )
            kept.append(Attention(texts, (query, key, value), share))
        return kept

    def _read_heads(self, text: Text, mix: Tensor, into: Tensor, *, first: bool) -> None:
        """Copy a text's queries, keys and values into ``(3, heads, width, size)``; in the first
        layer add those of its positions.
        """
        heads, size, length = self.weights.heads, self.weights.head_size, text.length
        rows = mix[text.rows].view(length, 3, heads, size).permute(1, 2, 0, 3)
        if first:
            places = (
                self.weights.first_places[text.places]
                .view(length, 3, heads, size)
                .permute(1, 2, 0, 3)
            )
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
            scores, mixed = (
                take((batch, width, width), self.half, "scores"),
                take((batch, width, size), self.half, "attended"),
            )
            found = self._scratches[count, width] = Scratch(
                scores, mixed, take((3, batch, width, size), self.half, "heads back")
            )
        return found

    # -- backward ----------------------------------------------------------------------------------

    def backward(self, number: int, gradient: Tensor, sums: Sums, moved: Set[int]) -> None:
        """Add to ``sums`` what follows from the gradient of a chunk's gated vectors
        ``(rows, dim)``.

        It is zero in empty rows, and in those of texts that are not ``moved``, whose attention is
        left out: under a hinge loss many pairs are far enough apart.
        """
        chunk, weights, space = self.pack.chunks[number], self.weights, self.space
        embedded = torch.index_select(
            weights.vectors, 0, chunk.words, out=space.take(gradient.shape, self.full, "embedded")
        )
        through = torch.mul(
            gradient, 1 - weights.gate, out=space.take(gradient.shape, self.full, "through")
        )
        sums.gate += torch.dot(gradient.flatten(), embedded.sub_(self.ends[number]).flatten())
        for depth in reversed(range(len(weights.layers))):
            self._layer_back(chunk, number, depth, through, sums, moved)
        to_words = through.add_(gradient.mul_(weights.gate))
        sums.vectors.scatter_add_(0, chunk.words[:, None].expand_as(to_words), to_words)

    def _layer_back(
        self, chunk: Chunk, number: int, depth: int, gradient: Tensor, sums: Sums, moved: Set[int]
    ) -> None:
        """Turn the gradient of a layer's output, in place, into that of its input; the first
        layer's without its heads.
        """
        layer, kept, into = self.weights.layers[depth], self.kept[number][depth], sums.layers[depth]
        take, rows = self.space.take, chunk.size
        back = take(gradient.shape, self.full, "back")
        self._norm_back(
            gradient, kept.last_summed, kept.last_moments, layer.last_norm, back, into[14], into[15]
        )
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
        self._attend_back(kept, mixed, mix, moved)
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
            total += torch.mm(
                gradient.t(), rows, out=self.space.take(total.shape, self.half, "weight back")
            )

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
        parts = [
            self.space.take(weight.shape, self.full, name) for name in ("norm weight", "norm bias")
        ]
        shape, which = [rows.shape[1]], [True, True, True]
        aten.native_layer_norm_backward.out(
            gradient,
            rows,
            shape,
            *moments,
            weight,
            bias,
            which,
            out0=out,
            out1=parts[0],
            out2=parts[1],
        )
        to_weight += parts[0]
        to_bias += parts[1]

    def _attend_back(self, kept: Kept, mixed: Tensor, mix: Tensor, moved: Set[int]) -> None:
        """Write the gradient of every text's queries, keys and values into ``mix``, from that of
        its attention.
        """
        heads, size = self.weights.heads, self.weights.head_size
        for texts, (query, key, value), share in kept.attention:
            if moved.isdisjoint(text.number for text in texts):
                for text in texts:
                    mix[text.rows].zero_()
                continue
            count, width = len(texts), share.shape[1]
            scores, given, back = self._scratch(count, width)
            for text, one in zip(texts, given.split(heads), strict=True):
                one[:, : text.length].copy_(
                    mixed[text.rows].view(text.length, heads, size).transpose(0, 1)
                )
                one[:, text.length :].zero_()
            torch.bmm(share.transpose(1, 2), given, out=back[2])
            torch.bmm(given, value.transpose(1, 2), out=scores)
            torch._softmax_backward_data(scores, share, -1, self.half, grad_input=scores)
            torch.bmm(scores, key, out=back[0])
            torch.bmm(scores.transpose(1, 2), query, out=back[1])
            for text, one in zip(
                texts, back.view(3, count, heads, width, size).unbind(1), strict=True
            ):
                rows = one[:, :, : text.length].permute(2, 0, 1, 3)
                mix[text.rows].view(text.length, 3, heads, size).copy_(rows)

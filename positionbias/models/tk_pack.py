"""Texts of any lengths in chunks of rows, without padding, and the arrays that work on them uses
again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK = 1024  # rows that pass through the layers together: what they touch fits in the cache
ROWS = 64  # a chunk's rows are a multiple of this, so that oneDNN prepares few sizes of products
# pairs of words whose attention is computed together: short texts are too little work for a product
# each
BLOCK = 8192


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
    """A text's first row in its chunk, its length, the first row of its positions, and its
    number.
    """

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
    """Texts whose attention is computed together, all of one width: their length, perhaps with
    empty places after it.
    """

    texts: list[Text]
    width: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Texts that are processed together: rows ``first`` … ``first + size`` of the pack, the last
    ones perhaps empty.

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
        """Return its texts in blocks whose widths are multiples of ``multiple``; long texts are
        alone.
        """
        blocks: list[Block] = []
        for text in self.texts:
            width = -(-text.length // multiple) * multiple
            if (
                blocks
                and blocks[-1].width == width
                and (len(blocks[-1].texts) + 1) * width**2 <= BLOCK
            ):
                blocks[-1].texts.append(text)
            else:
                blocks.append(Block([text], width))
        return blocks


@dataclass(frozen=True, slots=True)
class Pack:
    """Texts of one or two sides: the distinct words (U,), chunks, and where each text's rows begin
    in all.
    """

    words: Tensor
    chunks: list[Chunk]
    begins: list[int]
    lengths: list[int]
    size: int

    @classmethod
    def of(cls, *sides: tuple[Tensor, int]) -> Pack:
        """Pack padded word numbers ``(n, longest)``; each side with the first row of its positions
        in their table.
        """
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
            chunk = _chunk(
                first,
                [(number, lengths[number], places[number], starts[number]) for number in members],
                rows,
            )
            for text in chunk.texts:
                begins[text.number] = first + text.row
            chunks.append(chunk)
            first += chunk.size
        return cls(words, chunks, begins, lengths, first)

    def rows(self, number: int) -> slice:
        """Return a text's rows."""
        return slice(self.begins[number], self.begins[number] + self.lengths[number])


def _bins(lengths: Sequence[int]) -> list[list[int]]:
    """Distribute texts that have words over chunks: the longest first, each to the first chunk with
    room.
    """
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
    torch.cat(
        [torch.arange(place, place + length) for _, length, place, _ in members],
        out=places[:filled],
    )
    return Chunk(first, size, filled, texts, words, places)

"""Find the exact nearest training texts of test texts by cosine, over a stream of encoded texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.nearest import FEWEST_ROWS, Block, Neighbours, held_bytes, tile_rows
from positionbias.core.nearest import nearest as search
from positionbias.core.shard_work import MapShards
from positionbias.leakage.comparable import comparable
from positionbias.leakage.settings import NearestSettings

__all__ = ["Encode", "EncodesBlocks", "encoded", "encoded_blocks", "nearest", "rows_a_tile"]

Encode = Callable[[Sequence[str]], np.ndarray]  # texts to float32 vectors (n, dim)


@runtime_checkable
class EncodesBlocks(Protocol):
    """An ``Encode`` that can also encode many blocks of texts, in other processes."""

    def blocks(self, texts: Iterable[Sequence[str]], map_shards: MapShards) -> Iterator[np.ndarray]:
        """Yield the vectors of each block, in order."""


ENCODE_TEXTS = 8_192  # texts per call of the encoder
_GIB = 1 << 30


def rows_a_tile(settings: NearestSettings, tests: int, dimension: int) -> int:
    """Return the number of training vectors per tile under ``settings.memory``.

    Raises:
        SettingError: too little memory for one tile (the message says how much is needed).
    """
    rows = tile_rows(settings.memory * _GIB, tests, settings.neighbours, dimension)
    if rows < FEWEST_ROWS:
        fixed, row = held_bytes(tests, settings.neighbours, dimension)
        wanted = (fixed + FEWEST_ROWS * row) / _GIB
        raise SettingError(
            f"--memory: wanted at least {wanted:.2f} GiB for {tests:,} test texts with "
            f"{settings.neighbours:,} neighbours each; found {settings.memory:g}; raise it, or "
            "lower --neighbours"
        )
    return rows


def nearest(
    tests: np.ndarray, blocks: Iterable[Block], settings: NearestSettings | None = None
) -> Neighbours:
    """Find the k nearest training vectors of each test vector by cosine, as ``core.nearest``.

    Raises:
        InputError: a vector that is not finite, or of another width.
        SettingError: too little ``settings.memory`` for one tile.
    """
    settings = settings or NearestSettings()
    rows = rows_a_tile(settings, *tests.shape)
    floor = -1.0 if settings.floor is None else settings.floor
    return search(tests, blocks, neighbours=settings.neighbours, rows=rows, floor=floor)


def encoded(texts: Sequence[str], encode: Encode) -> np.ndarray:
    """Encode texts in their comparable form, ``(n, dim)`` float32, so that a question mark does not
    hide a copy.

    Raises:
        InputError: the encoder returned another number of vectors.
    """
    return _checked(encode([comparable(text) for text in texts]), len(texts))


def _checked(found: np.ndarray, texts: int) -> np.ndarray:
    vectors = np.asarray(found, np.float32)
    if vectors.ndim != 2 or len(vectors) != texts:
        raise InputError(
            f"encoder: wanted ({texts}, dim) numbers; found {vectors.shape}; check the encoder"
        )
    return vectors


def encoded_blocks(
    texts: Iterable[tuple[int, str]], encode: Encode, map_shards: MapShards = map
) -> Iterator[Block]:
    """Yield blocks of encoded texts from a stream of (number, text); an encoder that can encodes
    several blocks at once.

    Raises:
        InputError: as ``encoded``.
    """
    waiting, numbers = iter(texts), deque[np.ndarray]()

    def parts() -> Iterator[list[str]]:
        while part := list(islice(waiting, ENCODE_TEXTS)):
            numbers.append(np.fromiter((number for number, _ in part), np.int64, len(part)))
            yield [comparable(text) for _, text in part]

    found = (
        encode.blocks(parts(), map_shards)
        if isinstance(encode, EncodesBlocks)
        else map(encode, parts())
    )
    for vectors in found:
        own = numbers.popleft()
        yield own, _checked(vectors, len(own))

"""The nearest training texts of test texts by cosine, exactly, over a stream of encoded texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.nearest import FEWEST_ROWS, Block, Neighbours, held_bytes, tile_rows
from positionbias.core.nearest import nearest as search
from positionbias.core.settings import check_settings, setting
from positionbias.leakage.comparable import comparable

__all__ = ["Encode", "NearestSettings", "encoded", "encoded_blocks", "nearest"]

Encode = Callable[[Sequence[str]], np.ndarray]  # texts to float32 vectors (n, dim)

ENCODE_TEXTS = 8_192  # texts a call of the encoder
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class NearestSettings:
    """``neighbours`` of each test vector (k), of a cosine of at least ``floor`` (None: of any); ``memory`` bounds the search, in GiB.

    Raises:
        SettingError: a number outside its range.
    """

    neighbours: int = setting(100, "Training queries of a source for each text, by cosine.", least=1)
    floor: float | None = setting(
        None,
        "The cosine from which a pair is found; the paper's is 0.91.",
        least=-1,
        most=1,
        wanted="a cosine from -1 to 1",
        absent="the encoder's own, of those whose cosines people labelled",
        flags=("--threshold",),
        metavar="COSINE",
    )
    memory: float = setting(1.0, "What the search by cosine may hold.", above=0, wanted="GiB above 0", metavar="GIB")

    def __post_init__(self) -> None:
        check_settings(self)

    def tile_rows(self, tests: int, dimension: int) -> int:
        """The number of training vectors a tile under ``memory``.

        Raises:
            SettingError: the memory holds no tile; the message says how much would.
        """
        rows = tile_rows(self.memory * _GIB, tests, self.neighbours, dimension)
        if rows < FEWEST_ROWS:
            fixed, row = held_bytes(tests, self.neighbours, dimension)
            wanted = (fixed + FEWEST_ROWS * row) / _GIB
            raise SettingError(
                f"--memory: wanted at least {wanted:.2f} GiB for {tests:,} test texts with {self.neighbours:,} neighbours each; found "
                f"{self.memory:g}; raise it, or lower --neighbours"
            )
        return rows


def nearest(tests: np.ndarray, blocks: Iterable[Block], settings: NearestSettings | None = None) -> Neighbours:
    """Find the k nearest training vectors of each test vector by cosine, as ``core.nearest``.

    Raises:
        InputError: a vector that is not finite, or of another width.
        SettingError: ``settings.memory`` holds no tile.
    """
    settings = settings or NearestSettings()
    rows = settings.tile_rows(*tests.shape)
    floor = -1.0 if settings.floor is None else settings.floor
    return search(tests, blocks, neighbours=settings.neighbours, rows=rows, floor=floor)


def encoded(texts: Sequence[str], encode: Encode) -> np.ndarray:
    """Encode texts in their comparable form, ``(n, dim)`` float32, so that a question mark hides no copy.

    Raises:
        InputError: the encoder returns another number of vectors.
    """
    vectors = np.asarray(encode([comparable(text) for text in texts]), np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise InputError(f"encoder: wanted ({len(texts)}, dim) numbers; found {vectors.shape}; check the encoder")
    return vectors


def encoded_blocks(texts: Iterable[tuple[int, str]], encode: Encode) -> Iterator[Block]:
    """Yield blocks of encoded texts from a stream of (number, text).

    Raises:
        InputError: as ``encoded``.
    """
    waiting = iter(texts)
    while part := list(islice(waiting, ENCODE_TEXTS)):
        vectors = encoded([text for _, text in part], encode)
        yield np.fromiter((number for number, _ in part), np.int64, len(part)), vectors

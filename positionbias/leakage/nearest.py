"""Exact nearest neighbours by cosine: many vectors stream past a few, a tile at a time.

A tile of training vectors meets all test vectors in one float32 matrix product. What may belong to the k nearest, by a bound on that
product's rounding, is computed again in float64; so what is found does not depend on how the vectors were cut or in which order they
came. With u = 2⁻²⁴ and γ = dim·u / (1 − dim·u), a float32 product of unit vectors is wrong by at most γ (Higham, Accuracy and Stability
of Numerical Algorithms, 2002, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from positionbias.core.ahead import ahead
from positionbias.core.errors import InputError, SettingError, bad_input

__all__ = ["Encode", "NearestSettings", "Neighbours", "cosines", "encoded_blocks", "nearest", "stored_blocks"]

Encode = Callable[[Sequence[str]], np.ndarray]  # texts to float32 vectors (n, dim)
Block = tuple[np.ndarray, np.ndarray]  # numbers (n,) int64, vectors (n, dim)

ENCODE_TEXTS = 8_192  # handed to an encoder at once
MOST_ROWS, FEWEST_ROWS = 4_096, 16  # of a tile; longer ones gain nothing
RESCORE = 4_096  # pairs that are computed again before they are looked at
_LOOKED_AT = 128  # tests whose products with a tile are looked through at once
_CACHED = 128  # of these at once: their products stay in the processor's cache
_SMALL = 1e-12  # lengths whose squares float32 may not hold
_UNIT = 2.0**-24
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class NearestSettings:
    """``neighbours`` of each test vector (k), of a cosine of at least ``floor``; ``memory`` in GiB bounds what the search holds.

    Raises:
        SettingError: a number outside its range.
    """

    neighbours: int = 100
    floor: float = -1.0
    memory: float = 1.0

    def __post_init__(self) -> None:
        if self.neighbours < 1:
            raise SettingError(f"--neighbours: wanted at least 1; found {self.neighbours}; the paper's is 100")
        if not -1 <= self.floor <= 1:
            raise SettingError(f"--threshold: wanted a cosine from -1 to 1; found {self.floor}; the paper's is 0.91")
        if not 0 < self.memory < float("inf"):
            raise SettingError(f"--memory: wanted GiB above 0; found {self.memory}; 1 serves thousands of test queries")

    def tile_rows(self, tests: int, dimension: int) -> int:
        """Training vectors a tile: their float32 products with all tests beside the tile itself, under ``memory``.

        Raises:
            SettingError: the memory holds no tile; the message says what would.
        """
        # vectors of the tests in two precisions; state, candidates in waiting and their sort; pairs that are computed again
        fixed = 12 * tests * dimension + 160 * tests * self.neighbours + 64 * RESCORE + 32 * _CACHED * dimension
        row = 4 * tests + 36 * (dimension + _LOOKED_AT)  # three tiles under way
        rows = int((self.memory * _GIB - fixed) // row)
        if rows < FEWEST_ROWS:
            wanted = (fixed + FEWEST_ROWS * row) / _GIB
            raise SettingError(
                f"--memory: wanted at least {wanted:.2f} GiB for {tests:,} test texts with {self.neighbours:,} neighbours each; found "
                f"{self.memory:g}; raise it, or lower --neighbours"
            )
        return min(rows, MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest of each test vector, by falling cosine, then rising number.

    ``numbers`` ``(tests, k)`` int64 of the training vectors, −1 behind the last; ``cosines`` ``(tests, k)`` float64, −inf there.
    """

    numbers: np.ndarray
    cosines: np.ndarray


def nearest(tests: np.ndarray, blocks: Iterable[Block], settings: NearestSettings | None = None) -> Neighbours:
    """The k nearest training vectors of each test vector, exactly: cos(a, b) = a·b / (|a| |b|), 0 where one is zero.

    ``tests`` ``(t, dim)``; ``blocks`` give training vectors with a number each (distinct over all blocks), in blocks of any size.

    Raises:
        InputError: a vector that is not finite, or of another width.
        SettingError: ``settings.memory`` holds no tile.
    """
    settings = settings or NearestSettings()
    search = _Search(tests, settings)
    # read, measured and scaled in a thread, while the tile before is multiplied and looked through
    with closing(ahead(_tiles(blocks, tests.shape[1], search.rows))) as tiles:
        for numbers, tile, units in tiles:
            search.look(numbers, tile, units)
    return search.done()


def _tiles(blocks: Iterable[Block], dimension: int, rows: int) -> Iterator[tuple[np.ndarray, _Exact, np.ndarray]]:
    """Numbers ``(n,)``, vectors and unit vectors ``(n, dim)`` float32 of one tile after another, n at most ``rows``."""
    for numbers, vectors in blocks:
        _check(vectors, dimension)
        for start in range(0, len(vectors), rows):
            part = slice(start, start + rows)
            tile = _Exact(np.asarray(vectors[part], np.float32))
            yield np.asarray(numbers[part], np.int64), tile, tile.units()


class _Search:
    """The k nearest so far, what waits to be merged with them, and the buffers of a tile."""

    def __init__(self, tests: np.ndarray, settings: NearestSettings) -> None:
        _check(tests, tests.shape[-1])
        self.k, self.floor = settings.neighbours, settings.floor
        count, dimension = tests.shape
        self.rows = settings.tile_rows(count, dimension)
        self.exact = _Exact(np.asarray(tests, np.float32))
        self.tests = self.exact.units()  # (t, dim) float32
        rounding = dimension * _UNIT
        # twice the error of a product and of both sides' lengths, which are float32 sums as well, and of rounding each to float32
        self.margin = 2 * (2 * rounding / (1 - rounding) + 8 * _UNIT)
        self.numbers = np.full((count, self.k), -1, np.int64)
        self.cosines = np.full((count, self.k), -np.inf)
        self.bounds = self._bounds()
        self.product = np.empty(count * self.rows, np.float32)
        self.waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # test, number, cosine
        self.waits = 0

    def _bounds(self) -> np.ndarray:
        """What a float32 product must reach, ``(t, 1)``: the k-th cosine so far or the floor, less the margin."""
        lowest = np.maximum(self.cosines[:, -1:], self.floor) - self.margin
        return np.nextafter(lowest.astype(np.float32), np.float32(-np.inf))

    def look(self, numbers: np.ndarray, tile: _Exact, units: np.ndarray) -> None:
        """One tile: its numbers ``(n,)``, its vectors, and these at length 1, ``(n, dim)`` float32."""
        product = self.product[: len(self.tests) * len(units)].reshape(len(self.tests), len(units))
        np.matmul(self.tests, units.T, out=product)
        # after the first tiles most tests find nothing nearer in one, which their highest product tells
        reached = np.flatnonzero(product.max(axis=1) >= self.bounds[:, 0])
        for start in range(0, len(reached), _LOOKED_AT):
            tests = reached[start : start + _LOOKED_AT]
            test, row = self._reaching(product[tests], self.bounds[tests])
            self._take(tests[test], row, numbers, tile)

    def _reaching(self, product: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places (test, row) of a product that reach their test's bound; where more than k do, the k-th of them is a higher one."""
        mask = product >= bounds
        if product.shape[1] > self.k:
            for test in np.flatnonzero(np.count_nonzero(mask, axis=1) > self.k).tolist():
                scores = product[test, mask[test]]
                kth = np.partition(scores, len(scores) - self.k)[len(scores) - self.k]
                np.greater_equal(product[test], np.float32(kth - np.float32(self.margin)), out=mask[test])
        return np.divmod(np.flatnonzero(mask.reshape(-1)), product.shape[1])

    def _take(self, tests: np.ndarray, rows: np.ndarray, numbers: np.ndarray, tile: _Exact) -> None:
        """Compute pairs again, exactly, and let them wait; merge when as many wait as are held."""
        for start in range(0, len(tests), RESCORE):
            test, row = tests[start : start + RESCORE], rows[start : start + RESCORE]
            cosine = self.exact.cosines(test, tile, row)
            kept = cosine >= self.floor
            self.waiting.append((test[kept], numbers[row[kept]], cosine[kept]))
            self.waits += int(kept.sum())
            if self.waits >= len(self.tests) * self.k:
                self._merge()

    def _merge(self) -> None:
        """Let those in waiting into the k nearest, and raise the bounds."""
        tests, numbers, cosines = (np.concatenate(parts) for parts in zip(*self.waiting, strict=True))
        touched = np.unique(tests)
        held = np.repeat(touched, self.k)
        tests = np.concatenate([held, tests])
        numbers = np.concatenate([self.numbers[touched].reshape(-1), numbers])
        cosines = np.concatenate([self.cosines[touched].reshape(-1), cosines])
        order = np.lexsort((numbers, -cosines, tests))
        begins = np.searchsorted(tests[order], touched)
        places = order[begins[:, None] + np.arange(self.k)]  # each touched one has at least its k held
        self.numbers[touched], self.cosines[touched] = numbers[places], cosines[places]
        self.bounds = self._bounds()
        self.waiting, self.waits = [], 0

    def done(self) -> Neighbours:
        if self.waiting:
            self._merge()
        return Neighbours(self.numbers, self.cosines)


class _Exact:
    """Vectors with their lengths: as float32 unit vectors, and for cosines that no block size changes."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = np.ascontiguousarray(vectors)
        # float32 sums do: they scale the unit vectors, and tell what is not finite
        lengths = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        if not np.isfinite(lengths).all():
            raise InputError(
                "vectors: wanted finite numbers of ordinary size; found NaN, infinity or beyond; check the encoder"
            )
        self._lengths = lengths

    def units(self) -> np.ndarray:
        """Float32 vectors of length 1; of zeros, zeros."""
        small = np.flatnonzero(self._lengths < _SMALL)
        self._lengths[small] = 1.0
        units = self.vectors / self._lengths[:, None]
        if len(small):
            exact = self.vectors[small].astype(np.float64)
            lengths = np.sqrt((exact * exact).sum(axis=1))
            units[small] = exact / np.where(lengths > 0, lengths, 1.0)[:, None]
        return units

    def cosines(self, rows: np.ndarray, other: _Exact, other_rows: np.ndarray) -> np.ndarray:
        """The cosine of each pair of rows, ``(pairs,)`` float64, each the same whatever stands beside it."""
        out = np.empty(len(rows))
        for start in range(0, len(rows), _CACHED):
            part = slice(start, start + _CACHED)
            first, second = self.vectors[rows[part]], other.vectors[other_rows[part]]
            dot, *squares = (np.multiply(a, b, dtype=np.float64).sum(axis=1) for a, b in _products(first, second))
            lengths = np.sqrt(squares[0] * squares[1])  # of equal vectors exactly their product, so that they are at 1
            out[part] = np.divide(dot, lengths, out=np.zeros(len(dot)), where=lengths > 0)
        return np.clip(out, -1.0, 1.0)


def _products(first: np.ndarray, second: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    return (first, second), (first, first), (second, second)


def _check(vectors: np.ndarray, dimension: int) -> None:
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise InputError(f"vectors: wanted (n, {dimension}) numbers; found {vectors.shape}; encode both sides with one encoder")


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of each row of ``first`` with the same row of ``second``: ``(n, dim)`` twice, ``(n,)`` float64, as ``nearest`` has it.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    _check(second, first.shape[1])
    out = np.empty(len(first))
    for start in range(0, len(first), RESCORE):
        block = slice(start, start + RESCORE)
        rows = np.arange(len(first[block]))
        out[block] = _Exact(np.asarray(first[block], np.float32)).cosines(
            rows, _Exact(np.asarray(second[block], np.float32)), rows
        )
    return out


def encoded_blocks(texts: Iterable[tuple[int, str]], encode: Encode) -> Iterator[Block]:
    """Blocks of texts, encoded as they stream: ``texts`` are (number, text).

    Raises:
        InputError: the encoder gives another number of vectors than it got texts.
    """
    waiting = iter(texts)
    while part := list(islice(waiting, ENCODE_TEXTS)):
        vectors = np.asarray(encode([text for _, text in part]), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(part):
            raise InputError(f"encoder: wanted ({len(part)}, dim) numbers; found {vectors.shape}; check the encoder")
        yield np.fromiter((number for number, _ in part), np.int64, len(part)), vectors


def stored_blocks(paths: Sequence[Path | str], rows: int = 16_384) -> Iterator[Block]:
    """Blocks of ``.npy`` files of vectors ``(n, dim)``, numbered from 0 on through all files in their order.

    They are read and not mapped, so that no pages of theirs stay with this process.

    Raises:
        InputError: not such a file, not of two dimensions and floats, or shorter than its head says.
    """
    first = 0
    for path in map(Path, paths):
        try:
            mapped = np.lib.format.open_memmap(path, mode="r")  # its head alone is looked at; objects it refuses
        except (OSError, ValueError, EOFError) as error:
            raise bad_input(path, wanted="vectors as .npy", found=str(error).splitlines()[0], do="save them again") from error
        if not isinstance(mapped, np.memmap) or mapped.ndim != 2 or mapped.dtype.kind != "f" or not mapped.flags.c_contiguous:
            found = f"{mapped.dtype} of shape {mapped.shape}" if isinstance(mapped, np.ndarray) else "an archive"
            raise bad_input(path, wanted="vectors as .npy, (n, dim) of floats, row by row", found=found, do="save them again")
        (count, dimension), dtype, offset = mapped.shape, mapped.dtype, mapped.offset
        del mapped
        with open(path, "rb") as handle:
            handle.seek(offset)
            for start in range(0, count, rows):
                size = min(rows, count - start)
                vectors = np.fromfile(handle, dtype, size * dimension).reshape(size, dimension)
                yield np.arange(first + start, first + start + size), vectors
        first += count

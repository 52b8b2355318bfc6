"""Exact nearest neighbours by cosine or inner product: many vectors are compared with a few tests, a tile at a time.

A tile is multiplied with all tests in one float32 matrix product. Pairs that may be among the k nearest, by a bound on its rounding
error, are computed again in float64, so the result does not depend on the cuts or the order of the vectors. With u = 2⁻²⁴ and
γ = dim·u / (1 − dim·u), a float32 product of a and b is wrong by at most γ·|a|·|b| (Higham, Accuracy and Stability of Numerical Algorithms,
2002, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from positionbias.core.ahead import ahead
from positionbias.core.errors import InputError

__all__ = [
    "FEWEST_ROWS",
    "Block",
    "Neighbours",
    "Products",
    "Similarity",
    "cosines",
    "held_bytes",
    "inner_products",
    "nearest",
    "tile_rows",
]

Block = tuple[np.ndarray, np.ndarray]  # numbers (n,) int64, vectors (n, dim)
Similarity = Literal["cosine", "dot"]

MOST_ROWS, FEWEST_ROWS = 4_096, 16  # of a tile; longer tiles gain nothing
RESCORE = 4_096  # pairs recomputed at a time
_LOOKED_AT = 128  # tests whose products with a tile are searched at once
_CACHED = 128  # tests at once: their products stay in the processor's cache
_SMALL = 1e-12  # vector lengths whose squares may not fit in float32
_UNIT = 2.0**-24


def held_bytes(tests: int, neighbours: int, dimension: int) -> tuple[int, int]:
    """Return the memory of a search in bytes: fixed, and for each vector of a tile."""
    # test vectors in two precisions; state, waiting candidates and their sort; recomputed pairs
    fixed = 12 * tests * dimension + 160 * tests * neighbours + 64 * RESCORE + 32 * _CACHED * dimension
    return fixed, 4 * tests + 36 * (dimension + _LOOKED_AT)  # three tiles at a time


def tile_rows(memory: float, tests: int, neighbours: int, dimension: int) -> int:
    """Return the vectors per tile that fit ``memory`` bytes, at most 4,096; below ``FEWEST_ROWS`` (even negative) memory is too small."""
    fixed, row = held_bytes(tests, neighbours, dimension)
    return min(int((memory - fixed) // row), MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest vectors of each test, by falling score, then rising number.

    ``numbers`` ``(tests, k)`` int64, padded with −1; ``scores`` ``(tests, k)`` float64, padded with −inf.
    """

    numbers: np.ndarray
    scores: np.ndarray


class Products(Protocol):
    """A device that computes and searches the float32 products of all tests with a tile."""

    def reaching(self, tile: np.ndarray, bounds: np.ndarray, margin: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, in parts, the (test, row) pairs whose product may be among the k nearest, each once.

        ``tile`` ``(n, dim)`` float32; ``bounds`` ``(tests,)`` float32 that a product must reach; ``margin`` ``(tests,)`` float64, twice
        a product's error. For a test with more than k pairs, those below its k-th highest less the margin may be omitted.
        """


def nearest(
    tests: np.ndarray,
    blocks: Iterable[Block],
    *,
    neighbours: int,
    rows: int,
    similarity: Similarity = "cosine",
    floor: float = -np.inf,
    products: Callable[[np.ndarray, int], Products] | None = None,
) -> Neighbours:
    """Find each test's ``neighbours`` (k) nearest vectors with a score of at least ``floor``, exactly, in tiles of ``rows`` vectors.

    "cosine": cos(a, b) = a·b / (|a| |b|), 0 where one is zero, as float64. "dot": a·b, the nearest float32 to the sum in float64; scores that
    agree in float32 tie. Ties go to the lower number.

    ``tests`` ``(t, dim)``; ``blocks`` of any size give vectors with a number each, distinct over all blocks. ``products`` makes the
    device that computes, from the tests' vectors and k; by default this processor.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    search = _Search(tests, neighbours, rows, similarity, floor, products)
    # read, measured and scaled in a thread, while the tile before is multiplied and searched
    with closing(ahead(_tiles(blocks, tests.shape[1], rows, similarity))) as tiles:
        for numbers, tile, compared in tiles:
            search.look(numbers, tile, compared)
    return search.done()


def _tiles(
    blocks: Iterable[Block], dimension: int, rows: int, similarity: Similarity
) -> Iterator[tuple[np.ndarray, _Exact, np.ndarray]]:
    """Yield each tile's numbers ``(n,)``, vectors, and their factors in products ``(n, dim)`` float32, n at most ``rows``."""
    for numbers, vectors in blocks:
        _check(vectors, dimension)
        for start in range(0, len(vectors), rows):
            part = slice(start, start + rows)
            tile = _Exact(np.asarray(vectors[part], np.float32), similarity)
            yield np.asarray(numbers[part], np.int64), tile, tile.compared()


class _Search:
    """The k nearest so far, and the pairs waiting to be merged."""

    def __init__(
        self,
        tests: np.ndarray,
        neighbours: int,
        rows: int,
        similarity: Similarity,
        floor: float,
        products: Callable[[np.ndarray, int], Products] | None,
    ) -> None:
        _check(tests, tests.shape[-1])
        self.k, self.floor = neighbours, floor
        count, dimension = tests.shape
        self.exact = _Exact(np.asarray(tests, np.float32), similarity)
        compared = self.exact.compared()  # (t, dim) float32
        self.products = products(compared, self.k) if products else _Here(compared, self.k, rows)
        rounding = dimension * _UNIT
        # twice the error of a product: of both sides' lengths (also float32 sums), and of rounding each to float32
        self.margin = 2 * (2 * rounding / (1 - rounding) + 8 * _UNIT) * self.exact.reach()
        self.numbers = np.full((count, self.k), -1, np.int64)
        self.scores = np.full((count, self.k), -np.inf)
        self.waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # test, number, score
        self.waits = 0

    def look(self, numbers: np.ndarray, tile: _Exact, compared: np.ndarray) -> None:
        """Search one tile: its numbers ``(n,)``, its vectors, and their factors in products, ``(n, dim)`` float32."""
        margin = self.margin * float(tile.reach().max(initial=0.0))
        # the bound of a float32 product: the k-th score so far or the floor, less the margin
        lowest = np.maximum(self.scores[:, -1], self.floor) - margin
        bounds = np.nextafter(lowest.astype(np.float32), np.float32(-np.inf))
        for test, row in self.products.reaching(compared, bounds, margin):
            self._take(test, row, numbers, tile)

    def _take(self, tests: np.ndarray, rows: np.ndarray, numbers: np.ndarray, tile: _Exact) -> None:
        """Recompute pairs exactly and queue them; merge when as many wait as are held."""
        for start in range(0, len(tests), RESCORE):
            test, row = tests[start : start + RESCORE], rows[start : start + RESCORE]
            score = self.exact.scores(test, tile, row)
            kept = score >= self.floor
            self.waiting.append((test[kept], numbers[row[kept]], score[kept]))
            self.waits += int(kept.sum())
            if self.waits >= len(self.numbers) * self.k:
                self._merge()

    def _merge(self) -> None:
        """Merge the waiting pairs into the k nearest."""
        tests, numbers, scores = (np.concatenate(parts) for parts in zip(*self.waiting, strict=True))
        touched = np.unique(tests)
        held = np.repeat(touched, self.k)
        tests = np.concatenate([held, tests])
        numbers = np.concatenate([self.numbers[touched].reshape(-1), numbers])
        scores = np.concatenate([self.scores[touched].reshape(-1), scores])
        order = np.lexsort((numbers, -scores, tests))
        begins = np.searchsorted(tests[order], touched)
        places = order[begins[:, None] + np.arange(self.k)]  # each updated test has at least its k held
        self.numbers[touched], self.scores[touched] = numbers[places], scores[places]
        self.waiting, self.waits = [], 0

    def done(self) -> Neighbours:
        if self.waiting:
            self._merge()
        return Neighbours(self.numbers, self.scores)


class _Here:
    """``Products`` on this processor, in one buffer the size of a tile's."""

    def __init__(self, tests: np.ndarray, k: int, rows: int) -> None:
        self.tests, self.k = tests, k
        self.product = np.empty(len(tests) * rows, np.float32)

    def reaching(self, tile: np.ndarray, bounds: np.ndarray, margin: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        product = self.product[: len(self.tests) * len(tile)].reshape(len(self.tests), len(tile))
        np.matmul(self.tests, tile.T, out=product)
        # after the first tiles the highest product rules most tests out
        reached = np.flatnonzero(product.max(axis=1, initial=-np.inf) >= bounds)
        for start in range(0, len(reached), _LOOKED_AT):
            tests = reached[start : start + _LOOKED_AT]
            test, row = self._reaching(product[tests], bounds[tests, None], margin[tests])
            yield tests[test], row

    def _reaching(self, product: np.ndarray, bounds: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the (test, row) pairs that reach their test's bound, raised to the k-th highest less the margin where more than k do."""
        mask = product >= bounds
        if product.shape[1] > self.k:
            for test in np.flatnonzero(np.count_nonzero(mask, axis=1) > self.k).tolist():
                scores = product[test, mask[test]]
                kth = np.partition(scores, len(scores) - self.k)[len(scores) - self.k]
                np.greater_equal(product[test], np.float32(kth - np.float32(margin[test])), out=mask[test])
        return np.divmod(np.flatnonzero(mask.reshape(-1)), product.shape[1])


class _Exact:
    """Vectors with their lengths, their factors in products, and scores independent of block size."""

    def __init__(self, vectors: np.ndarray, similarity: Similarity) -> None:
        self.vectors, self.similarity = np.ascontiguousarray(vectors), similarity
        # float32 sums suffice to scale unit vectors and to detect what is not finite
        lengths = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        if not np.isfinite(lengths).all():
            raise InputError(
                "vectors: wanted finite numbers of ordinary size; found NaN, infinity or beyond; check the encoder"
            )
        self._lengths = lengths

    def reach(self) -> np.ndarray:
        """Return the lengths of the factors in products, ``(n,)`` float64."""
        if self.similarity == "cosine":
            return np.ones(len(self.vectors))
        return self._lengths.astype(np.float64) + _SMALL  # below which float32 squares vanish

    def compared(self) -> np.ndarray:
        """Return the factors in products: for cosines float32 unit vectors (zeros stay zeros), else the vectors."""
        if self.similarity == "dot":
            return self.vectors
        small = np.flatnonzero(self._lengths < _SMALL)
        self._lengths[small] = 1.0
        units = self.vectors / self._lengths[:, None]
        if len(small):
            exact = self.vectors[small].astype(np.float64)
            lengths = np.sqrt((exact * exact).sum(axis=1))
            units[small] = exact / np.where(lengths > 0, lengths, 1.0)[:, None]
        return units

    def scores(self, rows: np.ndarray, other: _Exact, other_rows: np.ndarray) -> np.ndarray:
        """Return the score of each pair of rows, ``(pairs,)`` float64, independent of the other pairs."""
        score = _cosine if self.similarity == "cosine" else _dot
        out = np.empty(len(rows))
        for start in range(0, len(rows), _CACHED):
            part = slice(start, start + _CACHED)
            out[part] = score(self.vectors[rows[part]], other.vectors[other_rows[part]])
        return out


def _sum64(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.multiply(first, second, dtype=np.float64).sum(axis=1)


def _cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    dot = _sum64(first, second)
    lengths = np.sqrt(_sum64(first, first) * _sum64(second, second))  # exact for equal vectors, whose cosine is 1
    return np.clip(np.divide(dot, lengths, out=np.zeros(len(dot)), where=lengths > 0), -1.0, 1.0)


def _dot(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return _sum64(first, second).astype(np.float32).astype(np.float64)


def _check(vectors: np.ndarray, dimension: int) -> None:
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise InputError(f"vectors: wanted (n, {dimension}) numbers; found {vectors.shape}; encode both sides with one encoder")


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosines of the rows of ``first`` and ``second``, both ``(n, dim)``: ``(n,)`` float64, as in ``nearest``.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    return _row_by_row(first, second, "cosine")


def inner_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the inner products as in ``nearest``, with the arguments of ``cosines``: ``(n,)`` float32."""
    return _row_by_row(first, second, "dot").astype(np.float32)


def _row_by_row(first: np.ndarray, second: np.ndarray, similarity: Similarity) -> np.ndarray:
    _check(second, first.shape[1])
    out = np.empty(len(first))
    for start in range(0, len(first), RESCORE):
        block = slice(start, start + RESCORE)
        sides = (_Exact(np.asarray(side[block], np.float32), similarity) for side in (first, second))
        one, other = sides
        rows = np.arange(len(one.vectors))
        out[block] = one.scores(rows, other, rows)
    return out

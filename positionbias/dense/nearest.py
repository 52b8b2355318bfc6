"""Exact nearest neighbours by cosine or inner product: many vectors are compared with a few tests,
a tile at a time.

A tile is multiplied with all tests in float32 (``dense.products``), a part of the tests in each
thread. Pairs that may be among the k nearest, by a bound on rounding errors, are computed again in
float64, so the result does not depend on cuts, threads or the order of the vectors. A bound is a
score that k known vectors reach; the first is that of rows sampled from the first tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.ahead import ahead
from positionbias.dense.products import BLOCK, Hits, NumpyProducts, Products, below, growth
from positionbias.dense.similarity import RESCORE, UNIT, Similarity, Sized, check_width
from positionbias.engine.threads import cores

Block = tuple[np.ndarray, np.ndarray]  # numbers (n,) int64, vectors (n, dim)

MOST_ROWS, FEWEST_ROWS = 32_768, 16  # of a tile; longer tiles gain nothing


def held_bytes(tests: int, neighbours: int, dimension: int) -> tuple[int, int]:
    """Return the memory of a search in bytes: fixed, and for each vector of a tile."""
    # test vectors as given, as compared, and laid out twice; state, waiting candidates and their
    # sort; a block's products
    fixed = tests * (16 * dimension + 160 * neighbours + 12 * BLOCK)
    fixed += cores() * (64 * RESCORE + 32 * 128 * dimension)  # pairs recomputed in each thread
    return fixed, 40 * dimension + 24  # four tiles at a time


def tile_rows(memory: float, tests: int, neighbours: int, dimension: int) -> int:
    """Return the vectors per tile that fit ``memory`` bytes, at most 32,768; below ``FEWEST_ROWS``
    (even negative) memory is too small.
    """
    fixed, row = held_bytes(tests, neighbours, dimension)
    return min(int((memory - fixed) // row), MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest vectors of each test, by falling score, then rising number.

    ``numbers`` ``(tests, k)`` int64, padded with −1; ``scores`` ``(tests, k)`` float64, padded with
    −inf.
    """

    numbers: np.ndarray
    scores: np.ndarray


def nearest(
    tests: np.ndarray,
    blocks: Iterable[Block],
    *,
    neighbours: int,
    rows: int,
    similarity: Similarity = "cosine",
    floor: float | np.ndarray = -np.inf,
    products: Callable[[np.ndarray, int], Products] | None = None,
) -> Neighbours:
    """Find each test's ``neighbours`` (k) nearest vectors with a score of at least ``floor``,
    exactly, in tiles of ``rows`` vectors.

    ``floor`` is one for all tests or ``(t,)``.

    "cosine": cos(a, b) = a·b / (|a| |b|), 0 where one is zero, as float64. "dot": a·b, the nearest
    float32 to the sum in float64; scores that agree in float32 tie. Ties go to the lower number.

    ``tests`` ``(t, dim)``; ``blocks`` of any size give vectors with a number each, distinct over
    all blocks. ``products`` makes the device that multiplies, from the tests' vectors and k; by
    default this processor.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    check_width(tests, tests.shape[-1])
    sized = Sized(np.asarray(tests, np.float32), similarity)
    compared = sized.compared()
    device = products(compared, neighbours) if products else products_here(compared)
    floors = np.broadcast_to(np.asarray(floor, np.float64), len(tests))
    parts = [
        _Part(device, number, cut, sized, neighbours, floors[cut])
        for number, cut in enumerate(device.parts)
    ]
    # tiles are read, measured and scaled in a thread, while the one before is multiplied and
    # searched
    tiles = ahead(_tiles(blocks, tests.shape[1], rows, similarity, device))
    with device.pool() as pool, closing(tiles):
        _search(pool, parts, tiles)
    return Neighbours(
        np.concatenate([part.numbers for part in parts])
        if parts
        else np.empty((0, neighbours), np.int64),
        np.concatenate([part.scores for part in parts]) if parts else np.empty((0, neighbours)),
    )


class _Tile(NamedTuple):
    """Some vectors with their numbers, as scores are made of them, and as the device multiplies
    them; the largest of their lengths.
    """

    numbers: np.ndarray
    vectors: Sized
    factors: Any
    reach: float


def _tiles(
    blocks: Iterable[Block], dimension: int, rows: int, similarity: Similarity, device: Products
) -> Iterator[_Tile]:
    """Yield tiles of ``rows`` vectors, the last one smaller."""
    numbers, vectors, filled = np.empty(rows, np.int64), np.empty((rows, dimension), np.float32), 0

    def tile() -> _Tile:
        sized = Sized(vectors[:filled], similarity)
        reach = float(sized.reach().max(initial=0.0))
        return _Tile(
            numbers[:filled],
            sized,
            device.prepare(sized.compared(), reach * (1 + growth(3 * dimension))),
            reach,
        )

    for block_numbers, block in blocks:
        check_width(block, dimension)
        for start in _cuts(len(block), rows - filled, rows):
            part = slice(start, start + rows - filled)
            taken = len(block[part])
            numbers[filled : filled + taken], vectors[filled : filled + taken] = (
                block_numbers[part],
                block[part],
            )
            filled += taken
            if filled == rows:
                yield tile()
                numbers, vectors, filled = (
                    np.empty(rows, np.int64),
                    np.empty((rows, dimension), np.float32),
                    0,
                )
    if filled:
        yield tile()


def _cuts(count: int, first: int, rows: int) -> Iterator[int]:
    """Yield where the parts of a block begin: one of ``first`` vectors, then of ``rows``."""
    if count:
        yield 0
        yield from range(first, count, rows)


def _search(pool: ThreadPoolExecutor, parts: Sequence[_Part], tiles: Iterable[_Tile]) -> None:
    """Let each part look at each tile, in order; a part begins with a tile while others still look
    at the one before.
    """
    before: list[Future[None]] = []
    try:
        for tile in tiles:
            now = [
                pool.submit(part.look, tile, before[place] if before else None)
                for place, part in enumerate(parts)
            ]
            for done in before:
                done.result()
            before = now
        for done in before:
            done.result()
        for done in [pool.submit(part.merge) for part in parts]:
            done.result()
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise


class _Part:
    """Some tests: the k nearest so far, exact pairs that wait to be merged, and a score that k
    known vectors reach.
    """

    def __init__(
        self, device: Products, part: int, cut: slice, tests: Sized, k: int, floor: np.ndarray
    ) -> None:
        self.device, self.part, self.tests, self.first, self.k, self.floor = (
            device,
            part,
            tests,
            cut.start,
            k,
            floor,
        )
        count, dimension = cut.stop - cut.start, tests.vectors.shape[1]
        # between the score and the product of factors: both lengths' float32 sums, and rounding
        # each factor and the score to float32
        self.off = (growth(dimension) + 8 * UNIT) * tests.reach()[cut]
        self.numbers, self.scores = np.full((count, k), -1, np.int64), np.full((count, k), -np.inf)
        self.bound = np.full(count, -np.inf)  # that k known vectors reach
        self.waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # test, number, score
        self.waits = 0

    def look(self, tile: _Tile, before: Future[None] | None) -> None:
        """Search one tile, after the one before."""
        if before is not None:
            before.result()
        off = self.off * tile.reach
        error = self.device.error(self.part, tile.factors) + off  # of a value, from its score
        if np.isneginf(self.bound).any():
            known = self.device.sampled(self.part, tile.factors, self.k) - error
            self.bound = np.maximum(self.bound, known)
        lowest = np.empty(len(self.bound), np.float32)
        lowest[:] = below(self._least() - off)
        found: list[Hits] = []
        count, most = 0, len(self.bound) * self.k
        for hits in self.device.scan(self.part, tile.factors, lowest):
            found.append(hits)
            count += len(hits.tests)
            if count >= most:
                found = [self._thinned(found, error)]
                count, lowest[:] = len(found[0].tests), below(self._least() - off)
                most = max(most, 2 * count)  # where many tie
        # else raising the bounds takes longer than computing a few pairs again
        if 4 * count >= most:
            found = [self._thinned(found, error)]
        for hits in found:
            self._take(hits, tile)

    def _least(self) -> np.ndarray:
        """Return the score that is needed to be among the nearest."""
        return np.maximum(self.bound, self.floor)

    def _thinned(self, found: Sequence[Hits], error: np.ndarray) -> Hits:
        """Raise the bounds by what was found, and return what still may reach them."""
        tests, rows, values = (np.concatenate(column) for column in zip(*found, strict=True))
        exact = [(np.repeat(np.arange(len(self.scores)), self.k), self.scores.reshape(-1))]
        exact += [(test, score) for test, _, score in self.waiting]
        known = np.concatenate([*(score for _, score in exact), values - error[tests]])
        of = np.concatenate([*(test for test, _ in exact), tests])
        self.bound = np.maximum(
            self.bound, _kth_highest(of, below(known), len(self.scores), self.k)
        )
        kept = np.flatnonzero(values >= (self._least() - error)[tests])
        return Hits(tests[kept], rows[kept], values[kept])

    def _take(self, hits: Hits, tile: _Tile) -> None:
        """Compute pairs again, exactly, and let them wait; merge when as many wait as are held."""
        for start in range(0, len(hits.tests), RESCORE):
            test, row = hits.tests[start : start + RESCORE], hits.rows[start : start + RESCORE]
            score = self.tests.scores(test + self.first, tile.vectors, row)
            kept = score >= self.floor[test]
            self.waiting.append((test[kept], tile.numbers[row[kept]], score[kept]))
            self.waits += int(kept.sum())
        if self.waits >= self.scores.size:
            self.merge()

    def merge(self) -> None:
        """Merge the waiting pairs into the k nearest."""
        if not self.waiting:
            return
        tests, numbers, scores = (
            np.concatenate(parts) for parts in zip(*self.waiting, strict=True)
        )
        touched = np.unique(tests)
        held = np.repeat(touched, self.k)
        tests = np.concatenate([held, tests])
        numbers = np.concatenate([self.numbers[touched].reshape(-1), numbers])
        scores = np.concatenate([self.scores[touched].reshape(-1), scores])
        order = np.lexsort((numbers, -scores, tests))
        begins = np.searchsorted(tests[order], touched)
        # each updated test has at least its k held
        places = order[begins[:, None] + np.arange(self.k)]
        self.numbers[touched], self.scores[touched] = numbers[places], scores[places]
        self.bound = np.maximum(self.bound, self.scores[:, -1])
        self.waiting, self.waits = [], 0


def _kth_highest(tests: np.ndarray, values: np.ndarray, count: int, k: int) -> np.ndarray:
    """Return each test's k-th highest value, ``(count,)`` float32, −inf where it has fewer, from
    pairs ``(n,)`` of test and float32 value.
    """
    bits = values.view(np.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # whole numbers in the order of the values
    keys = (tests.astype(np.int64) << 32) | (0x7FFFFFFF - ordered.astype(np.int64))
    keys.sort()
    begins = np.searchsorted(keys, np.arange(count + 1) << 32)
    enough = np.flatnonzero(np.diff(begins) >= k)
    highest = np.full(count, -np.inf, np.float32)
    ordered = (0x7FFFFFFF - (keys[begins[enough] + k - 1] & 0xFFFFFFFF)).astype(np.int32)
    highest[enough] = (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(np.float32)
    return highest


def products_here(tests: np.ndarray) -> Products:
    """Return the products of this processor: by oneDNN where torch is installed and has it, else by
    numpy.
    """
    if find_spec("torch") is None:
        return NumpyProducts(tests)
    from positionbias.dense.onednn_products import fitting_products  # needs torch

    return fitting_products(tests)

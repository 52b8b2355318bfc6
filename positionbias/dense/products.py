"""Float32 products of a tile of vectors with tests, searched by a bound: the one product of search,
leakage and retrieval.

``dense.onednn_products`` multiplies by oneDNN where torch is installed, numpy elsewhere. They find
a superset by a bound on rounding errors, and ``dense.nearest`` computes it again in float64, so all
lead to the same result; so does ``dense.on_device``, which does all of it on a GPU.

With u = 2⁻²⁴ and γ = dim·u / (1 − dim·u), a float32 product of a and b, added up in any order, is
wrong by at most γ·|a|·|b| (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from positionbias.dense.similarity import UNIT

PART, BLOCK = 512, 1_024  # tests and rows of one product, which stays in a core's cache
UNDERFLOW = 1e-30  # more than products lose where float32 has no smaller numbers


class Hits(NamedTuple):
    """Pairs found: tests (within their part) and rows of the tile, both ``(n,)``, and their
    products ``(n,)`` float32.
    """

    tests: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class Products(Protocol):
    """A device that multiplies tiles with all tests, and searches the products. Tests are cut into
    parts, which threads may search at once.
    """

    @property
    def parts(self) -> Sequence[slice]:
        """Return how the tests are cut."""

    def pool(self) -> AbstractContextManager[ThreadPoolExecutor]:
        """Return the threads that search; ``prepare`` and what follows are called until they
        end.
        """

    def prepare(self, factors: np.ndarray, longest: float) -> Any:
        """Return the tile ``factors (n, dim)`` float32, at most ``longest`` long, as the other
        functions take it.

        It is called for each tile in order, in one thread.
        """

    def error(self, part: int, tile: Any) -> np.ndarray:
        """Return the largest error of the values of ``scan`` and ``sampled``, ``(tests,)``
        float64.
        """

    def sampled(self, part: int, tile: Any, k: int) -> np.ndarray:
        """Return values ``(tests,)`` float32 that k rows of the tile reach; −inf where none is
        known.
        """

    def scan(self, part: int, tile: Any, lowest: np.ndarray) -> Iterator[Hits]:
        """Yield each pair whose exact product is at least its test's ``lowest`` once, and perhaps
        others.

        ``lowest (tests,)`` float32 may be raised between two yields.
        """


def growth(operations: int) -> float:
    """Return γ of so many float32 operations."""
    return operations * UNIT / (1 - operations * UNIT)


def lengths64(vectors: np.ndarray) -> np.ndarray:
    """Return upper bounds of the lengths of float32 vectors ``(n, dim)``, ``(n,)`` float64."""
    squares = np.einsum("ij,ij->i", vectors, vectors).astype(np.float64)
    # below which float32 squares vanish
    return np.sqrt(squares) * (1 + growth(2 * vectors.shape[1])) + 1e-19


def cut_parts(tests: int, threads: int) -> list[slice]:
    """Cut tests into parts of at most ``PART``, where possible one for each thread."""
    size = min(PART, -(-tests // threads))
    return [slice(start, min(start + size, tests)) for start in range(0, tests, max(1, size))]


class Tile(NamedTuple):
    """A tile's vectors ``(n, dim)`` float32, and the largest of their lengths."""

    factors: np.ndarray
    longest: float


class NumpyProducts:
    """Products by numpy, whose BLAS has threads of its own; what others do better, they do in its
    place.
    """

    threads = 1

    def __init__(self, tests: np.ndarray) -> None:
        self.tests = np.ascontiguousarray(tests)
        self.lengths = lengths64(self.tests)
        self.parts = cut_parts(len(tests), self.threads)
        self.rounding = growth(tests.shape[1] + 2)  # of a product, relative to the factors' lengths

    def pool(self) -> ThreadPoolExecutor:
        """Return one thread."""
        return ThreadPoolExecutor(1, "products")

    def prepare(self, factors: np.ndarray, longest: float) -> Any:
        """Return the tile as it is."""
        return Tile(factors, longest)

    def multiply(self, part: int, factors: np.ndarray) -> np.ndarray:
        """Return the float32 products of these rows with the tests of a part, ``(rows, tests)``."""
        return factors @ self.tests[self.parts[part]].T

    def error(self, part: int, tile: Any) -> np.ndarray:
        """Return the error of a float32 product."""
        return self.rounding * self.lengths[self.parts[part]] * tile.longest + UNDERFLOW

    def sampled(self, part: int, tile: Any, k: int) -> np.ndarray:
        """Look at evenly spaced rows, a block of them or 4 k."""
        count = len(tile.factors)
        rows = tile.factors[:: max(1, count // max(BLOCK, 4 * k))]
        if len(rows) < k:
            return np.full(self.parts[part].stop - self.parts[part].start, -np.inf, np.float32)
        products = np.ascontiguousarray(self.multiply(part, np.ascontiguousarray(rows)).T)
        return np.partition(products, len(rows) - k, axis=1)[:, len(rows) - k]

    def scan(self, part: int, tile: Any, lowest: np.ndarray) -> Iterator[Hits]:
        """Compare a block of products at a time."""
        error = self.error(part, tile)
        for start in range(0, len(tile.factors), BLOCK):
            products = self.multiply(part, tile.factors[start : start + BLOCK])
            places = true_places(products >= below(lowest - error))
            if len(places):
                rows, tests = np.divmod(places, products.shape[1])
                yield Hits(tests, rows + start, products.reshape(-1)[places])


def below(values: np.ndarray) -> np.ndarray:
    """Return float32 numbers that are lower than these of float64."""
    with np.errstate(over="ignore"):  # lower than what float32 reaches is −inf
        return np.nextafter(values.astype(np.float32), np.float32(-np.inf))


def true_places(mask: np.ndarray) -> np.ndarray:
    """Return where a mask that is nearly everywhere false is true, in its flat form: eight cells
    are looked at as one number.
    """
    flat = mask.reshape(-1)
    if flat.size % 8:
        return np.flatnonzero(flat)
    words = np.flatnonzero(flat.view(np.uint64))
    inside = np.flatnonzero(flat.reshape(-1, 8)[words])
    return words[inside >> 3] * 8 + (inside & 7)

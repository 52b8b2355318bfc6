"""Products by oneDNN, which comes with torch, for ``dense.products``: in float32, or sieved in
bfloat16 where the processor multiplies it.

PyTorch multiplies float32 matrices with MKL, which takes slower paths on processors that are not
Intel's; oneDNN generates kernels for the actual one. The tests are laid out for it once.

The sieve multiplies q̂ and p̂, the factors rounded to bfloat16, at twice the rate, and is exact by
a bound: with the lengths of the rounding errors δq = q − q̂ and δp = p − p̂, measured for each
vector,

    |q·p − q̂·p̂| ≤ |δq|·|p| + |q̂|·|δp|   (Cauchy–Schwarz)   + γ·|q̂|·|p̂|

Products of two bfloat16 numbers are exact in float32, in which they are added up. The bound that a
product must reach is subtracted from it before it is rounded, which keeps its sign.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch

from positionbias.dense.products import (
    BLOCK,
    Hits,
    NumpyProducts,
    Products,
    below,
    growth,
    lengths64,
    true_places,
)
from positionbias.engine.threads import cores
from positionbias.models.onednn import has_onednn, multiplies_bfloat16, thread_pool

_HALF = 2.0**-8  # the relative error of rounding to bfloat16
_MANY = 1_024  # tests


def fitting_products(tests: np.ndarray) -> Products:
    """Return the products of this processor, where torch is installed."""
    if not _usable():
        return NumpyProducts(tests)
    # rounding a tile takes as long as a float32 product with some hundred tests
    return (
        SievedProducts(tests)
        if len(tests) >= _MANY and multiplies_bfloat16()
        else OneDnnProducts(tests)
    )


def _usable() -> bool:
    """Return True if nobody asked oneDNN for products in a format with a smaller range."""

    return has_onednn() and os.environ.get("ONEDNN_DEFAULT_FPMATH_MODE", "STRICT").upper() not in {
        "F16",
        "ANY",
    }


def _reduced() -> bool:
    """Return True if float32 products may round their factors to TensorFloat-32 or bfloat16, as a
    user can ask for.
    """

    named = torch.get_float32_matmul_precision() != "highest"
    return named or os.environ.get("ONEDNN_DEFAULT_FPMATH_MODE", "STRICT").upper() != "STRICT"


class OneDnnProducts(NumpyProducts):
    """Products by oneDNN, each of a thread on its own."""

    def __init__(self, tests: np.ndarray) -> None:

        self.threads = min(cores(), torch.get_num_threads())
        super().__init__(tests)
        if _reduced():
            self.rounding += 2 * _HALF + _HALF**2
        self._linear = torch.ops.mkldnn._linear_pointwise
        self.packed = [self._pack(self.tests[part]) for part in self.parts]

    def pool(self) -> ThreadPoolExecutor:
        """Return as many threads as there are cores, in each of which torch computes on one."""

        return thread_pool(self.threads, "products")

    def _pack(self, tests: np.ndarray) -> Any:

        return torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(tests), BLOCK)

    def multiply(self, part: int, factors: np.ndarray) -> np.ndarray:

        with torch.inference_mode():
            products: np.ndarray = self._linear(
                torch.from_numpy(factors), self.packed[part], None, "none", [], ""
            ).numpy()
        return products


class _SievedTile(NamedTuple):
    factors: np.ndarray
    longest: float
    halves: np.ndarray  # (n, dim) uint16, bfloat16's bits
    rounded: float  # the length of the largest rounding error


class SievedProducts(OneDnnProducts):
    """Products in bfloat16, of which those that may reach the bound are computed again in
    float32.
    """

    def __init__(self, tests: np.ndarray) -> None:

        super().__init__(tests)
        halves, self.rounded = _rounded(self.tests)
        self.sieves = [self._pack_halves(halves[part]) for part in self.parts]
        with warnings.catch_warnings():  # that sparse tensors are young: once said is enough
            warnings.simplefilter("ignore")
            self._pairs(
                np.zeros(1, np.int64),
                np.zeros(1, np.int64),
                self.tests[:1],
                torch.from_numpy(self.tests[:1]),
            )
        self.by_part = [torch.from_numpy(self.tests[part]) for part in self.parts]

    def _pack_halves(self, halves: np.ndarray) -> Any:

        return torch.ops.mkldnn._reorder_linear_weight(
            torch.from_numpy(halves).view(torch.bfloat16), BLOCK
        )

    def prepare(self, factors: np.ndarray, longest: float) -> _SievedTile:
        """Round the tile."""
        halves, errors = _rounded(factors)
        return _SievedTile(factors, longest, halves, float(errors.max(initial=0.0)))

    def _sieve_error(self, part: int, tile: _SievedTile) -> tuple[np.ndarray, np.ndarray]:
        """Return the error of a product of rounded factors, and bounds of all products,
        ``(tests,)`` each.
        """
        lengths, rounded = self.lengths[self.parts[part]], self.rounded[self.parts[part]]
        most = (lengths + rounded) * (tile.longest + tile.rounded)
        error = rounded * tile.longest + (lengths + rounded) * tile.rounded
        return (error + growth(2 * self.tests.shape[1] + 8) * most) * (1 + 1e-9) + 1e-30, most

    def scan(self, part: int, tile: _SievedTile, lowest: np.ndarray) -> Iterator[Hits]:
        """Look at the signs of a block of products less their bounds at a time."""

        error, most = self._sieve_error(part, tile)
        fine = self.error(part, tile)
        halves, tests = torch.from_numpy(tile.halves).view(torch.bfloat16), self.by_part[part]
        for start in range(0, len(tile.factors), BLOCK):
            # a sum's error is relative to all that is added
            bounds = np.maximum(lowest - error, -2 * most)
            bounds -= growth(2 * self.tests.shape[1] + 8) * np.abs(bounds)
            with torch.inference_mode():
                less = torch.from_numpy(-below(bounds))
                products = self._linear(
                    halves[start : start + BLOCK], self.sieves[part], less, "none", [], ""
                )
                places = true_places(products.view(torch.int16).numpy() >= 0)
            if not len(places):
                continue
            rows, found = np.divmod(places, products.shape[1])
            values = self._pairs(rows, found, tile.factors[start : start + BLOCK], tests)
            kept = np.flatnonzero(values >= (lowest - fine)[found])
            yield Hits(found[kept], rows[kept] + start, values[kept])

    def _pairs(
        self, rows: np.ndarray, tests: np.ndarray, factors: np.ndarray, of: Any
    ) -> np.ndarray:
        """Return the float32 products of pairs ordered by row."""

        with torch.inference_mode():
            ends = np.zeros(len(factors) + 1, np.int64)
            np.cumsum(np.bincount(rows, minlength=len(factors)), out=ends[1:])
            shape = len(factors), len(of)
            cells = torch.sparse_csr_tensor(
                torch.from_numpy(ends),
                torch.from_numpy(tests),
                torch.zeros(len(rows)),
                shape,
                check_invariants=False,
            )
            found: np.ndarray = (
                torch.sparse.sampled_addmm(cells, torch.from_numpy(factors), of.T, beta=0)
                .values()
                .numpy()
            )
        return found


def _rounded(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 vectors rounded to bfloat16, as its bits ``(n, dim)`` uint16, and the lengths
    of the errors ``(n,)``.
    """
    halves, errors = np.empty(vectors.shape, np.uint16), np.empty(len(vectors))
    for start in range(0, len(vectors), 128):  # what stays in the cache
        part = slice(start, start + 128)
        bits = vectors[part].view(np.uint32) + np.uint32(0x8000)  # half a bfloat16's last place
        np.right_shift(bits, 16, out=halves[part], casting="unsafe")
        bits &= np.uint32(0xFFFF0000)
        errors[part] = lengths64(vectors[part] - bits.view(np.float32))
    return halves, errors

"""Exact cosines and inner products of rows of vectors, in float64, independent of block size."""

from __future__ import annotations

from typing import Literal

import numpy as np

from positionbias.core.errors import InputError

Similarity = Literal["cosine", "dot"]

NOT_FINITE = (
    "vectors: wanted finite numbers of ordinary size; found NaN, infinity or beyond; check the "
    "encoder"
)
RESCORE = 4_096  # pairs recomputed at a time
UNIT = 2.0**-24  # the relative error of rounding to float32
_CACHED = 128  # pairs at once: their products stay in the processor's cache
_SMALL = 1e-12  # vector lengths whose squares may not fit in float32


class Sized:
    """Vectors with their lengths, their factors in products, and scores independent of block
    size.
    """

    def __init__(self, vectors: np.ndarray, similarity: Similarity) -> None:
        self.vectors, self.similarity = np.ascontiguousarray(vectors), similarity
        # float32 sums suffice to scale unit vectors and to detect what is not finite
        lengths = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        if not np.isfinite(lengths).all():
            raise InputError(NOT_FINITE)
        self._lengths = lengths

    def reach(self) -> np.ndarray:
        """Return the lengths of the factors in products, ``(n,)`` float64."""
        if self.similarity == "cosine":
            return np.ones(len(self.vectors))
        return self._lengths.astype(np.float64) + _SMALL  # below which float32 squares vanish

    def compared(self) -> np.ndarray:
        """Return the factors in products: for cosines float32 unit vectors (zeros stay zeros), else
        the vectors.
        """
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

    def scores(self, rows: np.ndarray, other: Sized, other_rows: np.ndarray) -> np.ndarray:
        """Return the score of each pair of rows, ``(pairs,)`` float64, independent of the other
        pairs.
        """
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
    # exact for equal vectors, whose cosine is 1
    lengths = np.sqrt(_sum64(first, first) * _sum64(second, second))
    return np.clip(np.divide(dot, lengths, out=np.zeros(len(dot)), where=lengths > 0), -1.0, 1.0)


def _dot(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return _sum64(first, second).astype(np.float32).astype(np.float64)


def check_width(vectors: np.ndarray, dimension: int) -> None:
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise InputError(
            f"vectors: wanted (n, {dimension}) numbers; found {vectors.shape}; encode both sides "
            "with one encoder"
        )


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosines of the rows of ``first`` and ``second``, both ``(n, dim)``: ``(n,)``
    float64, as in ``nearest``.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    return _row_by_row(first, second, "cosine")


def inner_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the inner products as in ``nearest``, with the arguments of ``cosines``: ``(n,)``
    float32.
    """
    return _row_by_row(first, second, "dot").astype(np.float32)


def _row_by_row(first: np.ndarray, second: np.ndarray, similarity: Similarity) -> np.ndarray:
    check_width(second, first.shape[1])
    out = np.empty(len(first))
    for start in range(0, len(first), RESCORE):
        block = slice(start, start + RESCORE)
        sides = (Sized(np.asarray(side[block], np.float32), similarity) for side in (first, second))
        one, other = sides
        rows = np.arange(len(one.vectors))
        out[block] = one.scores(rows, other, rows)
    return out

"""Exact cosines and inner products of rows of vectors, in float64, independent of block size."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from positionbias.core.errors import InputError

Similarity = Literal["cosine", "dot"]

NOT_FINITE = (
    "vectors: wanted finite numbers of ordinary size; found NaN, infinity or beyond; check the "
    "encoder"
)
UNIT = 2.0**-24  # the relative error of rounding to float32
LONGEST = 1e19  # a length whose squares float32 can add up
PAIRS = 128  # at once: their products stay in the processor's cache


def faiss_library() -> Any:
    """Return faiss, whose stubs are incomplete."""
    import faiss

    return faiss


def pair_scores(first: np.ndarray, second: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return the score of each pair of rows, ``(n,)`` float64; one row is compared with all.

    "cosine": 0 where one is zero, exactly 1 of equal vectors. "dot": the nearest float32 to the sum
    in float64.
    """
    dot = _sum64(first, second)
    if similarity == "dot":
        return dot.astype(np.float32).astype(np.float64)
    lengths = np.sqrt(_sum64(first, first) * _sum64(second, second))
    return np.clip(np.divide(dot, lengths, out=np.zeros(len(dot)), where=lengths > 0), -1.0, 1.0)


def _sum64(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.multiply(first, second, dtype=np.float64).sum(axis=1)


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
    scores = np.empty(len(first))
    for start in range(0, len(first), PAIRS):
        block = slice(start, start + PAIRS)
        own, other = (np.asarray(side[block], np.float32) for side in (first, second))
        for side in (own, other):
            if not (np.einsum("ij,ij->i", side, side) < LONGEST**2).all():
                raise InputError(NOT_FINITE)
        scores[block] = pair_scores(own, other, similarity)
    return scores

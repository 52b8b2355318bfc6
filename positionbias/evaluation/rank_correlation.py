"""Spearman's and Kendall's rank correlation of many rows of means with one row of positions, in array operations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["kendall", "pair_signs", "spearman"]

_DECIMALS = 12  # means that rounding alone parts are ties
_BLOCK = 2_000_000  # signs held at a time


def pair_signs(values: np.ndarray) -> np.ndarray:
    """sign(v_i − v_j) of the last axis, ``(…, k, k)``; values that rounding alone parts are equal."""
    rounded = np.round(values, _DECIMALS)
    return np.sign(rounded[..., :, None] - rounded[..., None, :])


def spearman(positions: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Spearman's ρ of ``means (rows, k)`` with ``positions (k,)``, ``(rows,)``: Pearson's correlation of the ranks, ties sharing theirs.

    NaN where all of a row, or of the positions, is equal, or where the row holds NaN.
    """
    # twice the rank, less its mean, is the number of smaller ones less that of larger ones
    x = pair_signs(positions).sum(axis=-1)
    return _by_blocks(
        means, lambda signs: _ratio((signs.sum(axis=-1) * x).sum(axis=-1), (signs.sum(axis=-1) ** 2).sum(axis=-1), (x**2).sum())
    )


def kendall(positions: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Kendall's τ_b of ``means (rows, k)`` with ``positions (k,)``, ``(rows,)``: agreeing less disagreeing pairs, over the geometric mean
    of the numbers of pairs that are no ties in either.

    NaN as for ``spearman``.
    """
    x = pair_signs(positions)
    return _by_blocks(means, lambda signs: _ratio((signs * x).sum(axis=(-2, -1)), (signs**2).sum(axis=(-2, -1)), (x**2).sum()))


def _by_blocks(means: np.ndarray, of_signs: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    rows, k = means.shape
    found = np.empty(rows)
    block = max(1, _BLOCK // (k * k))
    for start in range(0, rows, block):
        found[start : start + block] = of_signs(pair_signs(means[start : start + block]))
    return found


def _ratio(together: np.ndarray, own: np.ndarray, other: float) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return together / np.sqrt(own * other)

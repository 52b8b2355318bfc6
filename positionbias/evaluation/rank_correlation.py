"""Compute Kendall's rank correlation for many rows at once, with array operations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_DECIMALS = 12  # means that differ only by rounding are ties


class Agreement(NamedTuple):
    """Kendall's τ_b and the number of swapped pairs, each ``(rows,)``."""

    tau: np.ndarray
    swaps: np.ndarray


def agreement(first: np.ndarray, second: np.ndarray) -> Agreement:
    """Compare the order of each row of ``first``, ``(rows, k)`` or one row ``(k,)``, with that of
    ``second (rows, k)``.

    τ_b is agreeing minus disagreeing pairs, divided by the geometric mean of the two numbers of
    untied pairs; NaN if all values of a row are equal, or if it holds NaN. A tie in either is not a
    swap.
    """
    rows, k = second.shape
    one, two = (np.round(np.atleast_2d(values), _DECIMALS) for values in (first, second))
    agreeing, swaps, of_one, of_two = np.zeros((4, rows), np.int64)
    for place in range(k - 1):  # one column against all later ones, without an array of pairs
        (above, below), (over, under) = (_compared(values, place) for values in (one, two))
        agreeing += np.count_nonzero((above & over) | (below & under), axis=1)
        swaps += np.count_nonzero((above & under) | (below & over), axis=1)
        of_one += np.count_nonzero(above | below, axis=1)
        of_two += np.count_nonzero(over | under, axis=1)
    missing = np.isnan(one).any(axis=1) | np.isnan(two).any(axis=1)
    tau = _ratio(
        (agreeing - swaps).astype(np.float64), of_one.astype(np.float64), of_two.astype(np.float64)
    )
    return Agreement(np.where(missing, np.nan, tau), swaps)


def _compared(values: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the later columns that are below and above the one at ``place``,
    ``(rows, k − place − 1)`` bool.
    """
    this, others = values[:, place, None], values[:, place + 1 :]
    return this > others, this < others


def _ratio(together: np.ndarray, own: np.ndarray, other: np.ndarray | float) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return together / np.sqrt(own * other)

"""Find the pairs of systems that a test collection distinguishes: its discriminative power."""

from __future__ import annotations

import numpy as np

__all__ = ["LEVEL", "distinguished", "share_of_pairs"]

LEVEL = 0.05
_NOTHING = 1e-12  # rounding error of a variance, relative to the two systems' variances


def distinguished(values: np.ndarray) -> np.ndarray:
    """Return the significantly better system of each pair, ``(…, systems, systems)`` int8: 1 for
    the first, −1 for the second, else 0.

    ``values (…, queries, systems)``. A pair is distinguishable if the two-sided paired t-test over
    queries has p < 5 %, uncorrected, as discriminative power is defined (Sakai 2006, with the
    t-test instead of the bootstrap [decision]). Two systems whose queries all differ by the same
    amount, not 0, are distinguishable; fewer than two queries distinguish none.
    """
    from scipy import stats

    queries = values.shape[-2]
    means = values.mean(axis=-2)
    difference = means[..., :, None] - means[..., None, :]
    if queries < 2:
        return np.zeros(difference.shape, np.int8)
    centred = values - means[..., None, :]
    products = centred.swapaxes(-1, -2) @ centred
    own = np.diagonal(products, axis1=-2, axis2=-1)
    both = own[..., :, None] + own[..., None, :]
    squares = both - 2 * products
    squares = np.where(squares <= _NOTHING * both, 0, squares)
    bound = stats.t.ppf(1 - LEVEL / 2, queries - 1) ** 2 / (queries * (queries - 1))
    distinct = (difference**2 > bound * squares) & (np.abs(difference) > _NOTHING)
    return np.where(distinct, np.sign(difference), 0).astype(np.int8)


def share_of_pairs(chosen: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the share of a set's pairs that are chosen, ``(…, sets)``; NaN for fewer than two
    systems.

    ``chosen (…, systems, systems)`` is symmetric, and false on the diagonal;
    ``members (…, sets, systems)`` marks the systems of a set. Applied to the absolute values of
    ``distinguished``, it is the discriminative power.
    """
    within = members.astype(np.float32)
    counted = ((within @ chosen.astype(np.float32)) * within).sum(axis=-1, dtype=np.float64)
    size = within.sum(axis=-1, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return counted / (size * (size - 1))

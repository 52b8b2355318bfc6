"""Compare estimated orders of systems with the actual one: Kendall's τ_b and τ_AP, within sets of
systems, for many estimates at once.
"""

from __future__ import annotations

import numpy as np

from positionbias.evaluation.rank_correlation import pair_signs

__all__ = ["order_by_ap", "order_by_kendall"]


def order_by_kendall(actual: np.ndarray, estimated: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return Kendall's τ_b between ``actual (systems,)`` and each row of
    ``estimated (rows, systems)``, ``(rows, sets)``.

    ``members (rows, sets, systems)`` marks the systems compared in a row's set. With C and D the
    numbers of pairs that agree and disagree, without ties in either order,

        τ_b = (C − D) / √(pairs not tied in the actual order · pairs not tied in the estimated one)

    NaN if a set has fewer than two systems, or all its scores are equal in one of the two orders.
    """
    first, second = _signs(actual[None]), _signs(estimated)
    together = _pairs(members, first * second)
    with np.errstate(invalid="ignore", divide="ignore"):
        return together / np.sqrt(_pairs(members, first * first) * _pairs(members, second * second))


def order_by_ap(actual: np.ndarray, estimated: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return τ_AP (Yilmaz, Aslam, Robertson 2008, Equation 2) of the estimated order against the
    actual one, ``(rows, sets)``.

        τ_AP = 2 / (n − 1) · Σ_{i=2..n} C(i) / (i − 1) − 1

    C(i) is the number of systems above rank i in the estimated order that are also above that
    system in the actual order, so errors at the top weigh most. Shapes as for ``order_by_kendall``.
    Ties [decision]: the mean over all orders of systems tied in the estimate; a pair tied in the
    actual order counts half. NaN where ``order_by_kendall`` is.
    """
    first, second = _signs(actual[None]), _signs(estimated)
    within = members.astype(np.float32)
    above = (second < 0).astype(np.float32)  # (rows, i, j): j is above i
    agreeing = np.where(first < 0, 1, np.where(first == 0, 0.5, 0)).astype(np.float32)

    def counted(pairs: np.ndarray) -> np.ndarray:
        return (within @ pairs.swapaxes(-1, -2)).astype(np.float64)  # (rows, sets, i)

    agree, higher, tied = (
        counted(above * agreeing),
        counted(above),
        counted((second == 0).astype(np.float32)),
    )
    # the system has each of the ranks higher + 1 … higher + tied with equal probability; rank 1 has
    # no term
    size = actual.shape[0]
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, size + 1))])
    start = higher.astype(np.int64)
    inverse = (
        harmonic[np.minimum(start + tied.astype(np.int64) - 1, size).clip(0)]
        - harmonic[(start - 1).clip(0)]
    )
    terms = tied - (start == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = (agree * inverse + (terms - higher * inverse) / 2) / np.maximum(tied, 1)
        value = 2 * (each * within).sum(axis=-1) / (within.sum(axis=-1) - 1) - 1
    undefined = (_pairs(members, first * first) == 0) | (_pairs(members, second * second) == 0)
    return np.where(undefined, np.nan, value)


def _signs(values: np.ndarray) -> np.ndarray:
    return pair_signs(values).astype(np.float32)


def _pairs(members: np.ndarray, of_pairs: np.ndarray) -> np.ndarray:
    """Return the sum over ordered pairs within each set, ``(rows, sets)``, of
    ``of_pairs (rows, systems, systems)``; exact below 2²⁴ pairs.
    """
    within = members.astype(np.float32)
    return ((within @ of_pairs) * within).sum(axis=-1, dtype=np.float64)

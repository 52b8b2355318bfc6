"""Compute rank-biased precision and its residual, the part of the score that unjudged passages
leave open (Moffat, Zobel 2008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["PERSISTENCE", "RankBiasedPrecision", "judged_share", "rank_biased_precision"]

PERSISTENCE = 0.8


class RankBiasedPrecision(NamedTuple):
    """``base`` is the score if no unjudged passage is relevant, ``base + residual`` if all are;
    both ``(…,)``.
    """

    base: np.ndarray
    residual: np.ndarray


def rank_biased_precision(
    gains: np.ndarray, judged: np.ndarray, *, persistence: float = PERSISTENCE
) -> RankBiasedPrecision:
    """Return RBP = (1 − p) · Σ_i g_i · p^(i−1) over ranks i from 1, and its residual, for
    ``gains (…, depth)`` in [0, 1].

    ``judged (…, depth)`` bool: an unjudged rank adds nothing to the base and (1 − p)·p^(i−1) to the
    residual; so does every rank beyond the depth, p^depth in all. ``persistence`` p is the
    probability of reading on to the next rank.

    Raises:
        ValueError: ``persistence`` outside (0, 1).
    """
    if not 0 < persistence < 1:
        raise ValueError(f"persistence: wanted a number between 0 and 1; found {persistence}")
    depth = gains.shape[-1]
    weights = (1 - persistence) * persistence ** np.arange(depth)
    base = (np.where(judged, gains, 0) * weights).sum(axis=-1)
    return RankBiasedPrecision(base, (~judged * weights).sum(axis=-1) + persistence**depth)


def judged_share(judged: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return Judged@k, the share of the first k passages that are judged, at any grade, ``(…,)`` of
    ``judged (…, k)``.

    ``present (…, k)`` marks ranks with a passage. A shorter ranking is divided by its own length;
    an empty one gets NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return (judged & present).sum(axis=-1) / present.sum(axis=-1)

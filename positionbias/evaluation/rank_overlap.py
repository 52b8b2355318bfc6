"""Compute the rank-biased overlap of two rankings (Webber, Moffat, Zobel 2010), extrapolated beyond
their depths.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

__all__ = ["rank_biased_overlap", "rank_biased_overlaps"]


def rank_biased_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], p: float = 0.9
) -> float:
    """Return RBO_ext of two rankings of ids, in [0, 1]; 1 is the same ranking. Their lengths s ≤ l
    may differ (Equation 32):

        (1 − p)/p · (Σ_{d=1..l} X_d/d · p^d + Σ_{d=s+1..l} X_s·(d − s)/(s·d) · p^d)
        + ((X_l − X_s)/l + X_s/s) · p^l

    X_d is the number of ids that both have within depth d (the shorter one ends at s). ``p`` is the
    probability of reading on from one rank to the next: at 0.9 the first 10 ranks weigh 0.86. Two
    empty rankings have 1 [decision]; an empty and a non-empty one 0.

    Raises:
        ValueError: ``p`` outside (0, 1), or a repeated id in a ranking.
    """
    if not 0 < p < 1:
        raise ValueError(f"p: wanted a number between 0 and 1; found {p}")
    for ranking in (first, second):
        if len(set(ranking)) < len(ranking):
            raise ValueError("rankings: wanted every id once; found one twice")
    short, long = sorted((first, second), key=len)
    if not short:
        return float(not long)
    s, seen, shared, shared_short, total, weight = len(short), set[Hashable](), 0, 0, 0.0, 1.0
    for depth, item in enumerate(long, start=1):
        weight *= p
        if depth <= s:
            other = short[depth - 1]
            shared += (item == other) or (item in seen) + (other in seen)
            seen.update((item, other))
            shared_short = shared
        else:
            shared += item in seen  # now holds all of the shorter ranking
            total += weight * shared_short * (depth - s) / (s * depth)
        total += weight * shared / depth
    return (1 - p) / p * total + ((shared - shared_short) / len(long) + shared_short / s) * weight


def rank_biased_overlaps(
    firsts: Sequence[Sequence[Hashable]], seconds: Sequence[Sequence[Hashable]], p: float = 0.9
) -> np.ndarray:
    """Return ``rank_biased_overlap`` of each query's two rankings, ``(queries,)``;
    ``clustered.clustered_mean`` gives its mean and interval.

    Raises:
        ValueError: as there, or different numbers of rankings.
    """
    return np.array(
        [rank_biased_overlap(a, b, p) for a, b in zip(firsts, seconds, strict=True)], np.float64
    )

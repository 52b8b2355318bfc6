"""Negatives of a training query: filter candidates, and draw some for a positive."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from positionbias.core.seeds import choose, choose_many

__all__ = ["draw_many", "draw_negatives", "without"]

_PURPOSE = "ordinary negative"


def without(passage_ids: Sequence[str], others: Collection[str]) -> list[str]:
    """Return the passages that are not among the others, in order."""
    left_out = set(others)
    return [item for item in passage_ids if item not in left_out]


def draw_negatives(
    pool: Sequence[str], count: int, seed: int, query_id: str, positive: str
) -> list[str]:
    """Draw ``count`` different passages of the pool, or all if there are fewer, keyed by the seed,
    the query and its positive alone.
    """
    return [pool[place] for place in choose(len(pool), count, seed, _PURPOSE, query_id, positive)]


def draw_many(pools: np.ndarray, count: int, seed: int, pairs: Sequence[bytes]) -> np.ndarray:
    """Return the positions that ``draw_negatives`` draws from pools of these sizes,
    ``(len(pools), count)`` int64, padded with −1.

    A pair is the UTF-8 ids of a query and its positive, joined by ``\x1f``.
    """
    return choose_many(pools, min(count, int(pools.max(initial=0))), seed, _PURPOSE, pairs)

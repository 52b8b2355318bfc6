"""Negatives of a training query: which candidates can be one, and which are drawn for a positive."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from positionbias.core.seeds import choose, choose_many

__all__ = ["draw_many", "draw_negatives", "without"]

_PURPOSE = "ordinary negative"


def without(passage_ids: Sequence[str], others: Collection[str]) -> list[str]:
    """These passages but for the others, in their order."""
    left_out = set(others)
    return [item for item in passage_ids if item not in left_out]


def draw_negatives(pool: Sequence[str], count: int, seed: int, query_id: str, positive: str) -> list[str]:
    """``count`` different passages of the pool, all of them where there are fewer: a function of the seed, the query and its positive alone."""
    return [pool[place] for place in choose(len(pool), count, seed, _PURPOSE, query_id, positive)]


def draw_many(pools: np.ndarray, count: int, seed: int, pairs: Sequence[bytes]) -> np.ndarray:
    """The places that ``draw_negatives`` draws from pools of these sizes, ``(len(pools), count)`` int64, −1 behind the last one.

    A pair is the ids of a query and its positive in UTF-8, ``\x1f`` between them.
    """
    return choose_many(pools, min(count, int(pools.max(initial=0))), seed, _PURPOSE, pairs)

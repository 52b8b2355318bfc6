"""Negatives of a training query: which candidates can be one, and which are drawn for a positive."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from positionbias.core.seeds import choose

__all__ = ["draw_negatives", "without"]


def without(passage_ids: Sequence[str], others: Collection[str]) -> list[str]:
    """These passages but for the others, in their order."""
    left_out = set(others)
    return [item for item in passage_ids if item not in left_out]


def draw_negatives(pool: Sequence[str], count: int, seed: int, query_id: str, positive: str) -> list[str]:
    """``count`` different passages of the pool, all of them where there are fewer: a function of the seed, the query and its positive alone."""
    return [pool[place] for place in choose(len(pool), count, seed, "ordinary negative", query_id, positive)]

"""Divide candidates into blocks of whole queries, so that memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from positionbias.core.run import Run
from positionbias.ranking.scored import PassageTexts

__all__ = ["BLOCK_PAIRS", "distinct_texts", "query_blocks"]

BLOCK_PAIRS = 16_384


def query_blocks(candidates: Run, first: int | None = None) -> Iterator[list[str]]:
    """Yield the query ids in the run's order, in blocks of about ``BLOCK_PAIRS`` candidates.

    With ``first`` the first block has about so many, and each next twice as many up to ``BLOCK_PAIRS``.
    """
    held: list[str] = []
    count = 0
    size = BLOCK_PAIRS if first is None else min(first, BLOCK_PAIRS)
    for query_id in candidates:
        held.append(query_id)
        count += len(candidates.numbers(query_id))
        if count >= size:
            yield held
            held, count, size = [], 0, min(2 * size, BLOCK_PAIRS)
    if held:
        yield held


def distinct_texts(collection: PassageTexts, candidates: Run, query_ids: Sequence[str]) -> tuple[list[str], list[np.ndarray]]:
    """Return the distinct texts of these queries' passages, each read once, and for each query the indices of its passages."""
    per_query = [candidates.numbers(query_id) for query_id in query_ids]
    distinct, places = np.unique(np.concatenate(per_query), return_inverse=True)
    ends = np.cumsum([len(numbers) for numbers in per_query])
    return collection.texts([candidates.passage_ids[number] for number in distinct]), np.split(places, ends[:-1])

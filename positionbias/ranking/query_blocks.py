"""Divide candidates into blocks of whole queries, so that memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from positionbias.core.run import Run
from positionbias.ranking.scored import PassageTexts

BLOCK_PAIRS = 16_384


class Pairs(Protocol):
    """Queries in order, and each one's distinct passages as int numbers into ``passage_ids``, such
    as a Run.
    """

    @property
    def passage_ids(self) -> list[str]: ...

    def __iter__(self) -> Iterator[str]: ...

    def numbers(self, query_id: str) -> np.ndarray: ...


def query_blocks(
    candidates: Pairs, most: int | None = None, first: int | None = None
) -> Iterator[list[str]]:
    """Yield the query ids in order, in blocks of about ``most`` candidates (default:
    ``BLOCK_PAIRS``).

    With ``first`` the first block has about so many, and each next twice as many up to ``most``.
    """
    held: list[str] = []
    count = 0
    most = BLOCK_PAIRS if most is None else most
    size = most if first is None else min(first, most)
    for query_id in candidates:
        held.append(query_id)
        count += len(candidates.numbers(query_id))
        if count >= size:
            yield held
            held, count, size = [], 0, min(2 * size, most)
    if held:
        yield held


def distinct_texts(
    collection: PassageTexts, candidates: Run, query_ids: Sequence[str]
) -> tuple[list[str], list[np.ndarray]]:
    """Return the distinct texts of these queries' passages, each read once, and for each query the
    indices of its passages.
    """
    per_query = [candidates.numbers(query_id) for query_id in query_ids]
    distinct, places = np.unique(np.concatenate(per_query), return_inverse=True)
    ends = np.cumsum([len(numbers) for numbers in per_query])
    return collection.texts([candidates.passage_ids[number] for number in distinct]), np.split(
        places, ends[:-1]
    )

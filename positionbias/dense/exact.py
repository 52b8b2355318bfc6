"""Exact search over all vectors, a tile at a time; CPU and GPU give the same scores and ties.

score(q, p) = q · p,   the float32 nearest to the sum in float64

Equal scores: the higher passage id first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch

from positionbias.core.errors import SettingError
from positionbias.core.progress import Progress, step
from positionbias.dense.nearest import Block, Room, least_memory, nearest

Found = tuple[np.ndarray, np.ndarray]  # rows (n,) int64 and their scores (n,) float32, best first


class Searched(Protocol):
    """Searchable vectors: ``Vectors`` on disk, or ``StreamedVectors`` made during the search."""

    @property
    def dimension(self) -> int: ...

    def __len__(self) -> int: ...

    def by_descending_id(self) -> np.ndarray: ...

    def blocks(self) -> Iterator[Block]: ...


def queries_at_once(memory: float, depth: int, dimension: int) -> int:
    """Return the number of queries that one pass over the vectors serves in ``memory`` GiB.

    Raises:
        SettingError: not even one.
    """
    if not 0 < memory < float("inf"):
        raise SettingError(
            f"--memory: wanted GiB above 0; found {memory}; 1 serves thousands of queries"
        )
    least = least_memory(depth, dimension)
    if memory < least:
        raise SettingError(
            f"--memory: wanted at least {least:.2g} GiB to keep {depth:,} passages of a query; "
            f"found {memory:g}; raise it"
        )
    return Room.of(memory, depth, dimension).tests


def exact_search(
    vectors: Searched,
    queries: np.ndarray,
    depth: int,
    *,
    memory: float = 1.0,
    device: torch.device | None = None,
    description: str = "searching",
) -> Iterator[Found]:
    """Yield the ``depth`` passages with the highest inner product for each query ``(q, dim)``, in
    the order of the queries.

    ``memory`` in GiB bounds the search; if not all queries fit, the vectors are read again for the
    next ones.

    Raises:
        SettingError: ``memory`` is too small.
        InputError: a vector that is not finite, or a damaged shard.
    """
    depth = min(depth, len(vectors))
    if depth == 0 or not len(queries):
        yield from ((np.empty(0, np.int64), np.empty(0, np.float32)) for _ in queries)
        return
    at_once = min(queries_at_once(memory, depth, vectors.dimension), len(queries))
    by_id = vectors.by_descending_id()
    places = np.empty_like(by_id)
    places[by_id] = np.arange(len(by_id))  # numbered so that the lower number is the higher id
    passes = -(-len(queries) // at_once)
    with step(description, passes * len(vectors), unit="vectors") as bar:
        for start in range(0, len(queries), at_once):
            found = nearest(
                queries[start : start + at_once],
                _numbered(vectors, places, bar),
                neighbours=depth,
                memory=memory,
                similarity="dot",
                device=device,
            )
            kept = found.numbers >= 0
            for numbers, scores, own in zip(found.numbers, found.scores, kept, strict=True):
                yield by_id[numbers[own]], scores[own].astype(np.float32)


def _numbered(vectors: Searched, places: np.ndarray, bar: Progress) -> Iterator[Block]:
    for rows, block in vectors.blocks():
        yield places[rows], block
        bar.advance(len(rows))

"""Queries as vectors, and what a search found for them as rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from positionbias.core.run import Ranking
from positionbias.dense.exact import Found
from positionbias.dense.single_vectors import SingleVectors, length_one

__all__ = ["DenseQueries"]


@dataclass(frozen=True, slots=True)
class DenseQueries:
    """Query ids in order; those without a text; the vectors ``(n, dim)`` float32 of the others, at length 1 where cosines are compared."""

    ids: list[str]
    empty: frozenset[str]
    vectors: np.ndarray

    @classmethod
    def encoded(cls, encoder: SingleVectors, queries: Iterable[tuple[str, str]]) -> DenseQueries:
        """(query id, text) as vectors."""
        pairs = list(queries)
        empty = frozenset(query_id for query_id, text in pairs if not text.strip())
        texts = [text for query_id, text in pairs if query_id not in empty]
        vectors = encoder.queries(texts) if texts else np.empty((0, encoder.model.dimension), np.float32)
        if encoder.similarity == "cosine":
            vectors = length_one(vectors)
        return cls([query_id for query_id, _ in pairs], empty, vectors)

    def rankings(self, found: Iterator[Found], ids_at: Callable[[np.ndarray], list[str]]) -> Iterator[Ranking]:
        """The ranking of each query in order, from what was ``found`` for those with a text; the others' are empty."""
        for query_id in self.ids:
            if query_id in self.empty:
                yield Ranking(query_id, [], np.empty(0, np.float32))
            else:
                rows, scores = next(found)
                yield Ranking(query_id, ids_at(rows), scores)

"""Encode queries, and turn their search results into rankings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from positionbias.core.errors import naming_text
from positionbias.core.rank_order import Ranking
from positionbias.dense.exact import Found
from positionbias.dense.single_vectors import SingleVectors, length_one

QUERY_BLOCK = 16_384  # queries read and encoded at once: about 45 MB at 384 numbers a vector


@dataclass(frozen=True, slots=True)
class DenseQueries:
    """Query ids in order, those without a text, and the others' vectors ``(n, dim)`` float32, of
    length 1 for a cosine model.
    """

    ids: list[str]
    empty: frozenset[str]
    vectors: np.ndarray

    @classmethod
    def encoded(cls, encoder: SingleVectors, queries: Iterable[tuple[str, str]]) -> DenseQueries:
        """Encode (query id, text) pairs as vectors."""
        pairs = list(queries)
        empty = frozenset(query_id for query_id, text in pairs if not text.strip())
        texts = [text for query_id, text in pairs if query_id not in empty]
        with naming_text("query", lambda: pairs):
            vectors = (
                encoder.queries(texts)
                if texts
                else np.empty((0, encoder.model.dimension), np.float32)
            )
        if encoder.similarity == "cosine":
            vectors = length_one(vectors)
        return cls([query_id for query_id, _ in pairs], empty, vectors)

    @classmethod
    def joined(cls, parts: Sequence[DenseQueries]) -> DenseQueries:
        """Join several into one, in their order."""
        if len(parts) == 1:
            return parts[0]
        ids = [query_id for part in parts for query_id in part.ids]
        return cls(
            ids,
            frozenset().union(*(part.empty for part in parts)),
            np.concatenate([part.vectors for part in parts]),
        )

    def cut(self, size: int) -> Iterator[DenseQueries]:
        """Yield parts of at most ``size`` queries, in their order."""
        row = 0
        for start in range(0, len(self.ids), size):
            ids = self.ids[start : start + size]
            empty = self.empty.intersection(ids)
            end = row + len(ids) - len(empty)
            yield DenseQueries(ids, empty, self.vectors[row:end])
            row = end

    def fingerprint(self) -> str:
        """Return a digest of the queries, by which an interrupted search knows them again."""
        digest = hashlib.blake2b(repr((self.ids, sorted(self.empty))).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    def rankings(
        self, found: Iterator[Found], ids_at: Callable[[np.ndarray], list[str]]
    ) -> Iterator[Ranking]:
        """Yield the ranking of each query in order; ``found`` has the results of those with a text,
        and others are empty.
        """
        for query_id in self.ids:
            if query_id in self.empty:
                yield Ranking(query_id, [], np.empty(0, np.float32))
            else:
                rows, scores = next(found)
                yield Ranking(query_id, ids_at(rows), scores)


def query_blocks(
    encoder: SingleVectors, queries: Iterable[tuple[str, str]], at_once: int = 0
) -> Iterator[DenseQueries]:
    """Encode (query id, text) pairs in blocks of 16,384, and yield as many together as fit
    ``at_once`` queries: several blocks, or parts of one; 0: block by block.

    Batches stay within a block, so ``at_once`` changes no vector.
    """
    rest = iter(queries)
    blocks = (
        DenseQueries.encoded(encoder, block)
        for block in iter(lambda: list(islice(rest, QUERY_BLOCK)), [])
    )
    while parts := list(islice(blocks, max(1, at_once // QUERY_BLOCK))):
        yield from DenseQueries.joined(parts).cut(at_once or QUERY_BLOCK)

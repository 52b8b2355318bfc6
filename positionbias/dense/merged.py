"""Merge what ranges of vectors have for some queries: the best of all, by falling score, equal
scores by descending passage id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from positionbias.dense.exact import Found
from positionbias.dense.vectors import descending_rows

_CELLS = 1 << 20  # merged at once


class Best:
    """The best so far of each query: ``rows`` ``(q, depth)`` int64, padded with −1, and ``scores``
    float32, padded with −inf.
    """

    def __init__(self, queries: int, depth: int, ids_at: Callable[[np.ndarray], list[str]]) -> None:
        self.rows, self.scores = (
            np.full((queries, depth), -1, np.int64),
            np.full((queries, depth), -np.inf, np.float32),
        )
        self.ids_at = ids_at

    @property
    def floor(self) -> np.ndarray:
        """Return what a further passage must reach ``(q,)`` float32: the last score, −inf where
        there are fewer.
        """
        return self.scores[:, -1].copy()

    def add(self, first: int, counts: np.ndarray, rows: np.ndarray, scores: np.ndarray) -> None:
        """Merge the passages of a range that begins at row ``first``: each query's count, and all
        rows and scores, by query.
        """
        ends = np.cumsum(counts)
        depth = self.rows.shape[1]
        size = max(1, _CELLS // (depth + int(counts.max(initial=0))))
        for start in range(0, len(counts), size):
            part = slice(start, start + size)
            own = slice(int(ends[start] - counts[start]), int(ends[part][-1]))
            there = np.arange(counts[part].max()) < counts[part, None]
            more_rows, more_scores = (
                np.full(there.shape, -1, np.int64),
                np.full(there.shape, -np.inf, np.float32),
            )
            more_rows[there], more_scores[there] = rows[own] + first, scores[own]
            both = (
                np.hstack([self.rows[part], more_rows]),
                np.hstack([self.scores[part], more_scores]),
            )
            merged = self._ordered(*both)
            self.rows[part], self.scores[part] = (column[:, :depth] for column in merged)

    def _ordered(self, rows: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, scores = _taken(np.argsort(-scores, axis=1, kind="stable"), rows, scores)
        equal = (scores[:, 1:] == scores[:, :-1]) & (rows[:, 1:] >= 0)
        if not equal.any():
            return rows, scores
        tied = np.zeros(rows.shape, bool)
        tied[:, 1:] |= equal
        tied[:, :-1] |= equal
        known = np.unique(rows[tied])
        places = np.empty(len(known), np.int64)
        places[descending_rows(pa.chunked_array([self.ids_at(known)], pa.string()))] = np.arange(
            len(known)
        )
        by_id = np.zeros(rows.shape, np.int64)
        by_id[tied] = places[np.searchsorted(known, rows[tied])]
        return _taken(np.lexsort((by_id, -scores), axis=1), rows, scores)

    def found(self) -> Iterator[Found]:
        """Yield each query's rows and scores."""
        for rows, scores in zip(self.rows, self.scores, strict=True):
            count = int((rows >= 0).sum())
            yield rows[:count], scores[:count]

    def write(self, path: Path) -> None:
        """Write them to a file."""
        with open(path, "wb") as handle:
            np.save(handle, self.rows)
            np.save(handle, self.scores)

    @classmethod
    def read(cls, path: Path, ids_at: Callable[[np.ndarray], list[str]]) -> Best:
        """Read what ``write`` wrote."""
        best = cls(0, 0, ids_at)
        with open(path, "rb") as handle:
            best.rows, best.scores = np.load(handle), np.load(handle)
        return best


def _taken(
    order: np.ndarray, rows: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)


def write_found(path: Path, found: Iterable[Found]) -> int:
    """Write what was found in a range, 8 bytes a passage, for ``Best.add``; return the number of
    passages.
    """
    every = list(found)
    counts = np.array([len(rows) for rows, _ in every], np.int64)
    with open(path, "wb") as handle:
        np.save(handle, counts)
        for column, kind in ((0, np.uint32), (1, np.float32)):
            parts = [one[column].astype(kind) for one in every]
            np.save(handle, np.concatenate(parts) if parts else np.empty(0, kind))
    return int(counts.sum())


def read_found(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counts, rows and scores that ``write_found`` wrote."""
    with open(path, "rb") as handle:
        counts, rows, scores = (np.load(handle) for _ in range(3))
        return counts, rows.astype(np.int64), scores

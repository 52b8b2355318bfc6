"""Find the passages with the best sums of scores over a query's terms, in bm25s's mapped arrays.

A passage's score is the float32 sum of its postings' scores in the order of the query's terms, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from positionbias.firststage.bm25s_build import BESTS, DATA, INDICES, INDPTR, PLACES, RANKS

__all__ = ["Found", "Postings", "add_scores"]

Found = tuple[np.ndarray, np.ndarray]
_POSITIVE = np.nextafter(np.float32(0), np.float32(1))  # every idf is positive, so 0 means no shared term
_ONE = np.ones(1, np.float32)


def add_scores(sums: np.ndarray, rows: np.ndarray, scores: np.ndarray) -> None:
    """Add one term's float32 scores to the float32 sums of its int32 rows, in place.

    It is the product of a sparse column by 1, added to ``sums``: scipy's own loop behind its public products, which would make a new
    array each. It makes no temporary array and takes a third of the time of ``np.add.at``.
    """
    from scipy.sparse._sparsetools import csc_matvec

    csc_matvec(len(sums), 1, np.array([0, len(rows)], np.int32), rows, scores, _ONE, sums)


class Postings:
    """The mapped arrays of ``build_bm25s``, by number of term."""

    def __init__(self, folder: Path) -> None:
        # plain arrays over the mapped files: slicing numpy's memmap class costs more than a look-up
        self._scores, self._rows, self._starts, self._places, self._bests = (
            np.asarray(np.load(folder / name, mmap_mode="r")) for name in (DATA, INDICES, INDPTR, PLACES, BESTS)
        )
        self._sums: list[np.ndarray] = []  # zeroed arrays that wait for their next query, at most one per thread

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._places)

    def held_by(self, term: int) -> int:
        """Return the number of passages with a term."""
        return int(self._starts[term + 1] - self._starts[term])

    def best(self, terms: Sequence[int], depth: int) -> Found:
        """Return the best rows with their float32 scores, at most ``depth``, in rank order; ``terms`` as often as the query has them.

        Order: score descending, then passage id descending, also at the cut. A passage without any of the terms is not among them.
        """
        try:
            sums = self._sums.pop()
        except IndexError:
            sums = np.zeros(len(self), np.float32)
        for term in terms:
            part = slice(self._starts[term], self._starts[term + 1])
            add_scores(sums, self._rows[part], self._scores[part])
        found = np.flatnonzero(sums >= max(self._reached(terms, depth), _POSITIVE))
        scores = sums[found]
        sums.fill(0)
        self._sums.append(sums)
        return self._cut(found, scores, depth)

    def _reached(self, terms: Sequence[int], depth: int) -> np.float32:
        """Return a score that at least ``depth`` passages reach by one of these terms alone; 0 if there is none.

        Float32 sums of positive numbers never fall when a number is added, so as many passages reach it by all terms.
        """
        for rank, bests in zip(RANKS, self._bests, strict=True):
            if rank >= depth:
                return np.float32(bests[terms].max())
        return np.float32(0)

    def _cut(self, rows: np.ndarray, scores: np.ndarray, depth: int) -> Found:
        if len(rows) > depth:
            kept = scores >= np.partition(scores, len(rows) - depth)[len(rows) - depth]  # all that tie with the last one
            rows, scores = rows[kept], scores[kept]
        order = np.lexsort((self._places[rows], -scores))[:depth]
        return rows[order], scores[order]

"""Find the passages with the best sums of scores over a query's terms, in bm25s's mapped arrays.

A passage's score is the float32 sum of its postings' scores in the order of the query's terms, bit
for bit. Sums are made for a range of rows at a time, so that they stay in the processor's cache and
memory does not grow with the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse._sparsetools import csc_matvec

from positionbias.firststage.bm25s_build import BESTS, DATA, INDICES, INDPTR, PLACES, RANKS

Found = tuple[np.ndarray, np.ndarray]
_RANGE = 1 << 19  # rows whose sums are made at a time
# every idf is positive, so 0 means no shared term
_POSITIVE = np.nextafter(np.float32(0), np.float32(1))
_ONE = np.ones(1, np.float32)


def add_scores(sums: np.ndarray, rows: np.ndarray, scores: np.ndarray) -> None:
    """Add one term's float32 scores to the float32 sums of its int32 rows, in place.

    It is a sparse column multiplied by 1: the loop behind scipy's public products, which would make
    a new array each time. It needs a third of the time of ``np.add.at``. It does not check that
    rows are below ``len(sums)``; ``check_bm25s`` did.
    """
    csc_matvec(len(sums), 1, np.array([0, len(rows)], np.int32), rows, scores, _ONE, sums)


class Postings:
    """The mapped arrays of ``build_bm25s``, by number of term."""

    def __init__(self, folder: Path) -> None:
        # plain arrays over the mapped files: slicing numpy's memmap class costs more than a look-up
        self._scores, self._rows, self._starts, self._places, self._bests = (
            np.asarray(np.load(folder / name, mmap_mode="r"))
            for name in (DATA, INDICES, INDPTR, PLACES, BESTS)
        )
        self._cuts = np.append(np.arange(0, len(self), _RANGE), len(self)).astype(np.int32)

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._places)

    def held_by(self, term: int) -> int:
        """Return the number of passages with a term."""
        return int(self._starts[term + 1] - self._starts[term])

    def best(self, terms: Sequence[int], depth: int) -> Found:
        """Return the best rows with their float32 scores, at most ``depth``, in rank order;
        ``terms`` as often as the query has them.

        Order: score descending, then passage id descending, also at the cut. A passage without any
        of the terms is not among them.
        """
        cuts, sums = self._cuts.tolist(), np.empty(min(_RANGE, len(self)), np.float32)
        places = {term: self._range_starts(term) for term in terms}
        best = _Best(depth, max(self._reached(terms, depth), _POSITIVE))
        for number, (low, high) in enumerate(pairwise(cuts)):
            here = sums[: high - low]
            here.fill(0)
            for term in terms:
                part = slice(places[term][number], places[term][number + 1])
                add_scores(
                    here,
                    self._rows[part] - np.int32(low) if low else self._rows[part],
                    self._scores[part],
                )
            best.add(low, here)
        rows, scores = best.found()
        order = np.lexsort((self._places[rows], -scores))[:depth]
        return rows[order], scores[order]

    def _range_starts(self, term: int) -> list[int]:
        """Return where in all postings those of a term begin in each range of rows, and where the
        last ones end.
        """
        first, last = int(self._starts[term]), int(self._starts[term + 1])
        places: list[int] = (first + np.searchsorted(self._rows[first:last], self._cuts)).tolist()
        return places

    def _reached(self, terms: Sequence[int], depth: int) -> np.float32:
        """Return a score that at least ``depth`` passages reach by one of these terms alone; 0 if
        none is known.

        Adding a positive number never lowers a float32 sum, so as many passages reach it by all
        terms.
        """
        for rank, bests in zip(RANKS, self._bests, strict=True):
            if rank >= depth:
                return np.float32(bests[terms].max())
        return np.float32(0)


class _Best:
    """The rows that may be among the ``depth`` best, with all that tie with the last; ``least``:
    what a score must reach.
    """

    def __init__(self, depth: int, least: np.float32) -> None:
        self._depth, self._least = depth, least
        self._rows, self._scores, self._count = (
            [np.empty(0, np.int64)],
            [np.empty(0, np.float32)],
            0,
        )

    def add(self, first_row: int, sums: np.ndarray) -> None:
        """Take what can be among the best of the rows from ``first_row`` on."""
        rows = np.flatnonzero(sums >= self._least)
        self._rows.append(rows + first_row)
        self._scores.append(sums[rows])
        self._count += len(rows)
        if self._count > 4 * self._depth:
            self._cut()

    def found(self) -> Found:
        """Return the rows with their scores, by row."""
        self._cut()
        return self._rows[0], self._scores[0]

    def _cut(self) -> None:
        rows, scores = np.concatenate(self._rows), np.concatenate(self._scores)
        if len(rows) > self._depth:
            self._least = np.partition(scores, len(rows) - self._depth)[len(rows) - self._depth]
            kept = scores >= self._least
            rows, scores = rows[kept], scores[kept]
        self._rows, self._scores, self._count = [rows], [scores], len(rows)

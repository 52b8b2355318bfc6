"""Judgements as arrays, and what a run retrieves of them: the part of an evaluation that many runs
share, and the join with each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import compress, repeat
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.records import HIGHEST_GRADE, Qrel
from positionbias.core.run import Run


class Retrieved(NamedTuple):
    """The judged passages that a run retrieves, by query and rank: three int64 arrays ``(found,)``,
    and the rankings' lengths ``(queries,)``.

    ``query`` and ``judgement`` are places in the query ids and in the grades of ``Judgements``;
    ranks count from 1.
    """

    query: np.ndarray
    rank: np.ndarray
    judgement: np.ndarray
    lengths: np.ndarray


class Judgements:
    """Judgements of queries, which are sorted by id: the query and the grade of each judgement,
    int64 ``(judgements,)``.

    The last of several judgements of a pair counts. ``query_ids`` restricts the queries.

    Raises:
        InputError: a grade above ``HIGHEST_GRADE`` in size.
    """

    def __init__(self, qrels: Iterable[Qrel], query_ids: Collection[str] | None = None) -> None:
        keep = None if query_ids is None else set(query_ids)
        self.qrels = [qrel for qrel in qrels if keep is None or qrel.query_id in keep]
        if (
            self.qrels
            and abs((worst := max(self.qrels, key=lambda qrel: abs(qrel.grade))).grade)
            > HIGHEST_GRADE
        ):
            raise InputError(
                f"judgements: wanted grades up to {HIGHEST_GRADE:,}; found {worst.grade:,} for "
                f"query {worst.query_id!r}; rescale them"
            )
        self.query_ids = sorted({qrel.query_id for qrel in self.qrels})
        numbers = {query_id: number for number, query_id in enumerate(self.query_ids)}
        self._passages: dict[str, int] = {}
        size = len(self.qrels)
        query = np.fromiter((numbers[qrel.query_id] for qrel in self.qrels), np.int64, size)
        passage = (
            self._passages.setdefault(qrel.passage_id, len(self._passages)) for qrel in self.qrels
        )
        # fewer passages than judgements, so each pair has its own
        pairs = query * size + np.fromiter(passage, np.int64, size)
        order = np.argsort(pairs, kind="stable")
        order = order[np.append(np.diff(pairs[order]) > 0, np.ones(min(size, 1), bool))]
        self._size, self._pairs, self.query = size, pairs[order], query[order]
        self.grades = np.fromiter((qrel.grade for qrel in self.qrels), np.int64, size)[order]

    def relevant(self, level: int) -> np.ndarray:
        """Return the number of passages graded ``level`` or higher, ``(queries,)``."""
        return np.bincount(self.query[self.grades >= level], minlength=len(self.query_ids))

    def retrieved(self, run: Run, depth: int | None = None) -> Retrieved:
        """Join with a run, down to a depth."""
        none = np.empty(0, np.int32)
        rankings = [
            run.numbers(query_id) if query_id in run else none for query_id in self.query_ids
        ]
        lengths = np.fromiter(map(len, rankings), np.int64, len(rankings))
        numbers = np.concatenate([none, *(ranking[:depth] for ranking in rankings)])
        starts = np.cumsum([0, *np.minimum(lengths, len(numbers) if depth is None else depth)])
        passages = self._numbered(run, numbers)[numbers]
        place = np.flatnonzero(passages >= 0)
        query = np.searchsorted(starts, place, side="right") - 1
        pairs = query * self._size + passages[place]
        judgement = np.searchsorted(self._pairs, pairs)
        judged = self._pairs[np.minimum(judgement, len(self._pairs) - 1)] == pairs
        rank = place - starts[query] + 1
        return Retrieved(query[judged], rank[judged], judgement[judged], lengths)

    def _numbered(self, run: Run, numbers: np.ndarray) -> np.ndarray:
        """Return our number of each of the run's passages that ``numbers`` has, −1 for others,
        ``(passages of the run,)``.
        """
        used = np.zeros(len(run.passage_ids), bool)
        used[numbers] = True
        places = np.flatnonzero(used)
        found = map(self._passages.get, compress(run.passage_ids, used), repeat(-1))
        ours = np.full(len(used), -1, np.int64)
        ours[places] = np.fromiter(found, np.int64, len(places))
        return ours

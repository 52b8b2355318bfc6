"""Number the unjudged documents of pooled runs, and find the judgements that would exist without
one group.

All documents at the top of a run are numbered, judged or not, so that unjudged documents shared by
runs are recognised; the judgements are a pool within these documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.pooling.judged_runs import NOT_RETRIEVED, JudgedRuns, judge_runs
from positionbias.pooling.scores import NO_GRADE
from positionbias.pooling.systems import System

__all__ = ["DEEPEST_OPEN", "OpenRuns", "open_runs"]

# ranks with numbered unjudged documents for a measure without cutoff: few pools are deeper
# [decision]
DEEPEST_OPEN = 100
# the least judged share of a run's top for which it counts as judged to a depth [decision]
JUDGED = 0.95
_UNJUDGED = -(1 << 20)  # below every grade, so that unjudged documents are last in their query


@dataclass(frozen=True)
class OpenRuns:
    """``runs`` over all numbered documents; ``known (documents,)`` bool marks judged ones. Every
    run's documents are numbered to rank ``depth``.

    Unjudged documents have grade ``NO_GRADE``. ``deep``: every document that two groups retrieved
    would be judged without either of them, not only documents within their judged depths.
    """

    runs: JudgedRuns
    known: np.ndarray
    depth: int
    deep: bool = False

    @property
    def grades(self) -> np.ndarray:
        """Return the judged grades, ``(documents,)`` int16."""
        return np.where(self.known, np.maximum(self.runs.grades, NO_GRADE), NO_GRADE).astype(
            np.int16
        )

    @cached_property
    def known_places(self) -> np.ndarray:
        """Return the mask of ranks with a judged document, ``(queries, runs, depth)`` bool."""
        return np.concatenate([self.known, [False, False]])[self.runs.places]

    @cached_property
    def judged_depths(self) -> np.ndarray:
        """Return the judged depth of each run, ``(runs,)``: the lowest rank down to which 95 % of
        its documents, over all queries, are judged.
        """
        there = (self.runs.places != self.runs.nothing).sum(axis=0).cumsum(axis=-1)
        enough = self.known_places.sum(axis=0).cumsum(axis=-1) >= JUDGED * np.maximum(there, 1)
        return np.where(enough.any(axis=-1), enough.shape[-1] - enough[:, ::-1].argmax(axis=-1), 0)

    def judged_from_the_top(self, run: int) -> int:
        """Return the rank down to which 95 % of a run's documents, over all queries, are judged at
        every rank.
        """
        there = (self.runs.places[:, run] != self.runs.nothing).sum(axis=0)
        enough = self.known_places[:, run].sum(axis=0) >= JUDGED * np.maximum(there, 1)
        return int(enough.cumprod().sum())

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the groups, sorted by name."""
        return tuple(sorted({system.group for system in self.runs.systems}))

    @cached_property
    def group_of(self) -> np.ndarray:
        """Return the group of each run, ``(runs,)``, as an index of ``groups``."""
        places = {group: place for place, group in enumerate(self.groups)}
        return np.array([places[system.group] for system in self.runs.systems])

    @cached_property
    def best_ranks(self) -> np.ndarray:
        """Return the best rank, from 0, of each document in any run of each group,
        ``(groups, documents)`` uint16.
        """
        return np.stack(
            [
                self.runs.ranks[self.group_of == group].min(axis=0)
                for group in range(len(self.groups))
            ]
        )

    def judged_without(self, group: int) -> np.ndarray:
        """Return the mask of documents that would be judged without a group, ``(documents,)`` bool.

        Documents within the judged depths of this group's runs, and of no other group's (``deep``:
        at any rank), count as contributed by it.
        """
        return self.known & ~(self._within[group] & (self._kept.sum(axis=0) == self._kept[group]))

    def judged_below(self, run: int) -> float:
        """Return the judged share of the documents in a run's top that other groups retrieved only
        below their judged depths; 0 without any.

        It is near 1 if ``deep`` describes the judgements, and near 0 if not.
        """
        others = np.arange(len(self.groups)) != self.group_of[run]
        below = (self.best_ranks[others] != NOT_RETRIEVED).any(axis=0) & ~self._within[others].any(
            axis=0
        )
        top = below & (self.runs.ranks[run] < self.depth)
        return float(self.known[top].mean()) if top.any() else 0.0

    @cached_property
    def _within(self) -> np.ndarray:
        """Return the mask of documents within the judged depths of each group's runs,
        ``(groups, documents)`` bool.
        """
        within = self.runs.ranks < self.judged_depths[:, None]
        return np.stack(
            [within[self.group_of == group].any(axis=0) for group in range(len(self.groups))]
        )

    @cached_property
    def _kept(self) -> np.ndarray:
        return self.best_ranks != NOT_RETRIEVED if self.deep else self._within

    def without(
        self, runs: Sequence[int] | np.ndarray, known: np.ndarray, *, deep: bool = False
    ) -> OpenRuns:
        """Return the same documents without ``runs``, and with ``known`` as the judged ones."""
        rest = np.setdiff1d(np.arange(len(self.runs.systems)), runs)
        return OpenRuns(self.runs.only(rest), known, self.depth, deep)


def open_runs(
    read: Callable[[], Iterable[tuple[System, Run]]], qrels: Iterable[Qrel], depth: int
) -> OpenRuns:
    """Number the documents that are judged or among the first ``depth`` of any run. ``read`` yields
    the runs and is called twice.

    Raises:
        InputError: as for ``judge_runs``, or no relevant document.
    """
    qrels = list(qrels)
    if not any(qrel.grade > 0 for qrel in qrels):
        raise InputError(
            "judgements: wanted a document of grade 1 or more; found none; check the qrels"
        )
    judged: dict[str, set[str]] = {}
    for qrel in qrels:
        judged.setdefault(qrel.query_id, set()).add(qrel.passage_id)
    seen: dict[str, set[str]] = {query_id: set() for query_id in judged}
    for _, run in read():
        for query_id, found in seen.items():
            if query_id in run:
                found.update(run[query_id].passage_ids[:depth])
    more = (
        Qrel(query_id, document, _UNJUDGED)
        for query_id, found in seen.items()
        for document in found - judged[query_id]
    )
    runs = judge_runs(read(), [*qrels, *more])
    known = runs.grades != _UNJUDGED
    return OpenRuns(replace(runs, grades=np.where(known, runs.grades, NO_GRADE)), known, depth)

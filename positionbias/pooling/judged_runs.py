"""Convert runs and judgements to integers: the judgement at each rank of each run, and the rank of
each judged document in each run.

A judgement is a (query, document) pair, numbered 0 … J − 1 by query and, within a query, from the
highest grade down. All unjudged documents share one number, ``unjudged`` = J, and a rank beyond the
end of a ranking has ``nothing`` = J + 1. So a pool is a bool array over judgements, and a run's
score under a pool needs no identifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.pooling.settings import DEEPEST
from positionbias.pooling.systems import System

__all__ = ["NOT_RETRIEVED", "JudgedRuns", "judge_runs"]

NOT_RETRIEVED = np.iinfo(np.uint16).max


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRuns:
    """``places (queries, runs, depth)`` int32: the judgement at each rank;
    ``ranks (runs, judgements)`` uint16, from 0: its rank.

    ``grades (judgements,)`` and ``starts (queries + 1,)``, where each query's judgements begin;
    ``documents`` are their identifiers. ``skipped`` counts unused input.
    """

    systems: tuple[System, ...]
    query_ids: tuple[str, ...]
    places: np.ndarray
    ranks: np.ndarray
    grades: np.ndarray
    starts: np.ndarray
    skipped: Mapping[str, int]
    documents: tuple[str, ...] = ()

    @property
    def unjudged(self) -> int:
        """Return the number of every unjudged document."""
        return len(self.grades)

    @property
    def nothing(self) -> int:
        """Return the number of a rank beyond the end of a ranking."""
        return len(self.grades) + 1

    @property
    def query_of(self) -> np.ndarray:
        """Return the query of each judgement, ``(judgements,)``."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.starts))

    def by_query(self, chosen: np.ndarray) -> np.ndarray:
        """Count the chosen judgements of each query, ``(…, queries)`` of ``chosen (…, judgements)``
        bool.
        """
        # every query has a judgement, so starts are distinct
        return np.add.reduceat(chosen, self.starts[:-1], axis=-1, dtype=np.int64)

    def of_kind(self, kind: str) -> np.ndarray:
        """Return the mask of a kind's runs, ``(runs,)`` bool."""
        return np.array([system.kind == kind for system in self.systems], bool)

    def pooled(self, runs: np.ndarray, depth: int) -> np.ndarray:
        """Return the mask of judged documents among the first ``depth`` of any of ``runs`` (bool or
        numbers), ``(judgements,)`` bool.
        """
        chosen = self.ranks[runs]
        return (chosen < depth).any(axis=0) if len(chosen) else np.zeros(self.unjudged, bool)

    def with_systems(self, systems: Sequence[System]) -> JudgedRuns:
        """Return the same runs under other labels, in the same order."""
        return replace(self, systems=tuple(systems))

    def only(self, runs: Sequence[int] | np.ndarray) -> JudgedRuns:
        """Return some of the runs, by number, in the order given."""
        systems = tuple(self.systems[run] for run in runs)
        return replace(self, systems=systems, places=self.places[:, runs], ranks=self.ranks[runs])


def judge_runs(
    runs: Iterable[tuple[System, Run]], qrels: Iterable[Qrel], *, deepest: int = DEEPEST
) -> JudgedRuns:
    """Convert runs, one at a time, to numbers of judgements, down to rank ``deepest``, in
    trec_eval's order; queries are those with judgements.

    Memory: 4 bytes per run, query and rank, and 2 per run and judgement.

    Raises:
        InputError: no judgement, or a run without any judged query.
        ValueError: ``deepest`` outside 1 … 65,534.
    """
    if not 0 < deepest < NOT_RETRIEVED:
        raise ValueError(f"deepest: wanted 1 to {NOT_RETRIEVED - 1}; found {deepest}")
    numbers, grades, starts, documents = _numbered(qrels)
    unjudged, nothing = len(grades), len(grades) + 1
    systems, rows, ranks = [], [], []
    skipped = {
        "queries without judgements": 0,
        "judged queries that a run lacks": 0,
        "runs cut at the deepest rank": 0,
    }
    for system, run in runs:
        depth = min(deepest, run.depth)
        row = np.full((len(numbers), depth), nothing, np.int32)
        rank_of = np.full(unjudged, NOT_RETRIEVED, np.uint16)
        for place, (query_id, of_query) in enumerate(numbers.items()):
            if query_id not in run:
                continue
            found = [
                of_query.get(passage_id, unjudged)
                for passage_id in run[query_id].passage_ids[:depth]
            ]
            row[place, : len(found)] = found
        query, rank = np.nonzero(row < unjudged)
        rank_of[row[query, rank]] = rank
        here = sum(query_id in run for query_id in numbers)
        if not here:
            raise InputError(
                f"run {run.name!r}: wanted at least one of {len(numbers):,} judged queries; found "
                "none; check that the run belongs to these judgements"
            )
        skipped["queries without judgements"] += len(run) - here
        skipped["judged queries that a run lacks"] += len(numbers) - here
        skipped["runs cut at the deepest rank"] += run.depth > deepest
        systems.append(system)
        rows.append(row)
        ranks.append(rank_of)
    places = np.full(
        (len(numbers), len(rows), max(row.shape[1] for row in rows)), nothing, np.int32
    )
    for number, row in enumerate(rows):
        places[:, number, : row.shape[1]] = row
    return JudgedRuns(
        tuple(systems), tuple(numbers), places, np.stack(ranks), grades, starts, skipped, documents
    )


def _numbered(
    qrels: Iterable[Qrel],
) -> tuple[dict[str, dict[str, int]], np.ndarray, np.ndarray, tuple[str, ...]]:
    """Number judgements. Return each query's documents with their numbers; grades by number; starts
    of queries; documents by number.
    """
    ordered = sorted(qrels, key=lambda qrel: (qrel.query_id, -qrel.grade, qrel.passage_id))
    if not ordered:
        raise InputError("judgements: wanted at least one; found none; check the qrels")
    numbers: dict[str, dict[str, int]] = {}
    starts = [0]
    for query_id, of_query in groupby(ordered, key=lambda qrel: qrel.query_id):
        numbers[query_id] = {
            qrel.passage_id: number for number, qrel in enumerate(of_query, starts[-1])
        }
        starts.append(starts[-1] + len(numbers[query_id]))
    documents = tuple(document for of_query in numbers.values() for document in of_query)
    return (
        numbers,
        np.array([qrel.grade for qrel in ordered], np.int32),
        np.array(starts),
        documents,
    )

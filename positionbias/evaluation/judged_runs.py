"""Runs as numbers of their judgements, scored under many pools, or many drawn sets of grades, at
once; judgements outside a pool do not count. nDCG@k, RR and P@k equal trec_eval's for the same
ranks.

A judgement is a (query, document) pair, numbered 0 … J − 1 by query and, within a query, from the
highest grade down. An unjudged document has the number J, a rank beyond the end of a ranking J + 1.
So a pool is a bool array over judgements, and scores under it need no identifiers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.depth import rank_discounts
from positionbias.evaluation.measures import parse_measure
from positionbias.evaluation.settings import DEEPEST

NOT_RETRIEVED = np.iinfo(np.uint16).max
NO_GRADE = -1  # grade of an unjudged document


class System(NamedTuple):
    """A run's name, its group, and the kind of its system ("traditional", "neural", any label)."""

    run: str
    group: str
    kind: str


def kinds_of(systems: Sequence[System]) -> list[str]:
    """Return the kinds, in order of first occurrence."""
    return list(dict.fromkeys(system.kind for system in systems))


def groups_of(systems: Sequence[System], kind: str) -> list[str]:
    """Return the groups with a run of this kind, sorted by name."""
    return sorted({system.group for system in systems if system.kind == kind})


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRuns:
    """``places (queries, runs, depth)`` int32: the judgement at each rank;
    ``ranks (runs, judgements)`` uint16: its rank, from 0; ``grades (judgements,)``; and
    ``starts (queries + 1,)``: where each query's judgements begin.
    """

    systems: Sequence[System]
    query_ids: Sequence[str]
    places: np.ndarray
    ranks: np.ndarray
    grades: np.ndarray
    starts: np.ndarray

    @property
    def unjudged(self) -> int:
        """Return the number of every unjudged document."""
        return len(self.grades)

    @property
    def there(self) -> np.ndarray:
        """Return the mask of ranks with a document, ``(queries, runs, depth)`` bool."""
        return self.places <= self.unjudged

    @property
    def groups(self) -> np.ndarray:
        """Return each run's group, ``(runs,)``."""
        return np.array([system.group for system in self.systems])

    @property
    def kinds(self) -> np.ndarray:
        """Return each run's kind, ``(runs,)``."""
        return np.array([system.kind for system in self.systems])

    def by_query(self, chosen: np.ndarray) -> np.ndarray:
        """Count the chosen judgements of each query, ``(…, queries)`` of ``(…, judgements)``."""
        # every query has a judgement, so starts are distinct
        return np.add.reduceat(chosen, self.starts[:-1], axis=-1, dtype=np.int64)

    def only(self, runs: Sequence[int] | np.ndarray) -> JudgedRuns:
        """Return some of the runs, by number, in the order given."""
        systems = [self.systems[run] for run in runs]
        return replace(self, systems=systems, places=self.places[:, runs], ranks=self.ranks[runs])


def judge_runs(runs: Iterable[tuple[System, Run]], qrels: Iterable[Qrel]) -> JudgedRuns:
    """Convert runs, one at a time, to numbers of judgements, down to rank 1,000, in trec_eval's
    order; queries are those with judgements.

    Memory: 4 bytes per run, query and rank, and 2 per run and judgement.

    Raises:
        InputError: no judgement, or a run without any judged query.
    """
    ordered = sorted(qrels, key=lambda qrel: (qrel.query_id, -qrel.grade, qrel.passage_id))
    if not ordered:
        raise InputError("judgements: wanted at least one; found none; check the qrels")
    numbers, unjudged = defaultdict[str, dict[str, int]](dict), len(ordered)
    for number, (query_id, document, _) in enumerate(ordered):
        numbers[query_id][document] = number
    systems, rows, ranks = [], [], []
    for system, run in runs:
        row = np.full((len(numbers), DEEPEST), unjudged + 1, np.int32)
        for place, (query_id, of_query) in enumerate(numbers.items()):
            ids = run[query_id].passage_ids[:DEEPEST] if query_id in run else []
            row[place, : len(ids)] = [of_query.get(item, unjudged) for item in ids]
        if (row > unjudged).all():
            raise InputError(
                f"run {run.name!r}: wanted at least one of {len(numbers):,} judged queries; found "
                "none; check that the run belongs to these judgements"
            )
        query, rank = np.nonzero(row < unjudged)
        ranks.append(np.full(unjudged, NOT_RETRIEVED, np.uint16))
        ranks[-1][row[query, rank]] = rank
        systems.append(system)
        rows.append(row)
    places = np.stack(rows, axis=1)
    depth = np.flatnonzero((places <= unjudged).any(axis=(0, 1)))[-1] + 1
    grades = np.array([qrel.grade for qrel in ordered], np.int32)
    starts = np.cumsum([0, *map(len, numbers.values())])
    ranked = np.ascontiguousarray(places[:, :, :depth])
    return JudgedRuns(systems, list(numbers), ranked, np.stack(ranks), grades, starts)


class PoolMeasure(NamedTuple):
    """A measure: its name, nDCG, RR or P as its ``kind``, its cutoff (None: the whole ranking) and
    the lowest relevant grade.
    """

    name: str
    kind: str
    cutoff: int | None
    level: int


def pool_measures(names: Sequence[str], level: int = 1) -> list[PoolMeasure]:
    """Return the measures of these names, each once. ``level`` is the lowest relevant grade for
    measures that take one and whose name has none.

    Raises:
        SettingError: an unknown measure, or one other than nDCG@k, RR and P@k.
    """
    measures: dict[str, PoolMeasure] = {}
    for name in names:
        measure = parse_measure(name)
        if level != 1 and "rel" in measure.SUPPORTED_PARAMS and "rel" not in measure.params:
            measure = measure(rel=level)
        kind, params = str(measure.NAME), measure.params
        cutoff = params.get("cutoff")
        computed = (kind in ("nDCG", "P") and cutoff) or kind == "RR"
        if not computed or params.keys() - {"cutoff", "rel"}:
            raise SettingError(f"-m: wanted nDCG@k, RR or P@k; found {name!r}; give one of these")
        measures[str(measure)] = PoolMeasure(str(measure), kind, cutoff, params.get("rel", 1))
    return list(measures.values())


def score_pools(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Score every run on every query under every pool, ``(pools, queries, runs)``, of
    ``pools (pools, judgements)`` bool. Memory: about 40 bytes per pool, query and run.
    """
    return score_grades(runs, grades_in(runs, pools), measure)


def grades_in(runs: JudgedRuns, pools: np.ndarray) -> np.ndarray:
    """Return grades, int16, ``NO_GRADE`` outside of ``pools (…, judgements)``, of their shape."""
    return np.where(pools, np.maximum(runs.grades, NO_GRADE), NO_GRADE).astype(np.int16)


def score_grades(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Score every run on every query, ``(draws, queries, runs)``, with
    ``grades (draws, documents)``, int16; ``NO_GRADE``: unjudged.

        nDCG  Σ_{rank ≤ k} g / log2(rank + 1) over the same sum for the best order, g ≥ 0
        P     the number of relevant documents among the first k, over k
        RR    1 / rank of the first relevant document

    A query without a relevant document counts 0.
    """
    if measure.kind == "RR":
        return _reciprocal_rank(runs, grades, measure)
    graded, cutoff = measure.kind == "nDCG", measure.cutoff or 1
    gains = np.maximum(grades, 0) if graded else grades >= measure.level
    padded = np.pad(gains, ((0, 0), (0, 2)))
    weights = rank_discounts(cutoff) if graded else np.ones(cutoff)
    value = np.zeros((len(grades), *runs.places.shape[:2]))
    for rank in range(min(cutoff, runs.places.shape[2])):
        value += np.take(padded, runs.places[:, :, rank], axis=1) * weights[rank]
    if not graded:
        return value / cutoff
    # each step between grades counts at as many ranks as documents have at least the higher grade
    sums = np.append(0, weights.cumsum())
    ideal = np.zeros((len(grades), len(runs.query_ids)))
    below = 0
    for grade in np.unique(runs.grades[runs.grades > 0]).tolist():
        ideal += (grade - below) * sums[np.minimum(runs.by_query(grades >= grade), cutoff)]
        below = grade
    return value / np.where(ideal > 0, ideal, 1)[:, :, None]


def _reciprocal_rank(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Go down the ranks with the rankings that have nothing relevant so far."""
    relevant = np.pad(grades >= measure.level, ((0, 0), (0, 2)))
    *shape, depth = runs.places.shape
    by_rank = np.ascontiguousarray(runs.places.reshape(-1, depth).T)
    value = np.zeros(len(grades) * by_rank.shape[1])
    place = np.arange(len(value))
    draw, ranking = np.divmod(place, by_rank.shape[1])
    for rank in range(min(measure.cutoff or depth, depth)):
        hit = relevant.ravel()[draw * relevant.shape[1] + by_rank[rank, ranking]]
        value[place[hit]] = 1 / (rank + 1)
        place, draw, ranking = place[~hit], draw[~hit], ranking[~hit]
    return value.reshape(len(grades), *shape)

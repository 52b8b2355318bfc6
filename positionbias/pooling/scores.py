"""Score all runs under many pools, or many drawn sets of grades, at once; judgements outside a pool
do not count. nDCG@k, RR and P@k equal trec_eval's for the same ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.evaluation.measures import parse_measure
from positionbias.pooling.runs import JudgedRuns

NO_GRADE = -1  # grade of an unjudged document


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
    weights = discounts(cutoff) if graded else np.ones(cutoff)
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


def discounts(depth: int) -> np.ndarray:
    """Return nDCG's 1 / log2(rank + 1) of each rank."""
    return np.asarray(1 / np.log2(np.arange(2, depth + 2)))


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

"""Score all runs under many pools, or many drawn sets of grades, at once; judgements outside a pool
do not count.

nDCG, RR, P, AP and RBP are computed on arrays; the first four equal trec_eval's for the same ranks.
Other measures are computed by ir_measures, pool by pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from positionbias.evaluation.by_ir_measures import falling_scores
from positionbias.evaluation.measures import parse_measure
from positionbias.evaluation.rank_biased_precision import PERSISTENCE, judged_share
from positionbias.pooling.judged_runs import NOT_RETRIEVED, JudgedRuns

__all__ = [
    "NO_GRADE",
    "PoolMeasure",
    "judged_shares",
    "pool_measures",
    "residual_weights",
    "residuals",
    "score_grades",
    "score_pools",
]

NO_GRADE = -1  # grade of an unjudged document


@dataclass(frozen=True, slots=True)
class PoolMeasure:
    """A measure by name, with its cutoff (None: the whole ranking) and the lowest relevant grade.

    ``kind`` is nDCG, RR, P, AP or RBP if computed on arrays, else "". ``persistence`` is RBP's p.
    """

    name: str
    kind: str
    cutoff: int | None
    level: int
    persistence: float = PERSISTENCE


def pool_measures(names: Sequence[str], level: int = 1) -> list[PoolMeasure]:
    """Return the measures of these names, each once. ``level`` is the lowest relevant grade for
    measures that take one and whose name has none.

    Raises:
        SettingError: an unknown measure.
    """
    found: dict[str, PoolMeasure] = {}
    for name in names:
        measure = parse_measure(name, computed=("RBP",))
        # without a grade, ir_measures' RBP has graded gains and ours has not
        if (
            (level != 1 or measure.NAME == "RBP")
            and "rel" in measure.SUPPORTED_PARAMS
            and "rel" not in measure.params
        ):
            measure = measure(rel=level)
        params = dict(measure.params)
        cutoff, own, persistence = (
            params.pop("cutoff", None),
            params.pop("rel", 1),
            params.pop("p", PERSISTENCE),
        )
        on_arrays = (
            measure.NAME in _ON_ARRAYS
            and not params
            and not (measure.NAME == "P" and cutoff is None)
        )
        kind = str(measure.NAME) if on_arrays else ""
        found[str(measure)] = PoolMeasure(str(measure), kind, cutoff, own, persistence)
    return list(found.values())


def score_pools(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Score every run on every query under every pool, ``(pools, queries, runs)``, of
    ``pools (pools, judgements)`` bool.

    A query without relevant documents in the pool counts 0. Memory: about 40 bytes per pool, query
    and run, and 8 per pool and judgement.
    """
    if measure.kind:
        return score_grades(
            runs,
            np.where(pools, np.maximum(runs.grades, NO_GRADE), NO_GRADE).astype(np.int16),
            measure,
        )
    return np.stack([_by_ir_measures(runs, pool, measure) for pool in pools])


def score_grades(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Score every run on every query, ``(draws, queries, runs)``, with
    ``grades (draws, documents)``, int16; ``NO_GRADE``: unjudged.

    ``measure`` must be computed on arrays. Memory as for ``score_pools``.
    """
    return _ON_ARRAYS[measure.kind](runs, grades, measure)


def _looked_up(table: np.ndarray, runs: JudgedRuns, cutoff: int | None) -> Iterator[np.ndarray]:
    """Yield, rank by rank, the entry of ``table (pools, judgements)`` for the document at that
    rank, ``(pools, queries, runs)``; 0 if unjudged.
    """
    padded = np.concatenate([table, np.zeros((len(table), 2), table.dtype)], axis=1)
    depth = runs.places.shape[2]
    for rank in range(depth if cutoff is None else min(cutoff, depth)):
        yield np.take(padded, runs.places[:, :, rank], axis=1)


def _ndcg(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Return Σ_{rank ≤ c} g / log2(rank + 1) over the same sum for the best order; g is the grade
    if positive, else 0.
    """
    depth = runs.places.shape[2]
    cutoff = (
        measure.cutoff
        if measure.cutoff is not None
        else max(depth, int(np.diff(runs.starts).max()))
    )
    discounts = 1 / np.log2(np.arange(2, cutoff + 2))
    found = np.zeros((len(grades), *runs.places.shape[:2]))
    for rank, gain in enumerate(_looked_up(np.maximum(grades, 0), runs, cutoff)):
        found += gain * discounts[rank]
    ideal = _ideal(runs, grades, discounts)
    return found / np.where(ideal > 0, ideal, 1)[:, :, None]


def _ideal(runs: JudgedRuns, grades: np.ndarray, discounts: np.ndarray) -> np.ndarray:
    """Return the best order's sum, ``(draws, queries)``: each step between grades counts at as many
    ranks as documents have at least the higher grade.
    """
    sums = np.concatenate([[0.0], discounts.cumsum()])
    ideal = np.zeros((len(grades), len(runs.query_ids)))
    below = 0
    for grade in np.unique(runs.grades[runs.grades > 0]).tolist():
        ideal += (grade - below) * sums[np.minimum(runs.by_query(grades >= grade), len(discounts))]
        below = grade
    return ideal


def _reciprocal_rank(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Return 1 / rank of the first relevant document; 0 without any."""
    relevant = np.zeros((len(grades), runs.nothing + 1), bool)
    relevant[:, : runs.unjudged] = grades >= measure.level
    flat, (queries, width, depth) = relevant.ravel(), runs.places.shape
    cells = queries * width
    by_rank = np.ascontiguousarray(runs.places.reshape(cells, depth).T)
    value = np.zeros(len(grades) * cells)
    open_ = np.arange(len(value))
    draw, cell = open_ // cells * relevant.shape[1], open_ % cells
    for rank in range(depth if measure.cutoff is None else min(measure.cutoff, depth)):
        hit = flat[draw + by_rank[rank, cell]]
        value[open_[hit]] = 1 / (rank + 1)
        open_, draw, cell = open_[~hit], draw[~hit], cell[~hit]
    return value.reshape(len(grades), queries, width)


def _precision(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Return the number of relevant documents among the first c, over c."""
    assert measure.cutoff is not None
    hits = np.zeros((len(grades), *runs.places.shape[:2]), np.int32)
    for hit in _looked_up(grades >= measure.level, runs, measure.cutoff):
        hits += hit
    return hits / measure.cutoff


def _average_precision(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Return the sum of the precisions at ranks with a relevant document, over the number of
    relevant documents.
    """
    relevant = grades >= measure.level
    hits = np.zeros((len(grades), *runs.places.shape[:2]), np.int32)
    total = np.zeros(hits.shape)
    for rank, hit in enumerate(_looked_up(relevant, runs, measure.cutoff), 1):
        hits += hit
        total += np.where(hit, hits / rank, 0)
    return total / np.maximum(runs.by_query(relevant), 1)[:, :, None]


def _rank_biased(runs: JudgedRuns, grades: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Return (1 − p) · Σ p^(rank − 1) over ranks with a relevant document."""
    value = np.zeros((len(grades), *runs.places.shape[:2]))
    for rank, hit in enumerate(_looked_up(grades >= measure.level, runs, measure.cutoff)):
        value += hit * ((1 - measure.persistence) * measure.persistence**rank)
    return value


_ON_ARRAYS: dict[str, Callable[[JudgedRuns, np.ndarray, PoolMeasure], np.ndarray]] = {
    "nDCG": _ndcg, "RR": _reciprocal_rank, "P": _precision, "AP": _average_precision,
    "RBP": _rank_biased,
}  # fmt: skip


def judged_shares(runs: JudgedRuns, pools: np.ndarray, depth: int) -> np.ndarray:
    """Return Judged@depth of every run and query under every pool, ``(pools, queries, runs)``; NaN
    if a run has no documents for a query.
    """
    top = runs.places[:, :, :depth]
    padded = np.concatenate([pools, np.zeros((len(pools), 2), bool)], axis=1)
    return np.stack([judged_share(pool[top], top != runs.nothing) for pool in padded])


def residual_weights(runs: JudgedRuns) -> Any:
    """Return the part of a run's mean RBP residual that each judgement removes, sparse
    ``(runs, judgements)``: (1 − p)·p^rank over the queries, rank from 0, p = 0.8.
    """
    from scipy import sparse

    run, judgement = np.nonzero(runs.ranks != NOT_RETRIEVED)
    weights = (
        (1 - PERSISTENCE)
        * PERSISTENCE ** runs.ranks[run, judgement].astype(np.float64)
        / len(runs.query_ids)
    )
    return sparse.csr_array((weights, (run, judgement)), shape=runs.ranks.shape)


def residuals(weights: Any, pools: np.ndarray) -> np.ndarray:
    """Return the mean over queries of RBP's residual of every run under every pool,
    ``(pools, runs)``: 1 minus the weights of judged documents.

    As in ``evaluation.rank_biased_precision``; ``weights`` are ``residual_weights``. They are
    sparse, as BLAS may change the order of additions with the number of pools.
    """
    return 1 - (weights @ pools.T.astype(np.float64)).T


def _by_ir_measures(runs: JudgedRuns, pool: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Score with ir_measures; documents are named by their numbers, unjudged ones by query, run and
    rank.
    """
    import ir_measures

    values = np.zeros(runs.places.shape[:2])
    queries = range(len(runs.query_ids))
    judged: dict[str, dict[str, int]] = {str(query): {} for query in queries}
    for number in np.flatnonzero(pool).tolist():
        judged[str(np.searchsorted(runs.starts, number, side="right") - 1)][str(number)] = int(
            runs.grades[number]
        )
    judged = {query: found for query, found in judged.items() if found}
    parsed = parse_measure(measure.name)
    for run in range(len(runs.systems)):
        ranked: dict[str, dict[str, float]] = {}
        for query in judged:
            places = runs.places[int(query), run]
            ranked[query] = falling_scores(
                [
                    str(place) if place < runs.unjudged else f"unjudged {rank}"
                    for rank, place in enumerate(places[places != runs.nothing].tolist())
                ]
            )
        for found in ir_measures.iter_calc(
            [parsed], judged, {query: row for query, row in ranked.items() if row}
        ):
            values[int(found.query_id), run] = float(found.value)
    return values

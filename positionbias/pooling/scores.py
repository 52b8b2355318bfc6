"""Scores of all runs under many pools at once: a judgement that is not in a pool counts as none.

nDCG, RR, P and AP are computed on arrays and equal trec_eval's of the same ranks; every other measure is ir_measures' own, pool by pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from positionbias.evaluation.measures import parse_measure
from positionbias.evaluation.rank_biased_precision import PERSISTENCE, judged_share
from positionbias.pooling.judged_runs import NOT_RETRIEVED, JudgedRuns

__all__ = ["PoolMeasure", "judged_shares", "pool_measures", "residual_weights", "residuals", "score_pools"]


@dataclass(frozen=True, slots=True)
class PoolMeasure:
    """A measure by its name, with its cutoff (None: the whole ranking) and the grade from which a document is relevant.

    ``kind`` is nDCG, RR, P or AP where it is computed on arrays, else "".
    """

    name: str
    kind: str
    cutoff: int | None
    level: int


def pool_measures(names: Sequence[str], level: int = 1) -> list[PoolMeasure]:
    """The measures of these names, each once. ``level`` is the least grade that is relevant, where a measure takes one and its name has none.

    Raises:
        SettingError: a measure that does not exist.
    """
    found: dict[str, PoolMeasure] = {}
    for name in names:
        measure = parse_measure(name)
        if level != 1 and "rel" in measure.SUPPORTED_PARAMS and "rel" not in measure.params:
            measure = measure(rel=level)
        params = dict(measure.params)
        cutoff, own = params.pop("cutoff", None), params.pop("rel", 1)
        on_arrays = measure.NAME in _ON_ARRAYS and not params and not (measure.NAME == "P" and cutoff is None)
        kind = str(measure.NAME) if on_arrays else ""
        found[str(measure)] = PoolMeasure(str(measure), kind, cutoff, own)
    return list(found.values())


def score_pools(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Every run's value on every query under every pool, ``(pools, queries, runs)``, of ``pools (pools, judgements)`` bool.

    A query of which nothing relevant is in the pool counts 0. Memory: about 40 bytes a pool, query and run, and 8 a pool and judgement.
    """
    if measure.kind:
        return _ON_ARRAYS[measure.kind](runs, pools, measure)
    return np.stack([_by_ir_measures(runs, pool, measure) for pool in pools])


def _looked_up(table: np.ndarray, runs: JudgedRuns, cutoff: int | None) -> Iterator[np.ndarray]:
    """Rank by rank, what the table ``(pools, judgements)`` says of the document there: ``(pools, queries, runs)``; 0 for all that is unjudged."""
    padded = np.concatenate([table, np.zeros((len(table), 2), table.dtype)], axis=1)
    depth = runs.places.shape[2]
    for rank in range(depth if cutoff is None else min(cutoff, depth)):
        yield np.take(padded, runs.places[:, :, rank], axis=1)


def _ndcg(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Σ_{rank ≤ c} g / log2(rank + 1) over the same sum for the best order of the pool; g is the grade where it is positive, else 0."""
    depth = runs.places.shape[2]
    cutoff = measure.cutoff if measure.cutoff is not None else max(depth, int(np.diff(runs.starts).max()))
    discounts = np.concatenate([1 / np.log2(np.arange(2, cutoff + 2)), [0.0]])
    gains = pools * np.maximum(runs.grades, 0).astype(np.float32)
    found = np.zeros((len(pools), *runs.places.shape[:2]))
    for rank, gain in enumerate(_looked_up(gains, runs, cutoff)):
        found += gain * discounts[rank]
    # judgements stand by falling grade, so one's place in the best order is the number of the query's pooled ones before it
    before = np.cumsum(pools, axis=1, dtype=np.int32)
    before -= pools
    before -= np.repeat(before[:, runs.starts[:-1]], np.diff(runs.starts), axis=1)
    ideal = np.add.reduceat(gains * discounts[np.minimum(before, cutoff)], runs.starts[:-1], axis=1)
    return found / np.where(ideal > 0, ideal, 1)[:, :, None]


def _reciprocal_rank(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """One over the rank of the first relevant document; 0 where there is none. Each rank looks only at what is still open."""
    relevant = np.zeros((len(pools), runs.nothing + 1), bool)
    relevant[:, : runs.unjudged] = pools & (runs.grades >= measure.level)
    flat, (queries, width, depth) = relevant.ravel(), runs.places.shape
    cells = queries * width
    by_rank = np.ascontiguousarray(runs.places.reshape(cells, depth).T)
    value = np.zeros(len(pools) * cells)
    open_ = np.arange(len(value))
    pool, cell = open_ // cells * relevant.shape[1], open_ % cells
    for rank in range(depth if measure.cutoff is None else min(measure.cutoff, depth)):
        hit = flat[pool + by_rank[rank, cell]]
        value[open_[hit]] = 1 / (rank + 1)
        open_, pool, cell = open_[~hit], pool[~hit], cell[~hit]
    return value.reshape(len(pools), queries, width)


def _precision(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Relevant documents among the first c, over c."""
    assert measure.cutoff is not None
    hits = np.zeros((len(pools), *runs.places.shape[:2]), np.int32)
    for hit in _looked_up(pools & (runs.grades >= measure.level), runs, measure.cutoff):
        hits += hit
    return hits / measure.cutoff


def _average_precision(runs: JudgedRuns, pools: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """Σ over ranks with a relevant document of the precision there, over the relevant documents of the pool."""
    relevant = pools & (runs.grades >= measure.level)
    hits = np.zeros((len(pools), *runs.places.shape[:2]), np.int32)
    total = np.zeros(hits.shape)
    for rank, hit in enumerate(_looked_up(relevant, runs, measure.cutoff), 1):
        hits += hit
        total += np.where(hit, hits / rank, 0)
    return total / np.maximum(runs.by_query(relevant), 1)[:, :, None]


_ON_ARRAYS: dict[str, Callable[[JudgedRuns, np.ndarray, PoolMeasure], np.ndarray]] = {
    "nDCG": _ndcg, "RR": _reciprocal_rank, "P": _precision, "AP": _average_precision,
}  # fmt: skip


def judged_shares(runs: JudgedRuns, pools: np.ndarray, depth: int) -> np.ndarray:
    """Judged@depth of every run and query under every pool, ``(pools, queries, runs)``; NaN where a run has nothing for a query."""
    top = runs.places[:, :, :depth]
    padded = np.concatenate([pools, np.zeros((len(pools), 2), bool)], axis=1)
    return np.stack([judged_share(pool[top], top != runs.nothing) for pool in padded])


def residual_weights(runs: JudgedRuns) -> Any:
    """What each judgement takes off a run's mean RBP residual, sparse ``(runs, judgements)``: (1 − p)·p^rank over the queries, rank from 0, p = 0.8."""
    from scipy import sparse

    run, judgement = np.nonzero(runs.ranks != NOT_RETRIEVED)
    weights = (1 - PERSISTENCE) * PERSISTENCE ** runs.ranks[run, judgement].astype(np.float64) / len(runs.query_ids)
    return sparse.csr_array((weights, (run, judgement)), shape=runs.ranks.shape)


def residuals(weights: Any, pools: np.ndarray) -> np.ndarray:
    """The mean over queries of RBP's residual of every run under every pool, ``(pools, runs)``: all weights are 1, less those of what is judged.

    As ``evaluation.rank_biased_precision`` has it; ``weights`` are ``residual_weights``. Sparse, as BLAS may add in another order for another
    number of pools.
    """
    return 1 - (weights @ pools.T.astype(np.float64)).T


def _by_ir_measures(runs: JudgedRuns, pool: np.ndarray, measure: PoolMeasure) -> np.ndarray:
    """As any other tool would: documents named by their numbers, those that nobody judged by query, run and rank."""
    import ir_measures

    values = np.zeros(runs.places.shape[:2])
    queries = range(len(runs.query_ids))
    judged: dict[str, dict[str, int]] = {str(query): {} for query in queries}
    for number in np.flatnonzero(pool).tolist():
        judged[str(np.searchsorted(runs.starts, number, side="right") - 1)][str(number)] = int(runs.grades[number])
    judged = {query: found for query, found in judged.items() if found}
    parsed = parse_measure(measure.name)
    for run in range(len(runs.systems)):
        ranked: dict[str, dict[str, Any]] = {}
        for query in judged:
            places = runs.places[int(query), run]
            ranked[query] = {
                str(place) if place < runs.unjudged else f"unjudged {rank}": -float(rank)
                for rank, place in enumerate(places[places != runs.nothing].tolist(), 1)
            }
        for found in ir_measures.iter_calc([parsed], judged, {query: row for query, row in ranked.items() if row}):
            values[int(found.query_id), run] = float(found.value)
    return values

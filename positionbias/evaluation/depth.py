"""The re-ranking depth: how many of the first stage's candidates the model may reorder, tuned on validation queries.

The model scores all candidates once. At depth n the candidates with first-stage rank ≤ n stand in the model's order;
the others stay behind them in first-stage order (position-bias paper, section on training).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.run import Ranking, Run, strictly_decreasing

__all__ = ["DepthChoice", "apply_depth", "tune_depth"]

# Depths whose means differ by less are tied: the sums of the same terms in another order differ by about 1e-16.
_TIE = 1e-12


class DepthChoice(NamedTuple):
    """The best depth, its mean nDCG, and the mean nDCG at every depth that was tried."""

    depth: int
    value: float
    curve: Mapping[int, float]


def apply_depth(candidates: Run, rescored: Run, depth: int, *, name: str | None = None) -> Run:
    """The run in which only the first ``depth`` candidates of each query stand in the model's order.

    Scores of the reordered part are the model's; the tail's fall below them in whole steps, so that every evaluator
    sees the same ranks. ``name`` defaults to the re-scored run's.

    Raises:
        SettingError: ``depth`` is below 1.
        InputError: a candidate within the depth has no score in ``rescored``.
    """
    _check_depth(depth)
    return Run(name or rescored.name, (_merge(candidates[query_id], rescored, depth) for query_id in candidates))


def _merge(first: Ranking, rescored: Run, depth: int) -> tuple[str, list[str], np.ndarray]:
    order = _model_order(first, rescored, depth)
    head = [first.passage_ids[index] for index in order]
    tail = first.passage_ids[depth:]
    scores = dict(zip(rescored[first.query_id].passage_ids, rescored[first.query_id].scores, strict=True)) if head else {}
    head_scores = np.array([scores[passage_id] for passage_id in head], np.float32)
    if not tail:
        return first.query_id, head, head_scores
    last = head_scores[-1]
    below = np.floor(last.astype(np.float64)) - np.arange(1, len(tail) + 1)
    # beyond 2**24 a whole step is lost in float32; strictly_decreasing then takes the next smaller number
    steps = strictly_decreasing(np.concatenate([[last], below.astype(np.float32)]))[1:]
    return first.query_id, head + tail, np.concatenate([head_scores, steps])


def _model_order(first: Ranking, rescored: Run, depth: int) -> np.ndarray:
    """The indices of the first ``depth`` candidates in the model's order."""
    head = first.passage_ids[:depth]
    if not head:
        return np.empty(0, np.int64)
    ranks = {p: rank for rank, p in enumerate(rescored[first.query_id].passage_ids)} if first.query_id in rescored else {}
    places = np.array([ranks.get(passage_id, -1) for passage_id in head], np.int64)
    if places.min() < 0:
        missing = head[int(np.flatnonzero(places < 0)[0])]
        raise InputError(
            f"run {rescored.name!r}: wanted a score for every candidate down to rank {depth}; found none for passage "
            f"{missing!r} of query {first.query_id!r}; re-rank these candidates at least as deep"
        )
    return np.argsort(places)


def tune_depth(
    candidates: Run, rescored: Run, qrels: Iterable[Qrel], depths: Iterable[int], *, cutoff: int = 10
) -> DepthChoice:
    """The depth with the best mean nDCG@``cutoff``; of tied depths the smallest.

        nDCG@c = Σ_{rank ≤ c} g / log2(rank + 1), over the same sum for the ideal order of all judged passages

    with g the grade where it is positive, else 0 (linear gain, as trec_eval). The mean is over all judged queries; one
    without candidates counts 0. All depths are evaluated in one pass: going one deeper changes a query's top ``cutoff``
    only where the new candidate enters it.

    Raises:
        SettingError: no depth, or one below 1.
        InputError: no judged query, or a candidate within the largest depth has no score in ``rescored``.
    """
    wanted = sorted(set(depths))
    if not wanted:
        raise SettingError("--depth: wanted at least one re-ranking depth to try; found none; give one or more")
    _check_depth(wanted[0])
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for qrel in qrels:
        grades[qrel.query_id][qrel.passage_id] = qrel.grade
    if not grades:
        raise InputError("validation judgements: wanted at least one judged query; found none; give a split that has some")
    tables = _tables(candidates, rescored, grades, wanted[-1], cutoff)
    means = _means(*tables, cutoff=cutoff, total=len(grades))
    means.extend([means[-1]] * (wanted[-1] - len(means) + 1))  # deeper than the longest ranking changes nothing
    curve = {depth: means[depth] for depth in wanted}
    best = max(curve.values())
    depth = next(depth for depth in wanted if curve[depth] >= best - _TIE)
    return DepthChoice(depth, curve[depth], curve)


def _check_depth(depth: int) -> None:
    if depth < 1:
        raise SettingError(f"--depth: wanted a re-ranking depth of at least 1; found {depth}; give a larger one")


def _tables(
    candidates: Run, rescored: Run, grades: Mapping[str, Mapping[str, int]], deepest: int, cutoff: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per judged query with candidates: gains in first-stage order, model ranks of the candidates, ideal DCG.

    ``gains (queries, width)``, ``ranks (queries, depth)`` padded with ``depth``: a rank that never enters.
    """
    discounts = _discounts(cutoff)
    rows = [query_id for query_id in grades if query_id in candidates and candidates[query_id].passage_ids]
    depth = min(deepest, max((len(candidates[query_id].passage_ids) for query_id in rows), default=0))
    gains = np.zeros((len(rows), max(depth, cutoff)))
    ranks = np.full((len(rows), depth), depth, np.int64)
    ideal = np.ones(len(rows))
    for row, query_id in enumerate(rows):
        judged = grades[query_id]
        first = candidates[query_id]
        known = [max(0, judged.get(passage_id, 0)) for passage_id in first.passage_ids[: gains.shape[1]]]
        gains[row, : len(known)] = known
        order = _model_order(first, rescored, depth)
        ranks[row, order] = np.arange(len(order))
        best = np.sort([max(0, grade) for grade in judged.values()])[::-1][:cutoff]
        ideal[row] = (best * discounts[: len(best)]).sum() or 1.0
    return gains, ranks, ideal


def _means(gains: np.ndarray, ranks: np.ndarray, ideal: np.ndarray, *, cutoff: int, total: int) -> list[float]:
    """The mean nDCG at depths 0, 1, … ``ranks.shape[1]``."""
    discounts = _discounts(cutoff)
    queries, depth = ranks.shape
    # gain by model rank; the last column, rank ``depth``, stands for an empty place
    by_rank = np.zeros((queries, depth + 1))
    np.put_along_axis(by_rank, ranks, gains[:, :depth], axis=1)
    by_rank[:, depth] = 0
    top = np.full((queries, cutoff), depth, np.int64)  # the ``cutoff`` best model ranks so far, ascending
    values = (gains[:, :cutoff] * discounts).sum(axis=1) / ideal
    means = [float(values.sum() / total)]
    for n in range(1, depth + 1):
        entering = ranks[:, n - 1]
        # until the top is full the first-stage tail behind it moves as well
        rows = np.arange(queries) if n <= cutoff else np.flatnonzero(entering < top[:, -1])
        if len(rows):
            top[rows] = np.sort(np.column_stack([top[rows], entering[rows]]), axis=1)[:, :cutoff]
            seen = by_rank[rows[:, None], top[rows]]
            if n < cutoff:
                seen[:, n:] = gains[rows, n:cutoff]
            values[rows] = (seen * discounts).sum(axis=1) / ideal[rows]
        means.append(float(values.sum() / total))
    return means


def _discounts(cutoff: int) -> np.ndarray:
    return 1 / np.log2(np.arange(2, cutoff + 2))

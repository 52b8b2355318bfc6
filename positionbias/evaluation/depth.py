"""Tune and apply the re-ranking depth: how many of the first stage's candidates the model may
reorder.

The model scores all candidates once. At depth n the candidates with first-stage rank ≤ n follow the
model's order; the others stay behind them in first-stage order (position-bias paper, section on
training).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.rank_order import Ranking
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.run_files import strictly_decreasing

# Depths whose means differ by less are tied: summing the same terms in another order changes a mean
# by about 1e-16.
_TIE = 1e-12
_BLOCK = 1_000_000  # candidates per block of queries: 3 tables of 8 bytes each


class DepthChoice(NamedTuple):
    """The best depth, its mean nDCG, and the mean nDCG at every depth tried."""

    depth: int
    value: float
    curve: Mapping[int, float]


def apply_depth(candidates: Run, rescored: Run, depth: int, *, name: str | None = None) -> Run:
    """Reorder only the first ``depth`` candidates of each query by the model's scores.

    Reordered candidates have the model's scores; the tail's scores fall below them in steps of 1,
    so that every evaluator sees the same ranks. ``name`` defaults to the re-scored run's.

    Raises:
        SettingError: ``depth`` is below 1.
        InputError: a candidate within the depth has no score in ``rescored``.
    """
    _check_depth(depth)
    model = _ModelRanks(candidates, rescored)
    return Run(
        name or rescored.name,
        (_merge(candidates[query_id], rescored, model, depth) for query_id in candidates),
    )


def _merge(
    first: Ranking, rescored: Run, model: _ModelRanks, depth: int
) -> tuple[str, list[str], np.ndarray]:
    ranks = model.ranks(first.query_id, depth)
    order = np.argsort(ranks)
    head = [first.passage_ids[index] for index in order]
    tail = first.passage_ids[depth:]
    if not head:
        return first.query_id, [], np.empty(0, np.float32)
    head_scores = rescored[first.query_id].scores[ranks[order]]
    if not tail:
        return first.query_id, head, head_scores
    last = head_scores[-1]
    below = np.floor(last.astype(np.float64)) - np.arange(1, len(tail) + 1)
    # beyond 2**24 float32 cannot hold a step of 1; strictly_decreasing then takes the next smaller
    # number
    steps = strictly_decreasing(np.concatenate([[last], below.astype(np.float32)]))[1:]
    return first.query_id, head + tail, np.concatenate([head_scores, steps])


class _ModelRanks:
    """The model's rank of each candidate. Each run numbers passages in its own way, so they are
    matched once, by id.
    """

    def __init__(self, candidates: Run, rescored: Run) -> None:
        self.candidates, self.rescored = candidates, rescored
        if rescored.passage_ids is candidates.passage_ids:  # one was made from the other
            self._candidate = np.arange(len(candidates.passage_ids), dtype=np.int32)
        else:
            number_of = {
                passage_id: number for number, passage_id in enumerate(candidates.passage_ids)
            }
            ours = (number_of.get(passage_id, -1) for passage_id in rescored.passage_ids)
            self._candidate = np.fromiter(ours, np.int32, len(rescored.passage_ids))
        # one place per passage, and a last one for non-candidates; -1 between two queries
        self._rank = np.full(len(candidates.passage_ids) + 1, -1, np.int32)

    def ranks(self, query_id: str, depth: int) -> np.ndarray:
        """Return the model's ranks, from 0, of a query's first ``depth`` candidates, in first-stage
        order.

        Raises:
            InputError: a candidate without a score.
        """
        head = self.candidates.numbers(query_id)[:depth]
        theirs = (
            self._candidate[self.rescored.numbers(query_id)]
            if query_id in self.rescored
            else np.empty(0, np.int32)
        )
        self._rank[theirs] = np.arange(len(theirs))
        ranks = self._rank[head]
        self._rank[theirs] = -1
        if len(ranks) and ranks.min() < 0:
            missing = self.candidates.passage_ids[head[np.flatnonzero(ranks < 0)[0]]]
            raise InputError(
                f"run {self.rescored.name!r}: wanted a score for every candidate down to rank "
                f"{depth}; found none for passage {missing!r} of query {query_id!r}; re-rank these "
                "candidates at least as deep"
            )
        return ranks


def tune_depth(
    candidates: Run,
    rescored: Run,
    qrels: Iterable[Qrel],
    depths: Iterable[int],
    *,
    cutoff: int = 10,
) -> DepthChoice:
    """Return the depth with the best mean nDCG@``cutoff``; of tied depths the smallest.

        nDCG@c = Σ_{rank ≤ c} g / log2(rank + 1), over the same sum for the ideal order of all
                 judged passages

    with g the grade if positive, else 0 (linear gain, as trec_eval). The mean is over all judged
    queries; a query without candidates counts 0. All depths are evaluated in one pass: one step
    deeper changes a query's top ``cutoff`` only if the new candidate enters it. Memory besides the
    two runs: a block of queries (24 MB), a few bytes per distinct passage, and, if neither run was
    made from the other, a dictionary of passages while they are matched.

    Raises:
        SettingError: no depth, or one below 1.
        InputError: no judged query, or a candidate within the largest depth has no score in
            ``rescored``.
    """
    wanted = sorted(set(depths))
    if not wanted:
        raise SettingError(
            "--depth: wanted at least one re-ranking depth to try; found none; give one or more"
        )
    _check_depth(wanted[0])
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for qrel in qrels:
        grades[qrel.query_id][qrel.passage_id] = qrel.grade
    if not grades:
        raise InputError(
            "validation judgements: wanted at least one judged query; found none; give a split "
            "that has some"
        )
    sums = [
        _sums(*tables, cutoff=cutoff)
        for tables in _tables(candidates, rescored, grades, wanted[-1], cutoff)
    ]
    means: list[float] = (sum(sums, start=np.zeros(1)) / len(grades)).tolist()
    # deeper than the longest ranking changes nothing
    means.extend([means[-1]] * (wanted[-1] - len(means) + 1))
    curve = {depth: means[depth] for depth in wanted}
    best = max(curve.values())
    depth = next(depth for depth in wanted if curve[depth] >= best - _TIE)
    return DepthChoice(depth, curve[depth], curve)


def _check_depth(depth: int) -> None:
    if depth < 1:
        raise SettingError(
            f"--depth: wanted a re-ranking depth of at least 1; found {depth}; give a larger one"
        )


def _tables(
    candidates: Run,
    rescored: Run,
    grades: Mapping[str, Mapping[str, int]],
    deepest: int,
    cutoff: int,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield gains in first-stage order, model ranks of the candidates and ideal DCG, by block of
    judged queries with candidates.

    ``gains (queries, width)``, ``ranks (queries, depth)`` padded with ``depth``, a rank that never
    enters.
    """
    discounts = rank_discounts(cutoff)
    query_ids = [
        query_id
        for query_id in grades
        if query_id in candidates and len(candidates.numbers(query_id))
    ]
    depth = min(
        deepest, max((len(candidates.numbers(query_id)) for query_id in query_ids), default=0)
    )
    model = _ModelRanks(candidates, rescored)
    judged_ids = {passage_id for judged in grades.values() for passage_id in judged}
    number_of = {
        passage_id: number
        for number, passage_id in enumerate(candidates.passage_ids)
        if passage_id in judged_ids
    }
    gain_of = np.zeros(len(candidates.passage_ids))  # of the current query; 0 between queries
    block = max(1, _BLOCK // max(1, depth))
    for start in range(0, len(query_ids), block):
        rows = query_ids[start : start + block]
        gains = np.zeros((len(rows), max(depth, cutoff)))
        ranks = np.full((len(rows), depth), depth, np.int64)
        ideal = np.ones(len(rows))
        for row, query_id in enumerate(rows):
            positive = {
                passage_id: grade for passage_id, grade in grades[query_id].items() if grade > 0
            }
            places = [number_of[passage_id] for passage_id in positive if passage_id in number_of]
            gain_of[places] = [
                grade for passage_id, grade in positive.items() if passage_id in number_of
            ]
            head = candidates.numbers(query_id)[: gains.shape[1]]
            gains[row, : len(head)] = gain_of[head]
            gain_of[places] = 0
            order = np.argsort(model.ranks(query_id, depth))
            ranks[row, order] = np.arange(len(order))
            best = np.sort(list(positive.values()))[::-1][:cutoff]
            ideal[row] = (best * discounts[: len(best)]).sum() or 1.0
        yield gains, ranks, ideal


def _sums(gains: np.ndarray, ranks: np.ndarray, ideal: np.ndarray, *, cutoff: int) -> np.ndarray:
    """Return the sum over these queries of nDCG at depths 0, 1, … ``ranks.shape[1]``."""
    discounts = rank_discounts(cutoff)
    queries, depth = ranks.shape
    # gain by model rank; the last column, rank ``depth``, stands for an empty place
    by_rank = np.zeros((queries, depth + 1))
    np.put_along_axis(by_rank, ranks, gains[:, :depth], axis=1)
    by_rank[:, depth] = 0
    # the ``cutoff`` best model ranks so far, ascending
    top = np.full((queries, cutoff), depth, np.int64)
    values = (gains[:, :cutoff] * discounts).sum(axis=1) / ideal
    sums = [values.sum()]
    for n in range(1, depth + 1):
        entering = ranks[:, n - 1]
        # until the top is full, the first-stage tail behind it moves too
        rows = np.arange(queries) if n <= cutoff else np.flatnonzero(entering < top[:, -1])
        if len(rows):
            top[rows] = np.sort(np.column_stack([top[rows], entering[rows]]), axis=1)[:, :cutoff]
            seen = by_rank[rows[:, None], top[rows]]
            if n < cutoff:
                seen[:, n:] = gains[rows, n:cutoff]
            values[rows] = (seen * discounts).sum(axis=1) / ideal[rows]
        sums.append(values.sum())
    return np.array(sums)


def rank_discounts(cutoff: int) -> np.ndarray:
    """Return nDCG's 1 / log2(rank + 1) of ranks 1 … cutoff."""
    return 1 / np.log2(np.arange(2, cutoff + 2))

"""Compute true bounds of scores and their differences over all grades of unjudged documents: a
run's own, other runs', and those of no run.

Every unjudged document is either not relevant or has the collection's highest grade [decision]. RR,
P and RBP depend on a run's own documents only. nDCG and AP are divided by the possible gain, which
unseen relevant documents of others raise: for nDCG to the cutoff's best order of the highest grade,
for AP without limit, so its lower bound is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.pooling.open_runs import OpenRuns
from positionbias.pooling.scores import PoolMeasure, score_grades

__all__ = ["Bounds", "check_measure", "difference_bounds", "score_bounds"]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """``score``, ``low`` and ``high``, each ``(queries, runs)``: the score with unjudged documents
    as not relevant, and its minimum and maximum.
    """

    score: np.ndarray
    low: np.ndarray
    high: np.ndarray


def check_measure(measure: PoolMeasure) -> None:
    """Check that a measure has known bounds.

    Raises:
        SettingError: a measure other than nDCG@k, RR, P@k, AP and RBP.
    """
    if not measure.kind or (measure.kind == "nDCG" and measure.cutoff is None):
        raise SettingError(
            "-m: wanted a measure with known bounds (nDCG@k, RR, P@k, AP or RBP); found "
            f"{measure.name!r}; give one of these"
        )


def score_bounds(pool: OpenRuns, measure: PoolMeasure) -> Bounds:
    """Return the bounds of every run's score on every query, exact over every choice of relevant
    documents.

    Raises:
        SettingError: as for ``check_measure``.
    """
    check_measure(measure)
    score = score_grades(pool.runs, pool.grades[None], measure)[0]
    top = pool.runs.places[:, :, : measure.cutoff]
    open_ = ~pool.known_places[:, :, : measure.cutoff] & (top != pool.runs.nothing)
    if measure.kind == "P":
        assert measure.cutoff is not None
        return Bounds(score, score, score + open_.sum(axis=-1) / measure.cutoff)
    if measure.kind == "RR":
        # judged relevant documents stay relevant, so only an earlier open rank can raise the score
        first = np.where(open_.any(axis=-1), 1 / (1 + open_.argmax(axis=-1)), 0)
        return Bounds(score, score, np.maximum(score, first))
    if measure.kind == "RBP":
        # a rank beyond the end of a ranking is open, like an unjudged document
        weights = _weights(measure, top.shape[-1])
        residual = ((open_ | (top == pool.runs.nothing)) * weights).sum(axis=-1) + _behind(
            measure, weights
        )
        return Bounds(score, score, score + residual)
    return (
        _average_precision(pool, score, open_, measure)
        if measure.kind == "AP"
        else _ndcg(pool, score, open_, measure)
    )


def difference_bounds(pool: OpenRuns, run: int, measure: PoolMeasure, bounds: Bounds) -> Bounds:
    """Bound one run's score minus that of every run, ``(queries, runs)``, over every choice of
    relevant documents; 0 for itself.

    If the score is a sum over ranks (nDCG, P, RBP), shared documents count for both runs at once.
    Otherwise, or if it is tighter, the difference of the two runs' own bounds is used. Bounds are
    never too narrow; for nDCG they may be too wide.
    """
    score = bounds.score[:, [run]] - bounds.score
    low, high = bounds.low[:, [run]] - bounds.high, bounds.high[:, [run]] - bounds.low
    if measure.kind in ("nDCG", "P", "RBP"):
        least, most = _summed(pool, run, measure)
        low, high = np.maximum(low, least), np.minimum(high, most)
    low, high = np.minimum(low, score), np.maximum(high, score)
    low[:, run] = high[:, run] = 0
    return Bounds(score, low, high)


def _weights(measure: PoolMeasure, depth: int) -> np.ndarray:
    """Return the weight of each rank, ``(depth,)``: for nDCG the discount, not yet divided by the
    best order's sum.
    """
    ranks = np.arange(min(depth, measure.cutoff or depth))
    if measure.kind == "RBP":
        found: np.ndarray = (1 - measure.persistence) * measure.persistence**ranks
        return found
    return (
        1 / np.log2(ranks + 2)
        if measure.kind == "nDCG"
        else np.full(len(ranks), 1 / (measure.cutoff or 1))
    )


def _summed(pool: OpenRuns, run: int, measure: PoolMeasure) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum and maximum of a difference of sums over ranks, each
    ``(queries, runs)``.
    """
    runs, graded = pool.runs, measure.kind == "nDCG"
    weights = _weights(measure, runs.places.shape[2])
    top = runs.places[:, :, : len(weights)]
    gains = np.maximum(pool.grades, 0) if graded else pool.grades >= measure.level
    worth = max(1, int(pool.grades.max())) if graded else 1
    known = (np.concatenate([gains, [0, 0]])[top] * weights).sum(axis=-1)
    # unnumbered documents, and for RBP those beyond the end of a ranking, may differ in every run
    loose = worth * (
        (top >= runs.unjudged if measure.kind == "RBP" else top == runs.unjudged) * weights
    ).sum(axis=-1)
    loose += _behind(measure, weights) if measure.kind == "RBP" else 0
    least, most = known[:, [run]] - known - loose, known[:, [run]] - known + loose[:, [run]]
    by_rank = np.append(weights, 0.0)
    for query, (start, end) in enumerate(zip(runs.starts, runs.starts[1:], strict=False)):
        open_ = start + np.flatnonzero(~pool.known[start:end])
        held = by_rank[np.minimum(runs.ranks[:, open_], len(weights))]
        change = worth * (held[run] - held)
        least[query] += np.minimum(change, 0).sum(axis=-1)
        most[query] += np.maximum(change, 0).sum(axis=-1)
    if not graded:
        return least, most
    smallest, largest = _ideals(pool, measure.cutoff or 0)
    return _divided(least, smallest, largest), -_divided(-most, smallest, largest)


def _behind(measure: PoolMeasure, weights: np.ndarray) -> float:
    """Return the RBP weight of ranks that no run has."""
    return float(max(1 - measure.persistence ** (measure.cutoff or np.inf) - weights.sum(), 0.0))


def _divided(value: np.ndarray, smallest: np.ndarray, largest: float) -> np.ndarray:
    """Return the minimum of a value divided by any best order's sum, at least −1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(value < 0, value / smallest[:, None], value / largest)
    return np.maximum(found, -1)


def _ideals(pool: OpenRuns, depth: int) -> tuple[np.ndarray, float]:
    """Return the DCG of the best order of judged documents, ``(queries,)``, and the best possible
    of any query.
    """
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    smallest = np.array(
        [
            (
                np.sort(np.maximum(pool.grades[start:end], 0))[::-1][:depth]
                * discounts[: end - start]
            ).sum()
            for start, end in zip(pool.runs.starts, pool.runs.starts[1:], strict=False)
        ]
    )
    return smallest, float(max(1, int(pool.grades.max())) * discounts.sum())


def _ndcg(pool: OpenRuns, score: np.ndarray, open_: np.ndarray, measure: PoolMeasure) -> Bounds:
    """Bound nDCG. With n of a run's own documents relevant, DCG is highest if they are the first n,
    and the best order depends only on n.
    """
    depth = measure.cutoff or 0
    highest = max(1, int(pool.grades.max()))
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    ideal = np.zeros((len(score), depth + 1))  # by the number of relevant unjudged documents
    for query, (start, end) in enumerate(zip(pool.runs.starts, pool.runs.starts[1:], strict=False)):
        best = np.sort(np.maximum(pool.grades[start:end], 0))[::-1][:depth].astype(np.float64)
        for more in range(depth + 1):
            row = np.concatenate([np.full(more, highest), best])[:depth]
            ideal[query, more] = (row * discounts[: len(row)]).sum()
    found = score * np.where(ideal[:, :1] > 0, ideal[:, :1], 1)
    falling = np.sort(open_ * discounts[: open_.shape[-1]] * highest, axis=-1)[
        ..., ::-1
    ]  # the open ranks first, from the top down
    most = found[..., None] + np.concatenate(
        [np.zeros((*score.shape, 1)), falling.cumsum(axis=-1)], axis=-1
    )
    possible = np.arange(most.shape[-1]) <= open_.sum(axis=-1)[..., None]
    over = np.where(ideal > 0, ideal, 1)[:, None, : most.shape[-1]]
    high = np.where(possible, most / over, -np.inf).max(axis=-1)
    return Bounds(score, found / (highest * discounts.sum()), np.maximum(high, score))


def _average_precision(
    pool: OpenRuns, score: np.ndarray, open_: np.ndarray, measure: PoolMeasure
) -> Bounds:
    """Bound AP. With n open documents relevant, AP is highest if they are the first n: each adds
    its own precision and a hit for all relevant ones below.
    """
    relevant = np.concatenate([pool.grades >= measure.level, [False, False]])
    total = pool.runs.by_query(relevant[:-2])
    inverse = 1 / np.arange(1, open_.shape[-1] + 1)
    high = np.zeros(score.shape)
    for query in range(len(score)):
        hits = relevant[pool.runs.places[query, :, : open_.shape[-1]]]
        below = (hits * inverse)[:, ::-1].cumsum(axis=-1)[:, ::-1]
        count = open_[query].cumsum(axis=-1)
        more = open_[query] * ((hits.cumsum(axis=-1) + count) * inverse + below)
        sums = score[query][:, None] * total[query] + more.cumsum(axis=-1)
        high[query] = (sums / np.maximum(total[query] + count, 1)).max(axis=-1, initial=0)
    return Bounds(score, np.zeros(score.shape), np.maximum(high, score))

"""Can an existing collection judge one new run: how much of its top is unjudged, between which bounds its score lies, whom it can be compared with.

Every unjudged document among the first k is either not relevant or has the collection's highest grade: which of them are is open, and the score
lies between the least and the most over all choices [decision]. Two runs are compared safely where no choice among the documents of both changes
who has the higher mean. Which unjudged documents the two share is not known here, so all numbers of shared ones are allowed, and "open" is said
rather too often. Relevant documents that lie deeper, that only other runs have or that no run has are beyond these bounds: they lower every nDCG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.core.formatting import percent
from positionbias.core.payloads import Finding, PerQuery, Statistics
from positionbias.core.result import Result
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.rank_biased_precision import RankBiasedPrecision, judged_share, rank_biased_precision
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.scores import PoolMeasure, score_pools

__all__ = ["Bounds", "Verdict", "check_bounds", "difference_bounds", "score_bounds", "verdict", "verdict_results"]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """``score``, ``low`` and ``high``, each ``(queries, runs)``: with what is unjudged as not relevant, and the least and the most it can be."""

    score: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The new run is the last of ``runs``. ``judged (queries, runs)`` is Judged@k, NaN where a run has nothing; bounds by measure.

    ``differences`` are the bounds, by measure, of the new run's score less each other's, ``(queries, runs − 1)``.
    """

    runs: JudgedRuns
    depth: int
    judged: np.ndarray
    bounds: dict[str, Bounds]
    differences: dict[str, Bounds]
    precision: RankBiasedPrecision


def check_bounds(measures: Sequence[PoolMeasure]) -> None:
    """See that the bounds of every measure can be found.

    Raises:
        SettingError: a measure other than nDCG@k, RR and P@k.
    """
    for measure in measures:
        if measure.kind not in ("nDCG", "RR", "P") or (measure.kind == "nDCG" and measure.cutoff is None):
            raise SettingError(
                f"-m: wanted nDCG@k, RR or P@k, whose bounds are known; found {measure.name!r}; give one of these"
            )


def score_bounds(runs: JudgedRuns, measure: PoolMeasure) -> Bounds:
    """The bounds of nDCG, RR and P, exact over every choice of which unjudged documents within the cutoff have the highest grade.

    With n of them relevant, DCG is highest where they are the first n and lowest where they are the last; the best possible DCG depends on n
    alone. So for nDCG the least and the most are found over n: one more relevant document at a low rank lowers nDCG where few are relevant.

    Raises:
        SettingError: as for ``check_bounds``.
    """
    check_bounds([measure])
    everything = np.ones((1, runs.unjudged), bool)
    score = score_pools(runs, everything, measure)[0]
    top = runs.places[:, :, : measure.cutoff]
    open_ = top == runs.unjudged
    if measure.kind == "P":
        return Bounds(score, score, score + open_.sum(axis=-1) / measure.cutoff)
    if measure.kind == "RR":
        # whatever is relevant already stays so: the first open rank can only lie before it
        first = np.where(open_.any(axis=-1), 1 / (1 + open_.argmax(axis=-1)), 0)
        return Bounds(score, score, np.maximum(score, first))
    return _ndcg_bounds(runs, score, measure.cutoff or 0)


def difference_bounds(runs: JudgedRuns, measure: PoolMeasure, bounds: Bounds) -> Bounds:
    """The last run's score less that of every other, ``(queries, runs − 1)``, over every choice among the unjudged documents of both.

    RR and P of one run do not depend on what another has: their ``bounds`` (``score_bounds``) are taken apart. nDCG does, as a relevant document
    of either run raises the best possible DCG of both. With a relevant documents in one and b in the other this is that of max(a, b), all
    shared, to a + b, none shared; the difference of DCG is divided by the one of these that makes it least, or most.

    Raises:
        SettingError: as for ``check_bounds``.
    """
    check_bounds([measure])
    score = bounds.score[:, -1:] - bounds.score[:, :-1]
    if measure.kind != "nDCG":
        return Bounds(score, bounds.low[:, -1:] - bounds.high[:, :-1], bounds.high[:, -1:] - bounds.low[:, :-1])
    depth = measure.cutoff or 0
    gain = _gain_bounds(runs, depth)
    others = np.arange(depth + 1)
    low, high = np.full(score.shape, np.inf), np.full(score.shape, -np.inf)
    for own in range(int(gain.counts[:, -1].max()) + 1):
        shared, apart = gain.best[:, None, np.maximum(own, others)], gain.best[:, None, np.minimum(own + others, depth)]
        possible = (own <= gain.counts[:, -1:, None]) & (others <= gain.counts[:, :-1, None])
        least, most = gain.least[:, -1:, own, None] - gain.most[:, :-1], gain.most[:, -1:, own, None] - gain.least[:, :-1]
        low = np.minimum(low, np.where(possible, least / np.where(least < 0, shared, apart), np.inf).min(axis=-1))
        high = np.maximum(high, np.where(possible, most / np.where(most > 0, shared, apart), -np.inf).max(axis=-1))
    return Bounds(score, np.minimum(low, score), np.maximum(high, score))


def _ndcg_bounds(runs: JudgedRuns, score: np.ndarray, depth: int) -> Bounds:
    gain = _gain_bounds(runs, depth)
    possible = np.arange(depth + 1) <= gain.counts[..., None]
    over = gain.best[:, None, :]
    high = np.where(possible, gain.most / over, -np.inf).max(axis=-1)
    low = np.where(possible, gain.least / over, np.inf).min(axis=-1)
    return Bounds(score, np.minimum(low, score), np.maximum(high, score))


class _Gain(NamedTuple):
    """DCG with n unjudged documents relevant, ``least`` and ``most (queries, runs, depth + 1)``; ``counts (queries, runs)`` of unjudged ones.

    ``best (queries, depth + 1)`` is the best possible DCG, 1 where there is none.
    """

    least: np.ndarray
    most: np.ndarray
    counts: np.ndarray
    best: np.ndarray


def _gain_bounds(runs: JudgedRuns, depth: int) -> _Gain:
    queries, width, longest = runs.places.shape
    # the best order fills the cutoff where no run does
    places = np.pad(runs.places[:, :, :depth], ((0, 0), (0, 0), (0, max(0, depth - longest))), constant_values=runs.nothing)
    open_ = places == runs.unjudged
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    gains = np.maximum(runs.grades, 0)
    highest = max(1, int(gains.max()))
    ideal = np.zeros((queries, depth + 1))  # by how many unjudged documents are relevant
    for query, (start, end) in enumerate(zip(runs.starts, runs.starts[1:], strict=False)):
        best = gains[start:end][:depth].astype(np.float64)  # judgements stand by falling grade
        for more in range(depth + 1):
            row = np.concatenate([np.full(more, highest), best])[:depth]
            ideal[query, more] = (row * discounts[: len(row)]).sum()
    padded = np.concatenate([gains, [0, 0]])
    found = (padded[places] * discounts).sum(axis=-1)[..., None]
    counts = open_.sum(axis=-1)
    falling = np.sort(np.where(open_, discounts * highest, 0.0), axis=-1)[..., ::-1]  # the open ranks first, from the top down
    first = np.concatenate([np.zeros((queries, width, 1)), falling.cumsum(axis=-1)], axis=-1)  # n open ranks from the top
    last = first[..., -1:] - np.take_along_axis(first, np.maximum(counts[..., None] - np.arange(depth + 1), 0), axis=-1)
    return _Gain(found + last, found + first, counts, np.where(ideal > 0, ideal, 1))


def verdict(runs: JudgedRuns, measures: Sequence[PoolMeasure], *, depth: int = 10, level: int = 1) -> Verdict:
    """Judged shares within ``depth``, the bounds of every measure, and RBP with its residual (binary gain, p = 0.8), of every run and query."""
    top = runs.places[:, :, :depth]
    relevant = np.concatenate([runs.grades >= level, [False, False]])
    bounds = {measure.name: score_bounds(runs, measure) for measure in measures}
    return Verdict(
        runs,
        depth,
        judged_share(top < runs.unjudged, top != runs.nothing),
        bounds,
        {measure.name: difference_bounds(runs, measure, bounds[measure.name]) for measure in measures},
        # a rank behind the end of a ranking is as open as one that holds an unjudged document
        rank_biased_precision(relevant[runs.places].astype(np.float64), runs.places < runs.unjudged),
    )


def verdict_results(found: Verdict, *, collection: str) -> list[Result]:
    """For the new run: its unjudged share; per measure its score with bounds, and the comparison with each pooled run; a sentence a measure.

    A comparison's ``says`` is "better" or "worse" where every choice of relevant documents says so, else "open"; ``significant`` where the
    interval of the least favourable difference per query leaves out 0 too; ``now`` what the judgements as they are would say.
    """
    runs, new = found.runs, len(found.runs.systems) - 1
    name = runs.systems[new].run
    unjudged = 1 - found.judged
    own = unjudged[:, new]
    pooled = [_share(unjudged[:, run]) for run in range(new)]
    rows: dict[str, Any] = {
        "what": "unjudged", "depth": found.depth, "run": name, "share": _share(own), "queries": len(runs.query_ids),
        "queries without candidates": int(np.isnan(own).sum()), "pooled runs": new,
        "pooled mean": float(np.mean(pooled)), "pooled most": max(pooled), "RBP": float(found.precision.base[:, new].mean()),
        "RBP residual": float(found.precision.residual[:, new].mean()), "skipped": dict(runs.skipped),
        "by pooled run": {system.run: share for system, share in zip(runs.systems, pooled, strict=False)},
    }  # fmt: skip
    estimate = clustered_mean(own[~np.isnan(own)], None)
    count = len(runs.query_ids)
    results = [
        Result(f"unjudged@{found.depth}", collection, "", name, None, rows["share"], estimate.interval, count, Statistics(rows))
    ]
    notes = {"depth": found.depth, "undefined": "a query without candidates has no share"}
    shares = PerQuery(runs.query_ids, [float(value) for value in own], notes)
    results.append(Result(f"unjudged@{found.depth} by query", collection, "", name, None, rows["share"], None, count, shares))
    for measure, bounds in found.bounds.items():
        results.append(_score(measure, bounds, found, collection))
        compared = [_compared(found.differences[measure], run, runs) for run in range(new)]
        listing = Statistics({"what": "comparisons", "measure": measure, "run": name, "comparisons": compared})
        safe = sum(item["says"] != "open" for item in compared)
        results.append(
            Result(f"safe comparisons by {measure}", collection, "", name, None, safe / new, None, new, listing)
        )  # fmt: skip
        finding = _sentence(measure, bounds, rows, compared)
        results.append(Result("finding", collection, "", name, None, None, None, count, finding))
    return results


def _share(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else 0.0


def _score(measure: str, bounds: Bounds, found: Verdict, collection: str) -> Result:
    new = len(found.runs.systems) - 1
    score, low, high = (float(values[:, new].mean()) for values in (bounds.score, bounds.low, bounds.high))
    pooled = [
        {
            "run": system.run, "score": float(bounds.score[:, run].mean()), "low": float(bounds.low[:, run].mean()),
            "high": float(bounds.high[:, run].mean()), "RBP": float(found.precision.base[:, run].mean()),
            "RBP residual": float(found.precision.residual[:, run].mean()), "unjudged": _share(1 - found.judged[:, run]),
        }
        for run, system in enumerate(found.runs.systems[:new])
    ]  # fmt: skip
    rows = {"what": "score", "measure": measure, "score": score, "low": low, "high": high, "pooled": pooled}
    name, count = found.runs.systems[new].run, len(found.runs.query_ids)
    return Result(f"score by {measure}", collection, "", name, None, score, None, count, Statistics(rows))


def _compared(differences: Bounds, run: int, runs: JudgedRuns) -> dict[str, Any]:
    now, least, most = (values[:, run] for values in (differences.score, differences.low, differences.high))
    says, sure = "open", False
    for word, limit, sign in (("better", least, 1), ("worse", most, -1)):
        if sign * limit.mean() > 0:
            interval = clustered_mean(limit, None).interval
            says, sure = word, interval is not None and sign * (interval.low if sign > 0 else interval.high) > 0
    return {
        **runs.systems[run]._asdict(), "difference": float(now.mean()), "least": float(least.mean()), "most": float(most.mean()),
        "now": "better" if now.mean() > 0 else "worse" if now.mean() < 0 else "equal", "says": says, "significant": sure,
    }  # fmt: skip


def _sentence(measure: str, bounds: Bounds, rows: dict[str, Any], compared: Sequence[dict[str, Any]]) -> Finding:
    score, low, high = (float(values[:, -1].mean()) for values in (bounds.score, bounds.low, bounds.high))
    safe = sum(item["says"] != "open" for item in compared)
    text = (
        f"Of the first {rows['depth']} of {rows['run']} {percent(rows['share'])} are unjudged (of the pooled runs {percent(rows['pooled mean'])}, at most "
        f"{percent(rows['pooled most'])}); its {measure} is {score:.3f} and could be {low:.3f} to {high:.3f}; {safe} of {len(compared)} comparisons "
        "hold whatever the unjudged documents are."
    )
    return Finding(text, safe == len(compared))

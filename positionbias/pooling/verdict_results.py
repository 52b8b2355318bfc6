"""Report the verdict on one run as Results and in words: the answer first, then the score, the
orders, new queries, and the next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from positionbias.core.formatting import decimal, percent
from positionbias.core.json_text import JsonObject
from positionbias.core.publish import atomic_file
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.clustered import clustered_mean
from positionbias.pooling.bounds import Bounds
from positionbias.pooling.prediction import FEWEST_GROUPS
from positionbias.pooling.verdict import SURE, MeasureVerdict, Obstacle, RunVerdict
from positionbias.results.payloads import Finding, PerQuery
from positionbias.results.pool_verdict import (
    ORDERS,
    SCORE,
    ComparedRun,
    ComparisonsFigures,
    PooledScore,
    RunAnswer,
    ScoreFigures,
    UnjudgedFigures,
)
from positionbias.results.pools import UNJUDGED, ends_of
from positionbias.results.result import Result

__all__ = ["verdict_results", "write_judge_next"]

NEW_QUERIES = 0.05  # the p of an order over queries like these
_NOTHING = 1e-12  # rounding error of a difference
_OBSTACLES = {
    Obstacle.NO_RUNS: (
        "no pooled runs",
        "give the runs that fed the pool (--pool-runs, with --systems), or ",
    ),
    Obstacle.FEW_GROUPS: (
        (
            "at least {fewest} groups of pooled runs must have unique documents, and fewer of the "
            "{groups:,} given have"
        ),
        "give more of the runs that fed the pool, or ",
    ),
    Obstacle.NO_ERRORS: (
        "fewer than {fewest} groups have unique documents that change their runs' scores",
        "",
    ),
    Obstacle.BEYOND: (
        "a larger share is unjudged than of any left-out pooled run (at most {most})",
        "",
    ),
}  # the obstacle, and the advice


def verdict_results(found: RunVerdict, *, collection: str) -> list[Result]:
    """Return the new run's finding by each measure, its unjudged share, and its score and
    comparisons by each measure.
    """
    runs, new = found.runs.runs, len(found.runs.runs.systems) - 1
    name, count = runs.systems[new].run, len(runs.query_ids)
    own = 1 - found.judged[:, new]
    head = _unjudged(found, own)
    measured = [
        (item, _score(item, found), [_compared(item, run, found) for run in range(new)])
        for item in found.measures
    ]
    results = [
        Result(
            "finding",
            collection,
            "",
            name,
            None,
            None,
            None,
            count,
            _finding(item, score, compared, head),
        )
        for item, score, compared in measured
    ]
    interval = clustered_mean(own[~np.isnan(own)], None, span_of(own)).interval
    title = f"{UNJUDGED}{found.depth}"
    results.append(Result(title, collection, "", name, None, head.share, interval, count, head))
    notes: JsonObject = {
        "depth": found.depth,
        "undefined": "a query without candidates has no share",
    }
    shares = PerQuery(runs.query_ids, [float(value) for value in own], notes)
    results.append(
        Result(f"{title} by query", collection, "", name, None, head.share, None, count, shares)
    )
    for item, score, compared in measured:
        title = SCORE + score.measure
        results.append(
            Result(title, collection, "", name, None, score.score, item.interval, count, score)
        )
        if compared:
            decided = sum(one.says != "open" for one in compared) / new
            listing = ComparisonsFigures(measure=score.measure, run=name, comparisons=compared)
            title = ORDERS + score.measure
            results.append(Result(title, collection, "", name, None, decided, None, new, listing))
    return results


def _share(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else 0.0


def _unjudged(found: RunVerdict, own: np.ndarray) -> UnjudgedFigures:
    runs, new = found.runs.runs, len(found.runs.runs.systems) - 1
    pooled = [_share(1 - found.judged[:, run]) for run in range(new)]
    return UnjudgedFigures(
        depth=found.depth, run=runs.systems[new].run, share=_share(own),
        queries=len(runs.query_ids),
        without_candidates=int(np.isnan(own).sum()),
        documents=len(found.measures[0].guess.unseen.query),
        judged_depth=found.runs.judged_from_the_top(new), most_open=found.most_open, pooled=new,
        groups=len(set(found.runs.group_of[:new].tolist())), pooled_mean=float(np.mean(pooled))
        if pooled else None,
        pooled_most=max(pooled, default=None), rbp=float(found.precision.base[:, new].mean()),
        residual=float(found.precision.residual[:, new].mean()), skipped=dict(runs.skipped),
        by_run={system.run: share for system, share in zip(runs.systems, pooled, strict=False)},
    )  # fmt: skip


def _mean(bounds: Bounds, run: int) -> tuple[float, float, float]:
    score, low, high = (
        float(values[:, run].mean()) for values in (bounds.score, bounds.low, bounds.high)
    )
    return score, low, high


def _score(item: MeasureVerdict, found: RunVerdict) -> ScoreFigures:
    new = len(found.runs.runs.systems) - 1
    score, low, high = _mean(item.bounds, new)
    predicted_low, predicted_high = ends_of(item.interval)
    return ScoreFigures(
        measure=item.measure.name, answer=item.answer, score=score, low=low, high=high,
        expected=item.expected,
        predicted=item.expected if item.interval else None, predicted_low=predicted_low,
        predicted_high=predicted_high,
        query_half=item.query_half, needed=item.needed, covered=item.calibration.covered
        if item.calibration else None,
        grouped=found.grouped, pooled=[_pooled(item, run, found) for run in range(new)],
    )  # fmt: skip


def _pooled(item: MeasureVerdict, run: int, found: RunVerdict) -> PooledScore:
    base, residual = found.precision.base[:, run], found.precision.residual[:, run]
    unjudged = _share(1 - found.judged[:, run])
    name = found.runs.runs.systems[run].run
    return PooledScore(
        name, *_mean(item.bounds, run), float(base.mean()), float(residual.mean()), unjudged
    )


def _compared(item: MeasureVerdict, run: int, found: RunVerdict) -> ComparedRun:
    now, least, most = _mean(item.differences, run)
    better = float(item.orders.better[run]) if item.orders else None
    says: Literal["better", "worse", "equal", "open"] = "open"
    if better is not None and max(better, 1 - better) >= SURE:
        says = "better" if better > 0.5 else "worse"
    elif least > 0 or most < 0:
        says = "better" if least > 0 else "worse"
    elif max(abs(least), abs(most)) <= _NOTHING:
        says = "equal"
    return ComparedRun(
        *found.runs.runs.systems[run], difference=now, least=least, most=most,
        predicted=float(item.orders.difference[run]) if item.orders else None, probability=better,
        now="better" if now > 0 else "worse" if now < 0 else "equal", says=says,
        certain=least > 0 or most < 0 or says == "equal",
        new_queries=bool(
            item.orders is not None and says in ("better", "worse")
            and item.orders.new_queries[run] < NEW_QUERIES
        ),
    )  # fmt: skip


def _finding(
    item: MeasureVerdict,
    score: ScoreFigures,
    compared: Sequence[ComparedRun],
    head: UnjudgedFigures,
) -> Finding:
    """Return the answer, the score, the orders, new queries, the basis and the next step."""
    unjudged = f"{percent(head.share)} of its first {head.depth} are unjudged"
    bounds = f"{decimal(score.low)} to {decimal(score.high)} possible for any grades of the rest"
    possible = f"{decimal(score.score)} by the judged documents, {bounds}"
    if item.interval is None:
        return Finding("\n".join(_without_prediction(item, head, f"{unjudged}.", possible)), None)
    half, over = decimal(item.open_half), decimal(item.query_half)
    queries = (
        f"the choice of queries does by ±{over}"
        if item.query_half is not None
        else "one query says nothing of others"
    )
    first = (
        f"{head.run} {item.answer} by {score.measure}: {unjudged}, which leaves its score open by "
        f"±{half}; {queries}."
    )
    if item.needed:
        first += (
            f" About {item.needed:,} of its {head.documents:,} unjudged documents need judgements."
        )
    ends = f"{decimal(item.interval.low)} to {decimal(item.interval.high)}"
    predicted = (
        f"Predicted {score.measure}: {decimal(item.expected)}, 95\u00a0% prediction interval "
        f"{ends} ({possible})."
    )
    lines = [first, predicted, *_orders(compared), _rests_on(item, score), *_next(item)]
    return Finding("\n".join(lines), item.answer is RunAnswer.YES)


def _orders(compared: Sequence[ComparedRun]) -> list[str]:
    says = [one.says for one in compared]
    certain, holding = (
        sum(one.certain for one in compared),
        sum(one.new_queries for one in compared),
    )
    decided = says.count("better") + says.count("worse")
    equal = f" It equals {says.count('equal'):,}." if "equal" in says else ""
    return [
        f"On these queries better than {says.count('better'):,} and worse than "
        f"{says.count('worse'):,} of {len(says):,} pooled runs with a probability of {SURE:.0%} or "
        f"more, {certain:,} of them for any grades of the unjudged documents; "
        f"{says.count('open'):,} are open.{equal}",
        f"For new queries like these, {holding:,} of the {decided:,} orders hold (5\u00a0%, Holm).",
    ]


def _rests_on(item: MeasureVerdict, score: ScoreFigures) -> str:
    assert item.calibration is not None
    told = (
        f"Left out of the pool in turn, {percent(item.calibration.covered, 0)} of the pooled runs "
        f"score within such an interval ({item.calibration.runs:,} runs of "
        f"{item.calibration.freedom + 1:,} groups, a group counted once)."
    )
    if not score.grouped:
        told += " No two runs share a group; if some have the same maker, this share is too high."
    return told


def _next(item: MeasureVerdict) -> list[str]:
    if not item.needed:
        return []
    return [
        f"Next: judge the first {item.needed:,} documents of --judge-next FILE and run this again."
    ]


def _without_prediction(
    item: MeasureVerdict, head: UnjudgedFigures, unjudged: str, possible: str
) -> list[str]:
    """Return the answer from the judged depth alone."""
    name, measure, depth = head.run, item.measure.name, head.judged_depth
    assert item.obstacle is not None
    missing, do = _OBSTACLES[item.obstacle]
    missing = missing.format(
        fewest=FEWEST_GROUPS, groups=head.groups, most=percent(head.most_open or 0.0)
    )
    sentences = [
        (
            f"{item.answer.capitalize()} whether {name} can be judged by {measure}: {missing}, so "
            f"no prediction can be calibrated; {unjudged}"
        ),
        f"{measure}: {possible}.",
        (
            f"A weaker estimate, without an error rate: {decimal(item.expected)} if unjudged "
            "documents are relevant as often as judged ones at the same rank; probably too high."
        ),
    ]
    if depth:
        sentences.append(
            f"Down to rank {depth:,} at least 95\u00a0% are judged at every rank: measures with at "
            "most this cutoff leave little open."
        )
    else:
        sentences.append(
            "Less than 95\u00a0% is judged even at the first rank, so a smaller cutoff does not "
            "help."
        )
    return [*sentences, f"Next: {do}judge the documents of --judge-next FILE."]


def write_judge_next(found: RunVerdict, path: Path, *, overwrite: bool = False) -> int:
    """Write the new run's unjudged documents in the order in which to judge them, by the first
    measure; return their number.

    Lines have query id, document id and the expected reduction of the variance of the run's score,
    tab-separated, after a header.

    Raises:
        OutputExistsError, StorageError: as for ``atomic_file``.
    """
    unseen, reductions = found.measures[0].guess.unseen, found.measures[0].reductions
    runs = found.runs.runs
    lines = ["query_id\tdocument_id\texpected_reduction"]
    lines += [
        f"{runs.query_ids[unseen.query[place]]}\t{runs.documents[unseen.document[place]]}\t"
        f"{reductions.reduction[place]:.6g}"
        for place in reductions.order.tolist()
    ]
    with atomic_file(path, overwrite=overwrite) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return len(lines) - 1

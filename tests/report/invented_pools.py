"""Invented results about pools: two kinds of system, two measures, one pool, one new run. Nothing
here was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.papers.pooling import RECOGNISED, PublishedTask
from positionbias.results import pools
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
from positionbias.results.result import Result, save_results

KINDS = ("traditional", "neural")
MEASURES = ("RR", "nDCG@10")
SIZES = {"gold": (200.0, 90.0), "traditional": (60.0, 30.0), "neural": (80.0, 50.0)}
TAU = {("traditional", "neural"): 0.5, ("neural", "traditional"): 0.7}


def result(
    measure: str,
    figures: pools.PoolFigures,
    task: str,
    value: float | None = None,
    half: float | None = None,
) -> Result:
    bounds = None if half is None or value is None else Interval(value - half, value + half)
    return Result(measure, task, "", "all systems", 1, value, bounds, 10, figures)


def collection(task: str) -> Result:
    figures = pools.TaskFigures(
        systems=7, groups=4, mixed_groups=1, queries=43, judgements=300, relevant=100,
        relevant_from=1, skipped={},
        kinds={"traditional": pools.SystemCounts(3, 2), "neural": pools.SystemCounts(4, 3)},
        depth=10, pools=10, gold="pool", sizes={name: pools.PoolSize(*size) for name,
        size in SIZES.items()},
    )  # fmt: skip
    return result(pools.TASK, figures, task)


def coverage(task: str) -> list[Result]:
    found = []
    for kind, step in (("traditional", 5), ("neural", 6)):
        figures = pools.CoverageFigures(
            kind=kind, systems=3, groups=2, relevant_from=1, depth=3, relevant=3 * step,
            unique=step,
            depths=[1, 2, 3, 4], found_by_depth=[step, 2 * step, 3 * step, 4 * step],
            unique_by_depth=[1, 3, step, step], depths_by_query=[1], found_by_query={"1": [step]},
            unique_by_query={"1": [1]},
        )  # fmt: skip
        found.append(result(pools.COVERAGE, figures, task, 3.0 * step))
        payload = PerQuery(["1", "2"], [step, 2 * step], {"depth": 3, "kind": kind})
        found.append(Result(pools.FOUND, task, "", kind, None, 1.5 * step, None, 2, payload))
    return found


def reliability(task: str, measures: tuple[str, ...] = MEASURES) -> list[Result]:
    """Pools of traditional runs lower neural ones by 0.06 more than unseen traditional ones; τ
    is 0.9 within, 0.5 or 0.7 across kinds.
    """
    found = []
    for pool, measure, test in product(KINDS, measures, (*KINDS, pools.ALL)):
        figures = order(pool, test, measure)
        found.append(result(pools.ORDER + measure, figures, task, figures.tau_b, 0.04))
        change = -0.1 if test == pool else -0.16 if pool == "traditional" else -0.09
        found.append(
            result(pools.CHANGE + measure, changed(pool, test, measure, change), task, change, 0.02)
        )
        if test not in (pool, pools.ALL):
            for contrast in pools.Contrast:
                figures = replace(kinds(pool, test, measure), contrast=contrast)
                found.append(result(f"{contrast} by {measure}", figures, task, change + 0.1, 0.01))
    found += [one_pool(task, pool, measure) for pool, measure in product(KINDS, measures)]
    text = (
        "Pools of traditional runs underestimate neural runs by 0.160 RR (95 % interval of the "
        "change −0.180 to −0.140)."
    )
    return [
        *found,
        Result("finding", task, "", "all systems", 1, None, None, 43, Finding(text, True)),
    ]


def order(pool: str, test: str, measure: str) -> pools.OrderFigures:
    tau = TAU.get((pool, test), 0.9 if test == pool else 0.6)
    return pools.OrderFigures(
        pool=pool, test=test, measure=measure, tau_b=tau, tau_b_low=tau - 0.04,
        tau_b_high=tau + 0.04, tau_ap=tau - 0.1,
        tau_ap_low=tau - 0.15, tau_ap_high=tau - 0.05, undefined=0, pools=10, systems=2.5,
        by_pool=[tau] * 10,
        power_gold=0.5, power=0.4, kept=0.8, reversed=0.1,
    )  # fmt: skip


def changed(pool: str, test: str, measure: str, change: float) -> pools.ChangeFigures:
    return pools.ChangeFigures(
        pool=pool, test=test, measure=measure, pools=10, systems=2.5, relative=change / 0.8,
        gold=0.8,
        estimated=0.8 + change, judged_gold=1.0, judged=0.7, residual_gold=0.01, residual=0.3,
    )  # fmt: skip


def kinds(pool: str, test: str, measure: str) -> pools.KindFigures:
    return pools.KindFigures(
        contrast=pools.Contrast.UNSEEN, pool=pool, test=test, measure=measure,
        answer=pools.KindAnswer.WORSE, gap=-0.065,
        by_chance=-0.005, p=0.002, p_holm=0.016, alarms=pools.FalseAlarms(0.004, 0.001, 0.01, 1000),
        power=0.72, missed=0.02,
        planted=0.03, groups=4, needed=6, among="groups of equal size", arrangements=400,
    )  # fmt: skip


def one_pool(task: str, pool: str, measure: str) -> Result:
    points = [
        pools.PoolPoint(
            f"{kind}-{number}", kind[0], kind, 0.4 + 0.1 * number, 0.3 + 0.1 * number, 0.75, 0.2
        )
        for kind in KINDS
        for number in range(3)
    ]
    taus = {"traditional": 0.812, "neural": None, "all": 0.333}
    figures = pools.OnePoolFigures(
        pool=pool, measure=measure, number=0, groups=["a", "b"], tau_b=taus, points=points
    )
    return result(pools.ONE_POOL + measure, figures, task)


def more(task: str) -> list[Result]:
    """Groups left out, both curves, wrong labels."""
    runs = [pools.LeftOutRun("one", "neural", {"RR": pools.Moved(0.8, 0.7, 1, 4)})]
    runs.append(pools.LeftOutRun("two", "traditional", {"RR": pools.Moved(0.6, 0.58, 5, 5)}))
    groups = (("small", 3, 1, runs[1:]), ("large", 30, 20, runs))
    found = [
        result(
            pools.LEFT_OUT,
            pools.LeftOutFigures(group=group, unique=judged, relevant=relevant, runs=own),
            task,
        )
        for group, judged, relevant, own in groups
    ]
    fall = pools.LeftOutByKind(
        kind="neural", measure="RR", systems=1, largest_fall=-0.1, ranks_lost=3.0, most_ranks_lost=3
    )
    found.append(result(f"{pools.LEFT_OUT_BY}RR", fall, task, -0.1))
    for axis, pool, test in product(pools.CURVES, KINDS, KINDS):
        curve = pools.CurveFigures(
            axis=axis, pool=pool, test=test, measure="RR", at=[1, 5, 10], tau_b=[0.4, 0.6, None],
            change=[-0.3, -0.2, -0.1], change_low=[-0.4, -0.3, None],
            change_high=[-0.2, -0.1, None],
            judgements=[10.0, 40.0, 70.0], relevant=[8.0, 30.0, 50.0],
        )  # fmt: skip
        found.append(result(f"{pools.CURVES[axis]}RR", curve, task))
    again = pools.Spread(0.5, 0.45, 0.4, 0.55)
    labels = pools.RelabelledFigures(
        pool="traditional", test="neural", measure="RR", share=0.1, drawn=20, repeats=19,
        tau_b=again,
        change=replace(again, given=-0.2),
    )  # fmt: skip
    return [*found, result(f"{pools.RELABELLED}RR", labels, task, 0.45)]


def verdict(task: str) -> list[Result]:
    """A new run of score 0.5, predicted 0.53, which can reach 0.7, against one that is certainly
    better, one worse and one open.
    """
    scores = {"best": (0.9, 0.9, 0.95), "near": (0.55, 0.55, 0.6), "worst": (0.1, 0.1, 0.2)}
    compared = [
        against("best", *scores["best"], "worse", 0.0),
        against("near", *scores["near"], "open", 0.3),
        against("worst", *scores["worst"], "better", 0.99),
    ]
    unjudged = UnjudgedFigures(
        depth=10, run="new", share=0.3, queries=43, without_candidates=0, documents=129,
        judged_depth=0, most_open=0.4,
        pooled=3, groups=3, pooled_mean=0.05, pooled_most=0.06, rbp=0.4, residual=0.2, skipped={},
        by_run=dict.fromkeys(scores, 0.05),
    )  # fmt: skip
    score = ScoreFigures(
        measure="nDCG@10", answer=RunAnswer.MORE, score=0.5, low=0.4, high=0.7, expected=0.53,
        predicted=0.53,
        predicted_low=0.51, predicted_high=0.55, query_half=0.01, needed=7, covered=0.95,
        grouped=True,
        pooled=[PooledScore(run, *own, 0.5, 0.1, 0.05) for run, own in scores.items()],
    )  # fmt: skip
    return [
        result("unjudged@10", unjudged, task, 0.3),
        Result(
            "unjudged@10 by query",
            task,
            "",
            "new",
            None,
            0.3,
            None,
            2,
            PerQuery(["1", "2"], [0.3, 0.3], {"depth": 10}),
        ),
        result(f"{SCORE}nDCG@10", score, task, 0.5),
        result(
            f"{ORDERS}nDCG@10",
            ComparisonsFigures(measure="nDCG@10", run="new", comparisons=compared),
            task,
        ),
    ]


def against(
    run: str,
    score: float,
    low: float,
    high: float,
    says: Literal["better", "worse", "open"],
    probability: float,
) -> ComparedRun:
    certain = says == "worse"
    now: Literal["better", "worse"] = "better" if says == "better" else "worse"
    differences = (0.5 - score, 0.5 - high, 0.7 - low, 0.53 - score)
    return ComparedRun(
        run, "g", "old", *differences, probability, now, says, certain, new_queries=certain
    )


def study(
    *tasks: str, recognised: Mapping[str, str] | None = None, measures: tuple[str, ...] = MEASURES
) -> list[Result]:
    """Everything of every task; ``recognised`` names those that are the paper's."""
    found = []
    for task in tasks:
        found += [collection(task), *coverage(task), *reliability(task, measures), *more(task)]
        if recognised and task in recognised:
            found.append(result(RECOGNISED, PublishedTask(task=recognised[task]), task))
    return found


def save_pools(folder: Path, results: list[Result], name: str = "Pools") -> Path:
    save_results(folder, results, Manifest("results", name, "study pooling", seed=1))
    return folder

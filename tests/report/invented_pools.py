"""Invented results about pools: two kinds of system, two measures, one pool, one new run. Nothing here was measured."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.report.pool_select import AGAINST, RECOGNISED
from positionbias.results.payloads import Finding, PerQuery, Statistics
from positionbias.results.result import Result, save_results

KINDS = ("traditional", "neural")
MEASURES = ("RR", "nDCG@10")
TAU = {("traditional", "neural"): 0.5, ("neural", "traditional"): 0.7}

TEST = {
    "answer": "worse", "gap": -0.065, "by chance": -0.005, "p": 0.002, "p holm": 0.016, "false alarms": {"value": 0.004, "low": 0.001, "high": 0.01, "drawn": 1000},
    "power": 0.72, "missed": 0.02, "planted": 0.03, "groups": 4, "groups needed": 6, "among": "groups of equal size", "arrangements": 400,
}  # fmt: skip


def result(measure: str, rows: Mapping[str, Any], task: str, value: float | None = None, half: float | None = None) -> Result:
    bounds = None if half is None or value is None else Interval(value - half, value + half)
    return Result(measure, task, "", "all systems", 1, value, bounds, 10, Statistics(rows))


def collection(task: str) -> Result:
    kinds = {"traditional": {"systems": 3, "groups": 2}, "neural": {"systems": 4, "groups": 3}}
    sizes = {"gold": (200, 90), "traditional": (60, 30), "neural": (80, 50)}
    rows = {
        "what": "collection", "systems": 7, "groups": 4, "mixed groups": 1, "kinds": kinds, "queries": 43, "judgements": 300, "relevant": 100,
        "relevant from": 1, "skipped": {}, "depth": 10, "pools": 10, "gold": "pool",
        "pool sizes": {name: {"judgements": float(judged), "relevant": float(found)} for name, (judged, found) in sizes.items()},
    }  # fmt: skip
    return result("collection", rows, task)


def coverage(task: str) -> list[Result]:
    found = []
    for kind, step in (("traditional", 5), ("neural", 6)):
        rows = {
            "what": "coverage", "kind": kind, "systems": 3, "groups": 2, "relevant from": 1, "depth": 3, "relevant": 3 * step, "unique": step,
            "depths": [1, 2, 3, 4], "found by depth": [step, 2 * step, 3 * step, 4 * step], "unique by depth": [1, 3, step, step],
        }  # fmt: skip
        found.append(result("coverage", rows, task, 3.0 * step))
        payload = PerQuery(["1", "2"], [step, 2 * step], {"depth": 3, "kind": kind})
        found.append(Result("relevant found", task, "", kind, None, 1.5 * step, None, 2, payload))
    return found


def reliability(task: str, measures: tuple[str, ...] = MEASURES) -> list[Result]:
    """Pools of traditional runs lower neural ones by 0.06 more than unseen traditional ones; τ is 0.9 within, 0.5 or 0.7 across kinds."""
    found = []
    for pool, measure, test in product(KINDS, measures, (*KINDS, "all")):
        own = {"pool": pool, "test": test, "measure": measure}
        tau = TAU.get((pool, test), 0.9 if test == pool else 0.6)
        order = {
            "what": "order", **own, "tau_b": tau, "tau_ap": tau - 0.1, "tau_ap low": tau - 0.15, "tau_ap high": tau - 0.05, "undefined": 0,
            "pools": 10, "systems": 2.5, "power_gold": 0.5, "power": 0.4, "kept": 0.8, "reversed": 0.1,
        }  # fmt: skip
        found.append(result(f"order by {measure}", order, task, tau, 0.04))
        change = -0.1 if test == pool else -0.16 if pool == "traditional" else -0.09
        scores = {"gold": 0.8, "estimated": 0.8 + change, "relative": change / 0.8, "systems": 2.5, "pools": 10}
        known = {"judged_gold": 1.0, "judged": 0.7, "residual_gold": 0.01, "residual": 0.3}
        found.append(result(f"change by {measure}", {"what": "change", **own, **scores, **known}, task, change, 0.02))
        if test not in (pool, "all"):
            for against in AGAINST:
                found.append(result(f"{against} by {measure}", {"what": against, **own, **TEST}, task, change + 0.1, 0.01))
    found += [one_pool(task, pool, measure) for pool, measure in product(KINDS, measures)]
    text = "Pools of traditional runs underestimate neural runs by 0.160 RR (95 % interval of the change −0.180 to −0.140)."
    return [*found, Result("finding", task, "", "all systems", 1, None, None, 43, Finding(text, True))]


def one_pool(task: str, pool: str, measure: str) -> Result:
    points = [
        {"run": f"{kind}-{number}", "group": kind[0], "kind": kind, "gold": 0.4 + 0.1 * number, "estimated": 0.3 + 0.1 * number, "judged": 0.75, "residual": 0.2}
        for kind in KINDS for number in range(3)
    ]  # fmt: skip
    taus = {"traditional": 0.812, "neural": None, "all": 0.333}
    rows = {
        "what": "one pool",
        "pool": pool,
        "measure": measure,
        "number": 0,
        "groups": ["a", "b"],
        "tau_b": taus,
        "points": points,
    }
    return result(f"one pool by {measure}", rows, task)


def more(task: str) -> list[Result]:
    """Groups left out, both curves, wrong labels."""
    runs = [{"run": "one", "kind": "neural", "RR": {"before": 0.8, "after": 0.7, "rank before": 1, "rank after": 4}}]
    runs.append({"run": "two", "kind": "traditional", "RR": {"before": 0.6, "after": 0.58, "rank before": 5, "rank after": 5}})
    groups = (("small", 3, 1, runs[1:]), ("large", 30, 20, runs))
    found = [
        result("left out", {"what": "left out", "group": group, "unique judgements": judged, "unique relevant": relevant, "runs": own}, task)
        for group, judged, relevant, own in groups
    ]  # fmt: skip
    by_kind = {"kind": "neural", "measure": "RR", "systems": 1, "largest fall": -0.1, "ranks lost": 3.0, "most ranks lost": 3}
    found.append(result("left out by RR", {"what": "left out by kind", **by_kind}, task, -0.1))
    for axis, pool, test in product(("depth", "groups"), KINDS, KINDS):
        curve = {"at": [1, 5, 10], "tau_b": [0.4, 0.6, None], "change": [-0.3, -0.2, -0.1], "change low": [-0.4, -0.3, None]}
        curve |= {"change high": [-0.2, -0.1, None], "judgements": [10.0, 40.0, 70.0], "relevant": [8.0, 30.0, 50.0]}
        rows = {"what": "curve", "axis": axis, "pool": pool, "test": test, "measure": "RR", **curve}
        found.append(result(f"{axis} of pools by RR", rows, task))
    again = {"given": 0.5, "mean": 0.45, "low": 0.4, "high": 0.55}
    labels = {
        "what": "relabelled",
        "pool": "traditional",
        "test": "neural",
        "measure": "RR",
        "share": 0.1,
        "drawn": 20,
        "repeats": 19,
    }
    found.append(result("relabelled by RR", {**labels, "tau_b": again, "change": {**again, "given": -0.2}}, task, 0.45))
    return found


def verdict(task: str) -> list[Result]:
    """A new run of score 0.5, predicted 0.53, which can reach 0.7, against one that is certainly better, one worse and one open."""
    scores = {"best": (0.9, 0.9, 0.95), "near": (0.55, 0.55, 0.6), "worst": (0.1, 0.1, 0.2)}
    says = {"best": "worse", "near": "open", "worst": "better"}
    pooled = [
        {"run": run, "score": score, "low": low, "high": high, "RBP": 0.5, "RBP residual": 0.1, "unjudged": 0.05}
        for run, (score, low, high) in scores.items()
    ]
    compared = [
        {"run": run, "group": "g", "kind": "old", "difference": 0.5 - scores[run][0], "least": 0.5 - scores[run][2], "most": 0.7 - scores[run][1],
         "predicted": 0.53 - scores[run][0], "probability": {"worse": 0.0, "open": 0.3, "better": 0.99}[word], "now": word, "says": word,
         "certain": word == "worse", "new queries": word == "worse"}
        for run, word in says.items()
    ]  # fmt: skip
    unjudged = {
        "what": "unjudged", "depth": 10, "run": "new", "share": 0.3, "queries": 43, "queries without candidates": 0, "pooled runs": 3,
        "pooled mean": 0.05, "pooled most": 0.06, "RBP": 0.4, "RBP residual": 0.2, "skipped": {}, "by pooled run": dict.fromkeys(scores, 0.05),
    }  # fmt: skip
    bounds = {
        "what": "score", "measure": "nDCG@10", "answer": "cannot be judged yet", "score": 0.5, "low": 0.4, "high": 0.7, "predicted": 0.53,
        "predicted low": 0.51, "predicted high": 0.55, "needed": 7, "pooled": pooled,
    }  # fmt: skip
    return [
        result("unjudged@10", unjudged, task, 0.3),
        Result("unjudged@10 by query", task, "", "new", None, 0.3, None, 2, PerQuery(["1", "2"], [0.3, 0.3], {"depth": 10})),
        result("score by nDCG@10", bounds, task, 0.5),
        result(
            "orders by nDCG@10",
            {"what": "comparisons", "measure": "nDCG@10", "run": "new", "comparisons": compared},
            task,
        ),
    ]


def study(*tasks: str, recognised: Mapping[str, str] | None = None, measures: tuple[str, ...] = MEASURES) -> list[Result]:
    """Everything of every task; ``recognised`` names those that are the paper's."""
    found = []
    for task in tasks:
        found += [collection(task), *coverage(task), *reliability(task, measures), *more(task)]
        if recognised and task in recognised:
            found.append(result(RECOGNISED, {"what": RECOGNISED, "task": recognised[task]}, task))
    return found


def save_pools(folder: Path, results: list[Result], name: str = "Pools") -> Path:
    save_results(folder, results, Manifest("results", name, "study pooling", seed=1))
    return folder

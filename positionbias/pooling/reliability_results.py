"""What drawn pools say, as Results: the cells of Tables 1 and 2, the change of score by kind, one pool's points.

Each payload is a Statistics whose rows name what they are of: ``what`` ("collection", "order", "change", "one pool"), ``pool`` (the kind that
the pools are drawn from), ``test`` (the kind of the test systems, or "all") and ``measure``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.crossed import over_trainings
from positionbias.pooling.change_interval import change_of
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.reliability import OnePool, Reliability, TestSet
from positionbias.pooling.systems import System, groups_of, kinds_of
from positionbias.results.payloads import Statistics
from positionbias.results.result import Result

__all__ = ["average", "collection_rows", "reliability_results"]


def reliability_results(found: Reliability, runs: JudgedRuns, *, collection: str, level: int = 1) -> list[Result]:
    """A Result for the collection; by pools and measure, for each test set its order (value: mean τ_b) and its change of score (value: mean of
    estimated less gold); one pool's points.

    Intervals: of τ over pools, t, which says how another ten pools would differ and nothing of other groups or queries; of a change over groups
    and queries (``pooling.change_interval``). ``value`` is None where it is undefined in every pool.
    """
    seed = found.settings.seed

    def result(what: str, value: float | None, interval: Interval | None, count: int, rows: Mapping[str, Any]) -> Result:
        payload = Statistics({"what": what, **rows})
        system = f"{rows['test']} systems, {rows['pool']} pools" if "test" in rows else str(rows.get("pool", "all systems"))
        name = f"{what} by {rows['measure']}" if "measure" in rows else what
        return Result(name, collection, "", system, seed, value, interval, count, payload)

    rows = collection_rows(runs, level) | _sizes(found)
    results = [result("collection", None, None, len(runs.query_ids), rows)]
    for item in found.sets:
        order = _order(item)
        results.append(result("order", order["tau_b"], _over_pools(item.figures["tau_b"]), len(item.systems), order))
        value, interval = change_of(item)
        results.append(result("change", value, interval, len(item.systems), _change(item)))
    for pool in found.one_pool:
        for measure in found.measures:
            results.append(
                result("one pool", None, None, int(pool.test.sum()), _points(pool, measure.name, found, runs.systems))
            )
    return results


def collection_rows(runs: JudgedRuns, level: int) -> dict[str, Any]:
    """Systems, groups and kinds, queries and judgements; ``mixed groups`` have runs of several kinds."""
    kinds = {
        kind: {"systems": int(runs.of_kind(kind).sum()), "groups": len(groups_of(runs.systems, kind))}
        for kind in kinds_of(runs.systems)
    }
    labels: dict[str, set[str]] = {}
    for system in runs.systems:
        labels.setdefault(system.group, set()).add(system.kind)
    return {
        "systems": len(runs.systems),
        "groups": len(labels),
        "mixed groups": sum(len(found) > 1 for found in labels.values()),
        "kinds": kinds,
        "queries": len(runs.query_ids),
        "judgements": runs.unjudged,
        "relevant": int((runs.grades >= level).sum()),
        "relevant from": level,
        "skipped": dict(runs.skipped),
    }


def _sizes(found: Reliability) -> dict[str, Any]:
    settings = found.settings
    sizes = {
        kind: {"judgements": float(found.judged[kind].mean()), "relevant": float(found.relevant[kind].mean())}
        for kind in found.judged
    }
    return {"depth": settings.depth, "pools": settings.pools, "gold": settings.gold, "pool sizes": sizes}


def _named(item: TestSet) -> dict[str, Any]:
    return {"pool": item.pool, "test": item.test, "measure": item.measure}


def average(values: np.ndarray) -> float | None:
    """The mean of what is defined; None where nothing is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def _over_pools(values: np.ndarray) -> Interval | None:
    defined = values[~np.isnan(values)]
    return over_trainings(defined[:, None], units="pools").interval if len(defined) > 1 else None


def _order(item: TestSet) -> dict[str, Any]:
    """τ_b and τ_AP over pools, each pool's τ_b, and what else pools of this kind say of these systems."""
    rows: dict[str, Any] = _named(item)
    for name in ("tau_b", "tau_ap"):
        values, interval = item.figures[name], _over_pools(item.figures[name])
        rows[name] = average(values)
        rows[f"{name} low"], rows[f"{name} high"] = (interval.low, interval.high) if interval else (None, None)
    tau = item.figures["tau_b"]
    rows["undefined"] = int(np.isnan(tau).sum())
    rows["pools"] = len(tau)
    rows["systems"] = float(item.systems.mean())
    rows["by pool"] = [None if np.isnan(value) else float(value) for value in tau]
    rows |= {name: average(item.figures[name]) for name in ("power_gold", "power", "kept", "reversed")}
    return rows


def _change(item: TestSet) -> dict[str, Any]:
    names = ("gold", "estimated", "judged_gold", "judged", "residual_gold", "residual")
    shares = {name: average(item.figures[name]) for name in names}
    counts = {"pools": len(item.systems), "systems": float(item.systems.mean()), "relative": _relative(item)}
    return _named(item) | counts | shares


def _relative(item: TestSet) -> float | None:
    """The change as a share of the gold score: better systems have more to lose."""
    gold, estimated = average(item.figures["gold"]), average(item.figures["estimated"])
    return estimated / gold - 1 if gold and estimated is not None else None


def _points(pool: OnePool, measure: str, found: Reliability, systems: Sequence[System]) -> dict[str, Any]:
    """Every test system's gold and estimated score under pool 0, and its τ_b by test set: a panel of Figures 2 and 3."""
    gold, estimated = pool.gold[measure], pool.estimated[measure]
    taus = {
        item.test: None if np.isnan(item.figures["tau_b"][0]) else float(item.figures["tau_b"][0])
        for item in found.sets
        if (item.pool, item.measure) == (pool.pool, measure)
    }
    points = [
        {
            **systems[run]._asdict(), "gold": float(gold[run]), "estimated": float(estimated[run]),
            "judged": float(pool.judged[run]), "residual": float(pool.residual[run]),
        }
        for run in np.flatnonzero(pool.test).tolist()
    ]  # fmt: skip
    return {"pool": pool.pool, "measure": measure, "number": 0, "groups": list(pool.groups), "tau_b": taus, "points": points}

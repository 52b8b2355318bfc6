"""Report drawn pools as Results: the cells of Tables 1 and 2, the change of score by kind, one
pool's points.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.crossed import over_trainings
from positionbias.pooling.change_interval import change_of
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.reliability import OnePool, Reliability, TestSet
from positionbias.pooling.systems import groups_of, kinds_of
from positionbias.results.pools import (
    CHANGE,
    ONE_POOL,
    ORDER,
    TASK,
    ChangeFigures,
    OnePoolFigures,
    OrderFigures,
    PoolPoint,
    PoolSize,
    SystemCounts,
    TaskFigures,
    ends_of,
    systems_under,
)
from positionbias.results.result import Result

__all__ = ["average", "reliability_results", "task_figures"]


def reliability_results(
    found: Reliability, runs: JudgedRuns, *, collection: str, level: int = 1
) -> list[Result]:
    """Return a Result for the collection, for each test set's order (value: mean τ_b) and change of
    score (value: mean of estimated − gold), by pools and measure, and for one pool's points.

    The interval of τ is a t interval over pools, which covers other draws of pools but not other
    groups or queries; that of a change is over groups and queries (``pooling.change_interval``).
    ``value`` is None if it is undefined in every pool.
    """
    seed = found.settings.seed
    task = _with_pools(task_figures(runs, level), found)
    results = [
        Result(TASK, collection, "", "all systems", seed, None, None, len(runs.query_ids), task)
    ]
    for item in found.sets:
        system, count, order = systems_under(item.pool, item.test), len(item.systems), _order(item)
        over_pools = _over_pools(item.figures["tau_b"])
        results.append(
            Result(
                ORDER + item.measure,
                collection,
                "",
                system,
                seed,
                order.tau_b,
                over_pools,
                count,
                order,
            )
        )
        results.append(
            Result(
                CHANGE + item.measure,
                collection,
                "",
                system,
                seed,
                *change_of(item),
                count,
                _change(item),
            )
        )
    for pool in found.one_pool:
        for measure in found.measures:
            points = _points(pool, measure.name, found, runs)
            name, count = ONE_POOL + measure.name, len(points.points)
            results.append(Result(name, collection, "", pool.pool, seed, None, None, count, points))
    return results


def task_figures(runs: JudgedRuns, level: int) -> TaskFigures:
    """Return the counts of a task; relevant documents have grade ``level`` or more."""
    labels: dict[str, set[str]] = {}
    for system in runs.systems:
        labels.setdefault(system.group, set()).add(system.kind)
    return TaskFigures(
        systems=len(runs.systems), groups=len(labels),
        mixed_groups=sum(len(found) > 1 for found in labels.values()),
        kinds={
            kind: SystemCounts(int(runs.of_kind(kind).sum()), len(groups_of(runs.systems, kind)))
            for kind in kinds_of(runs.systems)
        },
        queries=len(runs.query_ids), judgements=runs.unjudged,
        relevant=int((runs.grades >= level).sum()),
        relevant_from=level, skipped=dict(runs.skipped),
    )  # fmt: skip


def _with_pools(task: TaskFigures, found: Reliability) -> TaskFigures:
    sizes = {
        kind: PoolSize(float(found.judged[kind].mean()), float(found.relevant[kind].mean()))
        for kind in found.judged
    }
    settings = found.settings
    return replace(
        task, depth=settings.depth, pools=settings.pools, gold=settings.gold, sizes=sizes
    )


def average(values: np.ndarray) -> float | None:
    """Return the mean of the defined values; None without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def _over_pools(values: np.ndarray) -> Interval | None:
    defined = values[~np.isnan(values)]
    return (
        over_trainings(
            defined[:, None], units="pools", span=span_of(defined, changes=True)
        ).interval
        if len(defined) > 1
        else None
    )


def _order(item: TestSet) -> OrderFigures:
    tau_b, tau_ap = item.figures["tau_b"], item.figures["tau_ap"]
    (low, high), (ap_low, ap_high) = ends_of(_over_pools(tau_b)), ends_of(_over_pools(tau_ap))
    return OrderFigures(
        pool=item.pool, test=item.test, measure=item.measure, tau_b=average(tau_b), tau_b_low=low,
        tau_b_high=high,
        tau_ap=average(tau_ap), tau_ap_low=ap_low, tau_ap_high=ap_high,
        undefined=int(np.isnan(tau_b).sum()),
        pools=len(tau_b), systems=float(item.systems.mean()),
        by_pool=[_defined(value) for value in tau_b],
        power_gold=average(item.figures["power_gold"]), power=average(item.figures["power"]),
        kept=average(item.figures["kept"]), reversed=average(item.figures["reversed"]),
    )  # fmt: skip


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _change(item: TestSet) -> ChangeFigures:
    gold, estimated = average(item.figures["gold"]), average(item.figures["estimated"])
    return ChangeFigures(
        pool=item.pool, test=item.test, measure=item.measure, pools=len(item.systems),
        systems=float(item.systems.mean()),
        # better systems have more to lose
        relative=estimated / gold - 1 if gold and estimated is not None else None, gold=gold,
        estimated=estimated,
        judged_gold=average(item.figures["judged_gold"]), judged=average(item.figures["judged"]),
        residual_gold=average(item.figures["residual_gold"]),
        residual=average(item.figures["residual"]),
    )  # fmt: skip


def _points(pool: OnePool, measure: str, found: Reliability, runs: JudgedRuns) -> OnePoolFigures:
    """Return every test system's gold and estimated score under pool 0, and its τ_b by test set: a
    panel of Figures 2 and 3.
    """
    scores = np.stack(
        [pool.gold[measure], pool.estimated[measure], pool.judged, pool.residual], axis=1
    )
    return OnePoolFigures(
        pool=pool.pool, measure=measure, number=0, groups=list(pool.groups),
        tau_b={
            item.test: _defined(item.figures["tau_b"][0])
            for item in found.sets
            if (item.pool, item.measure) == (pool.pool, measure)
        },
        points=[PoolPoint(*runs.systems[run], *scores[run].tolist())
        for run in np.flatnonzero(pool.test).tolist()],
    )  # fmt: skip

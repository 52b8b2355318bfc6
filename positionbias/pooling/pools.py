"""Draw pools from half of the groups of one kind, and measure what each kind's pool covers and how
it judges systems of each kind.

All runs of a drawn group that are of the pool's kind feed the pool [paper]; half of the groups are
drawn, rounded down. A drawn group's runs of other kinds leave the test set [decision], as their
group put similar runs into the pool. Every run is scored twice, with the gold judgements and with
the pool's (Yilmaz et al. 2020, Section 3.2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.core.rows import Collected
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.crossed import over_trainings
from positionbias.evaluation.judged_runs import (
    JudgedRuns,
    PoolMeasure,
    System,
    groups_of,
    kinds_of,
    score_pools,
)
from positionbias.pooling.settings import PoolSettings

NOTES = (
    "Half of a kind's groups feed a pool, rounded down; a drawn group's runs of other kinds are "
    "not tested.",
    "Documents outside a pool count as not relevant; every mean is over all judged queries.",
)  # of drawn pools in a manifest
ALL = "all"  # the systems of all kinds together
_CURVE = 100  # last depth of the curve of coverage
_DECIMALS = 12  # means that differ only by rounding are ties
Cells = dict[str, Any]  # of a row


class DrawnPools(NamedTuple):
    """Pools of one kind: ``judged (pools, judgements)`` and ``test (pools, runs)``, both bool."""

    judged: np.ndarray
    test: np.ndarray


def pool_kinds(systems: Sequence[System]) -> list[str]:
    """Return the kinds to draw pools from: those with at least two groups; others are only tested.

    Raises:
        InputError: fewer than two kinds, no kind with two groups, or a kind named all or gold.
    """
    kinds = kinds_of(systems)
    drawn = [kind for kind in kinds if len(groups_of(systems, kind)) > 1]
    if len(kinds) < 2 or not drawn or {ALL, "gold"} & set(kinds):
        raise InputError(
            "systems: wanted at least 2 kinds, one with at least 2 groups, none named all or gold; "
            f"found {', '.join(kinds)}; check the columns kind and group"
        )
    return drawn


def draw_pools(
    runs: JudgedRuns,
    kind: str,
    numbers: Sequence[int],
    settings: PoolSettings,
    size: int | None = None,
) -> DrawnPools:
    """Draw depth-k pools from the runs of ``size`` groups of ``kind`` (by default half, rounded
    down); runs of no drawn group are the test systems. A draw is keyed by (seed, kind, number).
    """
    groups, within = np.array(groups_of(runs.systems, kind)), runs.ranks < settings.depth
    feeding = [within[(runs.kinds == kind) & (runs.groups == group)] for group in groups]
    fed = np.array([ranks.any(axis=0) for ranks in feeding])
    size = len(groups) // 2 if size is None else size
    drawn = [
        generator(settings.seed, "pool groups", kind, number).permutation(len(groups))[:size]
        for number in numbers
    ]
    judged = np.array([fed[places].any(axis=0) for places in drawn])
    test = np.array([~np.isin(runs.groups, groups[places]) for places in drawn])
    return DrawnPools(judged, test)


def gold_pool(runs: JudgedRuns, settings: PoolSettings) -> np.ndarray:
    """Return the mask of the gold judgements, ``(judgements,)`` bool."""
    return np.any(runs.ranks < settings.depth, axis=0) | (settings.gold == "all")


def pool_rows(collection: str) -> Collected:
    """Return where a collection's rows are gathered, by the kind whose groups feed the ``pool``,
    the ``kind`` of the systems that are judged ("all": every one), and the ``run``.
    """
    return Collected({"study": "pooling", "collection": collection}, ("pool", "kind", "run"))


def add_counts(made: Collected, runs: JudgedRuns, level: int) -> None:
    """Add the counts of a collection; ``level`` is the lowest grade of a relevant document."""
    for kind in (*kinds_of(runs.systems), ALL):
        groups = runs.groups[(runs.kinds == kind) | (kind == ALL)]
        made.add("collection", "systems", len(groups), kind=kind, unit="count")
        made.add("collection", "groups", len(set(groups)), kind=kind, unit="count")
    relevant = (runs.grades >= level).sum()
    counts = {"queries": len(runs.query_ids), "judgements": runs.unjudged, "relevant": relevant}
    for statistic, number in {**counts, "relevant from": level}.items():
        made.add("collection", statistic, number, kind=ALL, unit="count")


def add_coverage(made: Collected, runs: JudgedRuns, depth: int, level: int) -> None:
    """Add the documents judged ``level`` or more within rank k of each kind's runs, "found", and
    those in no other kind's, "alone", for every k (Yilmaz et al. 2020, Figure 1).
    """
    made.add("collection", "pool depth", depth, unit="count")
    kinds = kinds_of(runs.systems)
    best = np.array([runs.ranks[runs.kinds == kind].min(axis=0) for kind in kinds])
    for at in range(1, max(min(_CURVE, runs.places.shape[2]), depth) + 1):
        pools = (best < at) & (runs.grades >= level)
        alone = pools & (pools.sum(axis=0) == 1)
        for statistic, counts in (("found", pools.sum(axis=1)), ("alone", alone.sum(axis=1))):
            cells: Cells = {"axis": "depth", "at": float(at), "label": str(at), "unit": "count"}
            cells |= {"count": len(runs.query_ids), "counted": "queries"}
            for kind, number in zip(kinds, counts, strict=True):
                made.add("relevant documents", statistic, number, kind=kind, **cells)


def add_reliability(
    made: Collected, runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings
) -> None:
    """Add, by pools, test systems and measure, the order and the change of score; and each test
    system's score under pool 0 of each kind (Figures 2 and 3).
    """
    for statistic, number in {"pools": settings.pools, "depth of pools": settings.depth}.items():
        made.add("collection", statistic, number, unit="count")
    gold = gold_pool(runs, settings)[None]
    truths = {measure: score_pools(runs, gold, measure)[0] for measure in measures}
    for kind in pool_kinds(runs.systems):
        pools = draw_pools(runs, kind, range(settings.pools), settings)
        for measure, truth in truths.items():
            by_gold = truth.mean(axis=0)
            by_pool = score_pools(runs, pools.judged, measure).mean(axis=1)
            figures = {"gold": by_gold, "by the pool": by_pool, "change": by_pool - by_gold}
            for test in (*kinds_of(runs.systems), ALL):
                members = pools.test & ((runs.kinds == test) | (test == ALL))
                cells: Cells = {"pool": kind, "kind": test}
                for statistic, of_runs in figures.items():
                    made.add(measure.name, statistic, _mean(of_runs, members), **cells)
                _add_order(made, measure.name, by_gold, by_pool, members, cells)
            for run in np.flatnonzero(pools.test[0]).tolist():
                name, group, test = runs.systems[run]
                point: Cells = {"pool": kind, "kind": test, "run": name, "variant": "pool 0"}
                for statistic, score in (("gold", by_gold[run]), ("by the pool", by_pool[0, run])):
                    made.add(measure.name, statistic, score, axis="group", label=group, **point)


def _mean(values: np.ndarray, members: np.ndarray) -> float | None:
    """Return the mean over pools of the marked runs' mean; None if no pool has any."""
    systems, sums = members.sum(axis=1), (values * members).sum(axis=1)
    there = systems > 0
    return float((sums[there] / systems[there]).mean()) if there.any() else None


def _add_order(
    made: Collected,
    measure: str,
    gold: np.ndarray,
    by_pool: np.ndarray,
    members: np.ndarray,
    cells: Cells,
) -> None:
    """Add τ_b of the marked systems' two orders, in pool 0 and as the mean over pools that define
    it, with a t interval over other draws of pools alone."""
    gold, by_pool = gold.round(_DECIMALS), by_pool.round(_DECIMALS)
    taus = np.full(len(members), np.nan)
    for pool in np.flatnonzero(members.sum(axis=1) > 1):
        own = members[pool]
        taus[pool] = stats.kendalltau(gold[own], by_pool[pool, own]).statistic
    defined, bounds = taus[~np.isnan(taus)], None
    if len(defined) > 1:
        span = span_of(defined, changes=True)
        bounds = over_trainings(defined[:, None], units="pools", span=span).interval
    mean = defined.mean() if len(defined) else None
    made.add(measure, "tau_b", taus[0], variant="pool 0", **cells)
    counts: Cells = {"interval": "draws", "count": len(defined), "counted": "pools"}
    made.add(measure, "tau_b", mean, bounds, **counts, **cells)

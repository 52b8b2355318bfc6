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

from positionbias.core.errors import InputError
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import bounded, span_of, t_interval
from positionbias.evaluation.crossed import over_trainings
from positionbias.pooling.runs import JudgedRuns, System, groups_of, kinds_of
from positionbias.pooling.scores import PoolMeasure, score_pools
from positionbias.pooling.settings import PoolSettings

__all__ = [
    "ALL", "NOTES", "Cells", "DrawnPools", "add_counts", "add_coverage", "add_reliability",
    "change_interval", "draw_pools", "gold_pool", "pool_kinds", "pool_rows",
]  # fmt: skip

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
    """Pools of one kind: the ``groups`` that feed each, ``judged (pools, judgements)`` and
    ``test (pools, runs)``, both bool.
    """

    groups: Sequence[Sequence[str]]
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
    groups = groups_of(runs.systems, kind)
    size = len(groups) // 2 if size is None else size
    group_of, of_kind = np.array([system.group for system in runs.systems]), runs.of_kind(kind)
    within = runs.ranks < settings.depth
    fed = np.array([within[of_kind & (group_of == group)].any(axis=0) for group in groups])
    drawn = [
        generator(settings.seed, "pool groups", kind, number).permutation(len(groups))[:size]
        for number in numbers
    ]
    feeding = [[groups[place] for place in sorted(places.tolist())] for places in drawn]
    judged = np.array([fed[places].any(axis=0) for places in drawn])
    return DrawnPools(feeding, judged, np.array([~np.isin(group_of, own) for own in feeding]))


def gold_pool(runs: JudgedRuns, settings: PoolSettings) -> np.ndarray:
    """Return the mask of the gold judgements, ``(judgements,)`` bool."""
    return np.any(runs.ranks < settings.depth, axis=0) | (settings.gold == "all")


def pool_rows(collection: str) -> Collected:
    """Return where the rows of one collection's pools are gathered.

    Their keys are ``pool``, the kind whose groups feed the pools ("gold": the reference); ``kind``,
    the kind of the systems that are judged ("all": every kind); ``run``, one run.
    """
    return Collected({"study": "pooling", "collection": collection}, ("pool", "kind", "run"))


def add_counts(made: Collected, runs: JudgedRuns, level: int) -> None:
    """Add the counts of a collection; ``level`` is the lowest grade of a relevant document."""
    for kind in (*kinds_of(runs.systems), ALL):
        own = [system for system in runs.systems if kind in (system.kind, ALL)]
        made.add("collection", "systems", len(own), kind=kind, unit="count")
        groups = len({system.group for system in own})
        made.add("collection", "groups", groups, kind=kind, unit="count")
    relevant = (runs.grades >= level).sum()
    counts = {"queries": len(runs.query_ids), "judgements": runs.unjudged, "relevant": relevant}
    for statistic, number in {**counts, "relevant from": level}.items():
        made.add("collection", statistic, number, kind=ALL, unit="count")


def add_coverage(made: Collected, runs: JudgedRuns, depth: int, level: int) -> None:
    """Add the documents judged ``level`` or more within rank k of each kind's runs, "found", and
    those in no other kind's, "alone", for every k (Yilmaz et al. 2020, Figure 1).

    Unjudged documents are missing, so deep pools are understated; and kinds have different numbers
    of runs, and more runs find more.
    """
    made.add("collection", "pool depth", depth, unit="count")
    kinds = kinds_of(runs.systems)
    best = np.array([runs.ranks[runs.of_kind(kind)].min(axis=0) for kind in kinds])
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

    Raises:
        InputError: fewer than two kinds, or none to draw a pool from.
    """
    made.add("collection", "pools", settings.pools, unit="count")
    made.add("collection", "depth of pools", settings.depth, unit="count")
    gold = gold_pool(runs, settings)[None]
    truths = {measure: score_pools(runs, gold, measure)[0] for measure in measures}
    for kind in pool_kinds(runs.systems):
        pools = draw_pools(runs, kind, range(settings.pools), settings)
        for measure, truth in truths.items():
            values = score_pools(runs, pools.judged, measure)
            by_gold, by_pool = truth.mean(axis=0), values.mean(axis=1)
            figures = {"gold": by_gold, "by the pool": by_pool}
            for test in (*kinds_of(runs.systems), ALL):
                members = pools.test & (runs.of_kind(test) | (test == ALL))
                cells: Cells = {"pool": kind, "kind": test}
                for statistic, of_runs in figures.items():
                    made.add(measure.name, statistic, _mean(of_runs, members), **cells)
                _add_order(made, measure.name, by_gold, by_pool, members, cells)
                change = _mean(by_pool - by_gold, members)
                bounds = change_interval(runs, values - truth, members, pools, kind)
                cells |= {"interval": "queries", "count": len(members), "counted": "pools"}
                made.add(measure.name, "change", change, bounds, **cells)
            for run in np.flatnonzero(pools.test[0]).tolist():
                name, group, test = runs.systems[run]
                point: Cells = {"pool": kind, "kind": test, "run": name, "variant": "pool 0"}
                for statistic, score in (("gold", by_gold[run]), ("by the pool", by_pool[0, run])):
                    made.add(measure.name, statistic, score, axis="group", label=group, **point)


def _mean(values: np.ndarray, members: np.ndarray) -> float | None:
    """Return the mean over pools of the mean over the marked runs, of ``values (pools, runs)`` or
    ``(runs,)``, without pools that have none; None if no pool has any.
    """
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
    """Add Kendall's τ_b between the two orders of the marked systems, in pool 0 and as the mean
    over pools, without pools that leave fewer than two systems or equal scores. Its t interval
    covers other draws of pools, but not other groups or queries.
    """
    from scipy import stats

    taus = [
        stats.kendalltau(gold[own].round(_DECIMALS), score[own].round(_DECIMALS)).statistic
        if own.sum() > 1
        else np.nan
        for own, score in zip(members, by_pool, strict=True)
    ]
    defined, bounds = np.array([tau for tau in taus if tau == tau]), None
    if len(defined) > 1:
        span = span_of(defined, changes=True)
        bounds = over_trainings(defined[:, None], units="pools", span=span).interval
    mean = defined.mean() if len(defined) else None
    made.add(measure, "tau_b", taus[0], variant="pool 0", **cells)
    counts: Cells = {"interval": "draws", "count": len(defined), "counted": "pools"}
    made.add(measure, "tau_b", mean, bounds, **counts, **cells)


def change_interval(
    runs: JudgedRuns, changes: np.ndarray, members: np.ndarray, pools: DrawnPools, kind: str
) -> Interval | None:
    """Return the interval, over groups and topics, of the mean change of the test systems
    ``members (pools, runs)``, of ``changes (pools, queries, runs)``.

        se² = r / (K − r) · Var_p(x_p)  +  (H − 1) / H · Σ_h (x₍₋h₎ − x̄₍₋₎)²  +  Var_q(x_q) / Q

    x_p is the change under pool p, x_q the change of topic q, x₍₋h₎ the mean without group h. A
    pool is fed by r of the K groups of its kind, so pools are samples of groups, and their spread
    estimates the variance over groups of that kind, as feeders and, if not drawn, as test systems:
    the delete-d jackknife (Shao and Wu 1989). It does not shrink as more pools are drawn. The
    second term is the jackknife over the H test groups that never feed these pools; the third is
    over topics. Interactions of groups and topics are in several terms, which is conservative
    [decision]. The interval is t, with Satterthwaite's degrees of freedom from the terms' K − 1 (or
    pools − 1, if less), H − 1 and Q − 1. None with only one pool or test group, or fewer than five
    topics.
    """
    changes, members = changes[members.any(axis=1)], members[members.any(axis=1)]
    of_pools, fed = groups_of(runs.systems, kind), len(pools.groups[0])
    group_of = np.array([system.group for system in runs.systems])
    others = sorted(set(group_of[members.any(axis=0)]) - set(of_pools))
    if min(len(members), changes.shape[1], len(of_pools)) < 2 or len(others) == 1:
        return None
    grid = np.einsum("pqr,pr->pq", changes, members) / members.sum(axis=1)[:, None]
    queries = grid.shape[1]
    over_groups = fed / (len(of_pools) - fed) * grid.mean(axis=1).var(ddof=1)
    terms = [
        (over_groups, min(len(of_pools), len(grid)) - 1),
        (grid.mean(axis=0).var(ddof=1) / queries, queries - 1),
    ]
    if others:
        by_run, freedom = changes.mean(axis=1), len(others) - 1
        without = [_mean(by_run, members & (group_of != own)) or 0.0 for own in others]
        terms.append((freedom * np.var(without), freedom))
    variance = sum(term for term, _ in terms)
    if variance <= 0:
        return None
    freedom = variance**2 / sum(term**2 / own for term, own in terms)
    method = f"t over {len(of_pools) + len(others)} groups and {queries} topics"
    interval = t_interval(float(grid.mean()), float(variance**0.5), float(freedom), method)
    return bounded(interval, queries, span_of(grid, changes=True))

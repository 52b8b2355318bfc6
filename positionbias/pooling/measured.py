"""What is measured of pools, as rows.

Keys of the rows: ``pool``, the kind whose groups feed the pools ("gold": the reference);
``kind``, the kind of the systems that are judged ("all": every kind); ``run``, one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.crossed import over_trainings
from positionbias.pooling.change_interval import change_of
from positionbias.pooling.coverage import coverage
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.kind_rule import KindEffect
from positionbias.pooling.leave_out import LeftOut
from positionbias.pooling.reliability import OnePool, Reliability, TestSet
from positionbias.pooling.settings import CoverageSettings
from positionbias.pooling.systems import groups_of, kinds_of
from positionbias.pooling.verdict import SURE, MeasureVerdict, RunVerdict

__all__ = [
    "BY_QUERY",
    "KEYS",
    "NEW_QUERIES",
    "UNJUDGED",
    "coverage_rows",
    "curve_rows",
    "kind_rows",
    "left_out_rows",
    "pool_rows",
    "relabelled_rows",
    "reliability_rows",
    "task_rows",
    "verdict_rows",
]

Cells = dict[str, Any]
KEYS = ("pool", "kind", "run")
BY_QUERY = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)  # depths with counts by query
UNJUDGED = "unjudged@"
NEW_QUERIES = 0.05  # the p of an order over queries like these
_NOTHING = 1e-12  # rounding error of a difference
# figures of test sets: name in ``TestSet.figures`` -> statistic
_SCORES = {
    "gold": "gold",
    "estimated": "by the pool",
    "judged_gold": "judged by gold",
    "judged": "judged by the pool",
    "residual_gold": "residual by gold",
    "residual": "residual by the pool",
}
_PAIRS = {
    "power_gold": "distinguished by gold",
    "power": "distinguished by the pool",
    "kept": "kept",
    "reversed": "reversed",
}


def pool_rows(collection: str) -> Collected:
    """Return where the rows of one collection's pools are gathered."""
    return Collected({"study": "pooling", "collection": collection}, KEYS)


def task_rows(made: Collected, runs: JudgedRuns, level: int) -> None:
    """Add the counts of a collection; ``level`` is the lowest grade of a relevant document."""
    kinds: dict[str, set[str]] = {}
    for system in runs.systems:
        kinds.setdefault(system.group, set()).add(system.kind)
    counts = {
        "systems": len(runs.systems),
        "groups": len(kinds),
        "mixed groups": sum(len(own) > 1 for own in kinds.values()),
        "queries": len(runs.query_ids),
        "judgements": runs.unjudged,
        "relevant": int((runs.grades >= level).sum()),
        "relevant from": level,
    }
    for statistic, number in counts.items():
        made.add("collection", statistic, number, kind="all", unit="count")
    for kind in kinds_of(runs.systems):
        made.add("collection", "systems", int(runs.of_kind(kind).sum()), kind=kind, unit="count")
        groups = len(groups_of(runs.systems, kind))
        made.add("collection", "groups", groups, kind=kind, unit="count")
    for cause, number in runs.skipped.items():
        made.add("collection", "skipped", number, axis="cause", label=cause, unit="count")


def coverage_rows(made: Collected, runs: JudgedRuns, settings: CoverageSettings) -> None:
    """Add the relevant documents in each kind's pool, "found", and those in no other kind's pool,
    "alone", by depth; by query at some depths.
    """
    deepest = max(min(settings.deepest, runs.places.shape[2]), settings.depth)
    counted = coverage(runs, range(1, deepest + 1), level=settings.relevant_from)
    made.add("collection", "pool depth", settings.depth, unit="count")
    for statistic, by_kind in (("found", counted.found), ("alone", counted.unique)):
        for kind, counts in by_kind.items():
            for place, depth in enumerate(counted.depths):
                own = dict(zip(runs.query_ids, counts[:, place].tolist(), strict=True))
                made.add(
                    "relevant documents",
                    statistic,
                    int(counts[:, place].sum()),
                    items=own if depth in BY_QUERY or depth == settings.depth else None,
                    kind=kind,
                    axis="depth",
                    at=float(depth),
                    label=str(depth),
                    unit="count",
                    count=len(counts),
                    counted="queries",
                )


def reliability_rows(made: Collected, found: Reliability, runs: JudgedRuns) -> None:
    """Add, by pools, test systems and measure, the order and the change of score; the sizes of the
    pools; and every test system's score under one pool of each kind.

    The interval of τ is a t interval over pools, which covers other draws of pools but not other
    groups or queries; that of a change is over groups and queries (``pooling.change_interval``).
    """
    made.add("collection", "pools", found.settings.pools, unit="count")
    made.add("collection", "depth of pools", found.settings.depth, unit="count")
    for pool, judged in found.judged.items():
        made.add("collection", "in a pool", judged.mean(), pool=pool, counted="judgements")
        relevant = found.relevant[pool].mean()
        made.add("collection", "relevant in a pool", relevant, pool=pool, counted="judgements")
    for item in found.sets:
        cells: Cells = {"pool": item.pool, "kind": item.test}
        made.add(item.measure, "systems", item.systems.mean(), **cells)
        for name in ("tau_b", "tau_ap"):
            values = item.figures[name]
            defined = values[~np.isnan(values)]
            made.add(
                item.measure,
                name,
                average(values),
                _over_pools(values),
                items={str(at): value for at, value in enumerate(values) if value == value},
                interval="draws",
                count=len(defined),
                counted="pools",
                reason="" if len(defined) else "equal scores, or fewer than two systems",
                **cells,
            )
        for name, statistic in {**_SCORES, **_PAIRS}.items():
            made.add(item.measure, statistic, average(item.figures[name]), **cells)
        _change(made, item)
    for one in found.one_pool:
        for measure in found.measures:
            _one_pool(made, one, measure.name, found, runs)


def average(values: np.ndarray) -> float | None:
    """Return the mean of the defined values; None without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def _over_pools(values: np.ndarray) -> Interval | None:
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    span = span_of(defined, changes=True)
    return over_trainings(defined[:, None], units="pools", span=span).interval


def _change(made: Collected, item: TestSet, **cells: Any) -> None:
    """Add the change of score from gold to the pools, and its share of the gold score."""
    value, bounds = change_of(item)
    cells |= {"pool": item.pool, "kind": item.test}
    counts: Cells = {"interval": "queries", "count": len(item.systems), "counted": "pools"}
    made.add(item.measure, "change", value, bounds, **counts, **cells)
    gold, estimated = average(item.figures["gold"]), average(item.figures["estimated"])
    if "axis" not in cells:
        # better systems have more to lose
        relative = estimated / gold - 1 if gold and estimated is not None else None
        made.add(item.measure, "relative change", relative, **cells)


def _one_pool(
    made: Collected, one: OnePool, measure: str, found: Reliability, runs: JudgedRuns
) -> None:
    """Add pool 0 of a kind: its groups, and gold and estimated score of its test systems (a panel
    of Figures 2 and 3).
    """
    for item in found.sets:
        if (item.pool, item.measure) == (one.pool, measure):
            tau = float(item.figures["tau_b"][0])
            made.add(measure, "tau_b", tau, pool=one.pool, kind=item.test, variant="pool 0")
    for group in one.groups:
        fed: Cells = {"pool": one.pool, "axis": "group", "label": group, "variant": "pool 0"}
        made.add(measure, "fed by", None, **fed)
    for place in np.flatnonzero(one.test).tolist():
        system = runs.systems[place]
        cells: Cells = {
            "pool": one.pool,
            "kind": system.kind,
            "run": system.run,
            "variant": "pool 0",
        }
        figures = {
            "gold": one.gold[measure][place],
            "by the pool": one.estimated[measure][place],
            "judged by the pool": one.judged[place],
            "residual by the pool": one.residual[place],
        }
        for statistic, value in figures.items():
            made.add(measure, statistic, value, axis="group", label=system.group, **cells)


def kind_rows(made: Collected, effects: Sequence[KindEffect]) -> None:
    """Add each test of kind: the answer with its error rates. ``variant`` is what a kind's change
    is held against; ``count`` the groups that exchange kinds.
    """
    for own in effects:
        cells: Cells = {"pool": own.pool, "kind": own.kind, "variant": str(own.contrast)}
        made.add(own.measure, "gap", own.gap, **cells)
        made.add(
            own.measure,
            "effect of kind",
            own.value,
            own.interval,
            interval="queries",
            count=own.exchanging,
            counted="groups",
            p=own.p,
            p_adjusted=own.p_holm,
            family="tests of kind",
            margin=own.margin,
            answer=str(own.answer),
            **cells,
        )
        made.add(own.measure, "arrangements", own.arrangements, label=own.among, **cells)
        made.add(own.measure, "groups", own.groups, **cells)
        if own.alarms is None:
            continue
        made.add(own.measure, "by chance", own.by_chance, **cells)
        bounds = Interval(own.alarms.low, own.alarms.high)
        drawn: Cells = {"count": own.alarms.drawn, "counted": "permutations", "interval": "draws"}
        made.add(own.measure, "false alarms", own.alarms.value, bounds, **drawn, **cells)
        made.add(own.measure, "power", own.power, **cells)
        made.add(own.measure, "missed", own.missed, **cells)
        made.add(own.measure, "groups needed", own.needed, **cells)


def left_out_rows(made: Collected, left: Sequence[LeftOut]) -> None:
    """Add each group's unique judgements, its runs' scores and ranks with it in the pool and
    without, and by kind what runs lose without their own group.
    """
    for group in left:
        cells: Cells = {"axis": "group", "label": group.group, "variant": "left out"}
        made.add("judgements", "unique", group.unique, **cells)
        made.add("judgements", "unique relevant", group.relevant, **cells)
        for measure, moved in group.moved.items():
            changes = [run.after - run.before for run in moved]
            made.add(measure, "change", float(np.mean(changes)), count=len(changes), **cells)
            for system, run in zip(group.systems, moved, strict=True):
                for statistic, value in zip(
                    ("with", "without", "rank with", "rank without"), run, strict=True
                ):
                    made.add(measure, statistic, value, run=system.run, kind=system.kind, **cells)
    for measure in left[0].moved if left else ():
        for kind in dict.fromkeys(system.kind for group in left for system in group.systems):
            runs = [
                run
                for group in left
                for system, run in zip(group.systems, group.moved[measure], strict=True)
                if system.kind == kind
            ]
            lost = [run.rank_after - run.rank_before for run in runs]
            changes = [run.after - run.before for run in runs]
            cells = {"kind": kind, "variant": "own group left out", "count": len(runs)}
            made.add(measure, "change", float(np.mean(changes)), counted="runs", **cells)
            made.add(measure, "largest fall", min(changes), **cells)
            made.add(measure, "ranks lost", float(np.mean(lost)), **cells)
            made.add(measure, "most ranks lost", max(lost), **cells)


def curve_rows(
    made: Collected, axis: str, curve: Mapping[int, Reliability], runs: JudgedRuns
) -> None:
    """Add τ_b, the change of score and the pools' sizes along "depth" or "groups"; points of
    groups that a kind has not are left out.
    """
    sizes = {kind: len(groups_of(runs.systems, kind)) for kind in kinds_of(runs.systems)}
    for at, found in curve.items():
        for item in found.sets:
            if axis == "groups" and at >= sizes[item.pool]:
                continue
            cells: Cells = {"axis": axis, "at": float(at), "label": str(at)}
            _change(made, item, **cells)
            cells |= {"pool": item.pool, "kind": item.test}
            made.add(item.measure, "tau_b", average(item.figures["tau_b"]), **cells)
            made.add(item.measure, "in a pool", found.judged[item.pool].mean(), **cells)
            relevant = found.relevant[item.pool].mean()
            made.add(item.measure, "relevant in a pool", relevant, **cells)


def relabelled_rows(
    made: Collected,
    given: Reliability,
    repeats: Sequence[Reliability],
    *,
    share: float,
    drawn: int,
) -> None:
    """Add τ_b and the change of score with a share of the kinds changed: means over the repeats
    with their middle 95 %.
    """
    changed = f"{share:.0%} of kinds changed"
    for item in given.sets:
        key = (item.pool, item.test, item.measure)
        same = [
            own
            for found in repeats
            for own in found.sets
            if (own.pool, own.test, own.measure) == key
        ]
        cells: Cells = {"pool": item.pool, "kind": item.test, "variant": changed}
        made.add(item.measure, "relabellings lost", drawn - len(same), **cells)
        for statistic, values in (
            ("tau_b", [average(own.figures["tau_b"]) for own in same]),
            ("change", [change_of(own)[0] for own in same]),
        ):
            defined = [value for value in values if value is not None]
            ends = np.quantile(defined, [0.025, 0.975]).tolist() if defined else None
            made.add(
                item.measure,
                statistic,
                float(np.mean(defined)) if defined else None,
                Interval(*ends) if ends else None,
                interval="draws",
                count=len(same),
                counted="relabellings",
                **cells,
            )


def verdict_rows(made: Collected, found: RunVerdict) -> None:
    """Add a new run's unjudged share, its score and its lead over each pooled run."""
    runs, new = found.runs.runs, len(found.runs.runs.systems) - 1
    name = runs.systems[new].run
    for cause, number in runs.skipped.items():
        made.add("collection", "skipped", number, axis="cause", label=cause, unit="count")
    _unjudged(made, found, name)
    for run, system in enumerate(runs.systems):
        cells: Cells = {"run": system.run, "kind": system.kind}
        made.add("RBP", "mean", found.precision.base[:, run].mean(), **cells)
        made.add("RBP", "residual", found.precision.residual[:, run].mean(), **cells)
        for item in found.measures:
            for statistic, values in (
                ("score", item.bounds.score),
                ("least", item.bounds.low),
                ("most", item.bounds.high),
            ):
                made.add(item.measure.name, statistic, values[:, run].mean(), **cells)
            if run < new:
                _lead(made, item, run, cells)
    for item in found.measures:
        _score(made, item, found, name)


def _share(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else 0.0


def _unjudged(made: Collected, found: RunVerdict, name: str) -> None:
    runs, new = found.runs.runs, len(found.runs.runs.systems) - 1
    measure, own = f"{UNJUDGED}{found.depth}", 1 - found.judged[:, new]
    defined = own[~np.isnan(own)]
    made.add(
        measure,
        "share",
        _share(own),
        clustered_mean(defined, None, span_of(own)).interval,
        items={
            query: value
            for query, value in zip(runs.query_ids, own.tolist(), strict=True)
            if value == value
        },
        run=name,
        interval="queries",
        count=len(runs.query_ids),
        counted="queries",
    )
    pooled = [_share(1 - found.judged[:, run]) for run in range(new)]
    for system, share in zip(runs.systems, pooled, strict=False):
        made.add(measure, "share", share, run=system.run, kind=system.kind)
    counts = {
        "queries without candidates": int(np.isnan(own).sum()),
        "unjudged documents": len(found.measures[0].guess.unseen.query),
        "judged depth": found.runs.judged_from_the_top(new),
        "most, left out": found.most_open,
        "pooled runs": new,
        "groups": len(set(found.runs.group_of[:new].tolist())),
        "mean of pooled runs": float(np.mean(pooled)) if pooled else None,
        "most of pooled runs": max(pooled, default=None),
    }
    for statistic, number in counts.items():
        made.add(measure, statistic, number, run=name)


def _score(made: Collected, item: MeasureVerdict, found: RunVerdict, name: str) -> None:
    """Add the prediction of the new run's score; without one, a guess and the obstacle."""
    made.add(
        item.measure.name,
        "predicted" if item.interval else "guessed",
        item.expected,
        item.interval,
        run=name,
        interval="prediction" if item.interval else "",
        answer=str(item.answer),
        reason=str(item.obstacle or ""),
    )
    new, depth = len(found.runs.runs.systems) - 1, str(found.depth)
    unjudged = _share(1 - found.judged[:, new])
    made.add(item.measure.name, "unjudged", unjudged, run=name, axis="depth", label=depth)
    made.add(item.measure.name, "half over queries", item.query_half, run=name)
    made.add(item.measure.name, "documents to judge", item.needed, run=name)
    if item.calibration:
        counts: Cells = {"count": item.calibration.runs, "counted": "runs"}
        groups = item.calibration.freedom + 1
        made.add(
            item.measure.name,
            "covered",
            item.calibration.covered,
            run=name,
            clusters=groups,
            **counts,
        )
    made.add(item.measure.name, "runs share groups", float(found.grouped), run=name)


def _lead(made: Collected, item: MeasureVerdict, run: int, cells: Cells) -> None:
    """Add the new run's score less a pooled one's: as judged, its bounds, and as predicted with
    the probability that the new run is better. The answer is that of the prediction.
    """
    now, least, most = (
        float(values[:, run].mean())
        for values in (item.differences.score, item.differences.low, item.differences.high)
    )
    better = float(item.orders.better[run]) if item.orders else None
    answer = "open"
    if better is not None and max(better, 1 - better) >= SURE:
        answer = "better" if better > 0.5 else "worse"
    elif least > 0 or most < 0:
        answer = "better" if least > 0 else "worse"
    elif max(abs(least), abs(most)) <= _NOTHING:
        answer = "equal"
    if least > 0 or most < 0:
        answer += ", certainly"
    measure = item.measure.name
    made.add(measure, "lead", now, answer=answer, **cells)
    made.add(measure, "least lead", least, **cells)
    made.add(measure, "most lead", most, **cells)
    if item.orders is not None:
        made.add(measure, "predicted lead", float(item.orders.difference[run]), **cells)
        p = float(item.orders.new_queries[run])
        family = "leads over pooled runs"
        made.add(measure, "probability", better, p_adjusted=p, family=family, **cells)

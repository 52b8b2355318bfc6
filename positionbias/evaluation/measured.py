"""Runs measured and compared, as rows: means, differences from the first run, leaked and clean
queries, the order of runs on both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.evaluation.answers import compared
from positionbias.evaluation.records import (
    Comparison,
    LeakedAndClean,
    LeakedOrder,
    MeanOfPart,
    PerQuery,
    Result,
)
from positionbias.evaluation.significance import BONFERRONI, HOLM


def evaluation_rows(
    made: Collected, results: Iterable[Result], remarks: Mapping[str, Sequence[str]]
) -> None:
    """Add what was measured of runs, whose name is ``model``; ``remarks`` are caveats by run."""
    for result in results:
        cells: dict[str, Any] = {"model": result.system, "split": result.split}
        match result.payload:
            case PerQuery() as values:
                _mean(made, result, values, cells)
            case Comparison() as comparison:
                _comparison(made, result.measure, comparison, cells)
            case LeakedAndClean() as parts:
                _parts(made, result, parts, cells)
            case LeakedOrder() as order:
                _order(made, result, order)
    for run, lines in remarks.items():
        for line in lines:
            made.add("remark", "training", None, model=run, label=line)


def _mean(made: Collected, result: Result, values: PerQuery, cells: dict[str, Any]) -> None:
    named = dict(zip(values.query_ids, values.clusters, strict=False))
    made.add(
        result.measure,
        "mean",
        result.value,
        result.interval,
        items=values.by_query,
        cluster_of=named,
        count=result.count,
        counted="queries",
        interval="queries",
        **cells,
    )
    for what, number in values.notes.items():
        if isinstance(number, int):
            made.add(result.measure, what, number, **cells)


def _comparison(made: Collected, measure: str, pair: Comparison, cells: dict[str, Any]) -> None:
    own = {**cells, "against": f"model={pair.baseline}", "family": measure}
    holm = pair.p_adjusted.get(HOLM)
    made.add(
        measure,
        "difference",
        pair.difference,
        pair.difference_interval,
        count=pair.queries,
        counted="queries",
        p=pair.p,
        p_adjusted=holm,
        answer=compared(pair.difference, holm),
        reason="; ".join(f"{what} {why}" for what, why in pair.notes.items() if _why(why)),
        **own,
    )
    made.add(measure, "relative", pair.relative, pair.relative_interval, unit="share", **own)
    made.add(measure, "effect size", pair.effect_size, **own)
    made.add(measure, "Bonferroni", None, p_adjusted=pair.p_adjusted.get(BONFERRONI), **own)
    made.add(measure, "Student's t", None, p=pair.p_t, **own)
    differing = pair.notes.get("queries that differ")
    own |= {"count": differing, "counted": "queries that differ"}
    made.add(measure, "Wilcoxon", None, p=pair.p_wilcoxon, **own)


def _why(note: object) -> bool:
    return isinstance(note, str) and "undefined" in note


def _parts(made: Collected, result: Result, parts: LeakedAndClean, cells: dict[str, Any]) -> None:
    """Add the means of all, leaked and clean queries, of a run or of its gain over the first."""
    gain = parts.baseline
    own = {**cells, "against": f"model={gain}" if gain else ""}
    measure, kind = result.measure, "gain" if gain else "mean"
    for subset, part in (("all", parts.all), ("leaked", parts.leaked), ("clean", parts.clean)):
        bounds = _bounds(part)
        made.add(
            measure, kind, part.mean, bounds, count=part.queries, subset=f"{subset} queries", **own
        )
    statistic = f"{kind}, leaked less clean"
    made.add(measure, statistic, result.value, result.interval, count=result.count, **own)


def _bounds(part: MeanOfPart) -> Interval | None:
    return None if part.low is None or part.high is None else Interval(part.low, part.high)


def _order(made: Collected, result: Result, order: LeakedOrder) -> None:
    numbers = {
        "tau_b": order.tau,
        "swaps": order.swaps,
        "pairs": order.pairs,
        "leaked": order.leaked,
        "clean": order.clean,
        "strata": order.strata,
        "splits": order.splits,
    }
    for statistic, number in numbers.items():
        cells: dict[str, Any] = {"split": result.split, "family": "order"}
        if statistic == "tau_b":
            cells |= {"expected": order.expected, "p": order.p, "reason": order.undefined}
            cells |= {"count": order.systems, "counted": "runs"}
        made.add(result.measure, f"order, {statistic}", number, **cells)

"""Measures of runs, their comparison with the first run, effects of leaked queries, and ensembles, as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.interval import Interval
from positionbias.evaluation.significance import CORRECTIONS
from positionbias.report.collection_text import aligned
from positionbias.report.leaked_order import order_sentences
from positionbias.results.leakage import LeakedAndClean
from positionbias.results.payloads import Comparison, LeakedOrder, PerQuery
from positionbias.results.result import Result
from positionbias.results.runs import EnsembleFigures
from positionbias.results.select import distinct, of_type

__all__ = ["ensemble_text", "evaluation_text"]


def ensemble_text(results: Sequence[Result]) -> str:
    """Return how many runs an ensemble is made of, and what it holds."""
    ((_, figures),) = of_type(results, EnsembleFigures)
    return f"{len(figures.missing)} runs as one: {figures.passages:,} passages of {figures.queries:,} queries"


def evaluation_text(results: Sequence[Result]) -> str:
    """Return whether leakage changes the order of runs, then measures, differences, measures by leaked and clean queries."""
    orders = ["\n  ".join(order_sentences(result.measure, order)) for result, order in of_type(results, LeakedOrder)]
    return "\n\n".join(filter(None, (*orders, _measures(results), _comparisons(results), _leaked(results))))


def _measures(results: Sequence[Result]) -> str:
    means = [result for result, _ in of_type(results, PerQuery)]
    names = distinct(result.measure for result in means)
    cells = {(r.system, r.measure): _cell(r.value, r.interval, ".4f") for r in means}
    heads = [name.replace("Judged@", "J@") for name in names]
    systems = distinct(result.system for result in means)
    return aligned([("run", *heads), *((system, *(cells[system, name] for name in names)) for system in systems)])


def _comparisons(results: Sequence[Result]) -> str:
    heads = ("measure", "difference", "change", "d_z", "p", "Holm", "Bonf.", "p Wilcoxon", "p t")
    rows = [_comparison(result.measure, payload) for result, payload in of_type(results, Comparison)]
    return aligned([("against the first run", *heads), *rows], left=2) if rows else ""


def _comparison(measure: str, item: Comparison) -> tuple[str, ...]:
    return (
        f"{item.baseline} → {item.candidate}",
        measure,
        _cell(item.difference, item.difference_interval, "+.4f"),
        _cell(item.relative, item.relative_interval, "+.1%"),
        _cell(item.effect_size, None, "+.2f"),
        *map(_p, (item.p, *(item.p_adjusted[method] for method in CORRECTIONS), item.p_wilcoxon, item.p_t)),
    )


def _leaked(results: Sequence[Result]) -> str:
    """Return systems on all, leaked and clean queries, and the limits of the tables."""
    found = of_type(results, LeakedAndClean)
    if not found:
        return ""
    first = found[0][1]
    columns = ("measure", "all", "leaked", "clean", "leaked − clean")
    systems = [_leaked_row(result, of) for result, of in found if not of.baseline]
    lines = [
        f"{first.all.queries:,} queries: {first.leaked.queries:,} leaked, {first.clean.queries:,} clean",
        "",
        aligned([("run", *columns), *systems], left=2),
        "Different queries, so unpaired: what leakage does, and how much easier or harder the leaked queries are.",
    ]
    if gains := [_leaked_row(result, of) for result, of in found if of.baseline]:
        table = aligned([("gain over the first run", *columns), *gains], left=2)
        lines += ["", table, "Gains are paired by query: how hard a query is for both runs alike is taken off."]
    return "\n".join(lines)


def _leaked_row(result: Result, of: LeakedAndClean) -> tuple[str, ...]:
    form = "+.4f" if of.baseline else ".4f"
    name = f"{of.baseline} → {result.system}" if of.baseline else result.system
    parts = [
        _cell(part.mean, None if part.low is None or part.high is None else Interval(part.low, part.high), form)
        for part in (of.all, of.leaked, of.clean)
    ]
    measure = result.measure.partition(" against ")[0].partition(",")[0]
    return (name, measure, *parts, _cell(result.value, result.interval, "+.4f"))


def _cell(value: float | None, interval: Interval | None, form: str) -> str:
    if value is None:
        return "-"
    return f"{value:{form}}" + (f" [{interval.low:{form}}, {interval.high:{form}}]" if interval else "")


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"

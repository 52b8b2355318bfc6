"""Measures of runs, their comparison with the first run, effects of leaked queries, and ensembles,
as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.interval import Interval
from positionbias.evaluation.significance import CORRECTIONS
from positionbias.report.cells import decimal_cell, level_heading, p_cell, percent_cell, text_cell
from positionbias.report.headlines import evaluation_headlines
from positionbias.report.leaked_order import order_sentence
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.leakage import LeakedAndClean
from positionbias.results.payloads import Comparison, LeakedOrder, PerQuery
from positionbias.results.result import Result
from positionbias.results.runs import EnsembleFigures
from positionbias.results.select import distinct, of_type

__all__ = ["ensemble_text", "evaluation_text"]


def ensemble_text(results: Sequence[Result]) -> str:
    """Return how many runs an ensemble is made of, and what it holds."""
    ((_, figures),) = of_type(results, EnsembleFigures)
    return (
        f"{len(figures.missing)} runs as one: {figures.passages:,} passages of {figures.queries:,} "
        "queries"
    )


def evaluation_text(results: Sequence[Result]) -> str:
    """Return the best run, whether leakage changes the order of runs, then measures, differences,
    measures by leaked and clean queries.
    """
    orders = [
        order_sentence(result.measure, order) for result, order in of_type(results, LeakedOrder)
    ]
    told = "\n".join(evaluation_headlines(results))
    return "\n\n".join(
        filter(None, (told, *orders, _measures(results), _comparisons(results), _leaked(results)))
    )


def _measures(results: Sequence[Result]) -> str:
    means = [result for result, _ in of_type(results, PerQuery)]
    names = distinct(result.measure for result in means)
    cells = {(r.system, r.measure): decimal_cell(r.value, r.interval, places=4) for r in means}
    ranged = {name: [r.interval for r in means if r.measure == name] for name in names}
    columns = [Column(level_heading(name.replace("Judged@", "J@"), ranged[name])) for name in names]
    rows = [
        [text_cell(system), *(cells[system, name] for name in names)]
        for system in distinct(result.system for result in means)
    ]
    return as_text(Table("runs", "", [Column("Run", numeric=False), *columns], rows))


def _comparisons(results: Sequence[Result]) -> str:
    found = of_type(results, Comparison)
    rows = [_comparison(result.measure, payload) for result, payload in found]
    columns = [Column("Against the first run", numeric=False), Column("Measure", numeric=False)]
    columns += [
        Column(level_heading("Difference", (payload.difference_interval for _, payload in found)))
    ]
    columns += [
        Column(level_heading("Change", (payload.relative_interval for _, payload in found)))
    ]
    columns += [
        Column("d_z"),
        Column("p"),
        Column("Holm"),
        *(Column(name, wide=True) for name in ("Bonf.", "p Wilcoxon", "p t")),
    ]
    return as_text(Table("compared", "", columns, rows, stub=2)) if rows else ""


def _comparison(measure: str, item: Comparison) -> list[Cell]:
    return [
        text_cell(f"{item.baseline} → {item.candidate}"),
        text_cell(measure),
        decimal_cell(item.difference, item.difference_interval, places=4, sign=True),
        percent_cell(item.relative, item.relative_interval),
        decimal_cell(item.effect_size, places=2, sign=True),
        *map(
            p_cell,
            (
                item.p,
                *(item.p_adjusted[method] for method in CORRECTIONS),
                item.p_wilcoxon,
                item.p_t,
            ),
        ),
    ]


def _leaked(results: Sequence[Result]) -> str:
    """Return systems on all, leaked and clean queries, and the limits of the tables."""
    found = of_type(results, LeakedAndClean)
    if not found:
        return ""
    first = found[0][1]
    parts = [
        (
            f"{first.all.queries:,} queries: {first.leaked.queries:,} leaked, "
            f"{first.clean.queries:,} clean"
        )
    ]
    unpaired = (
        "Different queries, so unpaired: what leakage does, and how much easier or harder the "
        "leaked queries are."
    )
    paired = "Gains are paired by query: how hard a query is for both runs alike is taken off."
    for name, note, gains in (("Run", unpaired, False), ("Gain over the first run", paired, True)):
        rows = [_leaked_row(result, of) for result, of in found if bool(of.baseline) == gains]
        columns = [Column(name, numeric=False), Column("Measure", numeric=False)]
        columns += [Column(part) for part in ("All", "Leaked", "Clean", "Leaked − clean")]
        parts += [as_text(Table("leaked", "", columns, rows, [note], stub=2))] if rows else []
    return "\n\n".join(parts)


def _leaked_row(result: Result, of: LeakedAndClean) -> list[Cell]:
    sign = bool(of.baseline)
    name = f"{of.baseline} → {result.system}" if of.baseline else result.system
    parts = [
        decimal_cell(
            part.mean,
            None if part.low is None or part.high is None else Interval(part.low, part.high),
            places=4,
            sign=sign,
        )
        for part in (of.all, of.leaked, of.clean)
    ]
    measure = result.measure.partition(" against ")[0].partition(",")[0]
    return [
        text_cell(name),
        text_cell(measure),
        *parts,
        decimal_cell(result.value, result.interval, places=4, sign=True),
    ]

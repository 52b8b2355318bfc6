"""Tables of effectiveness: paired comparisons, every system's mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from positionbias.core.formatting import count
from positionbias.evaluation.crossed import OVER_QUERIES
from positionbias.evaluation.significance import CORRECTIONS, HOLM
from positionbias.report.cells import (
    P_NOTE,
    count_cell,
    decimal_cell,
    drop_constant,
    level_heading,
    p_cell,
    percent_cell,
    text_cell,
)
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import REMARKS, Comparison, PerQuery
from positionbias.results.result import Result
from positionbias.results.select import (
    distinct,
    of_kind,
    of_type,
    repeat_of,
)

__all__ = ["significance_table", "systems_table"]


def significance_table(results: Sequence[Result]) -> Table:
    """Return paired comparisons: means, difference, change, intervals, effect size, p, adjusted p,
    Wilcoxon. What is compared is in the title where it is the same in every row.
    """
    found = of_type(results, Comparison)
    adjusted = _corrections(payload for _, payload in found)
    rows = [_comparison_row(result, payload, adjusted) for result, payload in found]
    columns = [
        Column("Test passages", numeric=False),
        Column("Measure", numeric=False),
        Column("Compared", numeric=False),
        Column("First"),
        Column("Second"),
        Column(level_heading("Difference", (payload.difference_interval for _, payload in found))),
        Column(level_heading("Change", (payload.relative_interval for _, payload in found))),
        Column("Effect size", wide=True),
        Column("p"),
        *(Column(f"p {method.capitalize()}") for method in adjusted),
        Column("p Wilcoxon", wide=True),
        Column("Queries", wide=True),
    ]
    pairs, title = distinct(row[2].text for row in rows), "Paired comparisons"
    if len(pairs) == 1:
        title = f"{title}: {pairs[0]}"
        drop_constant(columns, rows, [2])
    notes = (
        (
            "Difference = second − first over the same queries. Effect size: mean difference over "
            "its deviation (d_z)."
        ),
        f"{P_NOTE} Wilcoxon drops zero differences.",
        *_undefined(found),
    )
    stub = 2 if len(pairs) == 1 else 3
    return Table("comparisons", title, columns, rows, notes, stub=stub)


def _comparison_row(result: Result, payload: Comparison, adjusted: Sequence[str]) -> list[Cell]:
    return [
        text_cell(result.collection),
        text_cell(result.measure),
        text_cell(f"{payload.baseline} → {payload.candidate}"),
        decimal_cell(payload.baseline_mean),
        decimal_cell(payload.candidate_mean),
        decimal_cell(payload.difference, payload.difference_interval, sign=True),
        percent_cell(payload.relative, payload.relative_interval),
        decimal_cell(payload.effect_size, places=2, sign=True),
        p_cell(payload.p),
        *(p_cell(payload.p_adjusted.get(method)) for method in adjusted),
        p_cell(payload.p_wilcoxon),
        count_cell(result.count),
    ]


def _repeat(result: Result) -> str:
    seed, draw = repeat_of(result)
    return ", ".join(
        filter(None, ("" if seed is None else f"{seed}", "" if draw is None else f"draw {draw}"))
    )


def _undefined(found: Sequence[tuple[Result, Comparison]]) -> list[str]:
    """Say why a figure is missing, once for each measure and reason."""
    reasons = Counter(
        f"{result.measure}: {key} {text}"
        for result, payload in found
        for key, text in payload.notes.items()
        if isinstance(text, str) and "undefined" in text
    )
    return [f"{reason} ({number} of the comparisons)." for reason, number in reasons.items()]


def _corrections(payloads: Iterable[Comparison]) -> list[str]:
    """Return the corrected p-values to show: Holm's where there are any, else those there are."""
    methods = distinct(
        method for payload in payloads for method in payload.p_adjusted if method in CORRECTIONS
    )
    return [HOLM] if HOLM in methods else methods


def systems_table(results: Sequence[Result]) -> Table:
    """Return every system's mean on every test set, a column per measure, each with its
    interval.
    """
    found = of_kind(results, "per_query")
    measures = distinct(result.measure for result in found)
    cells: dict[tuple[str, str, str, int], dict[str, Result]] = {}
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for result in found:
        header = (result.collection, result.system, _repeat(result))
        # a second result with the same header gets its own row: nothing is dropped
        occurrence = seen[(*header, result.measure)]
        seen[(*header, result.measure)] += 1
        cells.setdefault((*header, occurrence), {})[result.measure] = result
    order = distinct(key[0] for key in cells)
    rows = []
    for key, by_measure in sorted(cells.items(), key=lambda item: order.index(item[0][0])):
        shown = [by_measure.get(measure) for measure in measures]
        values = [
            decimal_cell(result.value, result.interval) if result else decimal_cell(None)
            for result in shown
        ]
        rows.append(
            [
                *map(text_cell, key[:3]),
                *values,
                count_cell(max(result.count for result in by_measure.values())),
            ]
        )
    columns = [
        Column("Test passages", numeric=False),
        Column("System", numeric=False),
        Column("Seed", numeric=False),
    ]
    columns += [
        Column(level_heading(m, (r.interval for r in found if r.measure == m))) for m in measures
    ]
    columns.append(Column("Queries", wide=True))
    _, kept = drop_constant(columns, rows, [2])
    notes = (
        [f"Intervals are {OVER_QUERIES}."]
        if any(result.facts.seed is not None for result in found)
        else []
    )
    return Table(
        "systems",
        "Every system on every test set",
        columns,
        rows,
        [*_uncounted(found), *notes],
        stub=2 + kept,
    )


def _uncounted(found: Sequence[Result]) -> list[str]:
    """Return remarks on a system, and queries that a mean counts as 0 or leaves out, as each
    evaluation noted them.
    """
    remarks = distinct(
        f"{r.system}: {remark}."
        for r in found
        for remark in getattr(r.payload, "notes", {}).get(REMARKS, ())
    )
    where: dict[str, list[str]] = {}
    for result in found:
        assert isinstance(result.payload, PerQuery)
        for what, number in result.payload.notes.items():
            if isinstance(number, int) and number:
                where.setdefault(f"{count(number)} {what}", []).append(
                    f"{result.system} on {result.collection}"
                )
    return remarks + [
        f"{what}: {'every run' if len(runs) == len(found) else ', '.join(distinct(runs))}."
        for what, runs in where.items()
    ]

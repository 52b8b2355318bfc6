"""Descriptive tables of an audit, each a pure function from Results to a Table. The figures' data
are in ``figure_tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from positionbias.audit.select import (
    SCALE_NAMES,
    Series,
    System,
    blind_slopes,
    described_group,
    main_quality,
    of_audit,
    query_buckets,
    response_slope,
    series_of,
    system_of,
)
from positionbias.core.formatting import MISSING, decimal, interval, slug
from positionbias.core.interval import Interval
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_constant,
    drop_empty,
    level_heading,
    p_cell,
    percent_cell,
    text_cell,
)
from positionbias.report.table import Cell, Column, Table
from positionbias.results.audit import GapFigures
from positionbias.results.buckets import (
    PSI,
    STANDARDISED,
    BucketFigures,
    Correlation,
    Psi,
    QueryBuckets,
    ResponseCurve,
    Slope,
    bounds_of,
)
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = ["blind_table", "gap_table", "psi_tables", "response_table"]

Named = Callable[[BucketFigures], Slope | Correlation | Psi]
WAYS: dict[str, Named] = {  # wording of how quality changes towards the end
    "Slope": lambda figures: figures.slope,
    "Spearman": lambda figures: figures.spearman,
    "Kendall": lambda figures: figures.kendall,
}
Found = Sequence[tuple[Result, QueryBuckets]]


def psi_tables(results: Sequence[Result], quality: str, *, grouped: bool = False) -> list[Table]:
    """Return each system's PSI with its chance level, and the slope: standardised and over all, or
    ``grouped`` by length.
    """
    series = series_of(results)
    found = [
        (r, p)
        for r, p in query_buckets(results, PSI, quality=quality)
        if (p.group not in ("", STANDARDISED)) == grouped
    ]
    order, systems = distinct((payload.scale, payload.group) for _, payload in found), list(series)
    found.sort(
        key=lambda one: (
            order.index((one[1].scale, one[1].group)),
            systems.index(system_of(one[0])),
        )
    )
    name = f"-lengths-{slug(quality)}" if grouped else f"-{slug(quality)}"
    title = f" within passages of like length: {quality}" if grouped else f": {quality}"
    tables = [_psi_table(found, series, name, title), _direction_table(found, series, name, title)]
    return [table for table in tables if table.rows]


def _psi_table(found: Found, series: Mapping[System, Series], name: str, title: str) -> Table:
    ranges = [bounds_of(payload.figures.psi, payload.level) for _, payload in found]
    rows = []
    for (result, payload), bounds in zip(found, ranges, strict=True):
        psi, left_out = payload.figures.psi, payload.figures.left_out
        rows.append(
            [
                *_row_names(result, payload, series),
                count_cell(result.count),
                decimal_cell(psi.value),
                decimal_cell(psi.null_mean),
                decimal_cell(psi.debiased, bounds),
                p_cell(psi.p),
                count_cell(len(payload.counts) - left_out),
                count_cell(left_out),
            ]
        )
    columns = [
        *ROW_COLUMNS,
        Column("Queries"),
        Column("PSI"),
        Column("By chance"),
        Column(level_heading("Debiased", ranges)),
    ]
    columns += [
        Column("p"),
        Column("used", "Buckets", wide=True),
        Column("left out", "Buckets", wide=True),
    ]
    drop_empty(columns, rows, first=5)
    _, kept = drop_constant(columns, rows, [0, 1])
    notes = [
        "PSI = 1 − worst bucket / best bucket. By chance: its mean when positions are shuffled "
        "over queries. Debiased: an estimate without the part of noise; 0 if noise explains all of "
        "it. PSI mixes preference with the questions' difficulty.",
        *_without_position(found),
        *_bucket_rules([payload for _, payload in found]),
        *_undefined(found, series, {"PSI": lambda figures: figures.psi}),
    ]
    return Table(
        f"psi{name}", f"Sensitivity to position{title}", columns, rows, notes, stub=kept + 1
    )


def _direction_table(found: Found, series: Mapping[System, Series], name: str, title: str) -> Table:
    ranges = {
        way: [bounds_of(of(p.figures), p.level) for _, p in found] for way, of in WAYS.items()
    }
    rows = []
    for number, (result, payload) in enumerate(found):
        values = {way: of(payload.figures).value for way, of in WAYS.items()}
        if any(value is not None for value in values.values()):
            cells = [
                decimal_cell(value, ranges[way][number], sign=True) for way, value in values.items()
            ]
            rows.append(
                [
                    *_row_names(result, payload, series),
                    cells[0],
                    p_cell(payload.figures.slope.p),
                    *cells[1:],
                ]
            )
    heads = [level_heading(way, ranges[way]) for way in WAYS]
    columns = [*ROW_COLUMNS, Column(heads[0]), Column("p"), *map(Column, heads[1:])]
    drop_empty(columns, rows, first=3)
    _, kept = drop_constant(columns, rows, [0, 1])
    units = distinct((p.scale, p.figures.slope_unit) for _, p in found if p.figures.slope_unit)
    per = "; ".join(f"{SCALE_NAMES.get(scale, scale)}: over {unit}" for scale, unit in units)
    notes = [
        "Slope and its p: of the quality of queries on the places of their "
        f"answers{f' ({per})' if per else ''}. Spearman, Kendall: rank correlations of the "
        "buckets' means with their places, −1 to 1. Below 0: quality falls towards the end.",
        *_undefined(found, series, WAYS),
    ]
    return Table(
        f"direction{name}",
        f"Quality towards the passage's end{title}",
        columns,
        rows,
        notes,
        stub=kept + 1,
    )


ROW_COLUMNS = (
    Column("Buckets by", numeric=False),
    Column("Passages", numeric=False),
    Column("System", numeric=False),
)


def _row_names(
    result: Result, payload: QueryBuckets, series: Mapping[System, Series]
) -> list[Cell]:
    one = series[system_of(result)]
    names = (SCALE_NAMES.get(payload.scale, payload.scale), payload.group or "all", one.full_label)
    return [text_cell(name) for name in names]


def _undefined(
    found: Found, series: Mapping[System, Series], named: Mapping[str, Named]
) -> list[str]:
    """Explain why a figure is undefined, one sentence per reason."""
    return distinct(
        f"{name} of {series[system_of(result)].label} "
        f"({payload.group or SCALE_NAMES.get(payload.scale, payload.scale)}) is undefined: {why}."
        for result, payload in found
        for name, of in named.items()
        if (why := of(payload.figures).undefined)
    )


def _without_position(found: Found) -> list[str]:
    """Report the number of answers without a position, if any."""
    numbers = distinct(
        payload.figures.without_position for _, payload in found if not payload.group
    )
    return [
        f"Left out: {number:,} queries whose answer fills its passage."
        for number in numbers
        if number
    ]


def _bucket_rules(payloads: Sequence[QueryBuckets]) -> list[str]:
    minimum = distinct(p.figures.minimum for p in payloads)
    draws = distinct(p.figures.permutations for p in payloads if p.figures.permutations is not None)
    notes = (
        [f"Buckets of fewer than {' or '.join(map(str, minimum))} queries are left out."]
        if minimum
        else []
    )
    return notes + (
        [f"Permutations: {' or '.join(f'{draw:,}' for draw in draws)}."] if draws else []
    )


def blind_table(results: Sequence[Result]) -> Table:
    """Return each system's slope beside the slopes of position-blind scorers on the same
    queries.
    """
    series, rows, own, scorers = series_of(results), [], [], dict[str, float]()
    for result, payload in query_buckets(
        results, PSI, quality=main_quality(results), group=described_group(results)
    ):
        beside, slope = blind_slopes(results, result, payload), payload.figures.slope
        if not beside or slope.value is None:
            continue
        slopes = {name: found.value for name, found in beside.items() if found.value is not None}
        bounds = [b for found in beside.values() if (b := bounds_of(found)) is not None]
        reach = (
            Interval(min(b.low for b in bounds), max(b.high for b in bounds)) if bounds else None
        )
        own.append(bounds_of(slope, payload.level))
        scorers |= slopes
        rows.append(
            [
                text_cell(SCALE_NAMES.get(payload.scale, payload.scale)),
                text_cell(series[system_of(result)].full_label),
                decimal_cell(slope.value, own[-1], sign=True),
                decimal_cell(min(slopes.values()), sign=True),
                decimal_cell(max(slopes.values()), sign=True),
                Cell(
                    interval(reach, sign=True) or MISSING,
                    None,
                    reach.low if reach else None,
                    reach.high if reach else None,
                ),
            ]
        )
    columns = [
        Column("Positions by", numeric=False),
        Column("System", numeric=False),
        Column(level_heading("Slope", own)),
    ]
    columns += [
        Column(name, "Position-blind scorers", wide=name != "all intervals")
        for name in ("lowest slope", "highest slope", "all intervals")
    ]
    _, kept = drop_constant(columns, rows, [0])
    notes = (
        "Position-blind scorers rank the same candidates and ignore the order of words, so the "
        "questions alone cause their slopes. A slope beyond all of their intervals is unusual: "
        "rotate to find out. A run's verdict also leaves out the scorers that rank as it does.",
        (
            "Their slopes: "
            f"{'; '.join(f'{name} {decimal(slope, sign=True)}' for name, slope in scorers.items())}"
            "."
        ),
    )
    return Table(
        "blind",
        f"Slopes beside position-blind scorers: {main_quality(results)}",
        columns,
        rows,
        notes,
        stub=kept + 1,
    )


def gap_table(results: Sequence[Result]) -> Table:
    """Return the changes from rotating the whole collection, a row per measure and system."""
    found, series = of_audit(results, GapFigures), series_of(results)
    qualities, systems = distinct(gap.quality for _, gap in found), list(series)
    found.sort(key=lambda one: (qualities.index(one[1].quality), systems.index(system_of(one[0]))))
    rows = []
    for result, gap in found:
        rows.append(
            [
                text_cell(gap.quality),
                text_cell(series[system_of(result)].label),
                count_cell(gap.queries),
                decimal_cell(gap.original),
                decimal_cell(gap.rotated),
                decimal_cell(result.value, result.interval, sign=True),
                p_cell(gap.p),
                decimal_cell(gap.detectable),
                percent_cell(gap.first_changed, sign=False),
                decimal_cell(gap.overlap),
                percent_cell(gap.cut, sign=False),
                percent_cell(gap.truncated, sign=False),
            ]
        )
    columns = [Column("Quality", numeric=False), Column("System", numeric=False)]
    columns += [Column(name) for name in ("Queries", "Original", "Rotated")]
    columns += [Column(level_heading("Change", [r.interval for r, _ in found])), Column("p")]
    columns += [
        Column(name, wide=True)
        for name in ("Smallest detectable", "Top passage changed", "Rank-biased overlap")
    ]
    columns += [Column("Answers cut", wide=True), Column("Answers truncated", wide=True)]
    drop_empty(columns, rows, first=3)
    draws = distinct(str(gap.draws) for _, gap in found)
    notes = (
        *([f"Rotations of each passage: {' or '.join(draws)}."] if draws else []),
        (
            "Change = rotated − original, paired by query. It mixes the answer's new place with "
            "broken sentences and truncation."
        ),
    )
    return Table("rotation-gap", "What rotation changes", columns, rows, notes, stub=2)


def response_table(results: Sequence[Result]) -> Table:
    """Return the score difference of the last place and the first by system, and the reciprocal
    rank at both ends.
    """
    found, series = of_audit(results, ResponseCurve), series_of(results)
    rows = []
    for result, curve in found:
        ends = (curve.ranks[0], curve.ranks[-1]) if curve.ranks else (None, None)
        rows.append(
            [
                text_cell(series[system_of(result)].label),
                count_cell(result.count),
                decimal_cell(*response_slope(result, curve), sign=True),
                p_cell(curve.figures.slope.p),
                *map(decimal_cell, ends),
            ]
        )
    columns = [Column("System", numeric=False), Column("Queries")]
    columns += [
        Column(level_heading("Last − first place", [response_slope(*one)[1] for one in found]))
    ]
    columns += [Column("p")]
    columns += [
        Column(name, "Reciprocal rank", wide=True) for name in ("first place", "last place")
    ]
    drop_empty(columns, rows, first=3)
    notes = (
        "The slope of the score from the first place to the last, the other sentences in their "
        "order; in mean deviations of a query's candidate scores. Below 0: higher at the front.",
    )
    return Table("position-response", "Response by place, first to last", columns, rows, notes)

"""What an audit describes, in tables: each a pure function, Results in, Table out. The figures' data are in ``audit_data``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from positionbias.core.formatting import MISSING, decimal, interval, slug
from positionbias.core.interval import Interval
from positionbias.evaluation.sensitivity import STANDARDISED
from positionbias.report.audit_select import (
    GAP,
    PSI,
    RESPONSE,
    SCALE_NAMES,
    Series,
    System,
    blind_slopes,
    bounds_of,
    buckets,
    curve_of,
    described_group,
    gap_of,
    main_quality,
    of_measure,
    response_slope,
    series_of,
    system_of,
)
from positionbias.report.cells import (
    any_cell,
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
from positionbias.results.payloads import PositionBuckets
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = ["blind_table", "gap_table", "psi_tables", "response_table"]

Found = Sequence[tuple[Result, PositionBuckets]]


def psi_tables(results: Sequence[Result], quality: str, *, grouped: bool = False) -> list[Table]:
    """Return each system's PSI beside what chance gives, and the slope: standardised over length and over all passages, or ``grouped`` by length."""
    series = series_of(results)
    found = [(r, p) for r, p in buckets(results, PSI, quality=quality) if (p.group not in ("", STANDARDISED)) == grouped]
    order, systems = distinct((payload.scale, payload.group) for _, payload in found), list(series)
    found.sort(key=lambda one: (order.index((one[1].scale, one[1].group)), systems.index(system_of(one[0]))))
    name = f"-lengths-{slug(quality)}" if grouped else f"-{slug(quality)}"
    title = f" within passages of like length: {quality}" if grouped else f": {quality}"
    tables = [_psi_table(found, series, name, title), _direction_table(found, series, name, title)]
    return [table for table in tables if table.rows]


def _psi_table(found: Found, series: Mapping[System, Series], name: str, title: str) -> Table:
    ranges = [bounds_of(payload.figures, "psi_debiased_low", "psi_debiased_high") for _, payload in found]
    rows = []
    for (result, payload), bounds in zip(found, ranges, strict=True):
        figures = payload.figures
        rows.append(
            [
                *_row_names(result, payload, series),
                count_cell(result.count),
                decimal_cell(figures.get("psi", result.value)),
                decimal_cell(figures.get("null_mean")),
                decimal_cell(figures.get("psi_debiased"), bounds),
                p_cell(figures.get("p")),
                count_cell(len(payload.counts) - (figures.get("left_out") or 0)),
                count_cell(figures.get("left_out")),
            ]
        )
    columns = [
        *ROW_COLUMNS,
        Column("Queries"),
        Column("PSI"),
        Column("By chance"),
        Column(level_heading("Debiased", ranges)),
    ]
    columns += [Column("p"), Column("used", "Buckets"), Column("left out", "Buckets")]
    drop_empty(columns, rows, first=5)
    _, kept = drop_constant(columns, rows, [0, 1])
    notes = [
        "PSI = 1 − worst bucket / best bucket. By chance: its mean when positions are shuffled over queries. Debiased: an estimate "
        "without what noise adds; 0 where noise explains all of it. PSI mixes preference with the questions' difficulty.",
        *_without_position(found),
        *_bucket_rules([payload for _, payload in found]),
        *_undefined(found, series, ("psi",)),
    ]
    return Table(f"psi{name}", f"Sensitivity to position{title}", columns, rows, notes, stub=kept + 1)


def _direction_table(found: Found, series: Mapping[System, Series], name: str, title: str) -> Table:
    ways = ("slope", "spearman", "kendall")
    ranges = {way: [bounds_of(p.figures, f"{way}_low", f"{way}_high") for _, p in found] for way in ways}
    rows = []
    for number, (result, payload) in enumerate(found):
        if any(payload.figures.get(way) is not None for way in ways):
            cells = [decimal_cell(payload.figures.get(way), ranges[way][number], sign=True) for way in ways]
            rows.append([*_row_names(result, payload, series), cells[0], p_cell(payload.figures.get("slope_p")), *cells[1:]])
    heads = [level_heading(way.capitalize(), ranges[way]) for way in ways]
    columns = [*ROW_COLUMNS, Column(heads[0]), Column("p"), *map(Column, heads[1:])]
    drop_empty(columns, rows, first=3)
    _, kept = drop_constant(columns, rows, [0, 1])
    units = distinct((p.scale, p.figures["slope_unit"]) for _, p in found if p.figures.get("slope_unit"))
    per = "; ".join(f"{SCALE_NAMES.get(scale, scale)}: over {unit}" for scale, unit in units)
    notes = [
        f"Slope and its p: of the quality of queries on the places of their answers{f' ({per})' if per else ''}. Spearman, Kendall: rank "
        "correlations of the buckets' means with their places, −1 to 1. Below 0: quality falls towards the end.",
        *_undefined(found, series, ("slope", *ways[1:])),
    ]
    return Table(f"direction{name}", f"Quality towards the passage's end{title}", columns, rows, notes, stub=kept + 1)


ROW_COLUMNS = (Column("Buckets by", numeric=False), Column("Passages", numeric=False), Column("System", numeric=False))


def _row_names(result: Result, payload: PositionBuckets, series: Mapping[System, Series]) -> list[Cell]:
    one = series[system_of(result)]
    names = (SCALE_NAMES.get(payload.scale, payload.scale), payload.group or "all", one.full_label)
    return [text_cell(name) for name in names]


def _undefined(found: Found, series: Mapping[System, Series], names: Sequence[str]) -> list[str]:
    """Say why a figure is undefined, a sentence each."""
    return distinct(
        f"{_title(name)} of {series[system_of(result)].label} ({payload.group or SCALE_NAMES.get(payload.scale, payload.scale)}) is "
        f"undefined: {payload.figures[f'{name}_undefined']}."
        for result, payload in found
        for name in names
        if payload.figures.get(f"{name}_undefined")
    )


def _title(name: str) -> str:
    return "PSI" if name == "psi" else name.capitalize()


def _without_position(found: Found) -> list[str]:
    """How many answers have no position, where any has none."""
    numbers = distinct(payload.figures.get("without_position") or 0 for _, payload in found if not payload.group)
    return [f"Left out: {number:,} queries whose answer fills its passage." for number in numbers if number]


def _bucket_rules(payloads: Sequence[PositionBuckets]) -> list[str]:
    minimum = distinct(p.figures["minimum"] for p in payloads if p.figures.get("minimum") is not None)
    draws = distinct(p.figures["permutations"] for p in payloads if p.figures.get("permutations") is not None)
    notes = [f"Buckets of fewer than {' or '.join(map(str, minimum))} queries are left out."] if minimum else []
    return notes + ([f"Permutations: {' or '.join(f'{draw:,}' for draw in draws)}."] if draws else [])


def blind_table(results: Sequence[Result]) -> Table:
    """Return each system's slope beside the slopes of position-blind scorers on the same queries."""
    series, rows, own, scorers = series_of(results), [], [], dict[str, float]()
    for result, payload in buckets(results, PSI, quality=main_quality(results), group=described_group(results)):
        beside = blind_slopes(results, result, payload)
        if not beside or payload.figures.get("slope") is None:
            continue
        slopes = {name: float(found.figures["slope"]) for name, found in beside.items()}
        bounds = [b for found in beside.values() if (b := bounds_of(found.figures, "slope_low", "slope_high")) is not None]
        reach = Interval(min(b.low for b in bounds), max(b.high for b in bounds)) if bounds else None
        own.append(bounds_of(payload.figures, "slope_low", "slope_high"))
        scorers |= slopes
        rows.append(
            [
                text_cell(SCALE_NAMES.get(payload.scale, payload.scale)),
                text_cell(series[system_of(result)].full_label),
                decimal_cell(payload.figures["slope"], own[-1], sign=True),
                decimal_cell(min(slopes.values()), sign=True),
                decimal_cell(max(slopes.values()), sign=True),
                Cell(interval(reach, sign=True) or MISSING, None, reach.low if reach else None, reach.high if reach else None),
            ]
        )
    columns = [Column("Positions by", numeric=False), Column("System", numeric=False), Column(level_heading("Slope", own))]
    columns += [Column(name, "Position-blind scorers") for name in ("lowest slope", "highest slope", "all intervals")]
    _, kept = drop_constant(columns, rows, [0])
    notes = (
        "Position-blind scorers rank the same candidates without seeing the order of words, so the questions alone cause their slopes. A "
        "slope beyond all of their intervals is unusual: rotate to find out. A run's verdict also leaves out the scorers that rank as it does.",
        f"Their slopes: {'; '.join(f'{name} {decimal(slope, sign=True)}' for name, slope in scorers.items())}.",
    )
    return Table("blind", f"Slopes beside position-blind scorers: {main_quality(results)}", columns, rows, notes, stub=kept + 1)


GAP_COLUMNS: tuple[tuple[str, str, Callable[[Any], Cell]], ...] = (  # the row's name, the column's, how it is shown
    ("smallest detectable change", "Smallest detectable", decimal_cell),
    ("top-1 changed", "Top passage changed", lambda value: percent_cell(value, sign=False)),
    ("rank-biased overlap", "Rank-biased overlap", decimal_cell),
    ("answers cut through", "Answers cut", lambda value: percent_cell(value, sign=False)),
    ("answers truncated", "Answers truncated", lambda value: percent_cell(value, sign=False)),
)
IN_FRONT = ("quality", "draws", "queries", "mean original", "mean rotated", "p")


def gap_table(results: Sequence[Result]) -> Table:
    """Return what rotating the whole collection changes, a row for each measure and system."""
    found, series = of_measure(results, GAP), series_of(results)
    qualities, systems = distinct(str(gap_of(r).rows.get("quality", "")) for r in found), list(series)
    found = sorted(found, key=lambda r: (qualities.index(str(gap_of(r).rows.get("quality", ""))), systems.index(system_of(r))))
    known = {*IN_FRONT, *(name for name, _, _ in GAP_COLUMNS)}
    more = distinct(name for result in found for name in gap_of(result).rows if name not in known)
    rows = []
    for result in found:
        values = gap_of(result).rows
        rows.append(
            [
                text_cell(str(values.get("quality", ""))),
                text_cell(series[system_of(result)].label),
                count_cell(values.get("queries", result.count)),
                decimal_cell(values.get("mean original")),
                decimal_cell(values.get("mean rotated")),
                decimal_cell(result.value, result.interval, sign=True),
                p_cell(values.get("p")),
                *(show(values.get(name)) for name, _, show in GAP_COLUMNS),
                *(any_cell(values.get(name)) for name in more),
            ]
        )
    columns = [Column("Quality", numeric=False), Column("System", numeric=False)]
    columns += [Column(name) for name in ("Queries", "Original", "Rotated")]
    columns += [Column(level_heading("Change", [r.interval for r in found])), Column("p")]
    columns += [Column(heading) for _, heading, _ in GAP_COLUMNS]
    columns += [Column(name.replace("_", " ").capitalize()) for name in more]
    drop_empty(columns, rows, first=3)
    draws = distinct(str(gap_of(r).rows["draws"]) for r in found if gap_of(r).rows.get("draws"))
    notes = (
        *([f"Rotations of each passage: {' or '.join(draws)}."] if draws else []),
        "Change = rotated − original, paired by query. It mixes the answer's new place with broken sentences and truncation.",
    )
    return Table("rotation-gap", "What rotation changes", columns, rows, notes, stub=2)


def response_table(results: Sequence[Result]) -> Table:
    """Return how much higher each system scores the last place than the first, and the reciprocal rank at both ends."""
    found, series = of_measure(results, RESPONSE), series_of(results)
    rows = []
    for result in found:
        curve = curve_of(result)
        ends = (curve.ranks[0], curve.ranks[-1]) if curve.ranks else (None, None)
        rows.append(
            [
                text_cell(series[system_of(result)].label),
                count_cell(result.count),
                decimal_cell(*response_slope(result), sign=True),
                p_cell(curve.figures.get("slope_p")),
                *map(decimal_cell, ends),
            ]
        )
    columns = [Column("System", numeric=False), Column("Queries")]
    columns += [Column(level_heading("Last − first place", [response_slope(result)[1] for result in found]))]
    columns += [Column("p")]
    columns += [Column(name, "Reciprocal rank") for name in ("first place", "last place")]
    drop_empty(columns, rows, first=3)
    notes = (
        "The slope of the score from the first place to the last, the other sentences in their order; in mean deviations of a query's "
        "candidate scores. Below 0: higher at the front.",
    )
    return Table("position-response", "Response by place, first to last", columns, rows, notes)

"""The length by place grid in a report: a heat map, tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.audit.heat import ROW, heat_axes, heat_cell
from positionbias.audit.select import of_audit, series_of, system_of
from positionbias.core.formatting import count, decimal, interval, percent, slug, with_interval
from positionbias.core.interval import Interval
from positionbias.evaluation.length_grid import READ, UNREAD
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_empty,
    level_heading,
    p_cell,
    percent_cell,
    text_cell,
)
from positionbias.report.drawing import characters, new_figure, required, under_all, wrap
from positionbias.report.figure import WIDE, styled
from positionbias.report.table import Cell, Column, Table
from positionbias.results.length_grid import LENGTHS, GridCell, GridEffect, GridEffectOf, LengthGrid
from positionbias.results.result import Result
from positionbias.results.select import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "PLACE_NAMES",
    "UNKNOWN_LIMIT",
    "grid_caption",
    "grid_cells_table",
    "grid_effects_table",
    "grid_figure",
    "grid_sentences",
    "grid_table",
]

PLACE_NAMES = {0.0: "start", 0.25: "¼", 0.5: "½", 0.75: "¾", 1.0: "end"}
UNKNOWN_LIMIT = ("no limit found", "not tried: no answer is located")


def grid_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw the evidence's lead over its competitors by place and length, a panel for each system;
    dashed where it is not read.

    Raises:
        InputError: no grid among the results.
    """
    found = required(of_audit(results, LengthGrid), f"a grid of {LENGTHS}")
    series = series_of(results)
    scores = [cell.score for _, grid in found for cell in grid.cells if cell.score is not None]
    low, high = min(scores), max(scores)
    with styled():
        rows = [len(grid.lengths) for _, grid in found]
        figure = new_figure(width, 0.6 + sum(rows) * ROW + 0.55 * len(rows))
        panels = figure.subplots(len(found), 1, squeeze=False, height_ratios=rows)[:, 0]
        for axes, (result, grid) in zip(panels, found, strict=True):
            for cell in grid.cells:
                _draw(axes, cell, grid, (low if cell.score is None else cell.score, low, high))
            columns = [PLACE_NAMES.get(place, f"{place:g}") for place in grid.places]
            heat_axes(axes, columns, [count(length) for length in grid.lengths])
            axes.set_ylabel(f"Length in {grid.figures.unit}")
            axes.set_title(wrap(series[system_of(result)].label, characters(width)))
        under_all(figure, "Place of the evidence in the text", width)
    return figure


def _draw(axes: Axes, cell: GridCell, grid: LengthGrid, of: tuple[float, float, float]) -> None:
    value, low, high = of
    lines = [decimal(cell.score, 2, sign=True)]
    if cell.low is not None and cell.high is not None:
        lines.append(f"±{decimal((cell.high - cell.low) / 2, 2)}")
    if cell.beyond > READ:
        lines.append("not read" if cell.beyond >= UNREAD else f"{percent(cell.beyond, 0)} not read")
    if cell.cut > READ:
        lines.append(f"{percent(cell.cut, 0)} cut")
    at = list(grid.places).index(cell.place), list(grid.lengths).index(cell.length)
    heat_cell(
        axes,
        at,
        (value - low) / (high - low) if high > low else 0.0,
        lines,
        dashed=cell.beyond >= UNREAD,
    )


def grid_caption(results: Sequence[Result]) -> str:
    """Explain a cell."""
    found = of_audit(results, LengthGrid)
    basis = distinct(
        f"{grid.figures.queries:,} queries, fillers {grid.figures.apart}" for _, grid in found
    )
    return (
        "How far the evidence stands above the query's competitors, in deviations of their scores, "
        "in texts that other passages pad to one length. The competitors stand at the start of "
        "texts of that length. ±: half of the simultaneous 95 % interval. Dashed: the evidence of "
        "half of the queries or more starts beyond what the system reads. Cut: of this share of "
        f"queries it starts within and ends beyond. {'; '.join(basis)}."
    )


def grid_sentences(name: str, grid: LengthGrid) -> list[str]:
    """Describe the effects of place, length and truncation, each with its interval."""
    lost = {(cell.length, cell.place): cell.beyond + cell.cut for cell in grid.cells}
    unit, end = grid.figures.unit, grid.places[-1]

    def of(kind: GridEffectOf) -> list[GridEffect]:
        return [effect for effect in grid.effects if effect.of is kind]

    said = []
    read = [
        one
        for one in of(GridEffectOf.PLACE)
        if one.place == end and lost[one.length or 0, end] <= READ
    ]
    if read:
        listed = "; ".join(
            f"{count(one.length)} {unit} {_shown(one)}" for one in distinct((read[0], read[-1]))
        )
        said.append(f"{name}, end − start of the text, in texts read whole: {listed}.")
    for one in of(GridEffectOf.INTERACTION):
        changes = one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)
        answer = (
            "The slope over places changes with length"
            if changes
            else "No change of the slope over places with length found"
        )
        said.append(f"{answer}: {_shown(one)} for each doubling.")
    for one in of(GridEffectOf.LENGTH)[-1:]:
        said.append(
            f"At the start, {count(one.length)} instead of {count(grid.lengths[0])} {unit}: "
            f"{_shown(one)}."
        )
    for one in of(GridEffectOf.TRUNCATION)[-1:]:
        said.append(
            f"Truncation, at the {PLACE_NAMES.get(one.place or 0.0, 'place')} of "
            f"{count(one.length)} {unit}: {_shown(one)}."
        )
    if parts := [cell for cell in grid.cells if cell.cut > READ]:
        listed = "; ".join(
            (
                f"of {percent(cell.cut, 0)} of the queries at the "
                f"{PLACE_NAMES.get(cell.place, 'place')} of {count(cell.length)} {unit}"
            )
            for cell in parts
        )
        said.append(f"The limit cuts the evidence {listed}.")
    if grid.figures.limit in UNKNOWN_LIMIT:
        said.append(
            "Its length limit is not known: a place that is not read looks like one that it "
            "dislikes (--reads N gives the limit)."
        )
    return said


def _bounds(one: GridCell | GridEffect) -> Interval | None:
    return None if one.low is None or one.high is None else Interval(one.low, one.high)


def _shown(effect: GridEffect) -> str:
    return with_interval(decimal(effect.value, sign=True), interval(_bounds(effect), sign=True))


def grid_table(results: Sequence[Result]) -> Table:
    """Return the effects of place and length, a row per system and length."""
    series, rows, every = series_of(results), [], list[Interval | None]()
    found = of_audit(results, LengthGrid)
    places = distinct(place for _, grid in found for place in grid.places[1:])
    for result, grid in found:
        effects = {(one.of, one.length, one.place): one for one in grid.effects}
        cells = {(cell.length, cell.place): cell for cell in grid.cells}
        for length in grid.lengths:
            row = [
                text_cell(series[system_of(result)].label),
                count_cell(length),
                count_cell(grid.figures.queries),
            ]
            for place in places:
                row.append(_effect_cell(effects.get((GridEffectOf.PLACE, length, place)), every))
            row.append(
                _effect_cell(effects.get((GridEffectOf.LENGTH, length, grid.places[0])), every)
            )
            end = cells[length, grid.places[-1]]
            row += [percent_cell(end.beyond, sign=False), percent_cell(end.cut, sign=False)]
            rows.append(row)
    units = "/".join(distinct(grid.figures.unit for _, grid in found))
    columns = [
        Column("System", numeric=False),
        Column(f"Length in {units}" if units else "Length"),
        Column("Queries"),
    ]
    columns += [
        Column(f"{PLACE_NAMES.get(place, f'{place:g}')} − start", level_heading("Place", every))
        for place in places
    ]
    columns += [
        Column("less the shortest", level_heading("Length, at the start", every)),
        Column("End not read"),
        Column("End cut", wide=True),
    ]
    drop_empty(columns, rows, first=3)
    notes = [
        "In deviations of the competitors' scores; intervals hold for all effects of a system "
        "together. A place that is not read is truncation, no preference; so may be one where the "
        "evidence is cut: it starts within what the system reads and ends beyond.",
        *(
            " ".join(grid_sentences(series[system_of(result)].label, grid))
            for result, grid in found
        ),
        *_left_out(found),
    ]
    return Table(
        slug(LENGTHS), "Length of the text and place of the evidence", columns, rows, notes, stub=2
    )


def _left_out(found: Sequence[tuple[Result, LengthGrid]]) -> list[str]:
    return distinct(
        f"Left out: {number:,} queries, {reason}."
        for _, grid in found
        for reason, number in grid.figures.unmoved.items()
    )


def _effect_cell(effect: GridEffect | None, every: list[Interval | None]) -> Cell:
    every.append(_bounds(effect) if effect else None)
    return decimal_cell(effect.value if effect else None, every[-1], sign=True)


def grid_cells_table(results: Sequence[Result]) -> Table:
    """Return the data of the heat map."""
    series, rows, every = series_of(results), [], []
    for result, grid in of_audit(results, LengthGrid):
        for cell in grid.cells:
            every.append(_bounds(cell))
            rows.append(
                [
                    text_cell(series[system_of(result)].label),
                    count_cell(cell.length),
                    decimal_cell(cell.place, places=2),
                    decimal_cell(cell.start, places=1),
                    decimal_cell(cell.score, every[-1], sign=True),
                    decimal_cell(cell.rank, places=2),
                    percent_cell(cell.beyond, sign=False),
                    percent_cell(cell.cut, sign=False),
                ]
            )
    columns = [
        Column("System", numeric=False),
        Column("Length"),
        Column("Place"),
        Column("Starts at", wide=True),
    ]
    columns += [
        Column(level_heading("Lead", every)),
        Column("Rank among competitors"),
        Column("Not read", wide=True),
        Column("Cut", wide=True),
    ]
    return Table(
        f"{slug(LENGTHS)}-cells",
        "Lead over the competitors by length and place",
        columns,
        rows,
        stub=3,
    )


def grid_effects_table(results: Sequence[Result]) -> Table:
    """Return all effects with their p and the detectable effect."""
    series, rows, every = series_of(results), [], []
    for result, grid in of_audit(results, LengthGrid):
        for one in grid.effects:
            every.append(_bounds(one))
            rows.append(
                [
                    text_cell(series[system_of(result)].label),
                    text_cell(one.of),
                    count_cell(one.length),
                    decimal_cell(one.place, places=2),
                    decimal_cell(one.value, every[-1], sign=True),
                    p_cell(one.p),
                    decimal_cell(one.detectable),
                ]
            )
    columns = [
        Column("System", numeric=False),
        Column("Effect of", numeric=False),
        Column("Length"),
        Column("Place"),
    ]
    columns += [
        Column(level_heading("Deviations", every)),
        Column("p"),
        Column("Smallest detectable", wide=True),
    ]
    notes = (
        "Place: less place 0 of that length. Length: at place 0, less the shortest. Truncation: "
        "the effect of a place that is not read, less its effect in the longest text where it is "
        "read. Place by length: the change of the slope over places by each doubling of the "
        "length, over lengths read whole.",
    )
    return Table(
        f"{slug(LENGTHS)}-effects",
        "Effects of place, length and truncation",
        columns,
        rows,
        notes,
        stub=2,
    )

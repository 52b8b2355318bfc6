"""Figures of a study, each a pure function: Results in, matplotlib Figure out. ``figure.save_figure`` writes one.

Every function takes ``width`` in inches and keeps its type at one size, so that a narrow figure is
no shrunken wide one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from positionbias.core.formatting import count, percent
from positionbias.report.curves import ats_curves, training_curves
from positionbias.report.doses import Point, change_lines, dose_figure, line_handles, no_change
from positionbias.report.drawing import (
    DASHES,
    MARKERS,
    band_handle,
    characters,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    percent_marks,
    required,
    under_all,
    wrap,
)
from positionbias.report.figure import BAND, INK, MUTED, WIDE, styled
from positionbias.results.payloads import Comparison, PositionHistogram
from positionbias.results.result import Result
from positionbias.results.select import ALL_QUERIES, BASELINES, comparisons, distinct, labels, of_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["answer_positions", "ats_curves", "dose_figure", "dose_response", "relative_change", "training_curves"]

LIMIT = 0.03  # a change within ± 3 % counts as none (ours)


def answer_positions(
    results: Sequence[Result], *, width: float = WIDE, columns: int | None = None, titles: Sequence[str] | None = None
) -> Figure:
    """Draw the share of answers that start in each part of their passages, and the unbiased share (Figure 1).

    Each collection has a panel, ``columns`` side by side, by default two where there is room. ``titles`` replace their names.

    Raises:
        InputError: no histogram among the results.
    """
    found = required(of_kind(results, "histogram"), "an answer-position histogram")
    across = columns or (2 if len(found) > 1 and width > 5 else 1)
    down = math.ceil(len(found) / across)
    with styled():
        figure = new_figure(width, 0.75 + 2.15 * down)
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        # in a grid of fixed columns, each column has one colour, and only the first has ticks to its left
        room = characters(width / across + 0.5) if columns else characters(width / across)
        for index, (result, label) in enumerate(zip(found, titles or labels(found, first=1), strict=True)):
            _histogram_panel(grid.flat[index], result.payload, label, index % across if columns else index, room)
        for axes in grid.flat[len(found) :]:
            axes.set_axis_off()
        for axes in grid[:, 0]:
            axes.set_ylabel("Share of answers")
        for column in range(across):
            lowest = max(row for row in range(down) if row * across + column < len(found))
            grid[lowest, column].xaxis.set_tick_params(labelbottom=True)
        under_all(figure, "Start of the answer: 0 first word, 1 passage end", width)
        top = max(max((*_shares(result.payload), *result.payload.expected, *_bounds(result.payload)[1])) for result in found)
        grid[0, 0].set_ylim(0, 1.12 * top or 1)
        percent_marks(grid[0, 0].yaxis)
        grid[0, 0].set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        handles, texts = [line_handle(INK.light, DASHES[1])], ["what unbiased looks like"]
        if any(_bounds(result.payload)[1] for result in found):
            handles, texts = [*handles, line_handle(MUTED.light, "none", marker="|", markersize=11)], [*texts, "95 % interval"]
        legend_above(figure, handles, texts, width)
    return figure


def _bounds(payload: Any) -> tuple[Sequence[float], Sequence[float]]:
    """Return the bounds of each bin's share; empty where none were computed."""
    bounds = payload.figures.bin_intervals
    return (bounds.low, bounds.high) if bounds else ((), ())


def _shares(payload: Any) -> list[float]:
    total = sum(payload.counts)
    return [number / total if total else 0.0 for number in payload.counts]


def _histogram_panel(axes: Axes, payload: Any, label: str, index: int, room: int) -> None:
    assert isinstance(payload, PositionHistogram)
    colour = colour_of(index)
    edges, shares = list(payload.edges), _shares(payload)
    axes.stairs(shares, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
    axes.stairs(shares, edges, color=colour, linewidth=1.4)
    axes.stairs(payload.expected, edges, color=INK.light, linewidth=1.3, linestyle=DASHES[1], baseline=None)
    low, high = _bounds(payload)
    axes.vlines([(left + right) / 2 for left, right in pairwise(edges)][: len(low)], low, high, color=colour, linewidth=1.1)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_title(f"{wrap(label, room)}\n")
    axes.text(0, 1.02, f"{count(sum(payload.counts))} answers", transform=axes.transAxes, color=MUTED.light, va="bottom")


def relative_change(results: Sequence[Result], *, width: float = WIDE, limit: float = LIMIT) -> Figure:
    """Draw plain relative change from original to rotated test passages with intervals: a panel per measure, a row per model.

    Lines mark 0 and ± ``limit``; a marker's shape tells the set of queries. Baselines are left out: a position-only scorer
    loses so much that the models' changes could not be seen beside it.

    Raises:
        InputError: no comparison of test sets among the results.
    """
    found = [
        (r, p) for r, p in required(comparisons(results, "test sets"), "a comparison of test sets") if p.relative is not None
    ]
    found = required(
        [(r, p) for r, p in found if r.system not in BASELINES], "a comparison of test sets with a relative change of a model"
    )
    measures, subsets = distinct(r.measure for r, _ in found), distinct(p.subset for _, p in found)
    names = labels([result for result, _ in found])
    rows = distinct(names)
    room = max(10, int(characters(width) * 0.4))
    each = max(0.16 + 0.17 * len(subsets), 0.15 * max(wrap(name, room).count("\n") + 1 for name in rows) + 0.05)  # inches a row
    with styled():
        figure = new_figure(width, 1.0 + len(measures) * (0.42 + each * len(rows)))
        column = figure.subplots(len(measures), 1, sharex=True, squeeze=False)[:, 0]
        for axes, measure in zip(column, measures, strict=True):
            shown = [(n, p) for n, (r, p) in zip(names, found, strict=True) if r.measure == measure]
            for name, payload in shown:
                shape = subsets.index(payload.subset)
                offset = 0.32 * (shape - (len(subsets) - 1) / 2)
                _forest_point(
                    axes, payload, rows.index(name) + offset, colour_of(rows.index(name)), MARKERS[shape % len(MARKERS)]
                )
            axes.axvspan(-limit, limit, color=BAND.light, alpha=0.45, linewidth=0, zorder=0)
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for edge in (-limit, limit):
                axes.axvline(edge, color=MUTED.light, linewidth=0.8, linestyle=DASHES[2], zorder=1)
            axes.set_yticks(range(len(rows)), [wrap(name, room) for name in rows])
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.grid(False)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
            axes.set_title(measure)
        percent_marks(column[-1].xaxis, width, sign=True)
        under_all(figure, "Change from original to rotated test passages", width)
        handles = [line_handle(MUTED.light, "none", marker=MARKERS[i % len(MARKERS)]) for i in range(len(subsets))]
        legend_above(figure, [*handles, band_handle()], [*subsets, f"within ±{percent(limit, 0)}"], width)
    return figure


def _forest_point(axes: Axes, payload: Comparison, at: float, colour: str, marker: str) -> None:
    bounds = payload.relative_interval
    if bounds is not None:
        axes.plot([bounds.low, bounds.high], [at, at], color=colour, linewidth=1.8, solid_capstyle="butt")
    axes.plot([payload.relative or 0.0], [at], color=colour, marker=marker, markersize=5.5, linestyle="none")


def dose_response(
    by_dose: Mapping[float, Sequence[Result]],
    *,
    measure: str = "nDCG@10",
    subset: str = ALL_QUERIES,
    width: float = WIDE,
    limit: float = LIMIT,
) -> Figure:
    """Draw plain relative change on rotated test passages against the collection's front-loading, a line per model.

    ``by_dose`` holds each level's Results. Several seeds at a level are points side by side; the line joins their means.

    Raises:
        InputError: no comparison of test sets with this measure and subset.
    """
    points: dict[str, dict[float, list[Point]]] = {}
    for dose, results in sorted(by_dose.items()):
        for result, payload in comparisons(results, "test sets", subset=subset, measures=[measure]):
            if payload.relative is not None and result.system not in BASELINES:
                found = points.setdefault(result.system, {}).setdefault(dose, [])
                found.append(Point(payload.relative, payload.relative_interval))
    names = required(list(points), f"a comparison of test sets in {measure} over {subset}")
    doses = sorted(by_dose)
    gap = min((after - before for before, after in pairwise(doses)), default=1.0)
    with styled():
        figure = new_figure(width, 3.4)
        axes = figure.subplots()
        no_change(axes, limit)
        change_lines(axes, points, gap, names)
        axes.set_xticks(doses)
        axes.set_xlabel("Front-loading of the collection")
        axes.set_ylabel(f"Change in {measure}")
        percent_marks(axes.yaxis, sign=True)
        legend_above(figure, [*line_handles(names), band_handle()], [*names, f"within ±{percent(limit, 0)}"], width)
    return figure

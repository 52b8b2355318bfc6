"""Figures of a study, each a pure function: Results in, matplotlib Figure out.
``figure.save_figure`` writes one.

Every function takes ``width`` in inches and keeps its type at one size, so that a narrow figure is
no shrunken wide one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from positionbias.core.formatting import count
from positionbias.report.drawing import (
    DASHES,
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
from positionbias.report.figure import INK, MUTED, WIDE, styled
from positionbias.results.payloads import PositionHistogram
from positionbias.results.result import Result
from positionbias.results.select import labels, of_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["answer_positions"]


def answer_positions(
    results: Sequence[Result],
    *,
    width: float = WIDE,
    columns: int | None = None,
    titles: Sequence[str] | None = None,
) -> Figure:
    """Draw the share of answers that start in each part of their passages, and the unbiased share
    (Figure 1).

    Each collection has a panel, ``columns`` side by side, by default two where there is room.
    ``titles`` replace their names.

    Raises:
        InputError: no histogram among the results.
    """
    found = required(of_kind(results, "histogram"), "an answer-position histogram")
    across = columns or (2 if len(found) > 1 and width > 5 else 1)
    down = math.ceil(len(found) / across)
    with styled():
        figure = new_figure(width, 0.75 + 2.15 * down)
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        # in a grid of fixed columns, each column has one colour, and only the first has ticks to
        # its left
        room = characters(width / across + 0.5) if columns else characters(width / across)
        for index, (result, label) in enumerate(
            zip(found, titles or labels(found, first=1), strict=True)
        ):
            _histogram_panel(
                grid.flat[index], result.payload, label, index % across if columns else index, room
            )
        for axes in grid.flat[len(found) :]:
            axes.set_axis_off()
        for axes in grid[:, 0]:
            axes.set_ylabel("Share of answers")
        for column in range(across):
            lowest = max(row for row in range(down) if row * across + column < len(found))
            grid[lowest, column].xaxis.set_tick_params(labelbottom=True)
        under_all(figure, "Start of the answer: 0 first word, 1 passage end", width)
        top = max(
            max((*_shares(result.payload), *result.payload.expected, *_bounds(result.payload)[1]))
            for result in found
        )
        grid[0, 0].set_ylim(0, 1.12 * top or 1)
        percent_marks(grid[0, 0].yaxis)
        grid[0, 0].set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        handles, texts = [line_handle(INK.light, DASHES[1])], ["what unbiased looks like"]
        if any(_bounds(result.payload)[1] for result in found):
            handles, texts = (
                [*handles, line_handle(MUTED.light, "none", marker="|", markersize=11)],
                [*texts, "95 % interval"],
            )
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
    axes.stairs(
        payload.expected, edges, color=INK.light, linewidth=1.3, linestyle=DASHES[1], baseline=None
    )
    low, high = _bounds(payload)
    axes.vlines(
        [(left + right) / 2 for left, right in pairwise(edges)][: len(low)],
        low,
        high,
        color=colour,
        linewidth=1.1,
    )
    axes.set_xlim(edges[0], edges[-1])
    axes.set_title(f"{wrap(label, room)}\n")
    axes.text(
        0,
        1.02,
        f"{count(sum(payload.counts))} answers",
        transform=axes.transAxes,
        color=MUTED.light,
        va="bottom",
    )

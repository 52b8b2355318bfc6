"""Figures about pools: relevant documents by depth (Figure 1 of the paper), gold against estimated scores (Figures 2 and 3), bias by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from positionbias.report.drawing import (
    legend_above,
    letters,
    line_handle,
    new_figure,
    required,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import INK, MUTED, WIDE, styled
from positionbias.report.pool_looks import KindLooks, looks_of
from positionbias.results.pools import (
    ALL,
    ChangeFigures,
    Contrast,
    CoverageFigures,
    OnePoolFigures,
    by_contrast,
    by_task,
    measures_in,
    pools_in,
)
from positionbias.results.result import Result
from positionbias.results.select import of_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bias_figure", "coverage_figure", "scatter_figure"]

BESIDE = 4.5  # inches from which two panels stand beside each other
MIXED = "v"  # the marker of what is beyond mixed pools: of no kind
COUNTED = ("in the kind's pool", "in no other kind's pool")


def coverage_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Relevant documents in each kind's depth-k pool against k, in all and in no other kind's: a row of panels a task.

    Raises:
        InputError: no coverage among the results.
    """
    required(of_type(results, CoverageFigures), "relevant documents by pool depth")
    tasks = {task: [own for _, own in of_type(of_task, CoverageFigures)] for task, of_task in by_task(results).items()}
    tasks = {task: found for task, found in tasks.items() if found}
    looks = looks_of(results)
    across = 2 if width > BESIDE else 1
    panels = [(task, number, words) for task in tasks for number, words in enumerate(COUNTED)]
    with styled():
        figure = new_figure(width, 0.85 + 2.4 * len(panels) // across)
        grid = figure.subplots(len(panels) // across, across, squeeze=False)
        for axes, (task, number, words) in zip(grid.flat, panels, strict=True):
            for own in tasks[task]:
                counts = (own.found_by_depth, own.unique_by_depth)[number]
                axes.plot(own.depths, counts, color=looks[own.kind].colour, linestyle=looks[own.kind].dash)
            title = f"Relevant, {words}" if len(tasks) == 1 else f"{task}: {words}"
            axes.set_title(wrap(title, letters(width / across + 0.3)))
            axes.set_ylim(bottom=0)
            axes.set_xlim(left=0)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            # the depth that counts by query are kept for
            axes.axvline(tasks[task][0].depth, color=MUTED.light, linewidth=0.8, zorder=1)
        for row in grid[:, 0]:
            row.set_ylabel("Documents")
        under_all(figure, "Pool depth", width)
        kinds = [kind for kind in looks if any(own.kind == kind for found in tasks.values() for own in found)]
        legend_above(figure, [line_handle(looks[kind].colour, looks[kind].dash) for kind in kinds], kinds, width)
    return figure


def scatter_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Each test system's score by the judgements of one pool against that by gold; a panel a pool kind and measure, the line of equal scores.

    ``results`` are of one task.

    Raises:
        InputError: no points of one pool among the results.
    """
    found = required(of_type(results, OnePoolFigures), "the points of one pool")
    looks = looks_of(results)
    pools, measures = pools_in(found), measures_in(found)
    by_key = {(own.measure, own.pool): own for _, own in found}
    keys = [(measure, pool) for measure in measures for pool in pools]
    across = len(pools) if width > BESIDE and len(pools) < 4 else 1
    tall = min(3.1, (width - 0.5) / across)
    with styled():
        figure = new_figure(width, 0.75 + (tall + 0.15) * -(-len(keys) // across))
        grid = list(figure.subplots(-(-len(keys) // across), across, squeeze=False).flat)
        for axes, key in zip(grid, keys, strict=True):
            _points(axes, by_key[key], looks)
            axes.set_title(wrap(f"{key[0]}, {key[1]} pool", letters(width / across + 0.3)))
            axes.set_ylabel("By this pool" if axes.get_subplotspec().is_first_col() else "")  # type: ignore[union-attr]
        under_all(figure, "By the gold judgements", width)
        shown = [kind for kind in looks if any(p.kind == kind for own in by_key.values() for p in own.points)]
        handles = [_dot(looks[kind].colour, looks[kind].marker) for kind in shown]
        names = [f"{kind} runs" for kind in shown]
        legend_above(figure, [*handles, line_handle(INK.light, "-", linewidth=0.9)], [*names, "equal scores"], width)
    return figure


def _points(axes: Axes, found: OnePoolFigures, looks: Mapping[str, KindLooks]) -> None:
    for kind, own in looks.items():
        of_kind = [point for point in found.points if point.kind == kind]
        axes.plot(
            [point.gold for point in of_kind],
            [point.estimated for point in of_kind],
            color=own.colour, marker=own.marker, markersize=4.6, linestyle="none", fillstyle="none", markeredgewidth=1.2,
        )  # fmt: skip
    values = [value for point in found.points for value in (point.gold, point.estimated)] or [0.0, 1.0]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 0.05
    ends = (low - room, high + room)
    axes.plot(ends, ends, color=INK.light, linewidth=0.9, zorder=1)
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_aspect("equal")
    axes.grid(True, axis="both")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(tick_places(4.5))


def _dot(colour: str, marker: str, *, full: bool = False) -> Any:
    fill = "full" if full else "none"
    return line_handle(colour, "none", marker=marker, markersize=5.5, fillstyle=fill, markeredgewidth=1.2)


def bias_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """The mean change of score by pool kind and kind of the test systems, and for another kind than the pool's how far it exceeds that of permuted
    kinds, beside unseen systems of the pool's own and beyond mixed pools: points with intervals, a panel a measure. ``results`` are of one task.

    Raises:
        InputError: no change of scores among the results.
    """
    found = required(of_type(results, ChangeFigures), "a change of scores")
    effects = by_contrast(results)
    looks, measures = looks_of(results), measures_in(found)
    lines = list(dict.fromkeys((own.pool, own.test) for _, own in found if own.test != ALL))
    across = len(measures) if width > BESIDE and len(measures) < 4 else 1
    down = -(-len(measures) // across)
    room = int(letters(width) * (0.32 if across > 1 else 0.42))
    names = [wrap(f"{test} by {pool} pools", room) for pool, test in lines]
    tall = len(lines) * (0.3 + 0.16 * max(name.count("\n") for name in names))
    with styled():
        figure = new_figure(width, 0.85 + down * (0.55 + tall))
        grid = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
        for axes, measure in zip(grid, measures, strict=False):
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for result, own in found:
                if own.measure != measure or own.test == ALL:
                    continue
                at, look = lines.index((own.pool, own.test)), looks[own.test]
                _with_interval(axes, result, at - 0.2, look.colour, look.marker, full=True)
                for contrast, lower, marker in zip(Contrast, (0.06, 0.3), (look.marker, MIXED), strict=True):
                    if effect := effects.get((contrast, measure, own.pool, own.test)):
                        _with_interval(axes, effect[0], at + lower, look.colour, marker, full=False)
            axes.set_title(measure)
            axes.xaxis.set_major_locator(tick_places(1.3 * width / across))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:.2f}".replace("-", "−"))
            axes.grid(False, axis="y")
            axes.grid(True, axis="x")
            axes.margins(x=0.08)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
        for axes in grid[len(measures) :]:
            axes.set_axis_off()
        grid[0].set_yticks(range(len(lines)), names)
        grid[0].set_ylim(len(lines) - 0.4, -0.6)
        under_all(figure, "Mean change of score, from gold to a pool's judgements", width)
        handles = [_dot(MUTED.light, "o", full=True), _dot(MUTED.light, "o"), _dot(MUTED.light, MIXED)]
        legend_above(
            figure,
            handles,
            ["change", "its excess beside unseen runs of the pool's kind", "its excess beyond mixed pools"],
            width,
        )
    return figure


def _with_interval(axes: Axes, result: Result, at: float, colour: str, marker: str, *, full: bool) -> None:
    if result.value is None:
        return
    if result.interval is not None:
        ends = [result.interval.low, result.interval.high]
        axes.plot(ends, [at, at], color=colour, linewidth=1.8 if full else 1.2, solid_capstyle="butt", zorder=2)
    fill = {"color": colour} if full else {"color": colour, "markerfacecolor": "none", "markeredgewidth": 1.2}
    axes.plot([result.value], [at], marker=marker, markersize=5.5, linestyle="none", zorder=3, **fill)  # type: ignore[arg-type]

"""Figures about pools, continued: bias against pool depth and number of groups, and one new run beside the pooled ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.report.drawing import legend_above, letters, line_handle, new_figure, required, under_all, wrap
from positionbias.report.figure import INK, SERIES, WIDE, styled
from positionbias.report.pool_looks import KindLooks, looks_of
from positionbias.results.pool_verdict import ScoreFigures
from positionbias.results.pools import ALL, CurveFigures, measures_in, pools_in, tests_in
from positionbias.results.result import Result
from positionbias.results.select import of_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curve_figure", "curves_of", "verdict_figure"]

BESIDE = 4.5
AXES = {"depth": "Pool depth", "groups": "Groups that feed a pool"}


def curves_of(results: Sequence[Result], axis: str) -> list[tuple[Result, CurveFigures]]:
    """The curves along "depth" or "groups" that have more than one point."""
    return [(result, own) for result, own in of_type(results, CurveFigures) if own.axis == axis and len(own.at) > 1]


def curve_figure(results: Sequence[Result], axis: str, *, width: float = WIDE) -> Figure:
    """The mean change of score of each kind of test system against the pools' depth or number of groups, with its interval.

    A panel a pool kind and measure; ``results`` are of one task.

    Raises:
        InputError: no such curve among the results.
    """
    from matplotlib.ticker import MaxNLocator

    found = required(curves_of(results, axis), f"a curve by {axis} of pools")
    looks, pools, measures = looks_of(results), pools_in(found), measures_in(found)
    keys = [(measure, pool) for measure in measures for pool in pools]
    across = len(pools) if width > BESIDE and len(pools) < 4 else 1
    down = -(-len(keys) // across)
    tests = [test for test in tests_in(found) if test != ALL]
    with styled():
        figure = new_figure(width, 0.85 + 2.1 * down)
        grid = figure.subplots(down, across, squeeze=False, sharey=True)
        for axes, (measure, pool) in zip(grid.flat, keys, strict=False):
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
            for _, own in found:
                if (own.measure, own.pool) == (measure, pool) and own.test in tests:
                    _draw(axes, own, looks[own.test])
            axes.set_title(wrap(f"{measure}, {pool} pools", letters(width / across + 0.3)))
            axes.set_xlim(left=0)
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.1f}".replace("-", "−"))
        for axes in grid[:, 0]:
            axes.set_ylabel("Change of score")
        under_all(figure, AXES[axis], width)
        handles = [line_handle(looks[test].colour, looks[test].dash, marker=looks[test].marker, markersize=4) for test in tests]
        legend_above(figure, handles, [f"{test} runs" for test in tests], width)
    return figure


def _draw(axes: Axes, own: CurveFigures, looks: KindLooks) -> None:
    points = zip(own.at, own.change, own.change_low, own.change_high, strict=True)
    drawn = [(at, change, low, high) for at, change, low, high in points if change is not None]
    at, change = [point[0] for point in drawn], [point[1] for point in drawn]
    axes.plot(at, change, color=looks.colour, linestyle=looks.dash, marker=looks.marker, markersize=3.6)
    bounds = [(x, low, high) for x, _, low, high in drawn if low is not None and high is not None]
    if bounds:
        axes.fill_between(*map(list, zip(*bounds, strict=True)), color=looks.colour, alpha=0.16, linewidth=0)  # type: ignore[arg-type]


def verdict_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """What the new run and every pooled run can score, whatever the unjudged documents are, and the new one's prediction: pooled runs by falling score, a panel a measure.

    Raises:
        InputError: no bounds of scores among the results.
    """
    found = required(of_type(results, ScoreFigures), "bounds of scores")
    mine, theirs = SERIES[1].light, SERIES[0].light
    with styled():
        figure = new_figure(width, 0.85 + 2.6 * len(found))
        grid = list(figure.subplots(len(found), 1, squeeze=False).flat)
        for axes, (_, own) in zip(grid, found, strict=True):
            pooled = sorted(own.pooled, key=lambda run: -run.score)
            places = range(1, len(pooled) + 1)
            axes.vlines(places, [run.low for run in pooled], [run.high for run in pooled], color=theirs, linewidth=1.4)
            scores = [run.score for run in pooled]
            axes.plot(places, scores, color=theirs, marker="o", markersize=2.6, linestyle="none")
            axes.axhspan(own.low, own.high, color=mine, alpha=0.2, linewidth=0)
            if own.predicted_low is not None and own.predicted_high is not None:
                axes.axhspan(own.predicted_low, own.predicted_high, color=mine, alpha=0.35, linewidth=0)
            axes.axhline(own.score, color=mine, linewidth=1.4, linestyle=(0, (6, 2)))
            axes.set_title(own.measure)
            axes.set_ylabel("Score")
            axes.set_xlim(0, len(pooled) + 1)
        under_all(figure, "Pooled runs, by falling score", width)
        handles = [line_handle(mine, (0, (6, 2))), line_handle(theirs, "-", marker="o", markersize=3)]
        legend_above(
            figure,
            handles,
            [f"{found[0][0].system}: its score, prediction and bounds", "a pooled run: its score and bounds"],
            width,
        )
    return figure

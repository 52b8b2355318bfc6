"""Figure 2 of the leakage paper for every model: effectiveness against training set size, a line for each condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.core.formatting import decimal
from positionbias.report.cells import as_interval
from positionbias.report.drawing import interval_line, legend_above, new_figure, required, series_handle, under_all
from positionbias.report.figure import WIDE, styled
from positionbias.report.leakage_select import BY_SIZE, rows_of
from positionbias.results.points import Estimate
from positionbias.results.result import Result
from positionbias.results.select import MODELS, distinct

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["leaked_sizes", "sizes_caption", "sizes_figure"]

ACROSS = 3.0  # inches of a panel at least


def leaked_sizes(results: Sequence[Result]) -> list[Result]:
    """By model the effectiveness at each size on the topics with leaked queries."""
    return [result for result in results if result.measure == BY_SIZE and rows_of(result)["topics"] == "leaked"]


def sizes_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Mean effectiveness with its interval over topics against training set size (log scale), a panel a model.

    Raises:
        InputError: no effectiveness on topics with leaked queries among the results.
    """
    found = required(leaked_sizes(results), "effectiveness by training set size on topics with leaked queries")
    names = distinct(name for result in found for name in rows_of(result)["means"])
    across = min(len(found), max(1, int(width / ACROSS)))
    down = -(-len(found) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.4 * down)
        panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
        for axes, result in zip(panels, found, strict=False):
            rows = rows_of(result)
            for index, name in enumerate(names):
                points = rows["means"].get(name, [])
                # beside each other, so that no interval hides another
                at = [point["instances"] * 1.05 ** (index - (len(names) - 1) / 2) for point in points]
                interval_line(axes, at, [Estimate(point["mean"], as_interval(point["interval"])) for point in points], index)
            sizes = distinct(point["instances"] for of in rows["means"].values() for point in of)
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, [_short(size) for size in sizes])
            axes.minorticks_off()
            axes.set_xlim(min(sizes) / 1.4, max(sizes) * 1.4)
            axes.set_title(MODELS.get(result.system, result.system))
        for axes in panels[len(found) :]:
            axes.set_axis_off()
        for axes in panels[: len(found) : across]:
            axes.set_ylabel(rows_of(found[0])["measure"])
        under_all(figure, "Training instances", width)
        legend_above(figure, [series_handle(index) for index in range(len(names))], names, width)
    return figure


def _short(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else f"{size:,}"


def sizes_caption(results: Sequence[Result]) -> str:
    """What the figure shows, with the means at the smallest and the largest size."""
    found = leaked_sizes(results)
    parts = []
    for result in found:
        for name, points in rows_of(result)["means"].items():
            first, last = points[0], points[-1]
            shown = f"{decimal(first['mean'])} with {first['instances']:,} instances"
            shown += f", {decimal(last['mean'])} with {last['instances']:,}" if len(points) > 1 else ""
            parts.append(f"{MODELS.get(result.system, result.system)}, {name}: {shown}")
    measure = rows_of(found[0])["measure"] if found else ""
    return (
        f"{measure} by training set size on the {found[0].count if found else 0:,} topics with leaked queries, with intervals over topics. "
        f"{'; '.join(parts)}."
    )

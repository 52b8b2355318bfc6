"""Draw the position response: the score of the same evidence at each place of its passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.audit.plots import BESIDE, line_with_band, series_legend
from positionbias.audit.select import of_audit, series_of, system_of
from positionbias.report.drawing import characters, new_figure, required, wrap
from positionbias.report.figure import INK, WIDE, styled
from positionbias.results.buckets import RESPONSE, ResponseCurve
from positionbias.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["response_figure"]


def response_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw a model's score, with its interval, and the reciprocal rank by the place of the same
    evidence in its passage.

    Raises:
        InputError: no position response among the results.
    """
    found = required(of_audit(results, ResponseCurve), f"a {RESPONSE}")
    series = series_of(results)
    ranked = any(value is not None for _, curve in found for value in curve.ranks)
    panels = 2 if ranked else 1
    across = panels if width > BESIDE else 1
    with styled():
        figure = new_figure(width, 1.0 + 2.3 * (panels // across))
        grid = list(figure.subplots(panels // across, across, squeeze=False).flat)
        grid[0].axhline(0, color=INK.light, linewidth=1, zorder=1)
        for result, curve in found:
            values = curve.scores, curve.score_lows, curve.score_highs
            line_with_band(grid[0], curve.places, *values, series[system_of(result)])
            if ranked:
                none = [None] * len(curve.ranks)
                line_with_band(
                    grid[1],
                    curve.places,
                    curve.ranks,
                    none,
                    none,
                    series[system_of(result)],
                    band=False,
                )
        for axes, title in zip(grid, ("Score", "Reciprocal rank"), strict=False):
            axes.set_title(title)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["first", "", "middle", "", "last"])
            axes.set_xlim(-0.05, 1.05)
        figure.supxlabel(
            wrap("Place of the answering sentence", characters(width + 0.5)), fontsize=10
        )
        series_legend(figure, [series[system_of(result)] for result, _ in found], width)
    return figure

"""Draw heat maps, whose cells are darker for higher values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.report.figure import MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ROW", "heat_axes", "heat_cell"]

# of the lowest and the highest score, the same on a dark ground
_LIGHT, _DARK = (0.93, 0.95, 0.98), (0.0, 0.30, 0.55)
# not from the style, whose colours invert on a dark screen
_ON_LIGHT, _ON_DARK = "#101418", "#fdfdfd"
ROW, _SMALL, _LARGE = 0.52, 6.5, 8.5  # inches of a row, and points of text


def heat_axes(axes: Axes, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Name the columns and rows, the first row at the top, without a frame."""
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set_frame_on(False)


def heat_cell(
    axes: Axes, at: tuple[int, int], share: float, lines: Sequence[str], *, dashed: bool = False
) -> None:
    """Draw the cell at a column and row; ``share`` is its place between the lowest and the highest
    score, and its first line is its value.
    """
    from matplotlib.patches import Rectangle

    column, row = at
    colour = tuple(
        light + share * (dark - light) for light, dark in zip(_LIGHT, _DARK, strict=True)
    )
    axes.add_patch(
        Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=colour, linewidth=0)
    )
    if dashed:
        edge = Rectangle(
            (column - 0.47, row - 0.45),
            0.94,
            0.90,
            facecolor="none",
            edgecolor=MUTED.light,
            linewidth=1.2,
        )
        edge.set_linestyle((0, (3, 2)))
        axes.add_patch(edge)
    ink = _ON_DARK if share > 0.5 else _ON_LIGHT
    middle = (len(lines) - 1) / 2
    for number, line in enumerate(lines):
        size = _SMALL if number else _LARGE
        axes.text(
            column,
            row + (number - middle) * 0.27,
            line,
            color=ink,
            fontsize=size,
            ha="center",
            va="center",
        )

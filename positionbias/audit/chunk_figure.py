"""Draw the heat map of documents in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from positionbias.audit.heat import ROW, heat_axes, heat_cell
from positionbias.audit.length_report import PLACE_NAMES
from positionbias.audit.select import of_audit, series_of, system_of
from positionbias.core.formatting import count, decimal, percent
from positionbias.evaluation.length_grid import READ, UNREAD
from positionbias.report.drawing import characters, new_figure, required, wrap
from positionbias.report.figure import WIDE, styled
from positionbias.results.chunk_grid import CHUNKS, ChunkCell, ChunkEffect, ChunkGrid, ChunkSetting, Within
from positionbias.results.result import Result
from positionbias.results.select import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["chunk_caption", "chunk_figure", "setting_name"]

WITHIN = (Within.START, Within.MIDDLE, Within.END, Within.CUT)


def chunk_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw the evidence's lead over its competitors by chunk size and overlap: by place in the document, and by place in the chunk.

    Raises:
        InputError: no documents in chunks among the results.
    """
    found = required(of_audit(results, ChunkGrid), f"a grid of {CHUNKS}")
    series = series_of(results)
    shown = [cell for _, grid in found for cell in grid.cells if _is_shown(cell) and cell.score is not None]
    low, high = (bound(cell.score for cell in shown) for bound in (min, max))
    beside = width >= WIDE
    with styled():
        rows = [len(grid.settings) for _, grid in found]
        height = (sum(rows) * ROW + 0.85 * len(rows)) * (1 if beside else 2)
        figure = new_figure(width, height)
        if beside:
            panels = figure.subplots(len(found), 2, squeeze=False, height_ratios=rows, width_ratios=[5, 4])
        else:
            panels = figure.subplots(2 * len(found), 1, height_ratios=[row for row in rows for _ in range(2)]).reshape(-1, 2)
        for pair, (result, grid) in zip(panels, found, strict=True):
            names = [setting_name(one, grid) for one in grid.settings]
            for axes, natural in zip(pair, (True, False), strict=True):
                columns: list[Any] = list(PLACE_NAMES) if natural else list(WITHIN)
                heat_axes(axes, [PLACE_NAMES.get(key, str(key)) for key in columns], names)
                for cell in grid.cells:
                    if _is_shown(cell) and (cell.within is Within.ANYWHERE) == natural:
                        _draw(axes, cell, grid, columns, (low, high))
                axes.set_xlabel("Place in the document" if natural else "Place in the chunk")
            pair[0].set_title(wrap(series[system_of(result)].label, characters(width)))
            pair[0].set_ylabel(f"Chunk in {grid.figures.unit}")
            if beside:
                pair[1].set_yticks([])
    return figure


def _is_shown(cell: ChunkCell) -> bool:
    return cell.within is Within.ANYWHERE or cell.place is None


def _draw(axes: Axes, cell: ChunkCell, grid: ChunkGrid, columns: Sequence[Any], bounds: tuple[float, float]) -> None:
    low, high = bounds
    value = low if cell.score is None else cell.score
    lines = [decimal(cell.score, 2, sign=True)]
    if cell.low is not None and cell.high is not None:
        lines.append(f"±{decimal((cell.high - cell.low) / 2, 2)}")
    if cell.beyond > READ:
        lines.append("not read" if cell.beyond >= UNREAD else f"{percent(cell.beyond, 0)} not read")
    elif cell.cut and cell.within is Within.ANYWHERE:
        lines.append(f"{percent(cell.cut, 0)} cut")
    row = [(one.chunk, one.overlap) for one in grid.settings].index((cell.chunk, cell.overlap))
    at = columns.index(cell.place if cell.within is Within.ANYWHERE else cell.within), row
    heat_cell(axes, at, (value - low) / (high - low) if high > low else 0.0, lines, dashed=cell.beyond >= UNREAD)


def setting_name(one: ChunkSetting | ChunkEffect, grid: ChunkGrid) -> str:
    """Name a chunk size and overlap."""
    if one.chunk >= grid.figures.document:
        return "whole"
    return f"{count(one.chunk)}, {count(one.overlap)} shared" if one.overlap else count(one.chunk)


def chunk_caption(results: Sequence[Result]) -> str:
    """Explain a cell."""
    found = of_audit(results, ChunkGrid)
    basis = distinct(
        f"Documents of {grid.figures.document:,} {grid.figures.unit}, {grid.figures.queries:,} queries, fillers {grid.figures.apart}"
        for _, grid in found
    )
    return (
        "How far the evidence stands above the query's competitors, in deviations of their scores, where a document has the score of its best chunk. By place in the document, where it falls: "
        "cut: it is whole in no chunk. By place in its chunk: mean over first, middle and last chunk; cut: across a border. ±: half of the simultaneous 95 % interval. "
        f"Dashed: the evidence of half of the queries or more starts beyond what the system reads of a chunk. {'; '.join(basis)}."
    )

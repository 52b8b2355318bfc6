"""The sections of a page that a TripClick study fills: re-ranking, dense retrieval, depth; what negatives make of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.figure import WIDE
from positionbias.report.load import Study
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.report.tripclick_data import depths_table, sets_table, telemetry_table
from positionbias.report.tripclick_figure import (
    compared_curves,
    curves_by_model,
    depth_caption,
    depth_figure,
    logged,
    negatives_caption,
    negatives_figure,
    telemetry_caption,
    telemetry_figure,
)
from positionbias.report.tripclick_tables import first_stage_tests_table, negatives_table, reranking_table, retrieval_table
from positionbias.results.result import Result
from positionbias.results.tripclick import tripclick_systems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TRIPCLICK_SECTIONS", "tripclick_figures"]


def _sheets(study: Study, shown: Sequence[Table], folded: Sequence[Table] = ()) -> list[Sheet]:
    every = [*((table, False) for table in shown), *((table, True) for table in folded)]
    return [Sheet(f"table-{table.name}-{study.number}", table, folded=hidden) for table, hidden in every if table.rows]


def _effectiveness(study: Study, published: Published | None) -> Block:
    block, results = Block(study.title), study.results
    if not tripclick_systems(results):
        return block
    if curves_by_model(results):
        caption = depth_caption(results)
        block.drawings = [Drawing("tripclick-depth", lambda width: depth_figure(results, width=width), caption, "y")]
    shown = (reranking_table(results, published), retrieval_table(results, published))
    block.sheets = _sheets(study, shown, (first_stage_tests_table(results), depths_table(results)))
    return block


def _negatives(study: Study, published: Published | None) -> Block:
    block, results = Block(study.title), study.results
    if compared_curves(results):
        caption = negatives_caption(results)
        drawing = Drawing("tripclick-negatives", lambda width: negatives_figure(results, width=width), caption, "y")
        block.drawings.append(drawing)
    if logged(results):
        drawing = Drawing(
            "tripclick-telemetry", lambda width: telemetry_figure(results, width=width), telemetry_caption(results), ""
        )
        block.drawings.append(drawing)
    block.sheets = _sheets(study, (sets_table(results), telemetry_table(results), negatives_table(results)))
    return block


def tripclick_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """The figures of a study by name, those that its results make."""
    there = {"depth": curves_by_model, "negatives": compared_curves, "telemetry": logged}
    draw = {"depth": depth_figure, "negatives": negatives_figure, "telemetry": telemetry_figure}
    return {name: draw[name](results, width=width) for name, found in there.items() if found(results)}


TRIPCLICK_SECTIONS: tuple[tuple[str, str, str, Callable[[Study, Published | None], Block]], ...] = (
    (
        "tripclick",
        "Re-ranking and retrieval on clicks",
        "Every re-ranker reorders the same candidates of BM25; dense retrieval searches the whole collection, through an index that can miss passages "
        "where the table says so. Each test is judged by its own set of judgements.",
        _effectiveness,
    ),
    (
        "tripclick-negatives",
        "What models were trained on",
        "Results that nobody clicked may well be relevant. What speaks for such false negatives in a training set, by the paper: pairs are ordered rightly "
        "less often in training, by smaller margins, and a model ranks worse the more candidates it re-ranks.",
        _negatives,
    ),
)

"""Page sections of a set of training triples: its properties, and where users clicked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.clicks_figure import ranks_caption, ranks_figure
from positionbias.report.clicks_tables import lengths_table, queries_table, ranks_table, triples_table
from positionbias.report.load import Study
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.results.clicks import ClickedRanks
from positionbias.results.select import of_type

__all__ = ["CLICK_SECTIONS"]


def _sheets(study: Study, tables: Sequence[Table], *, folded: bool = False) -> list[Sheet]:
    return [Sheet(f"table-{table.name}-{study.number}", table, folded) for table in tables if table.rows]


def _triples(study: Study, published: Published | None) -> Block:
    tables = [make(study.results) for make in (queries_table, triples_table, lengths_table)]
    return Block(study.title, sheets=_sheets(study, tables))


def _ranks(study: Study, published: Published | None) -> Block:
    block, results = Block(study.title), study.results
    if of_type(results, ClickedRanks):
        block.drawings = [
            Drawing("clicks-ranks", lambda width: ranks_figure(results, width=width), ranks_caption(results), "y")
        ]
    block.sheets = _sheets(study, [ranks_table(results)], folded=True)
    return block


CLICK_SECTIONS: tuple[tuple[str, str, str, Callable[[Study, Published | None], Block]], ...] = (
    (
        "clicks-triples",
        "The training triples",
        "For each positive of a query, clicked or judged relevant, negatives were drawn at random from the query's candidates. What any judgement set of "
        "the split calls relevant left before the draw.",
        _triples,
    ),
    (
        "clicks-ranks",
        "Where users clicked",
        "Users tend to click on what stands in front. Which rank a clicked passage had is not used for the triples: this bias is in the positives, "
        "and stays there.",
        _ranks,
    ),
)

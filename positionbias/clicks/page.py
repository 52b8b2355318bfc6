"""Page sections of a set of training triples: its properties, and where users clicked."""

from __future__ import annotations

from positionbias.clicks.figure import ranks_caption, ranks_figure
from positionbias.clicks.tables import lengths_table, queries_table, ranks_table, triples_table
from positionbias.report.blocks import Block, FigureKind, block_of
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.results.clicks import CLICK_MEASURES, ClickedRanks
from positionbias.results.select import of_type

__all__ = ["PART"]

RANKS = FigureKind(lambda results: of_type(results, ClickedRanks), ranks_figure, ranks_caption, "y")


def _triples(study: Study) -> Block:
    return block_of(
        study,
        tables=[table(study.results) for table in (queries_table, triples_table, lengths_table)],
    )


def _ranks(study: Study) -> Block:
    return block_of(study, {"clicks-ranks": RANKS}, folded=[ranks_table(study.results)])


PART = Part(
    sections=(
        PageSection(
            "clicks-triples",
            "The training triples",
            "For each positive of a query, clicked or judged relevant, negatives were drawn at "
            "random from the query's candidates. What any judgement set of the split calls "
            "relevant left before the draw.",
            each(_triples),
        ),
        PageSection(
            "clicks-ranks",
            "Where users clicked",
            "Users tend to click on what stands in front. Which rank a clicked passage had is not "
            "used for the triples: this bias is in the positives, and stays there.",
            each(_ranks),
        ),
    ),
    measures=CLICK_MEASURES,
)

"""How a training set of clicks is shown: its counts, and where users clicked."""

from __future__ import annotations

from pandas import DataFrame

from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Record, records_of, said
from positionbias.report.row_figure import Bars
from positionbias.report.row_table import RowTable, Value

__all__ = ["SHOWN"]

RANKS = "measure == 'clicks' and axis == 'rank'"


def _log(rows: DataFrame) -> str:
    """Return the click log's counts, and those of clicks without a rank."""
    (log,) = records_of(rows, ["measure"], "measure == 'clicks' and axis == ''")
    missing = {
        "without a list": "{without a list:,} whose list of results is not in the log",
        "outside of their list": "{outside of their list:,} on a document that is not in their "
        "list",
    }
    left_out = [said(words, log) for name, words in missing.items() if log.value(name)]
    held = said("The log has {records:,} entries with {in all:,} clicks", log)
    return f"{held}; without a rank are {' and '.join(left_out)}." if left_out else f"{held}."


def _caption(rows: DataFrame) -> str:
    (log,) = records_of(rows, ["measure"], "measure == 'clicks' and axis == ''")
    (first,) = records_of(rows, ["label"], f"{RANKS} and label == '1'")
    own = Record(log.keys, {**log.rows, **first.rows})
    told = said(
        "Share of {with a rank:,} clicks by rank: the clicked result's place on its page of "
        "results, from 1. The log does not record which page that was, or how results were sorted "
        "and filtered. At rank 1: {share:.1%}; mean rank {mean rank:.1f}.",
        own,
    )
    return f"{told} {_log(rows)}"


QUERIES = RowTable(
    name="clicks-queries",
    title="Queries by outcome",
    stub={"label": "Negatives"},
    where="measure == 'queries'",
    only=lambda record: bool(record.keys["label"]),
    cells=[Value("number", "Queries", ","), Value("share", "Share", ".1%")],
    notes=[
        lambda rows: said(
            "Of the {in the split:,} queries of split {split}, {with a positive:,} have a "
            "positive; shares are of these.",
            records_of(rows, ["split"])[0],
        )
    ],
)
TRIPLES = RowTable(
    name="clicks-triples",
    title="The triples",
    stub={"subset": "Part", "label": "What"},
    where="measure == 'triples'",
    cells=[Value("number", "Number", ","), Value("share", "Share", ".1%")],
    notes=[
        "A positive is a pair of query and passage; shares are of a part's first line. The first "
        "triples of the shuffled set were examined."
    ],
)
LENGTHS = RowTable(
    name="clicks-lengths",
    title="Words of positives and negatives",
    stub={"subset": "Passages"},
    where="measure == 'words'",
    cells=[
        Value("mean", "Mean", ".1f"),
        Value("median", "Median", ".1f"),
        Value("longest", "Longest", ","),
        Value("without", "Empty", ","),
    ],
    notes=[
        "Words between white space, in the first {mean.count:,} triples of the shuffled set.",
    ],
)
CLICKED = RowTable(
    name="clicks-ranks",
    title="Clicks by rank",
    stub={"label": "Rank"},
    where=RANKS,
    cells=[
        Value("number", "Clicks", ","),
        Value("share", "Share", ".1%"),
        Value("cumulative share", "Cumulative share", ".1%"),
    ],
)
FIGURE = Bars(
    name="clicks-ranks",
    where=f"{RANKS} and statistic == 'share'",
    caption=_caption,
    panel=("measure",),
    heading="",
    side="Share of clicks",
    below="Rank on the page of results",
    same="y",
)
SHOWN = Presentation(
    study="clicks",
    sections=(
        RowSection(
            anchor="clicks-triples",
            title="The training triples",
            introduction="For each positive of a query, clicked or judged relevant, negatives were "
            "drawn at random from the query's candidates. What any judgement set of the split "
            "calls relevant left before the draw.",
            tables=[QUERIES, TRIPLES, LENGTHS],
        ),
        RowSection(
            anchor="clicks-ranks",
            title="Where users clicked",
            introduction="Users tend to click on what stands in front. Which rank a clicked "
            "passage had is not used for the triples: this bias is in the positives, and stays "
            "there.",
            figures=[FIGURE],
            folded=[CLICKED],
        ),
    ),
    text=[QUERIES, TRIPLES, LENGTHS, CLICKED],
)

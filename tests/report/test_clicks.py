"""What is shown of a set of training triples: its tables, and the bars of clicked ranks."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.clicks.quality import LookedAt, Words, quality_rows
from positionbias.clicks.shown import FIGURE, SHOWN
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.report.figure import SERIES
from positionbias.report.html import render, report_tables
from positionbias.report.load import Study
from positionbias.report.table import Table, as_csv

COUNTS = {
    "queries": 12,
    "queries with a positive": 10,
    "queries with candidates": 9,
    "queries with all negatives": 5,
    "queries with fewer negatives": 2,
    "queries without a negative": 1,
    "queries without a positive in the corpus": 1,
    "queries without candidates": 1,
    "positives of queries with candidates": 16,
    "positives missing from the corpus": 4,
    "candidates left out as relevant": 7,
    "negatives drawn again for another positive": 6,
    "triples drawn": 24,
    "triples": 20,
    "negatives judged not relevant": 3,
}
LOOKED = LookedAt(
    triples=8,
    positives=Words(2.5, 2.0, 9, 1),
    negatives=Words(1234.5, 3.0, 5000, 0),
    same_text=2,
    relevant=0,
)
MANY = {1: 40, 2: 20, 4: 10, 20: 10, 21: 8, 50: 12}
FEW = {1: 1, 2: 3}


def made(ranks: dict[int, int] | None) -> DataFrame:
    """What the command makes of these counts, and of a log with these clicks by rank."""
    source = {}
    if ranks is not None:
        clicks = {
            "records": 110,
            "clicks": 105,
            "clicks without a list": 4,
            "clicks outside of their list": 1,
        }
        source = {
            "log": {**clicks, "clicked_ranks": {str(rank): count for rank, count in ranks.items()}}
        }
    collection: Any = SimpleNamespace(
        name="trip",
        manifest=Manifest("collection", "trip", "import tripclick", content={"source": source}),
    )
    return quality_rows(collection, "train", "triples", COUNTS, 2, LOOKED).rows


def tables_of(rows: DataFrame) -> dict[str, Table]:
    tables = [one.table(rows) for one in SHOWN.text]
    return {table.name: table for table in tables if table.rows}


def texts(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def test_what_became_of_the_queries() -> None:
    table = tables_of(made(None))["clicks-queries"]
    assert texts(table) == [
        ["all 2, for each positive", "5", "50.0 %"],
        ["fewer, as candidates ran out", "2", "20.0 %"],
        ["none: every candidate is relevant", "1", "10.0 %"],
        ["none: no positive is in the corpus", "1", "10.0 %"],
        ["none: no candidates in the run", "1", "10.0 %"],
    ]
    assert table.notes == [
        "Of the 12 queries of split train, 10 have a positive; shares are of these."
    ]


def test_the_triples_and_their_lengths() -> None:
    tables = tables_of(made(None))
    assert texts(tables["clicks-triples"]) == [
        ["Positives", "of queries with candidates", "16", "–"],
        ["Positives", "not in the corpus", "4", "25.0 %"],
        ["Candidates", "left out as relevant", "7", "–"],
        ["Triples drawn", "all", "24", "–"],
        ["Triples drawn", "negative drawn again for another positive of the query", "6", "25.0 %"],
        ["Triples kept", "all", "20", "–"],
        ["Triples kept", "negative judged not relevant", "3", "15.0 %"],
        ["Triples examined", "all", "8", "–"],
        ["Triples examined", "negative judged relevant", "0", "0.0 %"],
        ["Triples examined", "negative with the text of its positive", "2", "25.0 %"],
    ]
    assert texts(tables["clicks-lengths"]) == [
        ["Positives", "2.5", "2.0", "9", "1"],
        ["Negatives", "1,234.5", "3.0", "5,000", "0"],
    ]
    assert "clicks-ranks" not in tables


def test_ranks_between_are_shown_and_late_ones_together() -> None:
    table = tables_of(made(MANY))["clicks-ranks"]
    shown = texts(table)
    assert len(shown) == 21
    assert shown[:4] == [
        ["1", "40", "40.0 %", "40.0 %"],
        ["2", "20", "20.0 %", "60.0 %"],
        ["3", "0", "0.0 %", "60.0 %"],
        ["4", "10", "10.0 %", "70.0 %"],
    ]
    assert shown[19:] == [["20", "10", "10.0 %", "80.0 %"], ["21+", "20", "20.0 %", "100.0 %"]]
    assert as_csv(table).splitlines()[-1] == "21+,20,0.2,1.0"
    assert [row[0] for row in texts(tables_of(made(FEW))["clicks-ranks"])] == ["1", "2"]


@pytest.mark.parametrize("width", [6.3, 5.0, 3.5])
def test_the_bars(width: float) -> None:
    figure = FIGURE.draw(made(MANY), width)
    (axes,) = figure.axes
    bars: list[Any] = list(axes.patches)
    assert [round(bar.get_height(), 3) for bar in bars] == [0.4, 0.2, 0, 0.1, *[0] * 15, 0.1, 0.2]
    figure.canvas.draw()
    labels = axes.get_xticklabels()
    assert (labels[0].get_text(), labels[-1].get_text()) == ("1", "21+")
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_few_ranks_and_a_first_one_that_nobody_clicked() -> None:
    (axes,) = FIGURE.draw(made({2: 4})).axes
    assert [round(bar.get_height(), 3) for bar in axes.patches] == [0, 1]  # type: ignore
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]


def test_the_caption_says_what_a_rank_is_and_what_is_not_shown() -> None:
    caption = FIGURE.caption(made(MANY)).replace("\u00a0", " ")
    assert (
        "Share of 100 clicks by rank: the clicked result's place on its page of results, from 1."
        in caption
    )
    # (40 + 2·20 + 4·10 + 20·10 + 21·8 + 50·12) / 100 = 10.88
    assert "At rank 1: 40.0 %; mean rank 10.9." in caption
    assert (
        "110 entries with 105 clicks; without a rank are 4 whose list of results is not in the "
        "log and 1 on a document"
    ) in caption


def test_the_page() -> None:
    manifest = Manifest("results", "triples", "trainset clicks")
    study = Study(1, "triples", "quality", [], manifest, rows=made(MANY))
    page = render([study])
    for shown in (
        "Queries by outcome",
        "Where users clicked",
        "figure-clicks-ranks-1",
        "table-clicks-ranks-1",
    ):
        assert shown in page
    assert f"fill: {SERIES[0].light}" in page  # the rules for dark screens find it by this
    names = {"clicks-queries", "clicks-triples", "clicks-lengths", "clicks-ranks"}
    assert set(report_tables([study])) == names


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="figure clicks-ranks: wanted rows"):
        FIGURE.draw(made(None))

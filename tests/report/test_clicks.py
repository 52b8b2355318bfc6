"""The page about a set of training triples: its tables, the histogram of clicked ranks, what the
command's own results make of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from positionbias.clicks import quality
from positionbias.clicks.figure import ranks_caption, ranks_figure
from positionbias.clicks.tables import click_tables
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.report.figure import SERIES
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.report.table import Table, as_csv, as_latex, as_text
from positionbias.results.clicks import ClickCounts, SampledTriples, Words
from positionbias.results.result import Result, load_results, save_results

COUNTS = ClickCounts(
    queries=12,
    with_positive=10,
    with_candidates=9,
    all_negatives=5,
    fewer_negatives=2,
    no_negative=1,
    no_positive=1,
    without_candidates=1,
    positives=16,
    positives_missing=4,
    left_out=7,
    drawn_again=6,
    drawn=24,
    triples=20,
    judged=3,
)
LOOKED = SampledTriples(
    triples=8,
    positives=Words(mean=2.5, median=2.0, longest=9, without=1),
    negatives=Words(mean=1234.5, median=3.0, longest=5000, without=0),
    same_text=2,
    relevant=0,
)
MANY = {1: 40, 2: 20, 4: 10, 20: 10, 21: 8, 50: 12}
FEW = {1: 1, 2: 3}


def made(ranks: dict[int, int] | None) -> list[Result]:
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
    return quality.quality_results(
        collection, "train", "triples", 1, quality.triple_figures(COUNTS, 2), LOOKED
    )


def tables_of(results: list[Result]) -> dict[str, Table]:
    return {table.name: table for table in click_tables(results)}


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
    assert table.notes == (
        "Of the 12 queries of split train, 10 have a positive; shares are of these; 2 have none.",
    )


def test_the_triples_and_their_lengths() -> None:
    tables = tables_of(made(None))
    assert texts(tables["clicks-triples"]) == [
        ["Positives", "of queries with candidates", "16", ""],
        ["Positives", "not in the corpus", "4", "25.0 %"],
        ["Candidates", "left out as relevant", "7", ""],
        ["Triples drawn", "all", "24", ""],
        ["Triples drawn", "negative drawn again for another positive of the query", "6", "25.0 %"],
        ["Triples kept", "all", "20", ""],
        ["Triples kept", "negative judged not relevant", "3", "15.0 %"],
        ["Triples examined", "all", "8", ""],
        ["Triples examined", "negative judged relevant", "0", "0.0 %"],
        ["Triples examined", "negative with the text of its positive", "2", "25.0 %"],
    ]
    lengths = tables["clicks-lengths"]
    assert texts(lengths) == [
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
    assert shown[19:] == [
        ["20", "10", "10.0 %", "80.0 %"],
        ["21 and later", "20", "20.0 %", "100.0 %"],
    ]
    assert as_csv(table).splitlines()[-1] == "21 and later,20,0.2,1.0"
    assert [row[0] for row in texts(tables_of(made(FEW))["clicks-ranks"])] == ["1", "2"]


@pytest.mark.parametrize(
    ("width", "named"),
    [
        (6.3, [*map(str, range(1, 21)), "21+"]),
        (5.0, ["1", "5", "10", "15", "20", "21+"]),
        (3.5, ["1", "5", "10", "15", "21+"]),
    ],
)
def test_the_bars(width: float, named: list[str]) -> None:
    figure = ranks_figure(made(MANY), width=width)
    (axes,) = figure.axes
    bars: list[Any] = list(axes.patches)
    assert [round(bar.get_height(), 3) for bar in bars] == [0.4, 0.2, 0, 0.1, *[0] * 15, 0.1, 0.2]
    assert bars[-1].get_x() - bars[-2].get_x() > 1.5  # apart: it is no single rank
    figure.canvas.draw()
    labels = axes.get_xticklabels()
    assert [label.get_text() for label in labels] == named
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_few_ranks_and_a_first_one_that_nobody_clicked() -> None:
    (axes,) = ranks_figure(made({2: 4})).axes
    assert [round(bar.get_height(), 3) for bar in axes.patches] == [0, 1]  # type: ignore
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]
    assert made({2: 4})[2].value == 0


def test_the_caption_says_what_a_rank_is_and_what_is_not_shown() -> None:
    caption = ranks_caption(made(MANY)).replace("\u00a0", " ")
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


def test_several_sets_are_named() -> None:
    tables = tables_of([*made(FEW), *(replace(result, system="others") for result in made(None))])
    assert [row[0] for row in texts(tables["clicks-lengths"])] == [
        "triples",
        "triples",
        "others",
        "others",
    ]
    assert [column.name for column in tables["clicks-queries"].columns] == [
        "Set",
        "Negatives",
        "Queries",
        "Share",
    ]


def test_the_page(tmp_path: Path) -> None:
    save_results(
        tmp_path / "quality", made(MANY), Manifest("results", "triples", "trainset clicks")
    )
    assert load_results(tmp_path / "quality") == made(MANY)
    page = write_report([tmp_path / "quality"], tmp_path / "page.html").read_text(encoding="utf-8")
    for shown in (
        "Queries by outcome",
        "Where users clicked",
        "figure-clicks-ranks-1",
        "table-clicks-ranks-1",
    ):
        assert shown in page
    assert f"fill: {SERIES[0].light}" in page  # the rules for dark screens find it by this
    assert "table-statistics" not in page
    tables = report_tables(load_studies([tmp_path / "quality"]))
    assert set(tables) == {"clicks-queries", "clicks-triples", "clicks-lengths", "clicks-ranks"}
    for table in tables.values():
        for write in (as_text, as_csv, as_latex):
            assert write(table)


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="figure: wanted clicked ranks"):
        ranks_figure(made(None))
    assert click_tables([]) == []

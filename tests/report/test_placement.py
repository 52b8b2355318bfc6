"""Placed collections in tables and on the page."""

from __future__ import annotations

from pathlib import Path

from positionbias.core.manifest import Manifest
from positionbias.report.html import write_report
from positionbias.report.placement import moves_table, places_table
from positionbias.report.table import as_text
from positionbias.results.curves import MovesFigures
from positionbias.results.payloads import PlaceHistogram, SentenceMoves
from positionbias.results.result import Result, save_results

EDGES = [0.0, 0.5, 1.0]
PLACES = PlaceHistogram(EDGES, [0.75, 0.25], [8, 2], [5, 5], 0.133, 1, 0.7153)
STARTS = PlaceHistogram(EDGES, [0.75, 0.25], [15, 5], [])
MOVES = SentenceMoves(
    [15, 5],
    [10.0, 10.0],
    [],
    MovesFigures(mean_distance=0.25, mean_distance_of_uniform=0.5, share_unmoved=0.75),
)
RESULTS = [
    Result("sentence places", "front", "test", "front:0.8", 1, 0.35, None, 10, PLACES),
    Result("answer starts", "front", "test", "front:0.8", 1, 0.35, None, 20, STARTS),
    Result("sentence moves", "front", "test", "front:0.8", 1, 0.25, None, 20, MOVES),
]


def test_the_tables_by_hand() -> None:
    lines = as_text(places_table(RESULTS)).splitlines()
    rows = [line.replace("\u00a0", " ").split("  ") for line in lines]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["front", "sentence places", "before", "50.0 %", "50.0 %", "10", "–"] in cells
    assert ["wanted", "75.0 %", "25.0 %", "–", "–"] in cells
    assert ["reached", "80.0 %", "20.0 %", "10", "0.715"] in cells
    assert ["answer starts", "wanted", "75.0 %", "25.0 %", "–", "–"] in cells
    assert ["reached", "75.0 %", "25.0 %", "20", "–"] in cells
    table = moves_table(RESULTS)
    assert [column.name for column in table.columns] == [
        "Placed",
        "Questions",
        "Sentences moved, mean",
        "by uniform placing",
        "Unmoved",
    ]
    assert [[cell.value for cell in row[1:]] for row in table.rows] == [[20, 0.25, 0.5, 0.75]]


def test_a_page_holds_them(tmp_path: Path) -> None:
    save_results(
        tmp_path / "results", RESULTS, Manifest(kind="results", name="placed", command="place")
    )
    write_report([tmp_path / "results"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Where evidence was put" in page
    assert "How far evidence sentences were moved" in page

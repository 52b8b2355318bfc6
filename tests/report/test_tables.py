"""The tables of results: figures worked by hand, nothing dropped."""

from __future__ import annotations

from dataclasses import replace

from positionbias.report import tables
from positionbias.report.table import Table
from positionbias.results.collections import QueryFigures
from positionbias.results.select import labels

from . import invented

RESULTS = invented.study()


def texts(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def test_collections_as_in_table_1() -> None:
    rows = texts(tables.collection_table(RESULTS))
    assert rows[0] == ["planted", "passages", "20,000", "–", "–", "56", "57.0", "0.0 % over 200"]
    assert rows[3] == [
        "planted",
        "queries, test",
        "2,000",
        "2,000",
        "2,000",
        "–",
        "9.4",
        "1.2 % over 30",
    ]
    figures = QueryFigures(queries=3, judgements=3, answers=0)
    bare = [replace(r, payload=figures) for r in RESULTS if r.measure == "queries"]
    assert [column.name for column in tables.collection_table(bare).columns] == [
        "Collection",
        "Part",
        "Count",
        "Judgements",
        "Answers",
    ]


def test_other_statistics_are_flattened() -> None:
    rotation = [r for r in RESULTS if r.measure == "rotation"]
    table = tables.statistics_table(rotation, name="rotation", title="Rotation")
    assert texts(table)[0] == ["passages: rotated", "19,640"]
    assert texts(table)[-1] == ["answers test: cut", "52"]


def test_labels_name_what_differs() -> None:
    two = [replace(RESULTS[0], system=name) for name in ("tk-original", "tk-rotated")]
    both = [*two, *(replace(result, collection="planted-rotated") for result in two)]
    assert labels(two) == ["tk-original", "tk-rotated"]
    assert labels(both)[2] == "tk-original · planted-rotated"
    assert labels(both, first=1)[0] == "planted · tk-original"


def test_nothing_to_show_is_an_empty_table() -> None:
    assert tables.collection_table([]).rows == []

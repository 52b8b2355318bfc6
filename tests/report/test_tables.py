"""The tables of results: figures worked by hand, nothing dropped, reasons given for what is
missing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.report import effectiveness, tables
from positionbias.report.table import Table
from positionbias.results.collections import QueryFigures
from positionbias.results.select import labels

from . import invented

RESULTS = invented.study()


def texts(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def test_significance_of_comparisons() -> None:
    table = effectiveness.significance_table(RESULTS)
    assert table.title == "Paired comparisons: tk-original → tk-rotated"
    assert [column.name for column in table.columns] == [
        "Test passages", "Measure", "First", "Second", "Difference [95\u00a0%]",
        "Change [95\u00a0%]", "Effect size",
        "p", "p Holm", "p Wilcoxon", "Queries",
    ]  # fmt: skip
    rows = texts(table)
    assert [row[0] for row in rows] == ["planted"] * 3 + ["planted-rotated"] * 3
    # 0.415 − 0.395 = 0.020, ± 0.006; 0.020 / 0.395 = 5.1 %; d = 0.020 / 0.31 = 0.06
    assert rows[3][1:] == [
        "nDCG@10",
        "0.395",
        "0.415",
        "+0.020 [+0.014, +0.026]",
        "+5.1 % [+3.7, +6.5]",
        "+0.06",
        "0.001",
        "0.002",
        "<0.001",
        "2,000",
    ]


def test_what_is_undefined_says_why() -> None:
    found = next(result for result in RESULTS if result.kind == "comparison")
    payload = replace(
        found.payload,
        p_wilcoxon=None,
        effect_size=None,
        notes={"tests": "undefined: no query differs"},
    )  # type: ignore[type-var]
    other = replace(payload, baseline="bm25")
    both = [replace(found, payload=one) for one in (payload, other)]
    table = effectiveness.significance_table(both)
    assert "nDCG@10: tests undefined: no query differs (2 of the comparisons)." in table.notes
    assert "–" in texts(table)[0]
    # two pairs: each row names its own
    assert (table.title, table.stub) == ("Paired comparisons", 3)
    assert [row[2] for row in texts(table)] == ["tk-original → tk-rotated", "bm25 → tk-rotated"]


def test_systems_table_holds_every_mean() -> None:
    table = effectiveness.systems_table(RESULTS)
    assert len(table.rows) == 2 * 4
    assert texts(table)[0] == [
        "planted",
        "tk-original",
        "0.432 [0.421, 0.443]",
        "0.372 [0.361, 0.383]",
        "0.630 [0.619, 0.641]",
        "2,000",
    ]
    assert table.notes == ["3 queries without candidates: every run."]


def test_a_second_result_with_the_same_header_is_not_lost() -> None:
    found = [r for r in RESULTS if r.kind == "per_query"][:1]
    other = replace(found[0], value=0.1, interval=None)
    assert [row[2] for row in texts(effectiveness.systems_table([*found, other]))] == [
        "0.432 [0.421, 0.443]",
        "0.100",
    ]


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
    runs = [r for r in RESULTS if r.kind == "per_query" and r.measure == "nDCG@10"]
    assert labels(runs[:2]) == ["tk-original", "tk-rotated"]
    assert labels(runs)[4] == "tk-original · planted-rotated"
    assert labels(runs, first=1)[0] == "planted · tk-original"


@pytest.mark.parametrize(
    "build",
    [
        effectiveness.significance_table,
        effectiveness.systems_table,
        tables.collection_table,
    ],
)
def test_nothing_to_show_is_an_empty_table(build: object) -> None:
    assert build([]).rows == []  # type: ignore[operator]

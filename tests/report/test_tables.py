"""The tables of results: figures worked by hand, nothing dropped, reasons given for what is
missing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.core.convergence import Ending, Finish
from positionbias.report import effectiveness, tables
from positionbias.report.table import Table
from positionbias.results.collections import QueryFigures
from positionbias.results.curves import AtsFigures
from positionbias.results.payloads import AtsCurve, TrainingCurve
from positionbias.results.result import Result
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


def test_positions_stand_beside_their_expectation() -> None:
    rows = texts(tables.positions_table(RESULTS))
    assert [row[1] for row in rows[:4]] == [
        "Mean position",
        "Share in the first tenth",
        "Share in the first fifth",
        "Total variation from unbiased",
    ]
    # total variation of the rotated collection: nothing but what chance gives
    assert rows[7] == [
        "planted-rotated",
        "Total variation from unbiased",
        "0.000 [0.000, 0.010]",
        "0.000",
        "0.011",
    ]


def test_outcomes_are_all_counted() -> None:
    rows = {row[0]: row[1:] for row in texts(tables.outcomes_table(RESULTS))}
    assert rows["Cut by the rotation that made this collection"] == ["0", "312"]
    assert rows["Located by offsets"] == ["11,877", "11,565"]


def test_mats_as_printed_and_plain() -> None:
    rows = texts(tables.mats_table(RESULTS))
    curve = next(r for r in RESULTS if r.kind == "ats").payload
    assert isinstance(curve, AtsCurve)
    # printed = sum / (140 − 1), plain = sum / 140, for the 140 Δ above 0
    total = sum(curve.ats[0] - value for value in curve.ats[1:])
    assert rows[0][:4] == ["planted", "tk-original", f"{total / 139:.3f}", f"{total / 140:.3f}"]


def test_an_undefined_mats_says_why() -> None:
    payload = AtsCurve([0], [1.0], [30], [30], [0.0], [None], AtsFigures(undefined="no Δ above 0"))
    table = tables.mats_table([Result("MATS", "c", "all", "tk", 1, None, None, 5, payload)])
    assert texts(table)[0][2:5] == ["–", "–", "–"]
    assert table.notes[-1] == "tk on c: MATS is undefined. no Δ above 0."


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


def test_training_ends() -> None:
    table = tables.training_table(RESULTS)
    assert [column.name for column in table.columns][:5] == [
        "System",
        "Validations",
        "Last step",
        "Step kept",
        "Re-ranking depth",
    ]
    assert texts(table)[0][:5] == ["tk-original", "31", "6,000", texts(table)[0][3], "35"]
    assert [column.name for column in table.columns][5:8] == [
        "kept, at that depth",
        "first stage",
        "Ended",
    ]
    assert texts(table)[0][6:8] == ["0.310", "finished"]
    assert list(table.notes) == []


def test_a_training_that_is_not_finished_or_beats_nothing_has_a_note() -> None:
    found = [result for result in RESULTS if result.kind == "training"][:1]
    curve = found[0].payload
    assert isinstance(curve, TrainingCurve)
    unfinished = replace(curve, ending=Ending(Finish.NOT_FINISHED, 0.4, 1, 0.4))
    table = tables.training_table([replace(found[0], payload=unfinished)])
    assert "not finished" in texts(table)[0]
    assert [note.partition(": ")[2][:30] for note in table.notes] == [
        "not finished: validation nDCG@",
        "does not beat its first stage ",
        "these scores change nothing: d",
    ]


def test_labels_name_what_differs() -> None:
    curves = [r for r in RESULTS if r.kind == "ats"]
    assert labels(curves[:2]) == ["tk-original", "tk-rotated"]
    assert labels(curves)[2] == "tk-original · planted-rotated"
    assert labels(curves, first=1)[0] == "planted · tk-original"


@pytest.mark.parametrize(
    "build",
    [
        effectiveness.significance_table,
        effectiveness.systems_table,
        tables.positions_table,
        tables.outcomes_table,
        tables.mats_table,
        tables.training_table,
        tables.collection_table,
    ],
)
def test_nothing_to_show_is_an_empty_table(build: object) -> None:
    assert build([]).rows == []  # type: ignore[operator]

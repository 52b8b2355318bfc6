"""The tables of a study: figures worked by hand, nothing dropped, reasons given for what is
missing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.core.convergence import Ending, Finish
from positionbias.papers.position_bias.effectiveness import effectiveness_table
from positionbias.papers.position_bias.page import CELLS
from positionbias.report import effectiveness, tables
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.results.collections import QueryFigures
from positionbias.results.curves import AtsFigures
from positionbias.results.payloads import AtsCurve, TrainingCurve
from positionbias.results.result import Facts, Result
from positionbias.results.select import labels

from . import invented

RESULTS = invented.study()
FACTS = {
    (f"tk-{training}", name): Facts(model="tk", training=training, test=test, seed=1, rotation=1)
    for training in ("original", "rotated")
    for name, test in (("planted", "original"), ("planted-rotated", "rotated"))
}


def texts(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def test_effectiveness_as_the_paper_prints_it() -> None:
    rows = {
        (row[0], row[1]): row[2:]
        for row in texts(effectiveness_table(RESULTS, subset="all queries"))
    }
    # (0.395 − 0.432) / 0.395 = −0.0937; (0.395 − 0.432) / 0.432 = −0.0856, interval −0.0856 ∓ 0.014
    assert rows["nDCG@10", "tk-original"] == [
        "0.432",
        "0.395",
        "−9.4 %",
        "−8.6 % [−10.0, −7.2]",
        "2,000",
    ]
    # (0.415 − 0.416) / 0.415 = −0.0024
    assert rows["nDCG@10", "tk-rotated"] == [
        "0.416",
        "0.415",
        "−0.2 %",
        "−0.2 % [−1.6, +1.2]",
        "2,000",
    ]
    # Table 3 of the paper prints −10.7 %, −6.1 % and −0.6 % for these means
    assert rows["RR@10", "tk-original"][2] == "−10.7 %"
    assert rows["R@10", "tk-original"][2] == "−6.1 %"
    assert rows["RR@10", "tk-rotated"][2] == "−0.6 %"
    assert rows["R@10", "tk-rotated"][2] == "0.0 %"


def test_the_smallest_margin_of_the_models_is_bold() -> None:
    strong = {
        (row[0].text, row[1].text): row[4].strong
        for row in effectiveness_table(RESULTS, subset="all queries").rows
    }
    assert {key for key, value in strong.items() if value} == {
        (measure, "tk-rotated") for measure in invented.MEASURES
    }


def test_effectiveness_over_both_subsets() -> None:
    table = effectiveness_table(RESULTS)
    assert [column.name for column in table.columns][:3] == ["Subset", "Measure", "System"]
    assert (len(table.rows), table.stub) == (2 * 3 * 3, 3)
    assert [row[0] for row in texts(table)] == ["all queries"] * 9 + [
        "queries whose answer was left whole"
    ] * 9


def test_a_lone_subset_stands_in_the_title() -> None:
    some = [r for r in RESULTS if r.kind != "comparison" or r.payload.subset == invented.SUBSETS[1]]
    assert effectiveness_table(some).title.endswith("queries whose answer was left whole")


def test_seeds_are_distinguished_where_there_are_several() -> None:
    again = [replace(result, seed=2) for result in RESULTS]
    names = {row[1] for row in texts(effectiveness_table([*RESULTS, *again], subset="all queries"))}
    assert "tk-original · seed 1" in names
    assert "tk-original · seed 2" in names
    assert "Seed" in [
        column.name for column in effectiveness.significance_table([*RESULTS, *again]).columns
    ]
    assert "Seed" not in [
        column.name for column in effectiveness.significance_table(RESULTS).columns
    ]


def test_significance_of_trainings() -> None:
    table = effectiveness.significance_table(RESULTS)
    assert table.title == "Trainings compared: tk-original → tk-rotated"
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


def test_rows_of_a_test_set_stand_together() -> None:
    shuffled = sorted(RESULTS, key=lambda r: r.measure)
    assert [row[0] for row in texts(effectiveness.significance_table(shuffled))] == [
        "planted"
    ] * 3 + ["planted-rotated"] * 3


def test_what_is_undefined_says_why() -> None:
    found = next(
        r for r in RESULTS if r.kind == "comparison" and r.payload.notes["axis"] == "trainings"
    )  # type: ignore[union-attr]
    payload = replace(
        found.payload,
        p_wilcoxon=None,
        effect_size=None,
        notes={"axis": "trainings", "tests": "undefined: no query differs"},
    )  # type: ignore[type-var]
    table = effectiveness.significance_table([replace(found, payload=payload)])
    assert "nDCG@10: tests undefined: no query differs (1 of the comparisons)." in table.notes
    assert "–" in texts(table)[0]


def test_baselines_have_no_relative_change() -> None:
    table = effectiveness.baseline_table(RESULTS)
    assert not [column.name for column in table.columns if column.name.startswith("Change")]
    # 0.432 − 0.241 = 0.191
    assert texts(table)[0][2:6] == [
        "bm25 → tk-original",
        "0.241",
        "0.432",
        "+0.191 [+0.185, +0.197]",
    ]


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


def test_mats_beside_the_published_figures() -> None:
    told = [
        replace(r, facts=FACTS[r.system, r.collection]) if r.kind == "ats" else r for r in RESULTS
    ]
    published = Published("The paper", CELLS, {"planted": "MS MARCO"}, {"tk": "word vectors"})
    table = tables.mats_table(told, published)
    assert [column.full_name for column in table.columns][-2:] == [
        "Published MATS",
        "Published deviation",
    ]
    rows = texts(table)
    curve = next(r for r in RESULTS if r.kind == "ats").payload
    assert isinstance(curve, AtsCurve)
    # printed = sum / (140 − 1), plain = sum / 140, for the 140 Δ above 0
    total = sum(curve.ats[0] - value for value in curve.ats[1:])
    assert rows[0][:4] == ["planted", "tk-original", f"{total / 139:.3f}", f"{total / 140:.3f}"]
    assert rows[0][-2:] == ["0.176", "0.046"]
    assert rows[1][-2:] == ["0.021", "0.006"]
    # the paper does not say that it probed rotated passages
    assert [row[-2:] for row in rows[2:]] == [["–", "–"]] * 2
    assert (
        "Published: The paper. Ours is another experiment, not a repetition of it." in table.notes
    )
    assert (
        len(
            tables.mats_table(
                told, replace(published, names={"planted-rotated": "MS MARCO"})
            ).columns
        )
        == 8
    )
    assert (
        len(tables.mats_table(told).columns)
        == len(tables.mats_table(RESULTS, published).columns)
        == 8
    )


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


def test_the_paper_s_table_1_stands_beside_its_collections() -> None:
    table = tables.collection_table(
        RESULTS, Published("The paper", CELLS, {"planted": "SQuAD 2.0"})
    )
    assert [column.name for column in table.columns][2:5] == ["Count", "Published", "Judgements"]
    rows = {(row[0], row[1]): row[2:4] for row in texts(table)}
    assert rows["planted", "passages"] == ["20,000", "20,239"]
    assert rows["planted", "queries, validation"] == ["1,000", "5,000"]
    assert rows["planted-rotated", "passages"] == ["20,000", "–"]
    assert table.notes[-1] == "Published: The paper, Table 1: SQuAD 2.0."


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
        effectiveness_table,
        effectiveness.significance_table,
        effectiveness.baseline_table,
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

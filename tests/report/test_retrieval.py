"""The paper's result tables: rows, repeats, bold, letters and published neighbours, each worked by
hand.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from positionbias.core.screen import lines_of
from positionbias.evaluation.significance import compare
from positionbias.papers.position_bias import retrieval
from positionbias.papers.position_bias.page import CELLS, PRETRAINED
from positionbias.report.html import report_tables
from positionbias.report.load import Study
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table, as_csv, as_latex, as_text
from positionbias.results.collections import Origin, PassageFigures, QueryFigures
from positionbias.results.payloads import PerQuery, TrainingCurve
from positionbias.results.result import Facts, Result

from . import invented

PUBLISHED = Published("The paper", CELLS, {"squad": "SQuAD 2.0", "mini": "MS MARCO"}, PRETRAINED)
QUERIES = 12
# what a better system gains, another amount a query: mean 0.007
STEP = np.arange(1.5, QUERIES + 1) / 1000


def texts(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def measured(
    facts: Facts,
    values: np.ndarray,
    *,
    collection: str = "squad",
    measure: str = "nDCG@10",
    split: str = "test",
) -> Result:
    """One system on one test set; on rotated passages the collection is named for the draw."""
    name = f"{collection}-rotated-{facts.rotation}" if facts.test == "rotated" else collection
    payload = PerQuery([f"q{number}" for number in range(len(values))], values.tolist())
    system = f"{facts.model}-{facts.training}"
    return Result(
        measure,
        name,
        split,
        system,
        9,
        float(values.mean()),
        invented.around(float(values.mean()), 0.01),
        len(values),
        payload,
        facts,
    )


def both(facts: Facts, original: np.ndarray, rotated: np.ndarray, **where: str) -> list[Result]:
    """A training on both test sets, and their comparison."""
    one, other = (
        measured(replace(facts, test=test), v, **where)
        for test, v in (("original", original), ("rotated", rotated))
    )
    columns = [dict(zip(r.payload.query_ids, r.payload.values, strict=True)) for r in (one, other)]
    notes = {
        "axis": "test sets",
        "systems": [one.system, one.system],
        "test_sets": ["original", "rotated"],
    }
    compared = compare(*columns, names=("a", "b"), seed=1, notes=notes, resamples=50)
    return [
        one,
        other,
        replace(other, collection=one.collection, value=compared.difference, payload=compared),
    ]


FLAT = np.full(QUERIES, 0.8)
BASE = Facts(model="tk", training="original", rotation=1, seed=1)


def grid(facts: Facts = BASE, **where: str) -> list[Result]:
    """Original: 0.8 and 0.4. Rotated: 0.807 and 0.757."""
    turned = replace(facts, training="rotated")
    return [
        *both(facts, FLAT, FLAT / 2, **where),
        *both(turned, FLAT + STEP, FLAT + STEP - 0.05, **where),
    ]


def test_a_row_a_training_and_three_columns_a_measure() -> None:
    (table,) = retrieval.retrieval_tables([*grid(), *grid(measure="R@10")])
    assert (table.name, table.stub) == ("retrieval", 3)
    assert [column.full_name for column in table.columns] == [
        "Model", "Training", "Row",
        "nDCG@10 Original", "nDCG@10 Rotated", "nDCG@10 Δ as printed", "nDCG@10 Change",
        "R@10 Original", "R@10 Rotated", "R@10 Δ as printed", "R@10 Change",
        "Repeats", "Queries",
    ]  # fmt: skip
    rows = texts(table)
    # (0.4 − 0.8) / 0.4 = −100 %, / 0.8 = −50 %, in every resample, so ± 3/12 / 0.8; the interval of
    # the means is that of the Results
    assert rows[0] == [
        "TK", "original", "a",
        *["0.800 [0.790, 0.810]", "0.400 [0.390, 0.410]", "−100.0 %", "−50.0 % [−81.2, −18.8]"] * 2,
        "1", "12",
    ]  # fmt: skip
    # b is better on every one of 12 queries, p = 2 / 4096; −0.05 / 0.757 = −6.6 %, and the smaller
    # of the two
    assert rows[1][:6] == [
        "TK",
        "rotated",
        "b",
        "0.807a [0.797, 0.817]",
        "0.757a [0.747, 0.767]",
        "−6.6 %",
    ]
    assert [[cell.strong for cell in row[5:6]] for row in table.rows] == [[False], [True]]


def test_models_stand_in_the_paper_s_order_and_baselines_do_not() -> None:
    found = [
        r
        for model in ("tk", "bm25", "splade", "bert_dot", "bert_cat")
        for r in grid(replace(BASE, model=model))[:3]
    ]
    (table,) = retrieval.retrieval_tables(found)
    assert [row[0] for row in texts(table)] == ["BERT_CAT", "BERT_DOT", "TK", "splade"]
    # one training a model: no letters, nothing to be the smallest of
    assert [column.name for column in table.columns][:3] == ["Model", "Training", "Original"]
    assert not any(cell.strong for row in table.rows for cell in row)


def test_results_that_do_not_say_what_they_are_of_make_no_table() -> None:
    assert retrieval.retrieval_tables(invented.study()) == []
    assert retrieval.transfer_tables(invented.study()) == []
    assert retrieval.retrieval_tables([]) == []


def test_seeds_and_draws_become_one_row() -> None:
    # original test 0.2 by seed 1 and 0.4 by seed 2 whatever the draw; rotated test 0.15, 0.25,
    # 0.35, 0.45
    rotated = {(1, 1): 0.15, (1, 2): 0.25, (2, 1): 0.35, (2, 2): 0.45}
    found: list[Result] = []
    for (seed, draw), value in rotated.items():
        found += both(
            replace(BASE, seed=seed, rotation=draw), np.full(4, 0.2 * seed), np.full(4, value)
        )
    (table,) = retrieval.retrieval_tables(found)
    (row,) = table.rows
    cells = {column.name: cell for column, cell in zip(table.columns, row, strict=True)}
    assert cells["Repeats"].text == "4 (2 seeds, 2 draws)"
    # two seeds: the mean of both, and no interval
    assert (cells["Original"].value, cells["Original"].low) == (pytest.approx(0.3), None)
    assert (cells["Rotated"].value, cells["Rotated"].low) == (pytest.approx(0.3), None)
    # 0.3 to 0.3: of the means over repeats
    assert cells["Δ as printed"].value == pytest.approx(0.0)
    assert (cells["Change"].value, cells["Change"].low) == (pytest.approx(0.0), None)
    assert any(note.startswith("Two seeds have no interval") for note in table.notes)


def test_three_seeds_have_an_interval_over_trainings() -> None:
    # 0.5, 0.6 and 0.7 on all twelve queries: t(0.975, 2) · 0.1 / √3 = 0.248414; their loss is half
    # of it each time
    found = [
        r
        for seed in (1, 2, 3)
        for r in both(
            replace(BASE, seed=seed),
            np.full(QUERIES, 0.4 + seed / 10),
            np.full(QUERIES, 0.2 + seed / 20),
        )
    ]
    (table,) = retrieval.retrieval_tables(found)
    cells = {column.name: cell for column, cell in zip(table.columns, table.rows[0], strict=True)}
    assert (cells["Original"].value, cells["Original"].low) == pytest.approx(
        (0.6, 0.6 - 0.248414), abs=1e-6
    )
    # ± 3/12 of the measure, over a mean of 0.6
    assert (cells["Change"].value, cells["Change"].low, cells["Change"].high) == pytest.approx(
        (-0.5, -0.5 - 0.25 / 0.6, -0.5 + 0.25 / 0.6)
    )
    assert any("over trainings and queries" in note for note in table.notes)


def test_a_result_on_original_passages_need_not_name_a_draw() -> None:
    found = both(BASE, FLAT, FLAT / 2) + both(replace(BASE, rotation=2), FLAT, FLAT / 4)
    found = [
        replace(r, facts=replace(r.facts, rotation=None)) if r.facts.test == "original" else r
        for r in found
    ]
    (table,) = retrieval.retrieval_tables(found)
    # one measurement of 0.8 with its interval over queries; two of the rotated test
    assert texts(table)[0][2:4] == ["0.800 [0.790, 0.810]", texts(table)[0][3]]
    assert texts(table)[0][3].startswith("0.300 [")
    assert texts(table)[0][-2] == "2 (2 draws)"


def test_letters_are_of_queries_means_over_repeats() -> None:
    # seed 1 makes b worse, seed 2 better by more: of two seeds nothing is said; a third that is
    # better by as much as the others' mean lies within their noise
    turned = replace(BASE, training="rotated")
    found = [
        *both(BASE, FLAT, FLAT), *both(replace(BASE, seed=2), FLAT, FLAT),
        *both(turned, FLAT - STEP, FLAT), *both(replace(turned, seed=2), FLAT + 3 * STEP, FLAT),
    ]  # fmt: skip
    (table,) = retrieval.retrieval_tables(found)
    assert [row[3].letters for row in table.rows] == ["", ""]
    found += [
        *both(replace(BASE, seed=3), FLAT, FLAT),
        *both(replace(turned, seed=3), FLAT + STEP, FLAT),
    ]
    (table,) = retrieval.retrieval_tables(found)
    assert [row[3].letters for row in table.rows] == ["", ""]
    # each of three is better on every query
    sure = [
        r
        for seed in (1, 2, 3)
        for r in (
            *both(replace(BASE, seed=seed), FLAT, FLAT),
            *both(replace(turned, seed=seed), FLAT + STEP, FLAT),
        )
    ]
    (table,) = retrieval.retrieval_tables(sure)
    assert [row[3].letters for row in table.rows] == ["", "a"]
    assert [row[4].letters for row in table.rows] == ["", ""]


def test_the_paper_s_rows_stand_below_ours() -> None:
    cat = replace(BASE, model="bert_cat", pretrained="minilm")
    counted = Result(
        "queries",
        "mini",
        "train",
        "",
        1,
        1.0,
        None,
        1_735,
        QueryFigures(queries=1_735, judgements=1_735, answers=0),
    )
    trained = Result(
        "training", "mini", "validation", "x", 1, 0.4, None, 3, TrainingCurve([0, 500], {}), cat
    )
    (table,) = retrieval.retrieval_tables(
        [*grid(cat, collection="mini"), counted, trained], PUBLISHED
    )
    rows = texts(table)
    assert [row[:4] for row in rows] == [
        ["BERT_CAT", "original", "a", "ours"], ["BERT_CAT", "original", "a", "published"],
        ["BERT_CAT", "rotated", "b", "ours"], ["BERT_CAT", "rotated", "b", "published"],
    ]  # fmt: skip
    # the paper's plain change follows from its means: (0.395 − 0.432) / 0.432 = −8.6 %
    assert rows[1][4:] == ["0.432", "0.395", "−9.4 %", "−8.6 %", "", ""]
    assert rows[3][4:7] == ["0.416", "0.415", "−0.2 %"]
    assert [row[6].strong for row in table.rows] == [False, False, True, True]
    assert list(table.notes[-4:]) == [
        "Rows marked published: Table 3.",
        "Published: The paper. Ours is another experiment, not a repetition of it.",
        "Data: ours mini, 1,735 train queries; the paper's MS MARCO, 8,841,823 passages, 502,939 "
        "train queries, 6,980 validation queries, 48,598 test queries.",
        "BERT_CAT: ours began with minilm, the paper's with 6-layer DistilBERT; ours trained for "
        "500 steps, the paper does not print how many.",
    ]


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ({"collection": "planted"}, {}),
        ({"collection": "mini", "split": "dl19"}, {}),
        ({"measure": "AP"}, {}),
        ({}, {"variant": "no positions"}),
        ({}, {"model": "colbert"}),
    ],
    ids=["another collection", "another split", "another measure", "a variant", "another model"],
)
def test_what_the_paper_did_not_do_has_no_published_row(
    where: dict[str, str], change: dict[str, str]
) -> None:
    (table,) = retrieval.retrieval_tables(grid(replace(BASE, **change), **where), PUBLISHED)
    assert [column.name for column in table.columns][:4] == ["Model", "Training", "Row", "Original"]
    assert len(table.rows) == 2
    assert not [note for note in table.notes if "ublished" in note]


def test_each_split_has_its_table() -> None:
    found = [*grid(collection="mini", split="dl19"), *grid(collection="mini", split="dl20")]
    assert [(t.name, len(t.rows)) for t in retrieval.retrieval_tables(found)] == [
        ("retrieval-mini-dl19", 2),
        ("retrieval-mini-dl20", 2),
    ]


def test_collections_that_share_a_split_are_not_mixed() -> None:
    # rotated passages carry a name of their own: with two collections only the comparisons are safe
    one, other = retrieval.retrieval_tables(
        [*grid(), *grid(replace(BASE, seed=5), collection="mini")]
    )
    assert texts(one)[0][3:5] == ["0.800 [0.790, 0.810]", "0.400"]
    assert (texts(other)[0][-2], texts(one)[0][-2]) == ("1", "1")


def test_trainings_that_differ_in_weights_alone_are_distinguished() -> None:
    found = [r for name in ("minilm", "") for r in both(replace(BASE, pretrained=name), FLAT, FLAT)]
    assert [row[1] for row in texts(retrieval.retrieval_tables(found)[0])] == [
        "original, from minilm",
        "original, from random weights",
    ]


# -- Table 5 ---------------------------------------------------------------------------------------

ALONE = Facts(model="bert_dot", training="original", test="original", seed=1)
AFTER = replace(ALONE, source="mini", source_training="original")
AFTER_ROTATED = replace(ALONE, source="mini", source_training="rotated", rotation=1)


def transferred(*rows: tuple[Facts, np.ndarray]) -> list[Result]:
    return [measured(facts, values) for facts, values in rows]


def lines(found: Sequence[Result], published: Published | None = PUBLISHED) -> list[list[str]]:
    return texts(retrieval.transfer_tables(found, published)[0])


def test_transfer_as_table_5_prints_it() -> None:
    # c gains on all 12 queries (p = 2 / 4096); b a little on some, and so much on the last that c −
    # b is below 0 there: 132 of the 4096 signs are as far out, p = 0.032, and by Holm 0.032 · 2
    noise = np.array([1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, 0]) / 1e5
    noise[-1] = 0.026
    found = transferred((AFTER_ROTATED, FLAT + STEP), (AFTER, FLAT + noise), (ALONE, FLAT))
    rows = lines(found)
    assert [row[:4] for row in rows[::2]] == [
        ["BERT_DOT", "squad (original)", "a", "ours"],
        ["BERT_DOT", "mini (original) → squad (original)", "b", "ours"],
        ["BERT_DOT", "mini (rotated) → squad (original)", "c", "ours"],
    ]
    assert [row[4].split(" ")[0] for row in rows[::2]] == ["0.800", "0.802", "0.807a(b)"]
    # 0.780, 0.788 a, 0.792 ab
    assert [row[4] for row in rows[1::2]] == ["0.780", "0.788a", "0.792ab"]


def test_letters_know_what_queries_share_a_passage() -> None:
    # 12 queries of 3 passages: of 8 signs two are as far out
    found = transferred((AFTER, FLAT + STEP), (ALONE, FLAT))
    shared = [f"passage {place // 4}" for place in range(QUERIES)]
    together = [replace(r, payload=replace(r.payload, clusters=shared)) for r in found]
    assert [[row[3].split(" ")[0] for row in lines(of, None)] for of in (found, together)] == [
        ["0.800", "0.807a"],
        ["0.800", "0.807"],
    ]


def test_published_letters_are_those_of_our_rows() -> None:
    # without row b, the paper's c is our b, and what it says of its b is left out
    found = transferred((ALONE, FLAT), (AFTER_ROTATED, FLAT + STEP))
    assert [row[2:5] for row in lines(found)[1::2]] == [
        ["a", "published", "0.780"],
        ["b", "published", "0.792a"],
    ]
    # a source that is not the paper's has no published row
    elsewhere = transferred((ALONE, FLAT), (replace(AFTER, source="planted"), FLAT))
    assert [row[3] for row in lines(elsewhere)] == ["ours", "published", "ours"]


def test_letters_and_intervals_have_columns_of_their_own_in_csv() -> None:
    (table,) = retrieval.transfer_tables(
        transferred((ALONE, FLAT), (AFTER, FLAT + STEP)), PUBLISHED
    )
    rows = list(csv.DictReader(io.StringIO(as_csv(table))))
    assert [(row["Figures"], row["nDCG@10 letters"]) for row in rows] == [
        ("ours", ""), ("published", ""), ("ours", "a"), ("published", "a"),
    ]  # fmt: skip
    assert [
        float(rows[2][name]) for name in ("nDCG@10", "nDCG@10 low", "nDCG@10 high")
    ] == pytest.approx([0.807, 0.797, 0.817])
    assert "0.807a" in as_text(table)
    assert "0.788a" in as_latex(table)
    assert r"mini (original) $\rightarrow$ squad (original)" in as_latex(table)


def test_a_wide_table_in_latex_leaves_intervals_to_the_csv() -> None:
    (narrow,) = retrieval.retrieval_tables(grid())
    (wide,) = retrieval.retrieval_tables([*grid(), *grid(measure="R@10"), *grid(measure="RR@10")])
    assert "0.807a~[0.797,~0.817]" in as_latex(narrow)
    latex = as_latex(wide)
    assert "0.807a & 0.757a & " in latex
    assert "0.797" not in latex
    assert "Intervals stand in the CSV of this table." in latex
    with lines_of(None):
        assert "0.797" in as_text(wide)
    # three times four columns are still wider than a line
    assert r"\usepackage{booktabs,graphicx}" in latex
    assert (
        latex.index(r"\resizebox{\linewidth}{!}{%")
        < latex.index(r"\begin{tabular}")
        < latex.index(r"\end{tabular}}")
    )
    assert "resizebox" not in as_latex(Table("small", "Small", [Column("A")], [[Cell("1")]]))


def test_the_report_holds_them() -> None:
    counted = [
        Result(
            "passages",
            name,
            "",
            "",
            1,
            5.0,
            None,
            5,
            PassageFigures(passages=5, manifest=Origin(command=command)),
        )
        for name, command in (("squad", "import squad"), ("mini", "import msmarco"))
    ]
    # rows of models that were not transferred are no part of Table 5
    results = [*counted, *grid(), *transferred((ALONE, FLAT), (AFTER, FLAT + STEP))]
    found = report_tables([Study(1, "s", "s", results, invented.manifest())])
    assert {"retrieval", "transfer", "collections"} <= set(found)
    assert [row[3].text for row in found["transfer"].rows] == ["ours", "published"] * 2
    # Table 4 for TK on SQuAD
    assert [cell.text for cell in found["retrieval"].rows[1][4:6]] == ["0.846", "0.840"]

"""What the paper prints: every cell once, sums of rows worked apart, and which splits are its
targets.
"""

from __future__ import annotations

from collections import Counter

import pytest

from positionbias.papers.contamination import target_of
from positionbias.papers.contamination.page import CELLS
from positionbias.results.result import Facts


def cell(table: int, target: str, measure: str, facts: Facts) -> float:
    (found,) = (
        c.value
        for c in CELLS
        if (c.table, c.collection, c.measure, c.facts) == (table, target, measure, facts)
    )
    return found


def test_every_cell_stands_once() -> None:
    assert Counter(cell.table for cell in CELLS) == {1: 11 * 9, 2: 4 * 3}  # rows × columns
    assert max(Counter((c.table, c.collection, c.measure, c.facts) for c in CELLS).values()) == 1
    assert len({c.place for c in CELLS}) == len(CELLS)


def test_rows_of_table_1() -> None:
    teacher = Facts(model="bert_cat", role="teacher", loss="lce")
    saw = Facts(model="bert_cat", role="teacher", loss="lce", source="TREC COVID", share=1.0)
    assert [cell(1, "TREC COVID", "nDCG@10", facts) for facts in (teacher, saw)] == [0.590, 0.746]
    assert cell(1, "Deep Learning 2020", "AP(rel=2)", teacher) == 0.486
    bi = Facts(model="bert_dot", role="student", loss="ranknet", source="TREC COVID", share=1.0)
    assert cell(1, "TREC COVID", "R(rel=2)@100", bi) == 0.154
    # of bi-encoders it prints the students of contaminated teachers alone
    assert {bool(c.facts.source) for c in CELLS if c.facts.model == "bert_dot"} == {True}
    # the sum of the first column, added up apart
    first = [
        c.value
        for c in CELLS
        if c.table == 1 and c.collection == "Deep Learning 2019" and c.measure == "nDCG@10"
    ]
    assert sum(first) == pytest.approx(7.722)


def test_table_2_repeats_the_kl_students_of_table_1() -> None:
    for target in ("Deep Learning 2019", "Deep Learning 2020", "TREC COVID"):
        for source in ("", target):
            facts = Facts(
                model="bert_cat",
                role="student",
                loss="kl",
                source=source,
                share=1.0 if source else None,
            )
            assert cell(1, target, "nDCG@10", facts) == cell(2, target, "nDCG@10", facts)
    elsewhere = Facts(
        model="bert_cat", role="student", loss="kl", source="Deep Learning 2019", share=1.0
    )
    assert cell(2, "Deep Learning 2020", "nDCG@10", elsewhere) == 0.725


@pytest.mark.parametrize(
    ("split", "target"),
    [
        ("dl19", "Deep Learning 2019"),
        ("msm.dl20", "Deep Learning 2020"),
        ("covid", "TREC COVID"),
        ("dl19-easy", None),
        ("test", None),
        ("", None),
    ],
)
def test_targets_by_name(split: str, target: str | None) -> None:
    assert target_of(split) == target

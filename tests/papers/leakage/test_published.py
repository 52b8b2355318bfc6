"""The leakage paper's Tables 3 to 8 as we hold them: cells by hand, counts, daggers, what the
paper's text says of them.
"""

from __future__ import annotations

from collections import Counter

import pytest

from positionbias.leakage.published import TARGETS
from positionbias.papers.leakage import OFFSET, RANK, SCORE, WITH, WITHOUT
from positionbias.papers.leakage.page import CELLS
from positionbias.results.published import DEVIATION
from positionbias.results.result import Facts


def value(
    table: int, target: str, measure: str, model: str = "", variant: str = ""
) -> tuple[float, str]:
    facts = Facts(model=model, variant=variant)
    (cell,) = (
        c
        for c in CELLS
        if (c.table, c.collection, c.measure, c.facts) == (table, target, measure, facts)
    )
    return cell.value, cell.letters


def test_every_cell_is_there_once() -> None:
    # models × conditions × measures; models × leaks × targets × 4; × 2
    assert Counter(cell.table for cell in CELLS) == {3: 45, 4: 45, 5: 45, 6: 120, 7: 120, 8: 60}
    assert len({cell.place for cell in CELLS}) == len(CELLS)
    assert {cell.collection for cell in CELLS} == set(TARGETS)
    # the daggers of Tables 3, 4 and 5
    assert (
        sum(cell.letters == "†" for cell in CELLS)
        == sum(cell.letters != "" for cell in CELLS)
        == 8 + 2 + 3
    )


@pytest.mark.parametrize(
    ("cell", "figure", "letters"),
    [
        ((3, "Robust04", "nDCG@10", "knrm", "test leakage"), 0.309, "†"),
        ((3, "Robust04", "MFR", "duet", "MSM leakage"), 2.682, ""),
        ((4, "Core 2017", "P@1", "mono_t5", "no leakage"), 0.660, ""),
        ((5, "Core 2018", "MFR", "pacrr", "MSM leakage"), 1.383, "†"),
        ((6, "Core 2018", f"{RANK}, {WITHOUT}", "duet", "MSM leakage"), 45.67, ""),
        ((6, "Robust04", f"{RANK}, {WITH} {DEVIATION}", "pacrr", "test leakage"), 34.05, ""),
        ((7, "Core 2017", f"{SCORE}, {WITH}", "bert_cat", "MSM leakage"), -0.88, ""),
        ((7, "Robust04", f"{SCORE}, {WITHOUT}", "mono_t5", "test leakage"), -2.37, ""),
        ((8, "Robust04", OFFSET, "duet", "MSM leakage"), 6.378, ""),
        ((8, "Core 2018", f"{OFFSET} {DEVIATION}", "bert_cat", "test leakage"), 25.98, ""),
    ],
)
def test_cells_by_hand(cell: tuple[int, str, str, str, str], figure: float, letters: str) -> None:
    assert value(*cell) == (figure, letters)


def test_leakage_lifts_the_score_but_where_the_text_says() -> None:
    """ "In most cases" (exception: monoBERT for MSM leakage and PACRR for test leakage from Common
    Core 2017).
    """
    falls = set()
    for cell in CELLS:
        if cell.table == 7 and cell.measure == f"{SCORE}, {WITH}":
            without = value(
                7, cell.collection, f"{SCORE}, {WITHOUT}", cell.facts.model, cell.facts.variant
            )[0]
            if cell.value <= without:
                falls.add((cell.facts.model, cell.facts.variant, cell.collection))
    assert falls == {("bert_cat", "MSM leakage", target) for target in TARGETS} | {
        ("pacrr", "test leakage", "Core 2017")
    }

"""What is said and shown of rows about pools, of rows that are invented."""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.pooling.kind_rule import Contrast, FalseAlarms, KindAnswer, KindEffect
from positionbias.pooling.measured import kind_rows, pool_rows
from positionbias.pooling.shown import (
    BIAS,
    COVERAGE_FIGURE,
    KINDS,
    LEADS,
    OPEN,
    SCATTER,
    SECTIONS,
    SHOWN,
    VERDICT,
)
from positionbias.report.row_table import RowTable

WORSE = KindEffect(
    contrast=Contrast.UNSEEN, pool="old", kind="new", measure="RR", gap=-0.065, groups=4,
    among="groups of equal size", arrangements=400, exchanging=4, answer=KindAnswer.WORSE,
    value=-0.06, interval=Interval(-0.07, -0.05), by_chance=-0.005, p=0.002, p_holm=0.016,
    alarms=FalseAlarms(0.004, 0.001, 0.01, 1_000), power=0.72, missed=0.02, needed=6,
)  # fmt: skip
FEW = KindEffect(
    contrast=Contrast.MIXED, pool="old", kind="new", measure="RR", gap=-0.065, groups=4,
    among="groups", arrangements=20, exchanging=4,
)  # fmt: skip
OF_EQUAL = "under pools of old runs, the change of RR of new runs minus that of unseen old runs of "
RATES = (
    "“Worse” or “better” is a false alarm in 0.4 % [0.1, 1.0] of 1,000 permutations of kinds among "
    "groups of equal size; a gap of 0.03 is found in 72 % and called “within 0.03” in 2.0 %."
)
RANGE = "−0.060 [−0.070, −0.050]"


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def made(*effects: KindEffect) -> Collected:
    rows = pool_rows("worked")
    kind_rows(rows, effects)
    return rows


def lines(table: RowTable, rows: Collected) -> list[list[str]]:
    return [[plain(cell.text) for cell in line] for line in table.table(rows.rows).rows]


def test_whether_kind_matters_stands_with_its_error_rates() -> None:
    rows = made(WORSE, FEW)
    assert lines(KINDS, rows) == [
        ["RR", "old", "new", "beside unseen", "worse", "−0.065", "−0.005", RANGE, "0.016",
         "0.4 % [0.1, 1.0]", "72.0 %", "6"],
        ["RR", "old", "new", "beyond mixed pools", "cannot tell", "−0.065", *["–"] * 6],
    ]  # fmt: skip
    worse, few = (finding for finding in SHOWN.findings(rows.rows))
    assert (plain(worse.text), worse.holds) == (
        f"Worse: {OF_EQUAL}equal score is {RANGE} (95 % interval, Holm-adjusted p 0.016). {RATES} "
        "Add groups of new runs to the pool, or compare new runs only with each other.",
        True,
    )
    assert few.holds is None
    assert few.text.endswith("in only 20 ways: more groups are needed (here 4).")
    tile, unknown = SHOWN.tiles(rows.rows)
    assert (tile.words, tile.welcome, plain(tile.effect)) == (
        "Underestimated",
        False,
        f"{RANGE} RR",
    )
    assert [plain(text) for text in tile.basis] == [
        "Holm p 0.016", "finds 0.03 in 72 %", "false alarms 0.4 %",
    ]  # fmt: skip
    assert (unknown.words, unknown.effect, unknown.basis) == ("Cannot tell", "−0.065 RR", [])


@pytest.mark.parametrize(
    ("answers", "start", "counts"),
    [
        (["worse", "cannot tell"], "No: pools", "of 2 tests, 1 worse, 0 better, 0 within 0.03, 1"),
        (["within 0.03", "cannot tell"], "Cannot tell whether pools", "1 within 0.03, 1 cannot"),
        (["within 0.03"], "Yes: pools", "of 1 tests, 0 worse, 0 better, 1 within 0.03"),
    ],
)
def test_the_headline_counts_the_answers(answers: list[str], start: str, counts: str) -> None:
    effects = [
        replace(WORSE, answer=KindAnswer(answer), measure=str(number))
        for number, answer in enumerate(answers)
    ]
    (line,) = SHOWN.headline(made(*effects).rows)
    assert line.startswith(start)
    assert counts in line


def test_the_advice_of_an_open_test_is_the_number_of_groups_that_would_find_a_gap() -> None:
    (finding,) = SHOWN.findings(made(replace(WORSE, answer=KindAnswer.UNKNOWN)).rows)
    assert finding.text.endswith("6 groups would find it with 80\u00a0% power (here 4).")
    sure = replace(WORSE, answer=KindAnswer.UNKNOWN, power=0.9)
    assert SHOWN.findings(made(sure).rows)[0].text.endswith("topics to narrow the interval.")


def test_captions_say_the_main_numbers() -> None:
    rows = made(WORSE)
    rows.add("collection", "pool depth", 3)
    for statistic, number in (("found", 15), ("alone", 5)):
        rows.add("relevant documents", statistic, number, kind="old", axis="depth", at=3.0)
    cells = {"pool": "old", "kind": "new"}
    rows.add("RR", "change", -0.16, Interval(-0.18, -0.14), **cells)
    rows.add("RR", "tau_b", 0.812, variant="pool 0", **cells)
    for at, change in ((1.0, -0.3), (10.0, -0.1)):
        rows.add("RR", "change", change, axis="depth", at=at, **cells)
    depth = next(
        figure
        for section in SECTIONS
        for figure in section.figures[:1]
        if section.anchor == "pool-curves"
    )
    for figure, numbers in (
        (COVERAGE_FIGURE, "At depth 3: old: 15, 5 of them in no other kind's pool."),
        (SCATTER, "Kendall's τ: RR, old pool, new: 0.812."),
        (
            BIAS,
            "Of other kinds than the pools': new runs by old pools, RR: −0.160 [−0.180, −0.140].",
        ),
        (
            depth,
            "At 1: new runs by old pools, RR: −0.300. At 10: new runs by old pools, RR: −0.100.",
        ),
    ):
        assert numbers in plain(figure.caption(rows.rows))


def test_a_verdict_stands_beside_the_pooled_runs() -> None:
    rows = pool_rows("old")
    for run, score, lead, answer in (
        ("new", 0.5, None, ""),
        ("worst", 0.1, 0.43, "better"),
        ("best", 0.9, -0.37, "worse, certainly"),
        ("near", 0.55, -0.02, "open"),
    ):
        rows.add("P@2", "score", score, run=run)
        rows.add("P@2", "least", score - 0.1, run=run)
        rows.add("P@2", "most", score + 0.2, run=run)
        if lead is not None:
            rows.add("P@2", "lead", 0.5 - score, run=run, answer=answer)
            rows.add("P@2", "predicted lead", lead, run=run)
            rows.add("P@2", "probability", 0.3, run=run, p_adjusted=0.04)
    answer = "cannot be judged yet"
    rows.add("P@2", "predicted", 0.53, Interval(0.51, 0.55), run="new", answer=answer)
    rows.add("P@2", "documents to judge", 7, run="new")
    predicted = "0.530 [0.510, 0.550]"
    assert lines(VERDICT, rows) == [
        ["P@2", "new", answer, "0.500", predicted, "0.400", "0.700", "7"]
    ]
    near = ["P@2", "near", "0.550", "−0.050", "−0.020", "0.30", "open", "0.040"]
    assert [line[1] for line in lines(LEADS, rows)] == ["best", "near", "worst"]
    assert [[cell for cell in line if cell != ""] for line in lines(OPEN, rows)] == [near]

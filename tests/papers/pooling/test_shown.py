"""What is said and shown of rows about pools, of rows that are invented."""

from __future__ import annotations

import pytest

from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.papers.pooling.shown import (
    BIAS,
    COVERAGE_FIGURE,
    KINDS,
    LEADS,
    SCATTER,
    SHOWN,
    VERDICT,
)
from positionbias.pooling.pools import pool_rows
from positionbias.report.table import RowTable

RANGE = "−0.060 [−0.070, −0.050]"


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def add_effect(rows: Collected, answer: str, measure: str = "RR") -> None:
    cells = {"pool": "old", "kind": "new", "variant": "beside unseen"}
    rows.add(measure, "gap", -0.065, **cells)
    tested = {"p": 0.002, "p_adjusted": 0.016, "margin": 0.03, "count": 4, "answer": answer}
    rows.add(measure, "effect of kind", -0.06, Interval(-0.07, -0.05), **tested, **cells)
    rows.add(measure, "false alarms", 0.004, Interval(0.001, 0.01), count=1_000, **cells)
    rows.add(measure, "power", 0.72, **cells)


def lines(table: RowTable, rows: Collected) -> list[list[str]]:
    return [[plain(cell.text) for cell in line] for line in table.table(rows.rows).rows]


def test_whether_kind_matters_stands_with_its_error_rates() -> None:
    rows = pool_rows("worked")
    add_effect(rows, "worse")
    few = {"pool": "old", "kind": "new", "variant": "beyond mixed pools"}
    rows.add("RR", "gap", -0.065, **few)
    reason = {"answer": "cannot tell", "reason": "kinds can be permuted in only 20 ways"}
    rows.add("RR", "effect of kind", None, **reason, **few)
    assert lines(KINDS, rows) == [
        ["RR", "old", "new", "beside unseen", "worse", "−0.065", RANGE, "0.016",
         "0.4 % [0.1, 1.0]", "72.0 %"],
        ["RR", "old", "new", "beyond mixed pools", "cannot tell", "−0.065", *["–"] * 4],
    ]  # fmt: skip
    assert KINDS.table(rows.rows).notes[0] == f"Cannot tell: {reason['reason']}."
    tile, unknown = SHOWN.tiles(rows.rows)
    assert (tile.words, tile.welcome) == ("Underestimated", False)
    assert plain(tile.effect) == f"{RANGE} RR"
    assert tile.advice.startswith("Add groups of new runs to the pool")
    assert [plain(text) for text in tile.basis] == [
        "Holm p 0.016", "finds 0.03 in 72 %", "false alarms 0.4 %",
    ]  # fmt: skip
    assert (unknown.words, unknown.effect, unknown.basis) == ("Cannot tell", "−0.065 RR", [])


@pytest.mark.parametrize(
    ("answers", "start", "counts"),
    [
        (
            ["worse", "cannot tell"],
            "No: pools of one kind do not judge the other as they judge",
            "of 2 tests, 1 worse, 0 better, 0 within 0.03, 1",
        ),
        (["within 0.03", "cannot tell"], "Cannot tell whether pools", "1 within 0.03, 1 cannot"),
        (["within 0.03"], "Yes: pools", "of 1 tests, 0 worse, 0 better, 1 within 0.03"),
    ],
)
def test_the_finding_counts_the_answers(answers: list[str], start: str, counts: str) -> None:
    rows = pool_rows("worked")
    for number, answer in enumerate(answers):
        add_effect(rows, answer, str(number))
    (finding,) = SHOWN.findings(rows.rows)
    assert finding.text.startswith(start)
    assert counts in finding.text


def test_captions_say_the_main_numbers() -> None:
    rows = pool_rows("worked")
    add_effect(rows, "worse")
    rows.add("collection", "pool depth", 3)
    for statistic, number in (("found", 15), ("alone", 5)):
        rows.add("relevant documents", statistic, number, kind="old", axis="depth", at=3.0)
    cells = {"pool": "old", "kind": "new"}
    rows.add("RR", "change", -0.16, **cells)
    rows.add("RR", "tau_b", 0.812, variant="pool 0", **cells)
    for figure, numbers in (
        (COVERAGE_FIGURE, "depth 3: of old runs 15, 5 of them in no other."),
        (SCATTER, "Kendall's τ: RR, old pool, new: 0.812."),
        (BIAS, "Of other kinds than the pools': new runs by old pools, RR: −0.160."),
    ):
        assert numbers in plain(figure.caption(rows.rows))


def test_a_verdict_stands_beside_the_pooled_runs() -> None:
    rows = pool_rows("old")
    rows.add("P@2", "score", 0.5, run="new")
    rows.add("P@2", "least", 0.4, run="new")
    rows.add("P@2", "most", 0.7, run="new")
    answer = "cannot be judged yet"
    rows.add("P@2", "predicted", 0.53, Interval(0.51, 0.55), run="new", answer=answer)
    for run, score, lead, better, order in (
        ("worst", 0.1, 0.43, 0.99, "better"),
        ("best", 0.9, -0.37, 0.01, "worse"),
        ("near", 0.55, -0.02, 0.3, "open"),
    ):
        rows.add("P@2", "score", score, run=run)
        rows.add("P@2", "predicted lead", lead, run=run)
        rows.add("P@2", "probability", better, run=run, answer=order)
    predicted = "0.530 [0.510, 0.550]"
    assert lines(VERDICT, rows) == [["P@2", "new", answer, "0.500", predicted, "0.400", "0.700"]]
    assert [[cell for cell in line if cell != ""] for line in lines(LEADS, rows)] == [
        ["P@2", "best", "0.900", "−0.370", "0.01", "worse"],
        ["P@2", "near", "0.550", "−0.020", "0.30", "open"],
        ["P@2", "worst", "0.100", "+0.430", "0.99", "better"],
    ]
    (finding,) = SHOWN.findings(rows.rows)
    assert finding.text.splitlines()[-1].startswith(
        "On these queries better than 1 and worse than 1 of 3 pooled runs"
    )

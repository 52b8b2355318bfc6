"""Checks as a table and in sentences."""

from __future__ import annotations

from typing import Any

from positionbias.audit.check_table import check_table, headline, system_lines
from positionbias.core.checks import Check, Measured, Outcome
from positionbias.report.table import as_csv, as_text

PASS, FAIL, OPEN = Outcome
WITHIN = Measured("end − front", "nDCG@10", -0.004, -0.013, 0.005, 2_000)
BEYOND = Measured("end − front", "nDCG@10", -0.051, -0.071, -0.031, 2_000)
ACROSS = Measured("end − front", "nDCG@10", 0.01, -0.03, 0.05, 100)


def check(
    system: str,
    outcome: Outcome,
    measured: Measured | None = None,
    limit: str = "max-response",
    **more: Any,
) -> Check:
    return Check(system, limit, 0.02, outcome, measured, **more)


CHECKS = [
    check("minilm", PASS, WITHIN),
    check("my.ckpt", FAIL, BEYOND),
    check("bm25.run", OPEN, None, reason="not measured: end − front"),
    check("tk", OPEN, ACROSS, wanted=1_600),
]


def test_the_table_has_a_row_a_check_with_unrounded_values_in_csv() -> None:
    table = check_table(CHECKS)
    shown = as_text(table)
    assert shown.startswith(
        "Limits on position bias: fail (4 systems: 1 pass, 1 fail, 2 cannot tell)"
    )
    rows = {
        tuple(cell.text for cell in row[:2]): [cell.text for cell in row[2:]] for row in table.rows
    }
    assert rows["my.ckpt", "--max-response 0.02"] == [
        "end − front: −0.051 nDCG@10 [−0.071,\u00a0−0.031]", "fail", "–",
    ]  # fmt: skip
    assert rows["tk", "--max-response 0.02"][1:] == ["cannot tell", "about 1,600 queries"]
    assert rows["bm25.run", "--max-response 0.02"] == ["–", "cannot tell", "–"]
    assert "bm25.run, --max-response: not measured: end − front." in shown
    assert "minilm,0.02,-0.004,-0.013,0.005,pass," in as_csv(table)


def test_a_line_a_system_says_what_decided() -> None:
    assert [line.replace("\u00a0", " ") for line in system_lines(CHECKS)] == [
        "minilm: passes --max-response 0.02 (end − front: −0.004 nDCG@10 [−0.013, +0.005])",
        "my.ckpt: fails --max-response 0.02 (end − front: −0.051 nDCG@10 [−0.071, −0.031])",
        "bm25.run: cannot tell about --max-response 0.02 (not measured: end − front)",
        "tk: cannot tell about --max-response 0.02 "
        "(end − front: +0.010 nDCG@10 [−0.030, +0.050]; about 1,600 queries would do)",
    ]


def test_nothing_open_is_passed() -> None:
    assert headline([]).startswith("cannot tell")

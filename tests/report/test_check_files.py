"""Checks as a table, as JUnit XML that a parser reads back, and as Markdown in which no name is
markup.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from positionbias.core.checks import Check, Measured, Outcome
from positionbias.report.check_files import check_table, headline, junit, summary, system_lines
from positionbias.report.table import as_csv, as_text

PASS, FAIL, OPEN = Outcome
WITHIN = Measured("end − front", "nDCG@10", -0.004, -0.013, 0.005, 2_000)
BEYOND = Measured("end − front", "nDCG@10", -0.051, -0.071, -0.031, 2_000)
ACROSS = Measured("end − front", "nDCG@10", 0.01, -0.03, 0.05, 100)
PSI = Measured("debiased PSI of nDCG@10", "", 0.06, 0.01, 0.11, 2_000)
HOSTILE = 'a<b>&"|`@org/team` #1 \x1b[31m\n</testsuite>\ud800 *x*'


def check(
    system: str,
    outcome: Outcome,
    measured: Measured | None = None,
    limit: str = "max-response",
    **more: Any,
) -> Check:
    return Check(system, limit, 0.02, outcome, measured, **more)


def described(system: str) -> Check:
    return check(system, OPEN, PSI, "max-psi", note="--max-psi only describes", decides=False)


CHECKS = [
    check("minilm", PASS, WITHIN),
    described("minilm"),
    check("my.ckpt", FAIL, BEYOND),
    described("my.ckpt"),
    check("bm25.run", OPEN, None, reason="not measured: end − front"),
    described("bm25.run"),
    check("tk", OPEN, ACROSS, wanted=1_600),
    described("tk"),
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
    assert rows["minilm", "--max-psi 0.02"] == [
        "debiased PSI of nDCG@10: +0.060 [+0.010,\u00a0+0.110]",
        "describes only",
        "–",
    ]
    assert "bm25.run, --max-response: not measured: end − front." in shown
    assert shown.count("--max-psi only describes") == 1
    assert "minilm,0.02,-0.004,-0.013,0.005,pass," in as_csv(table)


def test_a_line_a_system_says_what_decided() -> None:
    assert [line.replace("\u00a0", " ") for line in system_lines(CHECKS)] == [
        "minilm: passes --max-response 0.02 (end − front: −0.004 nDCG@10 [−0.013, +0.005])",
        "my.ckpt: fails --max-response 0.02 (end − front: −0.051 nDCG@10 [−0.071, −0.031])",
        "bm25.run: cannot tell about --max-response 0.02 (not measured: end − front)",
        "tk: cannot tell about --max-response 0.02 "
        "(end − front: +0.010 nDCG@10 [−0.030, +0.050]; about 1,600 queries would do)",
    ]


def test_junit_has_a_suite_a_system_and_nothing_open_counts_as_passed() -> None:
    root = ElementTree.fromstring(junit(CHECKS).encode())
    assert root.tag == "testsuites"
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8", "failures": "3", "errors": "0", "skipped": "4",
    }  # fmt: skip
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["minilm", "my.ckpt", "bm25.run", "tk"]
    found = {name: suite.find("testcase/failure") for name, suite in suites.items()}
    assert found["minilm"] is None
    assert {name: failure.get("type") for name, failure in found.items()
        if failure is not None} == {
        "my.ckpt": "fail", "bm25.run": "cannot tell", "tk": "cannot tell",
    }  # fmt: skip
    assert found["tk"] is not None
    assert "about 1,600 queries would do" in str(found["tk"].get("message"))
    assert [case.get("name") for case in suites["tk"]] == ["--max-response 0.02", "--max-psi 0.02"]
    assert {case.get("classname") for case in suites["tk"]} == {"tk"}
    assert suites["tk"].find("testcase[2]/skipped") is not None


@pytest.mark.parametrize("system", [HOSTILE, "", "模型 é", "]]>", "\r\t"])
def test_junit_is_well_formed_with_any_name(system: str) -> None:
    text = junit([check(system, FAIL, BEYOND, reason=system, note=system)])
    text.encode()
    suite = ElementTree.fromstring(text)[0]
    assert suite.get("name") == system.replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")
    assert suite.get("failures") == "1"


def test_a_description_alone_is_not_passed() -> None:
    checks = [described("minilm")]
    assert headline(checks) == "cannot tell (1 system)"
    root = ElementTree.fromstring(junit(checks))
    assert (root.get("failures"), root.get("skipped")) == ("1", "0")
    assert "cannot tell about" in summary(checks)


def test_without_a_check_nothing_has_passed() -> None:
    assert headline([]).startswith("cannot tell")
    assert ElementTree.fromstring(junit([])).get("tests") == "0"
    assert summary([]).startswith("### posbias check: cannot tell")


def test_the_summary_is_a_headline_and_a_line_a_system() -> None:
    lines = summary(CHECKS).replace("\u00a0", " ").splitlines()
    assert lines[0] == "### posbias check: fail (4 systems: 1 pass, 1 fail, 2 cannot tell)"
    assert lines[2].startswith("- `minilm`: passes --max-response 0.02")
    assert lines[3].startswith("- `my.ckpt`: fails --max-response 0.02")
    assert lines[-1] == "- --max-psi only describes"


def test_no_name_is_markup_in_the_summary() -> None:
    lines = summary([check(HOSTILE, FAIL, BEYOND, reason=HOSTILE)]).splitlines()
    said = lines[2].removeprefix('- `` a<b>&"|`@org/team` #1  [31m </testsuite>  *x* ``')
    assert len(lines) == 3
    assert len(said) < len(lines[2])
    assert "(a\\<b\\>" not in said  # the name stands in the reason, behind what was measured
    assert 'a\\<b\\>\\&"\\|\\`@\u200borg/team\\` #\u200b1  \\[31m \\</testsuite\\>  \\*x\\*' in said

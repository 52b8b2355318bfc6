"""Outcomes of checks as a terminal table, JUnit XML for CI, and Markdown for pull requests: Checks
in, text out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from positionbias.core.checks import Check, Measured, Outcome, deciding, overall
from positionbias.core.formatting import MISSING, count, decimal, interval
from positionbias.core.interval import Interval
from positionbias.report.cells import text_cell
from positionbias.report.markdown import code, document, escaped, one_line
from positionbias.report.table import Cell, Column, Table
from positionbias.results.select import distinct

__all__ = ["check_table", "headline", "junit", "summary", "system_lines"]

# what XML 1.0 cannot hold, even escaped
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_VERBS = {Outcome.PASS: "passes", Outcome.FAIL: "fails", Outcome.CANNOT_TELL: "cannot tell about"}
_DESCRIBES = "describes only"


def headline(checks: Sequence[Check]) -> str:
    """Return the outcome of all checks, with the number of systems for each."""
    outcomes = [overall(own) for _, own in _by_system(checks)]
    counted = ", ".join(f"{outcomes.count(one)} {one}" for one in Outcome if one in outcomes)
    systems = "1 system" if len(outcomes) == 1 else f"{len(outcomes)} systems"
    return f"{overall(checks)} ({systems}{f': {counted}' if len(outcomes) > 1 else ''})"


def check_table(checks: Sequence[Check]) -> Table:
    """Return a row for each system and limit."""
    columns = [
        Column("System", numeric=False),
        Column("Limit", numeric=False),
        Column("Measured"),
        Column("95 % interval"),
        Column("Verdict", numeric=False),
        Column("What would do", numeric=False),
    ]
    rows = [
        [
            text_cell(one_line(check.system)),
            Cell(_limit(check), check.at_most),
            *_measured_cells(check.measured),
            text_cell(_verdict(check, checks)),
            Cell(_would_do(check), check.wanted),
        ]
        for check in checks
    ]
    return Table(
        "checks", f"Limits on position bias: {headline(checks)}", columns, rows, _notes(checks)
    )


def system_lines(checks: Sequence[Check]) -> list[str]:
    """Return a line per system: what it fails; else what cannot be told, and why; else what it
    passes.
    """
    return [f"{one_line(system)}: {said}" for system, said in _said(checks)]


def junit(checks: Sequence[Check]) -> str:
    """Return JUnit XML: a test suite per system, a test case per limit.

    A check that cannot tell is a ``<failure>`` of type "cannot tell": not every reader of JUnit
    counts ``<error>`` as not passed.
    """
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    root = ElementTree.Element("testsuites", {"name": "posbias check"})
    for system, own in _by_system(checks):
        suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(system)})
        decides = deciding(own)
        skipped = len(own) - len(decides)
        failures = sum(check.outcome is not Outcome.PASS for check in decides)
        for name, number in zip(counts, (len(own), failures, 0, skipped), strict=True):
            suite.set(name, str(number))
            counts[name] += number
        for check in own:
            _test_case(suite, check, decides=check in decides)
    for name, number in counts.items():
        root.set(name, str(number))
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"{ElementTree.tostring(root, encoding='unicode')}\n"
    )


def _test_case(suite: ElementTree.Element, check: Check, *, decides: bool) -> None:
    attributes = {"classname": _xml(check.system), "name": _limit(check), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if not decides:
        ElementTree.SubElement(case, "skipped", {"message": _xml(check.note or _DESCRIBES)})
    elif check.outcome is not Outcome.PASS:
        message = {
            "type": str(check.outcome),
            "message": _xml(f"{check.outcome}: {_finding(check)}"),
        }
        ElementTree.SubElement(case, "failure", message).text = _xml(_detail(check))
    ElementTree.SubElement(case, "system-out").text = _xml(_detail(check))


def summary(checks: Sequence[Check]) -> str:
    """Return Markdown for a pull-request comment: headline, table, a line per system, notes."""
    table, rows = check_table(checks), []
    for check, row in zip(checks, table.rows, strict=True):
        texts = [escaped(cell.text) for cell in row]
        texts[0] = code(check.system).replace("|", "\\|")
        texts[1] = code(_limit(check))
        texts[4] = (
            f"**{texts[4]}**"
            if check in deciding(checks) and check.outcome is not Outcome.PASS
            else texts[4]
        )
        rows.append(texts)
    lines = [f"{code(system)}: {escaped(said)}" for system, said in _said(checks)]
    notes = [escaped(note) for note in distinct(check.note for check in checks) if note]
    return document(f"posbias check: {headline(checks)}", table.columns, rows, lines, notes)


def _by_system(checks: Sequence[Check]) -> list[tuple[str, list[Check]]]:
    systems = distinct(check.system for check in checks)
    return [(system, [check for check in checks if check.system == system]) for system in systems]


def _limit(check: Check) -> str:
    return f"--{check.limit} {check.at_most:g}"


def _measured_cells(measured: Measured | None) -> tuple[Cell, Cell]:
    if measured is None:
        return Cell(MISSING), Cell(MISSING)
    bounds = _interval(measured)
    value = f"{measured.contrast}: {decimal(measured.value, sign=True)} {measured.unit}".rstrip()
    return Cell(value, measured.value), Cell(
        interval(bounds, sign=True) or MISSING, None, measured.low, measured.high
    )


def _interval(measured: Measured) -> Interval | None:
    return (
        None
        if measured.low is None or measured.high is None
        else Interval(measured.low, measured.high)
    )


def _verdict(check: Check, checks: Sequence[Check]) -> str:
    return (
        str(check.outcome)
        if check in deciding([one for one in checks if one.system == check.system])
        else _DESCRIBES
    )


def _would_do(check: Check) -> str:
    if check.wanted is not None:
        return f"about {count(check.wanted)} queries"
    return "see below" if check.decides and check.outcome is Outcome.CANNOT_TELL else MISSING


def _notes(checks: Sequence[Check]) -> list[str]:
    reasons = [
        f"{check.system}, --{check.limit}: {check.reason}." for check in checks if check.reason
    ]
    return [*reasons, *(f"{note}." for note in distinct(check.note for check in checks) if note)]


def _finding(check: Check) -> str:
    """Return a check in a phrase: the limit, the measurement, why that decides nothing, and what to
    do.
    """
    parts = []
    if check.measured is not None:
        value, bounds = _measured_cells(check.measured)
        parts.append(f"{value.text}{f' {bounds.text}' if bounds.text != MISSING else ''}")
    parts += [check.reason] if check.reason else []
    parts += [f"{_would_do(check)} would do"] if check.wanted is not None else []
    return f"{_limit(check)} ({'; '.join(parts)})" if parts else _limit(check)


def _detail(check: Check) -> str:
    return (
        f"{check.outcome if check.decides else _DESCRIBES}: "
        f"{_finding(check)}{f'. {check.note}' if check.note else ''}"
    )


def _said(checks: Sequence[Check]) -> list[tuple[str, str]]:
    """Return a sentence of each system with the text for it."""
    found = []
    for system, own in _by_system(checks):
        outcome, decides = overall(own), deciding(own)
        phrases = [_finding(check) for check in decides if check.outcome is outcome]
        found.append((system, f"{_VERBS[outcome]} {', '.join(phrases)}"))
    return found


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

"""Outcomes of checks as a table, as JUnit XML for CI, and as Markdown for pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from positionbias.core.checks import Check, Outcome, deciding, overall
from positionbias.core.formatting import MISSING, count, decimal, interval, plural
from positionbias.core.interval import Interval
from positionbias.report.markdown import code, escaped, one_line
from positionbias.report.table import Cell, Column, Table

__all__ = ["check_table", "headline", "junit", "summary", "system_lines"]

# what XML 1.0 cannot hold, even escaped
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_VERBS = {Outcome.PASS: "passes", Outcome.FAIL: "fails", Outcome.CANNOT_TELL: "cannot tell about"}
_DESCRIBES = "describes only"


def _by_system(checks: Sequence[Check]) -> dict[str, list[Check]]:
    systems: dict[str, list[Check]] = {}
    for check in checks:
        systems.setdefault(check.system, []).append(check)
    return systems


def headline(checks: Sequence[Check]) -> str:
    """Return the outcome of all checks, with the number of systems for each."""
    outcomes = [overall(own) for own in _by_system(checks).values()]
    counted = [f"{outcomes.count(one)} {one}" for one in Outcome if one in outcomes]
    each = f": {', '.join(counted)}" if len(outcomes) > 1 else ""
    return f"{overall(checks)} ({plural(len(outcomes), 'system')}{each})"


def check_table(checks: Sequence[Check]) -> Table:
    """Return a row for each system and limit."""
    names = ("System", "Limit", "Measured", "Verdict", "What would do")
    columns = [Column(name, numeric=name == "Measured") for name in names]
    rows = [
        [
            Cell(one_line(check.system)),
            Cell(_limit(check), check.at_most),
            _measured(check),
            Cell(str(check.outcome) if check in deciding(own) else _DESCRIBES),
            Cell(_would_do(check) or MISSING, check.wanted),
        ]
        for own in _by_system(checks).values()
        for check in own
    ]
    reasons = [
        f"{check.system}, --{check.limit}: {check.reason}." for check in checks if check.reason
    ]
    notes = [*reasons, *(f"{note}." for note in _notes(checks))]
    return Table("checks", f"Limits on position bias: {headline(checks)}", columns, rows, notes)


def _notes(checks: Sequence[Check]) -> list[str]:
    return list(dict.fromkeys(check.note for check in checks if check.note))


def _limit(check: Check) -> str:
    return f"--{check.limit} {check.at_most:g}"


def _would_do(check: Check) -> str:
    return "" if check.wanted is None else f"about {count(check.wanted)} queries"


def _measured(check: Check) -> Cell:
    if (one := check.measured) is None:
        return Cell(MISSING)
    bounds = None if one.low is None or one.high is None else Interval(one.low, one.high)
    value = f"{one.contrast}: {decimal(one.value, sign=True)} {one.unit}".rstrip()
    ends = interval(bounds, sign=True)
    return Cell(f"{value} {ends}" if ends else value, one.value, one.low, one.high)


def _finding(check: Check) -> str:
    """Return a check in a phrase: the limit, the measurement, why that decides nothing, and what to
    do.
    """
    parts = [_measured(check).text] if check.measured else []
    parts += [check.reason] if check.reason else []
    parts += [f"{_would_do(check)} would do"] if check.wanted is not None else []
    return f"{_limit(check)} ({'; '.join(parts)})" if parts else _limit(check)


def _said(checks: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield each system with what it fails; else what cannot be told, and why; else what it
    passes.
    """
    for system, own in _by_system(checks).items():
        outcome = overall(own)
        phrases = [_finding(check) for check in deciding(own) if check.outcome is outcome]
        yield system, f"{_VERBS[outcome]} {', '.join(phrases)}"


def system_lines(checks: Sequence[Check]) -> list[str]:
    """Return a line per system."""
    return [f"{one_line(system)}: {said}" for system, said in _said(checks)]


def junit(checks: Sequence[Check]) -> str:
    """Return JUnit XML: a test suite per system, a test case per limit.

    A check that cannot tell is a ``<failure>`` of type "cannot tell": not every reader of JUnit
    counts ``<error>`` as not passed.
    """
    root = ElementTree.Element("testsuites", {"name": "posbias check"})
    for system, own in _by_system(checks).items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(system)})
        for check in own:
            attributes = {"classname": _xml(system), "name": _limit(check), "time": "0"}
            case = ElementTree.SubElement(suite, "testcase", attributes)
            told = _xml(f"{check.outcome}: {_finding(check)}{f'. {check.note}' * bool(check.note)}")
            if check not in deciding(own):
                message = {"message": _xml(check.note or _DESCRIBES)}
                ElementTree.SubElement(case, "skipped", message)
            elif check.outcome is not Outcome.PASS:
                ElementTree.SubElement(
                    case, "failure", {"type": str(check.outcome), "message": told}
                )
            ElementTree.SubElement(case, "system-out").text = told
    for element in [root, *root]:
        for name, tag in {"tests": "testcase", "failures": "failure", "skipped": "skipped"}.items():
            element.set(name, str(len(list(element.iter(tag)))))
        element.set("errors", "0")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def summary(checks: Sequence[Check]) -> str:
    """Return Markdown for a pull-request comment: headline, a line per system, notes."""
    lines = [f"- {code(system)}: {escaped(said)}" for system, said in _said(checks)]
    notes = [f"- {escaped(note)}" for note in _notes(checks)]
    return "\n".join([f"### posbias check: {headline(checks)}", "", *lines, *notes, ""])

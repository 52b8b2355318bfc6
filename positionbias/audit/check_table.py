"""Outcomes of checks as a table, and in a line for each system."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.checks import Check, Outcome, overall
from positionbias.core.formatting import MISSING, count, decimal, interval, plural
from positionbias.core.interval import Interval
from positionbias.core.terminal import neutral
from positionbias.report.table import Cell, Column, Table

__all__ = ["check_table", "headline", "system_lines"]

_VERBS = {Outcome.PASS: "passes", Outcome.FAIL: "fails", Outcome.CANNOT_TELL: "cannot tell about"}


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
            Cell(check.system),
            Cell(_limit(check), check.at_most),
            _measured(check),
            Cell(str(check.outcome)),
            Cell(_would_do(check) or MISSING, check.wanted),
        ]
        for own in _by_system(checks).values()
        for check in own
    ]
    reasons = [
        f"{check.system}, --{check.limit}: {check.reason}." for check in checks if check.reason
    ]
    notes = [*reasons, *dict.fromkeys(f"{check.note}." for check in checks if check.note)]
    return Table("checks", f"Limits on position bias: {headline(checks)}", columns, rows, notes)


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


def system_lines(checks: Sequence[Check]) -> list[str]:
    """Return a line for each system: what it fails; else what cannot be told, and why; else what it
    passes.
    """
    lines = []
    for system, own in _by_system(checks).items():
        outcome = overall(own)
        phrases = [_finding(check) for check in own if check.outcome is outcome]
        lines.append(f"{neutral(system)}: {_VERBS[outcome]} {', '.join(phrases)}")
    return lines

"""Verdicts and rows of invented systems, and the rows of an audit that measured them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from positionbias.audit.answers import Verdict
from positionbias.audit.measured import collected, verdict_rows
from positionbias.audit.systems import Rows, Task
from positionbias.core.rows import Collected


class Figures(NamedTuple):
    """A verdict on a system, or rows of what was measured of it, with its name and its role."""

    system: str
    role: str
    figures: Verdict | Rows


def audit_rows(task: Task, measured: Iterable[Figures]) -> Collected:
    """The rows of these figures, as an audit of the task would give them."""
    made = collected(task)
    for system, role, figures in measured:
        rows = verdict_rows(figures) if isinstance(figures, Verdict) else figures
        for row in rows:
            made.add(**row, model=system, role=role)
    return made

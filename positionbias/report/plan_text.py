"""Dry runs as text: the steps of a study, and about how long they would take."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.duration import shown_time
from positionbias.report.cells import text_cell
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.artefacts import Plan, PlannedStep
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["plan_text"]


def plan_text(results: Sequence[Result]) -> str:
    """Return the plan. Times are estimates from finished steps of the study; trainings may stop
    early, never take longer.
    """
    steps = {name: step for _, plan in of_type(results, Plan) for name, step in plan.rows.items()}
    rows = [[text_cell(name), text_cell(_state(step)), _time(step)] for name, step in steps.items()]
    left = [step for step in steps.values() if not step.done]
    known = [step.seconds for step in left if step.seconds is not None]
    time = f", about {shown_time(sum(known))}" if known else ""
    unknown = (
        f" (without {len(left) - len(known)} that are like no finished step)"
        if known and len(known) < len(left)
        else ""
    )
    notes = [f"{len(left)} of {len(steps)} steps to be made{time}{unknown}. Nothing was written."]
    if known:
        notes.append("Times are estimates from finished steps; a training may stop early.")
    columns = [
        Column("Step", numeric=False),
        Column("State", numeric=False),
        Column("About"),
    ]
    return as_text(Table("plan", "The plan", columns, rows, notes))


def _state(step: PlannedStep) -> str:
    return "done before" if step.done else "to be made"


def _time(step: PlannedStep) -> Cell:
    return Cell(
        "" if step.done else "?" if step.seconds is None else shown_time(step.seconds), step.seconds
    )

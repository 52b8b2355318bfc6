"""Dry runs as text: the steps of a study, which are done, and about how long the others would take."""

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
    """Return the plan. Times are estimates on this machine as it is now; trainings may stop early, never take longer."""
    steps = {name: step for _, plan in of_type(results, Plan) for name, step in plan.rows.items()}
    rows = [[text_cell(name), text_cell(_state(step)), _time(step), text_cell(step.note)] for name, step in steps.items()]
    left = [step for step in steps.values() if not step.done]
    open_ = sum(step.seconds is None for step in left)
    total = f"{len(left)} of {len(steps)} steps to be made, about {shown_time(sum(step.seconds or 0 for step in left))}"
    notes = [f"{total}{f', and {open_} of which nothing tells the time' if open_ else ''}. Nothing was written."]
    notes.append("Times are estimates; a training may stop early, and a step whose inputs come out as they were is skipped.")
    columns = [Column("Step", numeric=False), Column("State", numeric=False), Column("About"), Column("", numeric=False)]
    return as_text(Table("plan", "The plan", columns, rows, notes))


def _state(step: PlannedStep) -> str:
    return "done before" if step.done else "to be made"


def _time(step: PlannedStep) -> Cell:
    return Cell("" if step.done else "?" if step.seconds is None else shown_time(step.seconds), step.seconds)

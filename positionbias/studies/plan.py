"""What a dry run says: the steps of a study, which are done, and about how long the others would take."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.cells import text_cell
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.artefacts import PLAN, Plan, PlannedStep
from positionbias.results.result import Result
from positionbias.studies.step import Planned, shown_time

__all__ = ["plan_result", "plan_table"]


def plan_result(planned: Sequence[Planned], collection: str) -> Result:
    """The plan as a Result; its value is the seconds that are known of, its count the steps to be made."""
    plan = Plan(rows={step.name: PlannedStep(step.done, step.seconds, step.note) for step in planned})
    left = [step for step in planned if not step.done]
    return Result(PLAN, collection, "", "", None, _total(left), None, len(left), plan)


def plan_table(planned: Sequence[Planned]) -> str:
    """The plan as text. Times are estimates on this machine as it is now; a training may stop early, none takes longer."""
    rows = [[text_cell(step.name), text_cell(_state(step)), _time(step), text_cell(step.note)] for step in planned]
    left = [step for step in planned if not step.done]
    open_ = sum(step.seconds is None for step in left)
    total = f"{len(left)} of {len(planned)} steps to be made, about {shown_time(_total(left))}"
    notes = [f"{total}{f', and {open_} of which nothing tells the time' if open_ else ''}. Nothing was written."]
    notes.append("Times are estimates; a training may stop early, and a step whose inputs come out as they were is skipped.")
    columns = [Column("Step", numeric=False), Column("State", numeric=False), Column("About"), Column("", numeric=False)]
    return as_text(Table("plan", "The plan", columns, rows, notes))


def _state(step: Planned) -> str:
    return "done before" if step.done else "to be made"


def _time(step: Planned) -> Cell:
    return Cell("" if step.done else "?" if step.seconds is None else shown_time(step.seconds), step.seconds)


def _total(planned: Sequence[Planned]) -> float:
    return sum(step.seconds or 0.0 for step in planned)

"""Dry runs and plans as text: the steps of a study, and about how long they would take; what one step takes at a size."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.duration import shown_time
from positionbias.core.formatting import MISSING, count, decimal
from positionbias.report.cells import text_cell
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.artefacts import Plan, PlannedStep
from positionbias.results.plans import STEP_PLAN, PlannedAmount, StepPlan
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["plan_text", "shown_amount", "step_plan_text"]


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


def step_plan_text(results: Sequence[Result]) -> str:
    """Return what a step takes at a size, a line for each number with its origin."""
    ((result, plan),) = of_type(results, StepPlan)
    rows = [
        [text_cell(name), Cell(shown_amount(line), line.value), text_cell(line.origin), text_cell(line.note)]
        for name, line in plan.rows.items()
    ]
    columns = [Column("", numeric=False), Column("About"), Column("Origin", numeric=False), Column("", numeric=False)]
    title = f"{result.measure.removeprefix(STEP_PLAN)} by {result.system}"
    return as_text(
        Table(
            "plan", title, columns, rows, ["Computed lines follow from those measured, given and assumed. Nothing was written."]
        )
    )


def shown_amount(line: PlannedAmount) -> str:
    """Return a value with its unit, as a person reads it."""
    value = line.value
    if value is None:
        return MISSING
    match line.unit:
        case "s":
            return f"{decimal(value, 1)} s" if value < 10 else shown_time(value)
        case "h":
            return f"{decimal(value, 1 if value < 100 else 0)} h" if value >= 0.1 else f"{decimal(value, 4)} h"
        case "bytes" | "bytes/s":
            unit, size = next((unit, size) for unit, size in _SIZES if value >= size or size == 1)
            return (
                f"{decimal(value / size, 0 if size == 1 or value >= 100 * size else 1)} {unit}{line.unit.removeprefix('bytes')}"
            )
        case "/s":
            return f"{decimal(value, 1 if value < 100 else 0)} /s"
        case _:
            return count(value)


_SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1))

"""The payload of a plan: what a step takes, line by line, and where each number comes from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from positionbias.results.figures import Rows

__all__ = ["STEP_PLAN", "Origin", "PlannedAmount", "StepPlan", "Unit"]

STEP_PLAN = "plan of "
Origin = Literal["measured", "given", "assumed", "computed", "cannot tell"]
Unit = Literal["s", "h", "bytes", "bytes/s", "/s", ""]


class PlannedAmount(Struct, frozen=True):
    """One line: a value in seconds, hours, bytes, bytes a second, units a second, or a count; None where nothing tells it."""

    value: float | None
    unit: Unit
    origin: Origin
    note: str


class StepPlan(Rows[PlannedAmount], frozen=True):
    """The lines of a plan by name, in order. The measure is ``plan of STEP``; the result's value is the time in seconds."""

    MEASURES = (STEP_PLAN,)

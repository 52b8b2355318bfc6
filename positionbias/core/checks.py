"""A Check: one limit of one system, the measurement, and whether the system meets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Check", "Measured", "Outcome", "overall"]


class Outcome(StrEnum):
    """The result of a check. ``CANNOT_TELL`` covers undefined, not measured and too few queries."""

    PASS = "pass"
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Measured:
    """A contrast in a unit, with its 95 % interval, over the ``queries`` of ``drawn`` (0: not
    known) that could be measured. Undefined numbers are None."""

    contrast: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    queries: int
    drawn: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """One limit of one system; its fields are those of ``posbias check --json``.

    ``limit`` is the limit's name ("max-response"), ``at_most`` its value. ``measured`` is the
    deciding contrast of several. ``wanted`` is the number of queries that would decide the check,
    drawn as ``drawn`` are; None where no number can be given. ``reason`` says why the outcome does
    not follow from ``measured``, or that it is one of a length limit, and ``note`` what this limit
    cannot show.
    """

    system: str
    limit: str
    at_most: float
    outcome: Outcome
    measured: Measured | None = None
    wanted: int | None = None
    reason: str = ""
    note: str = ""


def overall(checks: Sequence[Check]) -> Outcome:
    """Combine outcomes: fail before cannot tell before pass; cannot tell without any check."""
    outcomes = {check.outcome for check in checks}
    for outcome in (Outcome.FAIL, Outcome.CANNOT_TELL):
        if outcome in outcomes:
            return outcome
    return Outcome.PASS if outcomes else Outcome.CANNOT_TELL

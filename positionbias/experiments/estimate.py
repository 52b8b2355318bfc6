"""Estimate the duration of steps from past steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.training.plan import TrainPlan

__all__ = ["Work", "training"]


@dataclass(frozen=True, slots=True)
class Work:
    """The size of a step: ``amount`` of ``unit``, whose name contains all that changes the time of
    one.
    """

    unit: str
    amount: float

    def seconds(self, taken: Mapping[str, float]) -> float | None:
        """Return the seconds that it takes by the seconds of one, by unit; None if no step of this
        unit has run yet.
        """
        return taken[self.unit] * self.amount if self.unit in taken else None


def training(
    collection: Collection, plan: TrainPlan, state: Path | None, groups: int | None = None
) -> tuple[Work, str]:
    """Return the most steps, less those that an interrupted training has done, as work and in
    words.

    ``groups`` is the size of the training set, for candidates about the number of queries.
    """
    config = plan.training
    done = int(state.name.rpartition("-")[2]) if state else 0
    steps = max(
        1,
        config.steps(collection.count_queries(plan.split or "train") if groups is None else groups),
    )
    validated = (
        f"validated every {config.validate_every}"
        if plan.validation_candidates
        else "without validation"
    )
    unit = (
        f"steps of {plan.named}, {config.batch_size} groups of {config.group_size} each, "
        f"{validated}"
    )
    note = f"at most {steps:,} steps" + (f", from {done:,}" if done else "")
    return Work(unit, max(0, steps - done)), note

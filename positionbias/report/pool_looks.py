"""How each kind of system is drawn: alike in all figures about pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.report.drawing import DASHES, MARKERS, colour_of
from positionbias.results.pools import TaskFigures
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = ["KindLooks", "looks_of"]


@dataclass(frozen=True, slots=True)
class KindLooks:
    """A kind of system in every figure."""

    colour: str
    marker: str
    dash: Any


def looks_of(results: Sequence[Result]) -> dict[str, KindLooks]:
    """Return each kind's looks, in the order of the task's table of systems; of several tasks, of the first one's."""
    kinds = [kind for _, task in of_type(results, TaskFigures) for kind in task.kinds]
    return {
        kind: KindLooks(colour_of(index), MARKERS[index % len(MARKERS)], DASHES[index % len(DASHES)])
        for index, kind in enumerate(distinct(kinds))
    }

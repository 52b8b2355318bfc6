"""Answers of a contamination study as tiles: does a teacher that saw a test gain on it, and does
its student?
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.evaluation.significance import HOLM
from positionbias.experiments.tiles import compared_tile
from positionbias.papers.contamination import inflations, system_name
from positionbias.report.tiles import Tile
from positionbias.results.result import Result

__all__ = ["contamination_tiles"]

_ADVICE = {
    "teacher": (
        "Keep the test's judgements out of the teacher's training set (posbias leakage find)."
    ),
    "student": "Distil from a teacher that never saw the test's judgements.",
}


def contamination_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each contaminated system on its own source, in the first measure."""
    found = inflations(results)
    return [
        compared_tile(
            f"Does contamination with {result.split} lift {result.measure}?",
            system_name(result.facts),
            result,
            payload,
            HOLM,
            good=False,
            advice=_ADVICE.get(result.facts.role, ""),
        )
        for result, payload in found
        if result.measure == found[0][0].measure
    ]

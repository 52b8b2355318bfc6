"""What is measured beside systems, as rows: contents of collections, and rotations."""

from __future__ import annotations

from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.rows import Collected
from positionbias.positions.debias import rotation_result
from positionbias.results.collections import RotationFigures

__all__ = ["add_contents", "add_rotation"]


def add_contents(made: Collected, collection: Collection, **cells: Any) -> None:
    """Add the numbers of a collection's passages and, by split, of its queries, judgements and
    answers.
    """
    made.add("passages", "count", len(collection), **cells)
    for split, facts in collection.split_facts.items():
        numbers = {"queries": facts.queries, "judgements": facts.qrels, "answers": facts.answers}
        for name, number in numbers.items():
            made.add(name, "count", number, split=split, **cells)


def add_rotation(made: Collected, rotated: Collection, **cells: Any) -> None:
    """Add what a rotation did to passages, by outcome, and to the answers of each split."""
    result = rotation_result(rotated)
    figures = result.payload
    assert isinstance(figures, RotationFigures)
    own: dict[str, Any] = {**cells, "test": "rotated"}
    made.add("rotation", "share changed", result.value, unit="share", count=result.count, **own)
    for outcome, number in figures.passages.items():
        label = outcome.replace("_", " ")
        made.add("rotation", "passages", number, axis="cause", label=label, **own)
    for split, answers in figures.answers.items():
        for name in ("answers", "kept", "cut"):
            made.add("rotation", name, getattr(answers, name), split=split, **own)

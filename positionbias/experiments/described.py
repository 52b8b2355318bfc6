"""What is measured beside systems, as rows: contents of collections, and rotations."""

from __future__ import annotations

from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.rows import Collected
from positionbias.positions.debias import rotation_of
from positionbias.positions.rewrite import Rewritten
from positionbias.positions.rotation_facts import add_rotation as add_counts

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
    facts = rotated.manifest.content_as(Rewritten, "rotation")
    rotation = rotation_of(rotated)
    add_counts(made, rotation, facts.passages, facts.splits, **cells, test="rotated")

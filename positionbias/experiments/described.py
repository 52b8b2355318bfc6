"""What is measured beside systems, as rows: contents of collections, rotations, term similarity."""

from __future__ import annotations

from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.rows import Collected
from positionbias.positions.debias import rotation_result
from positionbias.results.collections import RotationFigures
from positionbias.results.payloads import AtsCurve
from positionbias.results.result import Result

__all__ = ["SIMILARITY", "add_contents", "add_curve", "add_rotation"]

SIMILARITY = "ATS"


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


def add_curve(made: Collected, measure: str, result: Result, **cells: Any) -> None:
    """Add MATS as ``measure``, with its plain form and deviation, and the curve behind it: a row a
    distance, its bounds one deviation over pairs away.
    """
    curve = result.payload
    assert isinstance(curve, AtsCurve)
    figures = curve.figures
    made.add(measure, "mean", result.value, reason=figures.undefined or "", **cells)
    numbers = {
        "plain mean": figures.mats_plain,
        "deviation": figures.mats_std,
        "largest Δ": max(curve.deltas, default=None),
        "fewest terms": min(curve.terms, default=None),
        "pairs": sum(curve.pairs),
        "passages": result.count,
    }
    for name, number in numbers.items():
        made.add(measure, name, number, **cells)
    for place, delta in enumerate(curve.deltas):
        value, spread = curve.ats[place], curve.std_pairs[place]
        made.add(
            SIMILARITY,
            "mean",
            value,
            axis="Δ",
            at=float(delta),
            label=str(delta),
            low=None if spread is None else value - spread,
            high=None if spread is None else value + spread,
            interval="pairs",
            count=curve.terms[place],
            counted="terms",
            **cells,
        )

"""What is measured beside systems, as rows: contents of a collection, rotations, places of answers,
term similarity.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.rows import Collected
from positionbias.positions.debias import rotation_result
from positionbias.results.collections import RotationFigures
from positionbias.results.curves import VariationFigure
from positionbias.results.payloads import AtsCurve, PositionHistogram
from positionbias.results.result import Result

__all__ = ["ANSWERS", "SIMILARITY", "add_contents", "add_curve", "add_histogram", "add_rotation"]

ANSWERS, SIMILARITY = "answer positions", "ATS"


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


def add_histogram(made: Collected, result: Result, **cells: Any) -> None:
    """Add a histogram of answers' places: a row a bin, its summary beside that of an unbiased
    collection, and what became of the answers.
    """
    histogram = result.payload
    assert isinstance(histogram, PositionHistogram)
    figures, total = histogram.figures, sum(histogram.counts)
    own: dict[str, Any] = {**cells, "split": result.split}
    bounds = figures.bin_intervals
    if not figures.coarse:
        for place, (left, right) in enumerate(pairwise(histogram.edges)):
            made.add(
                ANSWERS,
                "share",
                histogram.counts[place] / total if total else 0.0,
                axis="bin",
                at=(left + right) / 2,
                label=f"{left:.2f} to {right:.2f}",
                low=bounds.low[place] if bounds else None,
                high=bounds.high[place] if bounds else None,
                level=bounds.level if bounds else None,
                expected=histogram.expected[place],
                count=histogram.counts[place],
                counted="answers",
                unit="share",
                **own,
            )
    told: dict[str, Any] = {"count": total, "counted": "answers", "reason": figures.coarse}
    summaries = {
        "mean": figures.mean,
        "first tenth": figures.first_tenth,
        "first fifth": figures.first_fifth,
        "total variation": figures.total_variation,
    }
    for name, figure in summaries.items():
        if figure is None or figure.value is None:
            made.add(ANSWERS, name, None, **told, **own)
            continue
        unit = "share" if name.startswith("first") else ""
        row: dict[str, Any] = {**told, "expected": figure.expected, "unit": unit, **own}
        if isinstance(figure, VariationFigure):
            made.add(ANSWERS, name, figure.value, figure.interval, **row)
            most = figure.by_chance_high
            made.add(ANSWERS, "total variation by chance", figure.by_chance, high=most, **own)
        else:
            row["answer"] = figure.beside
            made.add(ANSWERS, name, figure.value, figure.interval, **row)
            less = figure.difference_interval
            made.add(ANSWERS, f"{name} less unbiased", figure.difference, less, **own)
    for outcome, number in histogram.outcomes.items():
        label = outcome.replace("_", " ")
        made.add(ANSWERS, "answers", number, axis="cause", label=label, **own)


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

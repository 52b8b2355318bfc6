"""Where answers sit, as rows: bins, summaries beside an unbiased collection, what became of all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.positions.histogram import POINTS, Beside, PositionHistogram

ANSWERS = "answer positions"


def histogram_rows(made: Collected, histogram: PositionHistogram, **cells: Any) -> None:
    """Add a histogram: a row a bin, its summary beside that of an unbiased collection, and what
    became of the answers.
    """
    own: dict[str, Any] = {"split": histogram.split, **cells}
    _bins(made, histogram, own)
    counted: dict[str, Any] = {"count": histogram.spans, "counted": "answers"}
    counted["reason"] = histogram.coarse
    figures = {
        "mean": histogram.mean,
        "first tenth": histogram.first_tenth,
        "first fifth": histogram.first_fifth,
    }
    for name, figure in figures.items():
        unit = "share" if name != "mean" else ""
        if figure is None:
            made.add(ANSWERS, name, None, answer=Beside.COARSE, **counted, **own)
            continue
        judged: dict[str, Any] = {
            "margin": POINTS,
            "answer": figure.beside,
            "expected": figure.expected,
        }
        bounds = figure.interval
        made.add(ANSWERS, name, figure.value, bounds, unit=unit, **judged, **counted, **own)
        less = figure.difference_interval
        made.add(ANSWERS, f"{name} less unbiased", figure.difference, less, unit=unit, **own)
    if (variation := histogram.total_variation) is not None:
        made.add(
            ANSWERS, "total variation", variation.value, variation.interval, expected=0.0, **own
        )
        high = variation.by_chance_high
        made.add(ANSWERS, "total variation by chance", variation.by_chance, high=high, **own)
    made.add(ANSWERS, "passages counted", histogram.passages, **own)
    causes = {"answers": histogram.outcomes, "unmatched": histogram.unmatched}
    if (check := histogram.check) is not None:
        made.add(ANSWERS, "spans checked", check.spans, **own)
        made.add(ANSWERS, "spans among matches", check.among_matches, **own)
        causes |= {"missed": check.missed, "extra match": check.extra}
    for name, numbers in causes.items():
        for cause, number in numbers.items():
            label = cause.replace("_", " ")
            made.add(ANSWERS, name, number, axis="cause", label=label, **own)


def _bins(made: Collected, histogram: PositionHistogram, cells: dict[str, Any]) -> None:
    total = sum(histogram.counts)
    bounds: list[Interval | None] = [None] * len(histogram.counts)
    if histogram.low:
        ends = zip(histogram.low, histogram.high, strict=True)
        bounds = [Interval(low, high) for low, high in ends]
    for place, (left, right) in enumerate(pairwise(histogram.edges)):
        count = histogram.counts[place]
        made.add(
            ANSWERS,
            "share",
            count / total if total else 0.0,
            bounds[place],
            axis="bin",
            at=(left + right) / 2,
            label=f"{left:.2f} to {right:.2f}",
            expected=histogram.expected[place],
            count=count,
            counted="answers",
            unit="share",
            **cells,
        )

"""Suspicions as tiles: is a model suspiciously good on queries that it may have seen?"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import count, decimal, interval, percent, plural
from positionbias.core.interval import Interval
from positionbias.report.tiles import Answered, Tile
from positionbias.results.result import Result
from positionbias.results.select import of_type
from positionbias.results.suspicion import Obstacle, Suspected, Suspicion

__all__ = ["suspicion_tiles"]

_ANSWERS = {
    Suspected.YES: Answered.YES,
    Suspected.NO: Answered.NO,
    Suspected.UNKNOWN: Answered.UNKNOWN,
}
_CONTROLS = (
    "Train two or more controls with its settings, other seeds and no test data, and give them as "
    "--control."
)
_WORDING = (
    "Test it on judged queries that were never published (--fresh SPLIT --fresh-candidates RUN)."
)


def suspicion_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each suspicion, in the order of the call."""
    return [_tile(result, found) for result, found in of_type(results, Suspicion)]


def _tile(result: Result, found: Suspicion) -> Tile:
    first = found.excesses[0] if found.excesses else None
    bounds = interval(Interval(first.low, first.high), sign=True) if first else ""
    basis = [f"margin {found.margin:g}", plural(len(found.controls), "control")] if first else []
    if found.rates:
        power = found.rates.power[found.rates.effects.index(found.margin)]
        basis += [
            f"finds the margin in {percent(power, 0)}",
            f"false alarms {percent(found.rates.false_alarms)}",
        ]
    return Tile(
        question=f"Is it suspiciously good on {found.seen}?",
        subject=result.system,
        answer=_ANSWERS[found.answer],
        words=f"{found.answer[:1].upper()}{found.answer[1:]}"
        + (f": {found.obstacle}" if found.obstacle else ""),
        welcome=found.answer is Suspected.NO,
        effect=f"{decimal(first.value, sign=True)} {bounds} {first.unit} over its controls"
        if first
        else "",
        basis=basis,
        advice=_advice(found),
    )


def _advice(found: Suspicion) -> str:
    if found.answer is Suspected.NO:
        return ""
    if found.answer is Suspected.YES:
        return (
            "Look for the test queries in its training data (posbias leakage find), and test it on "
            "fresh queries."
        )
    if found.obstacle in (Obstacle.FEW, Obstacle.UNLIKE):
        return _CONTROLS
    if found.obstacle is Obstacle.WORDING:
        return _WORDING
    if found.rates and found.rates.controls_wanted is not None:
        return (
            f"Train more controls: {count(found.rates.controls_wanted)} would find the margin with "
            "80 % power."
        )
    return "Give more queries or controls: they narrow the interval."

"""How suspicions are shown: the answers in sentences and tiles, the systems' means, the limits of
all answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from pandas import DataFrame

from positionbias.contamination.measured import suspicions_in
from positionbias.contamination.suspicion import LIMITS, Obstacle, Suspected, Suspicion
from positionbias.contamination.words import sentences
from positionbias.core.formatting import count, decimal, interval, percent, plural
from positionbias.core.interval import Interval
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding
from positionbias.report.row_table import RowTable, Value
from positionbias.report.tiles import Answered, Tile

__all__ = ["SHOWN"]

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


def _prepared(rows: DataFrame) -> DataFrame:
    pair = rows["seen"] + " − " + rows["other"]
    names = rows["other"].where(rows["subset"] == "other", "")
    return rows.assign(pair=pair, queries=rows["seen"].where(rows["subset"] == "seen", names))


def _headline(rows: DataFrame) -> list[str]:
    """Return the answer about each model."""
    return [sentences(given.model, given.suspicion)[0] for given in suspicions_in(rows)]


def _findings(rows: DataFrame) -> list[Finding]:
    """Return what each answer rests on and what to do next, then the limits of all."""
    found = []
    for given in suspicions_in(rows):
        text = " ".join(sentences(given.model, given.suspicion)[1:])
        holds = {Suspected.YES: True, Suspected.NO: False}.get(given.suspicion.answer)
        found.append(Finding(f"{given.model}: {text}", holds))
    return [*found, *(Finding(limit) for limit in LIMITS if found)]


def _run(rows: DataFrame) -> list[str]:
    """Return how many queries had no partner."""
    left_out = {
        what: number
        for given in suspicions_in(rows)
        for what, number in given.suspicion.left_out.items()
    }
    return [f"{what}: {number:,}." for what, number in left_out.items() if number]


@dataclass(frozen=True, slots=True)
class _Suspicions:
    """The tiles of suspicions: is a model suspiciously good on queries that it may have seen?"""

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return a tile for each suspicion."""
        return [_tile(given.model, given.suspicion) for given in suspicions_in(rows)]


def _tile(model: str, found: Suspicion) -> Tile:
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
        subject=model,
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


SYSTEMS = RowTable(
    name="query-sets",
    title="Means on queries that a model may have seen, and on others",
    stub={"pair": "Query sets", "model": "System", "role": ""},
    where="statistic in ('mean', 'difference')",
    across=["queries"],
    cells=[Value("mean", form=".4f"), Value("difference", "Difference", "+.4f")],
    notes=["Candidates: their own order, which shows the set that is harder."],
)
SHOWN = Presentation(
    study="contamination suspect",
    prepare=_prepared,
    headline=_headline,
    run=_run,
    findings=_findings,
    questions=[_Suspicions()],
    sections=[
        RowSection(
            anchor="query-sets",
            title="Seen queries and others",
            introduction="The difficulty of the queries affects a model and its controls alike.",
            tables=[SYSTEMS],
        )
    ],
    text=[SYSTEMS],
)

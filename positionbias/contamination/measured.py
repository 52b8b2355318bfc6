"""Suspicions as rows, and read back from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pandas import DataFrame

from positionbias.contamination.suspicion import (
    Answered,
    CleanInTurn,
    Compared,
    ErrorRates,
    Excess,
    Obstacle,
    Signal,
    Suspected,
    Suspicion,
)
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected

__all__ = ["KEYS", "Given", "suspicion_rows", "suspicions_in"]

KEYS = ("seen", "other")
EXCESS, ANSWER, FAMILY = "excess", "answer", "suspicions"
LEFT_OUT = "left out: "
NUMBERS = (  # of a suspicion: the field is the statistic, in words
    "paired",
    "queries_seen",
    "queries_other",
    "alpha",
    "tests",
    "bank_groups",
    "bank_models",
)
OF_EXCESS = ("p_trainings", "p_queries", "spread", "freedom")
OF_RATES = ("level", "false_alarms", "controls_wanted", "queries_wanted")
IN_TURN = ("models", "alarms", "found")


def suspicion_rows(made: Collected, compared: Iterable[Compared], measure: str) -> None:
    """Add the answers about each model on each pair of query sets, the figures behind them, the
    systems' means, and the advantages by query.
    """
    for part in compared:
        for answered in part.answers:
            _answer(made, answered, measure)
        first = part.answers[0].suspicion
        for means in part.systems:
            cells: dict[str, Any] = {"model": means.system, "role": means.role}
            cells |= {"seen": first.seen, "other": first.other}
            sizes = (first.queries_seen, first.queries_other)
            for subset, value, size in zip(KEYS, (means.seen, means.other), sizes, strict=True):
                made.add(measure, "mean", value, subset=subset, count=size, **cells)
            made.add(measure, "difference", means.difference, **cells)
        for answered in part.answers:
            _advantages(made, answered, measure)


def _answer(made: Collected, answered: Answered, measure: str) -> None:
    found = answered.suspicion
    cells: dict[str, Any] = {"model": answered.model, "role": "model", "family": FAMILY}
    cells |= {"seen": found.seen, "other": found.other}
    made.add(
        measure,
        ANSWER,
        None,
        answer=str(found.answer),
        reason=str(found.obstacle or ""),
        margin=found.margin,
        count=found.queries_seen,
        counted="queries",
        label=found.configuration,
        **cells,
    )
    for name in NUMBERS:
        made.add(measure, _words(name), float(getattr(found, name)), **cells)
    for statistic, names in (
        ("control", found.controls),
        ("control unlike it", found.unlike_controls),
    ):
        for place, name in enumerate(names):
            own: dict[str, Any] = {"axis": statistic, "at": float(place), "label": name}
            made.add(measure, statistic, None, **own, **cells)
    for reason, number in found.left_out.items():
        made.add(measure, f"{LEFT_OUT}{reason}", number, **cells)
    for excess in found.excesses:
        more = {**cells, "unit": excess.unit}
        bounds = Interval(excess.low, excess.high, excess.level)
        name = measure if excess.signal is Signal.MEASURE else str(excess.signal)
        made.add(name, EXCESS, excess.value, bounds, p=excess.p, p_adjusted=excess.p_holm, **more)
        for field in OF_EXCESS:
            made.add(name, f"{EXCESS}, {_words(field)}", getattr(excess, field), **more)
    if found.rates is not None:
        _rates(made, found.rates, measure, cells)


def _rates(made: Collected, rates: ErrorRates, measure: str, cells: Mapping[str, Any]) -> None:
    for name in OF_RATES:
        made.add(measure, f"rates, {_words(name)}", getattr(rates, name), **cells)
    for effect, power in zip(rates.effects, rates.power, strict=True):
        place: dict[str, Any] = {"axis": "excess", "at": effect, "label": f"{effect:g}"}
        made.add(measure, "power", power, **place, **cells)
    for name in IN_TURN if rates.in_turn is not None else ():
        made.add(measure, f"in turn, {name}", getattr(rates.in_turn, name), **cells)


def _advantages(made: Collected, answered: Answered, measure: str) -> None:
    found = answered.suspicion
    own: dict[str, Any] = {"model": answered.model, "role": "model"}
    own |= {"seen": found.seen, "other": found.other}
    made.add(measure, "advantage, seen less other", answered.difference, **own)
    for subset in KEYS:
        values: Mapping[str, float] = getattr(answered, subset)
        made.add(
            measure,
            "advantage",
            sum(values.values()) / len(values),
            items=values,
            subset=subset,
            count=len(values),
            counted="queries",
            **own,
        )


def _words(field: str) -> str:
    return field.replace("_", " ")


class Given(NamedTuple):
    """A suspicion with the model that it is about."""

    model: str
    suspicion: Suspicion


def suspicions_in(rows: DataFrame) -> Iterator[Given]:
    """Yield the suspicions among the rows, in their order."""
    for answer in rows[rows["statistic"] == ANSWER].itertuples():
        own = rows[(rows["model"] == answer.model) & (rows["family"] == FAMILY)]
        own = own[(own["seen"] == answer.seen) & (own["other"] == answer.other)]
        facts = {row.statistic: row.value for row in own.itertuples() if not row.unit}
        numbers = {name: facts[_words(name)] for name in NUMBERS}
        wholes = {name: int(numbers[name]) for name in NUMBERS if name not in ("alpha", "paired")}
        yield Given(
            answer.model,
            Suspicion(
                answer=Suspected(answer.answer),
                obstacle=Obstacle(answer.reason) if answer.reason else None,
                seen=answer.seen,
                other=answer.other,
                paired=bool(numbers["paired"]),
                alpha=numbers["alpha"],
                margin=answer.margin,
                **wholes,
                controls=_labels(own, "control"),
                unlike_controls=_labels(own, "control unlike it"),
                configuration=answer.label,
                left_out={
                    name.removeprefix(LEFT_OUT): int(number)
                    for name, number in facts.items()
                    if name.startswith(LEFT_OUT)
                },
                excesses=[
                    _excess(row, own) for row in own[own["statistic"] == EXCESS].itertuples()
                ],
                rates=_rates_in(own, facts),
            ),
        )


def _labels(rows: DataFrame, statistic: str) -> Sequence[str]:
    return rows[rows["statistic"] == statistic]["label"].tolist()


def _excess(row: Any, rows: DataFrame) -> Excess:
    own = rows[rows["measure"] == row.measure].set_index("statistic")["value"]
    more = {name: float(own[f"{EXCESS}, {_words(name)}"]) for name in OF_EXCESS}
    signal = Signal.MARGIN if row.measure == Signal.MARGIN else Signal.MEASURE
    holm = None if row.p_adjusted != row.p_adjusted else row.p_adjusted
    return Excess(
        signal, row.unit, row.value, row.low, row.high, row.level, p=row.p, p_holm=holm, **more
    )


def _rates_in(rows: DataFrame, facts: Mapping[str, float]) -> ErrorRates | None:
    power = rows[rows["statistic"] == "power"]
    if power.empty:
        return None
    numbers = {name: facts[f"rates, {_words(name)}"] for name in OF_RATES}
    controls, queries = numbers["controls_wanted"], numbers["queries_wanted"]
    turn = [facts.get(f"in turn, {name}") for name in IN_TURN]
    return ErrorRates(
        level=numbers["level"],
        false_alarms=numbers["false_alarms"],
        effects=tuple(power["at"].tolist()),
        power=power["value"].tolist(),
        controls_wanted=None if controls != controls else int(controls),
        queries_wanted=None if queries != queries else queries,
        in_turn=None if None in turn else CleanInTurn(*(int(number or 0) for number in turn)),
    )

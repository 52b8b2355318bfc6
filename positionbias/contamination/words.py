"""Describe a suspicion in words: the answer with its effect, the error rates, the limits, the next
step.
"""

from __future__ import annotations

from positionbias.contamination.suspicion import (
    ErrorRates,
    Excess,
    Obstacle,
    Signal,
    Suspected,
    Suspicion,
)
from positionbias.core.formatting import decimal, interval, p_value, percent
from positionbias.core.interval import Interval
from positionbias.evaluation.clustered import POWER

__all__ = ["sentences"]

_WORDING = (
    "Paraphrases reveal memory of the wording only: on planted collections a small model trained "
    "on the whole test set gains 0.186 nDCG@10 over fresh queries, but 0.007 over paraphrases."
)
_TRAIN = (
    "train at least 2 (better 8) with the model's architecture and settings, other seeds and no "
    "test data, and give them as --control"
)
_NEXT = {
    Obstacle.FEW: f"Next: {_TRAIN}.",
    Obstacle.UNLIKE: f"Next: {_TRAIN}.",
    Obstacle.UNDECLARED: (
        "Next: if they differ from the model in seed and test data alone, name their configuration "
        "with --configuration WORDS."
    ),
    Obstacle.WORDING: (
        "Next: test it on judged queries that were never published (--fresh SPLIT "
        "--fresh-candidates RUN)."
    ),
    Obstacle.FLAT: "Next: give trainings with different seeds, each once, or more queries.",
}


def sentences(name: str, found: Suspicion) -> list[str]:
    """Return the sentences of a suspicion, one a line."""
    lines = [f"{_answer(name, found)}{_basis(name, found)}."]
    lines += [_margins(of) for of in found.excesses if of.signal == Signal.MARGIN]
    if found.rates:
        lines += _rates(found, found.rates)
    if found.paired:
        lines.append(_WORDING)
    return [*lines, _next(found)]


def _answer(name: str, found: Suspicion) -> str:
    if found.answer == Suspected.UNKNOWN:
        return f"Cannot tell whether {name} saw {found.seen}: "
    return f"{name} is {found.answer}: "


def _basis(name: str, found: Suspicion) -> str:
    if not found.excesses:
        return _obstacle(name, found)
    excess = found.excesses[0]
    said = (
        f"over its {len(found.controls)} controls it gains {_effect(excess)} {excess.unit} more on "
        f"{found.seen} than on {found.other} ({percent(excess.level, 0)} interval; one-sided p "
        f"{_p(excess, found.tests)})"
    )
    if found.answer == Suspected.YES:
        return said
    if found.obstacle == Obstacle.WORDING:
        return (
            f"{said}. An excess of {found.margin:g} or more is outside the interval, but "
            "paraphrases reveal memory of the wording only"
        )
    if found.answer == Suspected.NO:
        return f"{said}, and an excess of {found.margin:g} or more is outside the interval"
    corrected = "with Holm's correction " if found.tests > 1 else ""
    return f"{said}; {corrected}both no excess and an excess of {found.margin:g} remain possible"


def _effect(excess: Excess) -> str:
    return (
        f"{decimal(excess.value, sign=True)} "
        f"{interval(Interval(excess.low, excess.high), sign=True)}"
    )


def _p(excess: Excess, tests: int) -> str:
    return p_value(excess.p) + (
        f", by Holm over {tests} tests {p_value(excess.p_holm)}" if tests > 1 else ""
    )


def _obstacle(name: str, found: Suspicion) -> str:
    given = len(found.controls) + len(found.unlike_controls)
    match found.obstacle:
        case Obstacle.FEW:
            return (
                "wanted at least 2 controls, since fewer do not show how much clean trainings "
                f"differ; found {given}"
            )
        case Obstacle.UNLIKE:
            names = ", ".join(found.unlike_controls)
            return (
                f"wanted 2 controls with its configuration; found another configuration in {names}"
            )
        case Obstacle.UNDECLARED:
            return f"nothing shows that the {given} controls have its configuration"
    return (
        f"there is no spread to compare {name} with: two trainings, or all queries, have the same "
        "values, so chance is unknown"
    )


def _margins(excess: Excess) -> str:
    return (
        "For information only: in score margins of relevant against other candidates, the excess "
        f"is {_effect(excess)} deviations of a query's scores."
    )


def _rates(found: Suspicion, rates: ErrorRates) -> list[str]:
    excess = found.excesses[0]
    power = ", ".join(
        f"{percent(of, 0)} at {effect:g}"
        for effect, of in zip(rates.effects, rates.power, strict=True)
    )
    bank = (
        f", a bank of {found.bank_models} in {found.bank_groups} groups"
        if found.bank_groups
        else ""
    )
    tests = "" if found.tests == 1 else f", {found.tests} tests"
    lines = [
        f"Simulated error rates of this call ({len(found.controls)} controls{bank}{tests}; spread "
        f"among trainings {decimal(excess.spread)}, {excess.freedom:.0f} degrees of freedom): a "
        f"clean model is called suspicious in {percent(rates.false_alarms)} of cases; an excess in "
        f"{excess.unit} is found in {power}."
    ]
    if turn := rates.in_turn:
        lines.append(
            f"Tested in turn, {turn.alarms} of the {turn.models} clean models would be called "
            f"suspicious, and {turn.found} with {found.margin:g} added."
        )
    return lines


def _next(found: Suspicion) -> str:
    if found.answer == Suspected.YES:
        return (
            "Next: look for the test queries in its training data (posbias leakage find), and test "
            "it on more fresh queries."
        )
    if found.answer == Suspected.NO:
        return (
            f"Next: nothing, unless an excess below {found.margin:g} matters; more controls and "
            "queries find smaller ones."
        )
    return _NEXT[found.obstacle] if found.obstacle in _NEXT else _wanted(found)


def _wanted(found: Suspicion) -> str:
    rates = found.rates
    if rates is None or rates.power[rates.effects.index(found.margin)] >= POWER:
        return "Next: add queries or controls to narrow the interval."
    if rates.controls_wanted is not None:
        return (
            f"Next: {rates.controls_wanted} controls would find an excess of {found.margin:g} with "
            "80 % power, if the spread is as estimated."
        )
    more = decimal(rates.queries_wanted, 1)
    return (
        f"Next: no number of controls would find an excess of {found.margin:g} with 80 % power; "
        f"many controls and about {more} times as many queries would."
    )

"""A suspicion in words: the answer with its effect, the error rates, the limits, the next step."""

from __future__ import annotations

from positionbias.core.formatting import decimal, interval, p_value, percent
from positionbias.core.interval import Interval
from positionbias.evaluation.clustered import POWER
from positionbias.results.suspicion import ErrorRates, Excess, Obstacle, Signal, Suspected, Suspicion

__all__ = ["sentences"]

_WORDING = (
    "Paraphrases find memory of the wording only: on planted collections a small model trained on the whole test set gains 0.186 nDCG@10 over fresh queries "
    "and 0.007 over paraphrases."
)
_TRAIN = "train two or more (8 are better) with the model's architecture and settings, other seeds and no test data, and give them as --control"
_NEXT = {
    Obstacle.FEW: f"Next: {_TRAIN}.",
    Obstacle.UNLIKE: f"Next: {_TRAIN}.",
    Obstacle.UNDECLARED: "Next: if they differ from the model in seed and test data alone, say of what they all are trainings with --configuration WORDS.",
    Obstacle.WORDING: "Next: test it on judged queries that were never published (--fresh SPLIT --fresh-candidates RUN).",
    Obstacle.FLAT: "Next: give trainings of different seeds, each once, or more queries.",
}


def sentences(name: str, found: Suspicion) -> list[str]:
    """The sentences of a suspicion, one a line."""
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
        f"over its {len(found.controls)} controls it gains {_effect(excess)} {excess.unit} more on {found.seen} than on {found.other} "
        f"({percent(excess.level, 0)} interval; one-sided p {_p(excess, found.tests)})"
    )
    if found.answer == Suspected.YES:
        return said
    if found.obstacle == Obstacle.WORDING:
        return f"{said}. An excess of {found.margin:g} or more lies outside the interval, but paraphrases find memory of the wording only"
    if found.answer == Suspected.NO:
        return f"{said}, and an excess of {found.margin:g} or more lies outside the interval"
    corrected = "with Holm's correction " if found.tests > 1 else ""
    return f"{said}, so {corrected}neither no excess nor one of {found.margin:g} is ruled out"


def _effect(excess: Excess) -> str:
    return f"{decimal(excess.value, sign=True)} {interval(Interval(excess.low, excess.high), sign=True)}"


def _p(excess: Excess, tests: int) -> str:
    return p_value(excess.p) + (f", by Holm over {tests} tests {p_value(excess.p_holm)}" if tests > 1 else "")


def _obstacle(name: str, found: Suspicion) -> str:
    given = len(found.controls) + len(found.unlike_controls)
    match found.obstacle:
        case Obstacle.FEW:
            return f"wanted two controls or more, since fewer do not say how far clean trainings differ; found {given}"
        case Obstacle.UNLIKE:
            names = ", ".join(found.unlike_controls)
            return f"wanted two controls that are trainings of its configuration; found another in {names}"
        case Obstacle.UNDECLARED:
            return f"nothing says that the {given} controls are trainings of its configuration"
    return (
        f"there is no spread to hold {name} against: two trainings, or all queries, have the same values, so chance is unknown"
    )


def _margins(excess: Excess) -> str:
    return f"Beside it, deciding nothing: by score margins, relevant against other candidates, the excess is {_effect(excess)} deviations of a query's scores."


def _rates(found: Suspicion, rates: ErrorRates) -> list[str]:
    excess = found.excesses[0]
    power = ", ".join(f"{percent(of, 0)} at {effect:g}" for effect, of in zip(rates.effects, rates.power, strict=True))
    bank = f", a bank of {found.bank_models} in {found.bank_groups} groups" if found.bank_groups else ""
    tests = "" if found.tests == 1 else f", {found.tests} tests"
    lines = [
        f"Error rates of this call, simulated ({len(found.controls)} controls{bank}{tests}; spread among trainings {decimal(excess.spread)}, "
        f"{excess.freedom:.0f} degrees of freedom): a clean model is called suspicious in {percent(rates.false_alarms)}; an excess in {excess.unit} is found in {power}."
    ]
    if turn := rates.in_turn:
        lines.append(
            f"Tested in turn, {turn.alarms} of {turn.models} clean models at hand would be called suspicious, and {turn.found} with {found.margin:g} added."
        )
    return lines


def _next(found: Suspicion) -> str:
    if found.answer == Suspected.YES:
        return (
            "Next: look for the test queries in its training data (posbias leakage find), and test it on further fresh queries."
        )
    if found.answer == Suspected.NO:
        return f"Next: nothing, unless an excess below {found.margin:g} matters; more controls and queries find a smaller one."
    return _NEXT[found.obstacle] if found.obstacle in _NEXT else _wanted(found)


def _wanted(found: Suspicion) -> str:
    rates = found.rates
    if rates is None or rates.power[rates.effects.index(found.margin)] >= POWER:
        return "Next: more queries or controls narrow the interval."
    if rates.controls_wanted is not None:
        return f"Next: {rates.controls_wanted} controls would find an excess of {found.margin:g} four times in five, were the spread as estimated."
    more = decimal(rates.queries_wanted, 1)
    return f"Next: no number of controls would find an excess of {found.margin:g} four times in five; with many, about {more} times as many queries would."

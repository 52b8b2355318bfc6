"""Report the effects of kind on pools as Results: one per test, with its error rates and a
sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import NBSP, count, decimal, interval, p_value, percent
from positionbias.pooling.exchange import ENOUGH
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.kind_effects import KindEffect
from positionbias.pooling.kind_rule import ENOUGH_POWER
from positionbias.results.payloads import Finding
from positionbias.results.pools import (
    Contrast,
    FalseAlarms,
    KindAnswer,
    KindFigures,
    interval_of,
    systems_under,
)
from positionbias.results.result import Result

__all__ = ["kind_results"]

LESS = {
    Contrast.UNSEEN: "minus that of unseen {pool} runs of equal score is",
    Contrast.MIXED: (
        "minus that of {pool} runs of equal score, minus the same under pools of as many groups of "
        "any kind, is"
    ),
}
NEXT = {
    KindAnswer.WORSE: (
        "Add groups of {test} runs to the pool, or compare {test} runs only with each other."
    ),
    KindAnswer.BETTER: "Compare {pool} and {test} runs only under pools of both kinds.",
}
HOLDS = {
    KindAnswer.WORSE: True,
    KindAnswer.BETTER: False,
    KindAnswer.CLOSE: False,
    KindAnswer.UNKNOWN: None,
}


def kind_results(
    effects: Sequence[KindEffect], runs: JudgedRuns, *, collection: str, seed: int
) -> list[Result]:
    """Return a Result with a sentence for each effect (value: its excess over permuted kinds;
    count: groups that exchange kinds).
    """
    results = []
    for effect in effects:
        figures = effect.figures
        name, system = (
            f"{figures.contrast} by {figures.measure}",
            systems_under(figures.pool, figures.test),
        )
        results.append(
            Result(
                name,
                collection,
                "",
                system,
                seed,
                effect.value,
                effect.interval,
                effect.exchanging,
                figures,
            )
        )
    findings = [Finding(_sentence(effect), HOLDS[effect.figures.answer]) for effect in effects]
    return results + [
        Result(
            "finding", collection, "", "all systems", seed, None, None, len(runs.query_ids), finding
        )
        for finding in findings
    ]


def _sentence(effect: KindEffect) -> str:
    """Return the answer, the effect with its interval, the error rates and the advice."""
    own = effect.figures
    less = LESS[own.contrast].format(pool=own.pool)
    what = f"under pools of {own.pool} runs, the change of {own.measure} of {own.test} runs {less}"
    if own.alarms is None:
        few = (
            f"kinds can be permuted in only {count(own.arrangements)} ways, and {ENOUGH} are needed"
        )
        return (
            f"Cannot tell: {what} {decimal(own.gap, sign=True)}, but {few}. More groups are needed "
            f"(here {own.groups})."
        )
    level = (
        f"95{NBSP}% CI {interval(effect.interval, sign=True)}, Holm-adjusted p "
        f"{p_value(own.p_holm)}"
    )
    text = (
        f"{own.answer.capitalize()}: {what} {decimal(effect.value, sign=True)} ({level}). "
        f"{_rates(own.alarms, own)}"
    )
    return f"{text} {_next(own)}".rstrip()


def _rates(alarms: FalseAlarms, own: KindFigures) -> str:
    share = (
        f"{percent(alarms.value)} {interval(interval_of(alarms.low, alarms.high), as_percent=True)}"
    )
    return (
        f"“Worse” or “better” is a false alarm in {share} of {count(alarms.drawn)} permutations of "
        f"kinds among {own.among}; a gap of {own.planted} is found in {percent(own.power, 0)} and "
        f"called “{KindAnswer.CLOSE}” in {percent(own.missed)}."
    )


def _next(own: KindFigures) -> str:
    if own.answer is not KindAnswer.UNKNOWN:
        return NEXT.get(own.answer, "").format(pool=own.pool, test=own.test)
    if own.power is not None and own.power < ENOUGH_POWER and own.needed:
        return f"{count(own.needed)} groups would find it with 80{NBSP}% power (here {own.groups})."
    return "Add groups or topics to narrow the interval."

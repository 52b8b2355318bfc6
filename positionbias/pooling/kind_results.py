"""Whether kind matters to pools, as Results: an effect a test with its error rates, and a sentence each.

The rows of an effect have ``what`` (the contrast, "beside unseen" or "beyond mixed pools"), ``pool``, ``test`` and ``measure``, as all rows
about pools do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from positionbias.core.formatting import NBSP, count, decimal, interval, p_value, percent
from positionbias.pooling.exchange import ENOUGH
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.kind_effects import Contrast, KindEffect
from positionbias.pooling.kind_rule import ENOUGH_POWER, GAP, Answer, ErrorRates
from positionbias.results.payloads import Finding, Statistics
from positionbias.results.result import Result

__all__ = ["kind_results"]

LESS = {
    Contrast.UNSEEN: "less that of unseen {pool} runs of equal score is",
    Contrast.MIXED: "less that of {pool} runs of equal score, less the same under pools of as many groups of any kind, is",
}
NEXT = {
    Answer.WORSE: "Let groups of {test} runs feed the pool too, or compare {test} runs with each other only.",
    Answer.BETTER: "Compare {pool} and {test} runs under pools of both kinds only.",
}


def kind_results(effects: Sequence[KindEffect], runs: JudgedRuns, *, collection: str, seed: int) -> list[Result]:
    """A Result an effect (value: its excess over permuted kinds; count: groups that exchange kinds), and a sentence each.

    Rows: "answer", "gap" (with what permuted kinds have), "by chance" (their mean), "p", "p holm", "false alarms" with "low" and "high",
    "power" at a gap of "planted" and how often it is "missed" (called within it), "groups" and "groups needed" for a power of 80 %, "among" which groups kinds were exchanged.
    """
    groups = len({system.group for system in runs.systems})
    results = []
    for effect in effects:
        asked = effect.asked
        named = (f"{asked.contrast} by {asked.measure}", collection, "", f"{asked.test} systems, {asked.pool} pools", seed)
        payload = Statistics(_rows(effect, groups))
        results.append(Result(*named, effect.value, effect.interval, effect.exchange.groups, payload))
    holds = {Answer.WORSE: True, Answer.BETTER: False, Answer.CLOSE: False, Answer.UNKNOWN: None}
    findings = [Finding(_sentence(effect, groups), holds[effect.answer]) for effect in effects]
    return results + [
        Result("finding", collection, "", "all systems", seed, None, None, len(runs.query_ids), finding) for finding in findings
    ]


def _rows(effect: KindEffect, groups: int) -> dict[str, Any]:
    asked, rates = effect.asked, effect.rates
    alarms = None
    if rates:
        alarms = {"value": rates.false_alarms, "low": rates.interval.low, "high": rates.interval.high, "drawn": rates.drawn}
    return {
        "what": asked.contrast.value, "pool": asked.pool, "test": asked.test, "measure": asked.measure, "answer": effect.answer.value,
        "gap": effect.gap, "by chance": effect.by_chance, "p": effect.p, "p holm": effect.p_holm, "false alarms": alarms,
        "power": rates.power if rates else None, "missed": rates.missed if rates else None, "planted": GAP, "groups": groups, "groups needed": rates.groups_needed if rates else None,
        "among": effect.exchange.among, "arrangements": effect.exchange.arrangements,
    }  # fmt: skip


def _sentence(effect: KindEffect, groups: int) -> str:
    """The answer, the effect with its interval, the error rates, what to do."""
    asked = effect.asked
    less = LESS[asked.contrast].format(pool=asked.pool)
    what = f"under pools of {asked.pool} runs, the change of {asked.measure} of {asked.test} runs {less}"
    if effect.rates is None:
        few = f"kinds can be permuted in {count(effect.exchange.arrangements)} ways only, and {ENOUGH} are needed"
        return f"Cannot tell: {what} {decimal(effect.gap, sign=True)}, but {few}. More groups are needed (here {groups})."
    level = f"95{NBSP}% CI {interval(effect.interval, sign=True)}, Holm-adjusted p {p_value(effect.p_holm)}"
    text = f"{effect.answer.capitalize()}: {what} {decimal(effect.value, sign=True)} ({level}). {_rates(effect.rates, effect)}"
    return f"{text} {_next(effect, groups)}".rstrip()


def _rates(rates: ErrorRates, effect: KindEffect) -> str:
    alarms = f"{percent(rates.false_alarms)} {interval(rates.interval, as_percent=True)}"
    return (
        f"“Worse” or “better” is a false alarm in {alarms} of {count(rates.drawn)} permutations of kinds among {effect.exchange.among}; "
        f"a gap of {GAP} is found in {percent(rates.power, 0)} and called “{Answer.CLOSE}” in {percent(rates.missed)}."
    )


def _next(effect: KindEffect, groups: int) -> str:
    rates = effect.rates
    if effect.answer is not Answer.UNKNOWN or rates is None:
        return NEXT.get(effect.answer, "").format(pool=effect.asked.pool, test=effect.asked.test)
    if rates.power < ENOUGH_POWER and rates.groups_needed:
        return f"{count(rates.groups_needed)} groups would find it in 80{NBSP}% (here {groups})."
    return "More groups or topics would narrow the interval."

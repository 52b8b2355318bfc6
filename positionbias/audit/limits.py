"""Hold systems to limits on their effects: pass, fail or cannot tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from positionbias.audit.answers import RANKS, WORTH, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.evidence import error_note
from positionbias.audit.measured import Given
from positionbias.audit.settings import Limits
from positionbias.audit.verdict import MOST_QUERIES, queries_for
from positionbias.audit.words import sentences_of, unread_part
from positionbias.core.records import interval_of
from positionbias.core.terminal import neutral
from positionbias.text.formatting import count, decimal, plural, with_interval


class Outcome(StrEnum):
    """The result of a check. ``CANNOT_TELL`` covers undefined, not measured and too few queries."""

    PASS = "pass"
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Check:
    """One limit of one system; its fields are those of ``posbias check --json``.

    ``limit`` is the limit's name ("max-response"), ``at_most`` its value. ``contrast`` to
    ``queries`` are the deciding effect with its 95 % interval. ``wanted`` is the number of queries
    that would decide the check, drawn as these are; None where no number can be given. ``reason``
    says why the outcome does not follow from the effect, or that it is one of a length limit, and
    ``note`` what this limit cannot show.
    """

    system: str
    limit: str
    at_most: float
    outcome: Outcome = Outcome.CANNOT_TELL
    contrast: str = ""
    unit: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    queries: int = 0
    wanted: int | None = None
    reason: str = ""
    note: str = ""

    def on(self, effect: Effect, outcome: Outcome = Outcome.CANNOT_TELL) -> Check:
        """Return the check with its deciding effect."""
        names = ("unit", "value", "low", "high", "queries")
        figures: dict[str, Any] = {name: getattr(effect, name) for name in names}
        return replace(self, outcome=outcome, contrast=str(effect.contrast), **figures)


EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.CANNOT_TELL: 3}  # of ``posbias check``
VERBS = {Outcome.PASS: "passes", Outcome.FAIL: "fails", Outcome.CANNOT_TELL: "cannot tell about"}
LIMITS = {  # by option: the question, groups of contrasts of which one has to be measured, takes
    "max-response": (
        Question.PASSAGE,
        ((Contrast.ENDS,), (Contrast.MIDDLE,)),
        "it needs answers, a model that can be asked again, and passages of three sentences or "
        "more",
    ),
    "max-movement": (
        Question.PASSAGE,
        ((Contrast.ROTATION, Contrast.RUNS),),
        "it needs answers, and a model that can be asked again and rotated, or two runs, the "
        "second over the rotated collection (--rotated)",
    ),
    "max-order": (Question.LIST, ((Contrast.ORDER,),), "it needs a model that can be asked again"),
}


def checks_of(answers: Sequence[Given], limits: Limits, measure: str) -> list[Check]:
    """Return a check for each system and limit, from the verdicts of one audit, on this measure.

    A limit passes if the 95 % interval lies within ± the limit, and fails if it lies wholly beyond.
    Everything else is "cannot tell": an interval across the limit, too few queries, nothing
    measured.
    """
    checks = []
    for system in dict.fromkeys(one.system for one in answers):
        verdicts = {one.verdict.question: one.verdict for one in answers if one.system == system}
        for limit, (question, needed, takes) in LIMITS.items():
            at_most = getattr(limits, limit.replace("-", "_"))
            if at_most is not None:
                unit = measure if question is Question.PASSAGE else RANKS
                check = Check(system, limit, at_most)
                checks.append(_judged(check, verdicts.get(question), needed, unit, takes))
    return checks


def overall(checks: Sequence[Check]) -> Outcome:
    """Combine outcomes: fail before cannot tell before pass; cannot tell without any check."""
    outcomes = [check.outcome for check in checks] or [Outcome.CANNOT_TELL]
    return min(outcomes, key=[Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.PASS].index)


def _judged(
    check: Check,
    verdict: Verdict | None,
    needed: Sequence[Sequence[Contrast]],
    unit: str,
    takes: str,
) -> Check:
    """Judge the effects over all queries; a contrast of each group in ``needed`` is measured."""
    every = [one for one in verdict.effects if not one.subset] if verdict else []
    named = [contrast for group in needed for contrast in group]
    if verdict is not None and verdict.question is Question.LIST:
        if verdict.preference is Preference.NONE and not verdict.effects:
            reason = "scores each passage by itself: the order of the list cannot change a score"
            return replace(check, outcome=Outcome.PASS, reason=reason)
        named.append(Contrast.ORDER_MIDDLE)
    effects = [
        _settled(effect, every)
        for effect in every
        if effect.unit == unit and effect.contrast in named
    ]
    absent = [group for group in needed if not any(one.contrast in group for one in effects)]
    ruled = _ruled(check, effects, verdict.drawn) if verdict and effects else check
    if ruled.outcome is Outcome.FAIL or not absent:
        check = ruled
    if verdict is not None and verdict.rule:
        moved = f"--{check.limit} is of moving the sentence chosen by {verdict.rule}"
        check = replace(check, note=f"{moved}. {error_note(verdict.rule).rstrip('.')}")
    if check.outcome is Outcome.FAIL:
        if verdict is None or verdict.preference is not Preference.UNREAD:
            return check
        within = f"it loses {unread_part(verdict)}; within what it reads: {verdict.within}"
        return replace(check, reason=within)
    if verdict is not None and verdict.preference is Preference.UNREACTIVE:
        reason = " ".join(sentences_of(check.system, verdict)[:2]).rstrip(".")
        return Check(check.system, check.limit, check.at_most, reason=reason)
    if not absent:
        return check
    explained = verdict is not None and not verdict.effects
    why = " ".join(sentences_of(check.system, verdict)) if verdict and explained else takes
    names = ", ".join(" or ".join(group) for group in absent)
    if effects:
        check = check.on(max(effects, key=_largest))
    return replace(check, reason=f"not measured in {unit}: {names}; {why}")


def _ruled(check: Check, effects: Sequence[Effect], drawn: int) -> Check:
    """Combine effects: all must pass, and one failure fails."""
    at_most = check.at_most
    failed = [effect for effect in effects if effect.beyond(at_most)]
    undecided = [effect for effect in effects if not effect.within(at_most)]
    if failed or not undecided:
        outcome = Outcome.FAIL if failed else Outcome.PASS
        return check.on(max(failed or effects, key=_largest), outcome)
    undefined = next((effect for effect in undecided if effect.low is None), None)
    if undefined is not None:
        few = f"{undefined.queries:,} queries give no interval"
        return replace(check.on(undefined), reason=f"{undefined.contrast} is undefined: {few}")
    needs = [
        queries_for(effect, abs(at_most - abs(effect.value or 0.0)), drawn) for effect in undecided
    ]
    hardest = max(range(len(needs)), key=lambda place: needs[place] or math.inf)
    check = check.on(undecided[hardest])
    if (wanted := needs[hardest]) is not None:
        return replace(check, wanted=wanted)
    exact = "no number of queries shows that an effect is exactly 0"
    more = f"more than {MOST_QUERIES:,} queries would be needed"
    return replace(check, reason=more if at_most else exact)


def _settled(effect: Effect, others: Sequence[Effect]) -> Effect:
    """Return an effect, with the interval 0 if no score changes at all."""
    scores = [one for one in others if one.contrast is effect.contrast and one.unit == WORTH]
    if effect.value == 0 and scores and all(one.low == 0 == one.high for one in scores):
        return replace(effect, low=0.0, high=0.0)
    return effect


def _largest(effect: Effect) -> float:
    return math.inf if effect.low is None else effect.largest


# -- sentences -----------------------------------------------------------------------------------


def headline(checks: Sequence[Check]) -> str:
    """Return the outcome of all checks, with the number of systems for each."""
    systems: dict[str, list[Check]] = {}
    for check in checks:
        systems.setdefault(check.system, []).append(check)
    outcomes = [overall(own) for own in systems.values()]
    counted = [f"{outcomes.count(one)} {one}" for one in Outcome if one in outcomes]
    each = f": {', '.join(counted)}" if len(outcomes) > 1 else ""
    return f"Limits on position bias: {overall(checks)} ({plural(len(outcomes), 'system')}{each})."


def sentence(check: Check) -> str:
    """Return what a system passes or fails, or what cannot be told, with the effect and why."""
    parts = []
    if check.contrast:
        effect = f"{check.contrast}: {decimal(check.value, sign=True)} {check.unit}"
        parts += [with_interval(effect, interval_of(check.low, check.high), "+.3f")]
    parts += [check.reason] if check.reason else []
    parts += [f"about {count(check.wanted)} queries would do"] if check.wanted is not None else []
    why = f" ({'; '.join(parts)})" if parts else ""
    verb = VERBS[check.outcome]
    return f"{neutral(check.system)}: {verb} --{check.limit} {check.at_most:g}{why}"

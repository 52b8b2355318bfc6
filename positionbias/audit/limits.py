"""Check limits on position bias: each passes, fails, or the data cannot tell; an unmeasured limit
never passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from positionbias.audit.answers import RANKS, WORTH, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.evidence import error_note
from positionbias.audit.settings import Limits
from positionbias.audit.systems import Measurement
from positionbias.audit.verdict import MOST_QUERIES
from positionbias.audit.words import sentences_of, unread_part
from positionbias.core.checks import Check, Measured, Outcome, overall

__all__ = ["EXIT_CODES", "checks_of", "exit_code"]

EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.CANNOT_TELL: 3}
ZEROS = 3  # "rule of three": where all queries agree on 0, a rare one may change by the full range
RESPONSE, MOVEMENT, ORDER = (
    ((Contrast.ENDS,), (Contrast.MIDDLE,)),
    ((Contrast.ROTATION, Contrast.RUNS),),
    ((Contrast.ORDER,),),
)
LIMITS = {  # by option: the question, groups of contrasts of which one has to be measured, takes
    "max-response": (
        Question.PASSAGE,
        RESPONSE,
        "it needs answers, a model that can be asked again, and passages of "
        "three sentences or more",
    ),
    "max-movement": (
        Question.PASSAGE,
        MOVEMENT,
        "it needs answers, and a model that can be asked again without --no-rotation, "
        "or two runs, the second over the rotated collection (--rotated)",
    ),
    "max-order": (Question.LIST, ORDER, "it needs a model that can be asked again"),
}


def checks_of(results: Sequence[Measurement], limits: Limits, measure: str) -> list[Check]:
    """Return a check for each system and limit, from the results of one audit, on this measure.

    A limit passes if the 95 % interval lies within ± the limit, and fails if it lies wholly beyond.
    Everything else is "cannot tell": an interval across the limit, too few queries, nothing
    measured.
    """
    names = dict.fromkeys(one.system for one in results if one.role)
    checks = []
    for system in names or dict.fromkeys(one.system for one in results):
        verdicts = {
            one.figures.question: one.figures
            for one in results
            if one.system == system and isinstance(one.figures, Verdict)
        }
        for limit, (question, needed, takes) in LIMITS.items():
            at_most = getattr(limits, limit.replace("-", "_"))
            if at_most is not None:
                unit = measure if question is Question.PASSAGE else RANKS
                check = Check(system, limit, at_most, Outcome.CANNOT_TELL)
                checks.append(_judged(check, verdicts.get(question), needed, unit, takes))
    return checks


def exit_code(checks: Sequence[Check]) -> int:
    """Return the exit code of these checks: 1 if any fails, else 3 if any cannot tell, else 0; 3
    without a check.
    """
    return EXIT_CODES[overall(checks)]


def _judged(
    check: Check,
    verdict: Verdict | None,
    needed: Sequence[Sequence[Contrast]],
    unit: str,
    takes: str,
) -> Check:
    """Judge the effects over all queries; each group in ``needed`` must have at least one measured
    contrast.
    """
    every = [one for one in verdict.effects if not one.subset] if verdict else []
    named = [contrast for group in needed for contrast in group]
    if verdict is not None and verdict.question is Question.LIST:
        if verdict.preference is Preference.NONE and not verdict.effects:
            reason = "scores each passage by itself: the order of the list cannot change a score"
            return replace(check, outcome=Outcome.PASS, reason=reason)
        named.append(Contrast.ORDER_MIDDLE)
    effects = [one for one in every if one.unit == unit and one.contrast in named]
    absent = [group for group in needed if not any(one.contrast in group for one in effects)]
    found = [_measured(one, every, verdict.drawn) for one in effects] if verdict else []
    ruled = _ruled(check, found) if found else check
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
        return Check(check.system, check.limit, check.at_most, Outcome.CANNOT_TELL, reason=reason)
    if not absent:
        return check
    explained = verdict is not None and not verdict.effects
    why = " ".join(sentences_of(check.system, verdict)) if verdict and explained else takes
    names = ", ".join(" or ".join(group) for group in absent)
    farthest = max(found, key=_far, default=None)
    return replace(check, measured=farthest, reason=f"not measured in {unit}: {names}; {why}")


def _ruled(check: Check, found: Sequence[Measured]) -> Check:
    """Combine measurements: all must pass, and one failure fails."""
    at_most = check.at_most
    failed = [
        one
        for one in found
        if max(one.low or 0.0, -(one.high or 0.0)) > at_most and not math.isinf(_far(one))
    ]
    undecided = [one for one in found if not _far(one) <= at_most]
    if failed or not undecided:
        outcome = Outcome.FAIL if failed else Outcome.PASS
        return replace(check, outcome=outcome, measured=max(failed or found, key=_far))
    undefined = next((one for one in undecided if math.isinf(_far(one))), None)
    if undefined is not None:
        reason = (
            f"{undefined.contrast} is undefined: {undefined.queries:,} queries give no interval"
        )
        return replace(check, measured=undefined, reason=reason)
    wanted = [_wanted(one, at_most) for one in undecided]
    number = max(wanted)
    measured = undecided[wanted.index(number)]
    if number > MOST_QUERIES:
        reason = (
            "no number of queries shows that an effect is exactly 0"
            if not at_most
            else f"more than {MOST_QUERIES:,} queries would be needed"
        )
        return replace(check, measured=measured, reason=reason)
    return replace(check, measured=measured, wanted=math.ceil(number - 1e-6))


def _measured(effect: Effect, others: Sequence[Effect], drawn: int) -> Measured:
    """Return an effect as plain numbers; its interval is 0 if no score changes at all."""
    low, high = effect.low, effect.high
    scores = [one for one in others if one.contrast is effect.contrast and one.unit == WORTH]
    if effect.value == 0 and scores and all(one.low == 0 == one.high for one in scores):
        low = high = 0.0
    return Measured(
        str(effect.contrast), effect.unit, effect.value, low, high, effect.queries, drawn
    )


def _far(measured: Measured) -> float:
    """Return the interval's largest distance from 0; infinite if undefined."""
    if measured.value is None or measured.low is None or measured.high is None:
        return math.inf
    return max(abs(measured.low), abs(measured.high))


def _wanted(measured: Measured, at_most: float) -> float:
    """Return the number of queries to draw for a decision, if the estimate stays: half-widths
    shrink with √queries, an effect of 0 in all queries has ± 3 / queries.
    """
    size = abs(measured.value or 0.0)
    half, room = _far(measured) - size, abs(at_most - size)
    if not room:
        return math.inf
    power = 1 if not size and half == ZEROS / measured.queries else 2
    return (measured.drawn or measured.queries) * (half / room) ** power

"""Check limits on position bias: each passes, fails, or the data cannot tell; an unmeasured limit
never passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from positionbias.audit.answers import (
    DEVIATIONS,
    RANKS,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.audit import EVIDENCE
from positionbias.audit.rotations import Gap
from positionbias.audit.settings import Limits
from positionbias.audit.systems import FIRST_STAGE, Measurement
from positionbias.audit.verdict import MOST_QUERIES
from positionbias.audit.words import error_note, moved_words, sentences_of, unread_part
from positionbias.core.checks import Check, Measured, Outcome, overall
from positionbias.evaluation.described import PSI, QueryBuckets

__all__ = [
    "EXIT_CODES",
    "MOST_QUERIES",
    "Check",
    "Limits",
    "Measured",
    "Outcome",
    "checks_of",
    "exit_code",
]

EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.CANNOT_TELL: 3}
_SCORES_ALONE = "scores each passage by itself: the order of the list cannot change a score"
ZEROS = 3  # the rule of three: an effect of 0 in all queries has the interval ± 3 / queries
_GAP_NOTE = (
    "--max-rotation-gap is the mean over all queries: where answers stand anywhere in their "
    "passages, rotation moves as many to the front as to the end, and a preference cancels out; "
    "--max-movement sees it"
)
_PSI_NOTE = (
    "--max-psi only describes: PSI mixes a preference with the difficulty of the questions; "
    "--max-response decides"
)


def checks_of(results: Sequence[Measurement], limits: Limits) -> list[Check]:
    """Return a check for each system and limit, from the results of one audit.

    A limit passes if the 95 % interval lies within ± the limit, and fails if it lies wholly beyond.
    Everything else is "cannot tell": an interval across the limit, too few queries, nothing
    measured. The first stage is left out beside models or runs.
    """
    unit = _first_measure(results)
    own = {
        system: [result for result in results if result.system == system]
        for system in _systems(results)
    }
    return [
        _named(check, found)
        for system, found in own.items()
        for check in _checks(system, found, limits, unit)
    ]


def _named(check: Check, results: Sequence[Measurement]) -> Check:
    """Note which sentence was moved, if a rule chose it."""
    rule = next((verdict.rule for verdict in _verdicts(results) if verdict.rule), "")
    if not rule:
        return check
    moved = f"--{check.limit} is of moving {moved_words(rule)}. {error_note(rule)}".removesuffix(
        "."
    )
    return replace(check, note=f"{check.note}. {moved}" if check.note else moved)


def exit_code(checks: Sequence[Check]) -> int:
    """Return the exit code of these checks: 1 if any fails, else 3 if any cannot tell, else 0; 3
    without a check.
    """
    return EXIT_CODES[overall(checks)]


def _systems(results: Sequence[Measurement]) -> list[str]:
    """Return the names of the systems; the first stage's only if nothing else was audited."""
    names = list(dict.fromkeys(result.system for result in results))
    measured = {
        one.system for one in results if one.measure != EVIDENCE and one.role != FIRST_STAGE
    }
    return [name for name in names if name in measured] or names


def _first_measure(results: Sequence[Measurement]) -> str | None:
    """Return the measure of the limits: that of the first buckets, else of the first effect or gap
    in a measure.
    """
    for one in results:
        if one.measure == PSI:
            return str(one.figures.quality)
    for one in results:
        match one.figures:
            case Verdict() as verdict if verdict.measure:
                return verdict.measure
            case Gap(quality=quality):
                return quality
    return None


def _checks(
    system: str, results: Sequence[Measurement], limits: Limits, unit: str | None
) -> Iterable[Check]:
    """Yield the checks of one system, in the order of ``Limits``."""
    if limits.max_response is not None:
        yield _response(system, results, limits.max_response, unit).check(
            system, "max-response", limits.max_response
        )
    if limits.max_movement is not None:
        yield _movement(system, results, limits.max_movement, unit).check(
            system, "max-movement", limits.max_movement
        )
    if limits.max_order is not None:
        yield _order(system, results, limits.max_order).check(system, "max-order", limits.max_order)
    if limits.max_rotation_gap is not None:
        ruled = _rotation_gap(results, limits.max_rotation_gap, unit)
        yield replace(
            ruled.check(system, "max-rotation-gap", limits.max_rotation_gap), note=_GAP_NOTE
        )
    if limits.max_psi is not None:
        measured = _psi(results, unit)
        reason = (
            ""
            if measured and _defined(measured)
            else "PSI is undefined here, or was not measured; it needs answers"
        )
        yield Check(
            system,
            "max-psi",
            limits.max_psi,
            Outcome.CANNOT_TELL,
            measured,
            None,
            reason,
            _PSI_NOTE,
            decides=False,
        )


class _Ruling(NamedTuple):
    """The outcome of a limit's measurements."""

    outcome: Outcome
    measured: Measured | None = None
    wanted: int | None = None
    reason: str = ""

    def check(self, system: str, limit: str, at_most: float) -> Check:
        return Check(system, limit, at_most, self.outcome, self.measured, self.wanted, self.reason)


def _ruled(found: Sequence[Measured], at_most: float, missing: str = "") -> _Ruling:
    """Combine measurements: all must pass, and one failure fails; ``missing`` names unmeasured
    ones, which never pass.
    """
    outcomes = [_outcome(one, at_most) for one in found]
    failed = [one for one, outcome in zip(found, outcomes, strict=True) if outcome is Outcome.FAIL]
    if failed:
        return _Ruling(Outcome.FAIL, max(failed, key=_far))
    open_ones = [
        one for one, outcome in zip(found, outcomes, strict=True) if outcome is Outcome.CANNOT_TELL
    ]
    undefined = [one for one in open_ones if not _defined(one)]
    paths = [(one, *_would_do(one, at_most)) for one in open_ones if _defined(one)]
    failing = [path for path in paths if path[1] is Outcome.FAIL and path[2] is not None]
    if failing:  # one failure is enough
        measured, _, wanted = min(failing, key=lambda path: path[2] or 0)
        return _Ruling(Outcome.CANNOT_TELL, measured, wanted, missing)
    if missing:
        return _Ruling(Outcome.CANNOT_TELL, max(found, key=_far, default=None), None, missing)
    if undefined:
        one = undefined[0]
        return _Ruling(
            Outcome.CANNOT_TELL,
            one,
            None,
            f"{one.contrast} is undefined: {one.queries:,} queries give no interval in {one.unit}",
        )
    if paths:
        measured, _, wanted = max(paths, key=lambda path: math.inf if path[2] is None else path[2])
        return _Ruling(Outcome.CANNOT_TELL, measured, wanted, _too_few(measured, at_most, wanted))
    return _Ruling(Outcome.PASS, max(found, key=_far))


def _too_few(measured: Measured, at_most: float, wanted: int | None) -> str:
    """Return the reason why the interval is undecided, other than its width."""
    if at_most == 0:
        return "no number of queries shows that an effect is exactly 0"
    return (
        ""
        if wanted
        else f"the estimate lies at the limit: more than {MOST_QUERIES:,} queries would be needed"
    )


def _measured(
    contrast: str,
    unit: str | None,
    value: float | None,
    low: float | None,
    high: float | None,
    queries: int,
    drawn: int = 0,
) -> Measured:
    """Return a measurement as plain numbers; numbers that are not finite become undefined."""
    numbers = [
        None if number is None or not math.isfinite(number) else float(number)
        for number in (value, low, high)
    ]
    return Measured(
        str(contrast), unit or "", numbers[0], numbers[1], numbers[2], int(queries), drawn
    )


def _defined(measured: Measured) -> bool:
    return None not in (measured.value, measured.low, measured.high)


def _bounds(measured: Measured) -> tuple[float, float, float]:
    assert measured.value is not None
    assert measured.low is not None
    assert measured.high is not None
    return measured.value, measured.low, measured.high


def _far(measured: Measured) -> float:
    """Return the interval's largest distance from 0; infinite if undefined."""
    if not _defined(measured):
        return math.inf
    _, low, high = _bounds(measured)
    return max(abs(low), abs(high))


def _outcome(measured: Measured, at_most: float) -> Outcome:
    """Compare the interval with ± the limit. One without width needs 3 / limit queries to pass
    [decision].
    """
    if not _defined(measured):
        return Outcome.CANNOT_TELL
    _, low, high = _bounds(measured)
    if low > at_most or high < -at_most:
        return Outcome.FAIL
    return Outcome.PASS if -at_most <= low and high <= at_most else Outcome.CANNOT_TELL


def _would_do(measured: Measured, at_most: float) -> tuple[Outcome, int | None]:
    """Return the outcome of an undecided check with enough queries and the same estimate, and their
    number (None: beyond ``MOST_QUERIES``).

    Half-widths shrink with √queries: to shrink the interval to a share s, n = drawn / s². An effect
    of 0 in all queries has ± 3 / queries.
    """
    value, low, high = _bounds(measured)
    drawn = measured.drawn or measured.queries
    if value == 0 and high == -low == ZEROS / measured.queries:
        return Outcome.PASS, _advice(
            ZEROS / at_most * drawn / measured.queries
        ) if at_most else None
    size, below, above = abs(value), value - low, high - value
    if size > at_most:
        share = _ratio(size - at_most, below if value > 0 else above)
        return Outcome.FAIL, _advice(drawn / share**2, beyond=True)
    share = min(_ratio(at_most - value, above), _ratio(at_most + value, below))
    return Outcome.PASS, _advice(drawn / share**2 if share > 0 else math.inf)


def _ratio(room: float, half: float) -> float:
    return room / half if half > 0 else math.inf


def _advice(queries: float, *, beyond: bool = False) -> int | None:
    """Round up a number of queries; ``beyond``: add one if the interval's end would lie on the
    limit.
    """
    if not queries <= MOST_QUERIES:
        return None
    rounded = round(queries)
    exact = math.isclose(queries, rounded, rel_tol=1e-9)
    return rounded + beyond if exact else math.ceil(queries)


def _response(
    system: str, results: Sequence[Measurement], at_most: float, unit: str | None
) -> _Ruling:
    """Judge the effects of the moved sentence: its ends and its middle."""
    takes = (
        "it needs answers, a model that can be asked again, --needles above 0, and passages of "
        "three sentences or more"
    )
    return _with_limit(
        results,
        _by_effects(
            system,
            _verdicts(results, Question.PASSAGE),
            at_most,
            ((Contrast.ENDS,), (Contrast.MIDDLE,)),
            unit,
            takes,
        ),
    )


def _movement(
    system: str, results: Sequence[Measurement], at_most: float, unit: str | None
) -> _Ruling:
    """Judge rotation, measured by the model's new scores or from two runs."""
    takes = (
        "it needs answers, and a model that can be asked again with --needles and --draws above 0, "
        "or two runs, the second over the rotated collection (--rotated)"
    )
    return _with_limit(
        results,
        _by_effects(
            system,
            _verdicts(results, Question.PASSAGE),
            at_most,
            ((Contrast.ROTATION, Contrast.RUNS),),
            unit,
            takes,
        ),
    )


def _with_limit(results: Sequence[Measurement], ruling: _Ruling) -> _Ruling:
    """Say of a failure that it is one of a length limit."""
    verdict = next(
        (
            one
            for one in _verdicts(results, Question.PASSAGE)
            if one.preference is Preference.UNREAD
        ),
        None,
    )
    if verdict is None or ruling.outcome is not Outcome.FAIL:
        return ruling
    return ruling._replace(
        reason=f"it loses {unread_part(verdict)}; within what it reads: {verdict.within}"
    )


def _order(system: str, results: Sequence[Measurement], at_most: float) -> _Ruling:
    """Judge the order of the list. A model found to score each passage alone has no effects, and no
    preference.
    """
    verdicts = _verdicts(results, Question.LIST)
    if verdicts and all(
        verdict.preference is Preference.NONE and not verdict.effects for verdict in verdicts
    ):
        return _Ruling(Outcome.PASS, reason=_SCORES_ALONE)
    middle = any(
        effect.contrast is Contrast.ORDER_MIDDLE
        for verdict in verdicts
        for effect in verdict.effects
    )
    needed = ((Contrast.ORDER,), (Contrast.ORDER_MIDDLE,)) if middle else ((Contrast.ORDER,),)
    return _by_effects(
        system, verdicts, at_most, needed, RANKS, "it needs a model that can be asked again"
    )


def _by_effects(
    system: str,
    verdicts: Sequence[Verdict],
    at_most: float,
    needed: Sequence[Sequence[Contrast]],
    unit: str | None,
    takes: str,
) -> _Ruling:
    """Judge the effects over all queries; each group in ``needed`` must have at least one measured
    contrast.
    """
    named = [contrast for group in needed for contrast in group]
    over_all = {
        effect: verdict.drawn
        for verdict in verdicts
        for effect in verdict.effects
        if not effect.subset
    }
    effects = [effect for effect in over_all if effect.unit == unit and effect.contrast in named]
    found = [
        _measured(
            one.contrast,
            one.unit,
            one.value,
            *_interval(one, [*over_all]),
            one.queries,
            over_all[one],
        )
        for one in effects
    ]
    absent = [group for group in needed if not any(effect.contrast in group for effect in effects)]
    ruling = None if absent else _ruled(found, at_most)
    if ruling is not None and ruling.outcome is Outcome.FAIL:
        return ruling
    for verdict in verdicts:
        # an effect beyond the limit fails, but none passes
        if verdict.preference is Preference.UNREACTIVE:
            said = sentences_of(system, verdict)[:2]
            return _Ruling(Outcome.CANNOT_TELL, reason=" ".join(said).rstrip("."))
    if ruling is not None:
        gone = next((verdict for verdict in verdicts if verdict.missing), None)
        if gone is None or ruling.outcome is Outcome.PASS:
            return ruling
        # more queries would not do
        said = sentences_of(system, gone)[1:]
        return ruling._replace(wanted=None, reason=" ".join(said).rstrip("."))
    names = ", ".join(" or ".join(group) for group in absent)
    why = " ".join(
        sentence
        for verdict in verdicts
        if not verdict.effects
        for sentence in sentences_of(system, verdict)
    )
    return _ruled(
        found, at_most, f"not measured{f' in {unit}' if unit else ''}: {names}; {why or takes}"
    )


def _interval(effect: Effect, others: Sequence[Effect]) -> tuple[float | None, float | None]:
    """Return the interval of an effect: 0 if no score changes at all. If all queries have 0 but
    their scores change or are unknown, it is ± 3 / queries: a rare query may change by the full
    range ("rule of three") [decision]."""
    scores = [
        one for one in others if one.contrast is effect.contrast and one.unit in (WORTH, DEVIATIONS)
    ]
    if effect.value == 0 and scores and all(one.low == 0 == one.high for one in scores):
        return 0.0, 0.0
    if (
        effect.low != 0
        or effect.high != 0
        or not effect.queries
        or effect.contrast in (Contrast.ORDER, Contrast.ORDER_MIDDLE)
    ):
        return effect.low, effect.high
    return -ZEROS / effect.queries, ZEROS / effect.queries


def _verdicts(results: Sequence[Measurement], question: Question | None = None) -> list[Verdict]:
    found = [one.figures for one in results if isinstance(one.figures, Verdict)]
    return [verdict for verdict in found if question in (None, verdict.question)]


def _rotation_gap(results: Sequence[Measurement], at_most: float, unit: str | None) -> _Ruling:
    found = []
    for gap in (one.figures for one in results if isinstance(one.figures, Gap)):
        if gap.quality == unit:
            low, high = (gap.interval.low, gap.interval.high) if gap.interval else (None, None)
            found.append(_measured("rotated − original", unit, gap.change, low, high, gap.queries))
    takes = "it needs a model that can be asked again, and --draws above 0"
    return _ruled(found, at_most, "" if found else f"not measured: rotated − original; {takes}")


def _psi(results: Sequence[Measurement], unit: str | None) -> Measured | None:
    """Return the first debiased PSI of the first measure."""
    for one in results:
        buckets = one.figures
        if one.measure == PSI and isinstance(buckets, QueryBuckets) and buckets.quality == unit:
            psi = buckets.figures.psi
            queries = sum(buckets.counts)
            return _measured(
                f"debiased PSI of {unit}", "", psi.debiased, psi.low, psi.high, queries
            )
    return None

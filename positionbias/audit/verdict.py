"""Give verdicts on a system from the manipulations, with their effects.

The unit of an effect on scores is the evidence's **worth**: the score of the passage less its score
with an equally long sentence of another passage in the evidence's place, averaged over queries. A
system whose worth is not shown to be above 0 *does not react to its evidence*.

A contrast **shows** a preference if the simultaneous 95 % interval of its raw scores excludes 0 and
that of its ratio does not lie within ± the margin. *No preference* needs both contrasts of the
moved sentence within the margin and none that shows one; all else is *cannot tell*. A verdict is
about whole texts: *loses what it does not read* if the loss shows over whole texts and not within
what is read [decision]. ``docs/audit.md`` says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import (
    RANKS,
    READ_WHOLE,
    SCORE,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Raw,
    Verdict,
)
from positionbias.audit.lists import Nature, OrderSlopes
from positionbias.audit.manipulate import Measured
from positionbias.audit.reads import Reads
from positionbias.audit.trials import COLUMNS, MOVES, NO_SCORE
from positionbias.evaluation.bootstrap import FEWEST, span_of
from positionbias.evaluation.simultaneous import Simultaneous, simultaneous
from positionbias.text.formatting import count

MEASURE_MARGIN = 0.02  # the smallest effect of interest in the measure [decision]
ORDER_MARGIN = 0.5  # ranks from a list's first place to its last [decision]
LEAST_READ = 0.1  # share of the trials: below it there is no verdict on preference within the limit
MOST_QUERIES = 1_000_000  # the largest number given as advice
# share of the queries: more with a missing score could change an effect by the margin [decision]
MOST_MISSING = 0.02
LEAST_SHOWN = 20  # queries: a contrast with fewer may still show a preference
ZEROS = 3  # the "rule of three"
# reasons why no effect decides
TOO_LONG = "too few passages can be shortened to what it reads"
NOTHING_MOVED = "no query has a passage with a sentence to move"
FEW_PASSAGES = f"its queries are of fewer than {FEWEST} passages"
ALONE = "from one run; harder questions may have their answers elsewhere"
SHORT_LISTS = "no query has a list of three passages or more"
_SIDES = {  # the preference that an effect below 0 shows, and one above
    Contrast.ENDS: (Preference.FRONT, Preference.END),
    Contrast.MIDDLE: (Preference.ENDS, Preference.MIDDLE),
    Contrast.ROTATION: (Preference.FRONT, Preference.END),
    Contrast.RUNS: (Preference.FRONT, Preference.END),
    Contrast.ORDER: (Preference.LAST, Preference.FIRST),
    Contrast.ORDER_MIDDLE: (Preference.MIDDLE, Preference.ENDS),
}


class Answered(NamedTuple):
    """The answer of several effects: the preference, the deciding effect, the queries needed."""

    preference: Preference
    deciding: Effect
    wanted: int | None = None


def wanted_queries(effect: Effect, margin: float, drawn: int = 0) -> int | None:
    """Estimate the queries for an interval within the margin, or one that excludes 0, with 80 %
    power if the estimate is right; of ``drawn`` ones the number to draw."""
    value = abs(effect.value or 0.0)
    return queries_for(effect, max(margin - value, value), drawn)


def queries_for(effect: Effect, room: float, drawn: int = 0) -> int | None:
    """Estimate the queries needed to find a difference of ``room`` with 80 % power, to two digits;
    None without an interval, or beyond a million.
    """
    if effect.value is None or effect.low is None or effect.high is None or not effect.queries:
        return None
    half = effect.detectable or (effect.high - effect.low) / 2  # the effect found with 80 % power
    if not room > 0 or not math.isfinite(half):
        return None
    queries = drawn or effect.queries
    # of queries that agree on 0 a rare one may still change: the interval is ± 3 / queries
    unanimous = effect.value == 0 and math.isclose(effect.high * effect.queries, ZEROS)
    number = queries * (half / room) ** (1 if unanimous else 2)
    if number > MOST_QUERIES:
        return None
    step = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return max(queries + 1, math.ceil(number / step) * step)


def answer(effects: Sequence[Effect], margin: float, drawn: int = 0) -> Answered:
    """Return the answer of several contrasts in one unit; ``drawn`` queries gave the measured ones.

    Of several that show a preference the largest decides, the moved sentence's first. Rotation
    counts only if end − front points to the same side and is not within the margin [decision].
    """
    moved = [one for one in effects if one.contrast != Contrast.ROTATION and one.queries]
    ends = next((one for one in moved if one.contrast == Contrast.ENDS), None)

    def counts(effect: Effect) -> bool:
        if ends is None or effect.contrast != Contrast.ROTATION:
            return True
        return not ends.within(margin) and (effect.value or 0.0) * (ends.value or 0.0) > 0

    showing = [effect for effect in effects if effect.shows(margin) and counts(effect)]
    if showing:
        first = min(
            showing, key=lambda one: (one.contrast == Contrast.ROTATION, -abs(one.value or 0))
        )
        return Answered(side(first), first)
    undecided = [effect for effect in moved if not effect.within(margin)]
    if moved and not undecided:
        return Answered(Preference.NONE, max(moved, key=lambda one: one.largest))
    undecided = undecided or list(effects)
    needs = [wanted_queries(effect, margin, drawn) for effect in undecided]
    wanted = max((number for number in needs if number is not None), default=None)
    return Answered(Preference.UNKNOWN, undecided[0], wanted)


def side(effect: Effect) -> Preference:
    """Return the place that an effect prefers."""
    return _SIDES[effect.contrast][(effect.value or 0) >= 0]


def _effect(
    contrast: Contrast, unit: str, found: Simultaneous, subset: str = "", raw: Raw | None = None
) -> Effect:
    bounds = found.low, found.high, found.detectable
    return Effect(contrast, unit, found.value, *bounds, found.count, subset, raw)


def effects_of(
    measured: Measured, measure: str, *, read: bool, shortened: Measured | None = None
) -> tuple[list[Effect], Simultaneous]:
    """Return every contrast as a share of the evidence's worth, in ranks and in the measure, for
    all texts or those ``read`` whole (or of the ``shortened`` passage); and the worth, which is of
    texts read whole. Intervals hold together over the contrasts of one unit.
    """
    moves = _columns(measured, SCORE, read, shortened)[:, :-1]
    worths = _columns(measured, SCORE, True, shortened)[:, -1]
    (worth,) = simultaneous(worths[:, None], measured.clusters)
    effects, subset = [], READ_WHOLE if read else ""
    if (worth.value or 0.0) > 0 and (worth.low is None or worth.low > 0):
        raw = [(own.value, own.low, own.high) for own in simultaneous(moves, measured.clusters)]
        shares = simultaneous(moves, measured.clusters, worths)
        effects = [
            _effect(contrast, WORTH, share, subset, scores)
            for contrast, share, scores in zip(MOVES, shares, raw, strict=True)
        ]
    for unit in (RANKS, measure):
        columns = _columns(measured, unit, read, shortened)[:, :-1]
        span = span_of(columns, changes=True) if unit == measure else None
        estimates = simultaneous(columns, measured.clusters, span=span)
        effects += [
            _effect(contrast, unit, estimate, subset)
            for contrast, estimate in zip(MOVES, estimates, strict=True)
        ]
    return [effect for effect in effects if effect.queries], worth


def _columns(measured: Measured, unit: str, read: bool, shortened: Measured | None) -> np.ndarray:
    """Return contrasts, ``(queries, COLUMNS)``; NaN where a text to be ``read`` whole is not."""
    contrasts = measured.by_unit[unit]
    if not read:
        return contrasts
    contrasts = np.where(measured.whole, contrasts, np.nan)
    if shortened is not None:
        rows = np.searchsorted(measured.query_ids, shortened.query_ids)
        short = np.where(shortened.whole, shortened.by_unit[unit], np.nan)
        contrasts[rows] = np.where(np.isnan(contrasts[rows]), short, contrasts[rows])
    return contrasts


def raw_effects(
    measured: Measured, shortened: Measured | None = None
) -> dict[tuple[Contrast, str], dict[str, float]]:
    """Return the scores of each contrast by query, over all texts and over those read whole."""
    by_query: dict[tuple[Contrast, str], dict[str, float]] = {}
    for subset in ("", READ_WHOLE) if not measured.whole.all() else ("",):
        columns = _columns(measured, SCORE, subset != "", shortened)
        for contrast, column in zip(COLUMNS, columns.T.tolist(), strict=True):
            pairs = zip(measured.query_ids, column, strict=True)
            if known := {query_id: score for query_id, score in pairs if score == score}:
                by_query[contrast, subset] = known
    return by_query


def deciding_effects(effects: Iterable[Effect], margin: float, queries: int) -> list[Effect]:
    """Return the shares of the worth that may decide: of a tenth of the queries or more. One of
    fewer texts that fit can show a preference, but decides nothing else.
    """
    return [
        effect
        for effect in effects
        if effect.unit == WORTH
        and (
            effect.queries >= LEAST_READ * queries
            or (effect.queries >= LEAST_SHOWN and effect.shows(margin))
        )
    ]


def passage_verdict(
    measured: Measured,
    measure: str,
    margin: float,
    reads: Reads,
    skipped: Mapping[str, int],
    shortened: Measured | None = None,
) -> Verdict:
    """Return the verdict on the place of the evidence in its passage. ``skipped`` counts queries
    without a trial, by reason.
    """
    queries, has_ends = len(measured.query_ids), COLUMNS.index(Contrast.ENDS)
    drawn = queries + sum(skipped.values())
    unknown = Verdict(Question.PASSAGE, Preference.UNKNOWN, margin=margin, drawn=drawn)
    if reason := _too_many(skipped.get(NO_SCORE, 0), queries):
        return replace(unknown, reason=reason)
    effects, worth = effects_of(measured, measure, read=False, shortened=shortened)
    unread = float(1 - measured.whole[:, has_ends].mean()) if queries else 0.0
    # perhaps only with filler
    restricted = bool(queries) and not measured.whole[:, : len(MOVES)].all()
    within_read = effects
    if restricted:
        within_read, _ = effects_of(measured, measure, read=True, shortened=shortened)
    verdict = replace(
        unknown,
        effects=effects,
        queries=queries,
        reads=reads.words if restricted else None,
        unread=unread or None,
        from_end=reads.from_end,
    )
    ends = next((one for one in within_read if one.contrast == Contrast.ENDS), None)
    if restricted and (ends is None or ends.queries < LEAST_READ * queries):
        # otherwise text lost at an end would look like a preference
        return _over_whole(replace(verdict, reason=TOO_LONG), effects, measure)
    if worth.low is not None and not worth.low > 0:
        head = _effect(Contrast.WORTH, measured.unit, worth)
        return replace(
            verdict,
            preference=Preference.UNREACTIVE,
            effects=[head, *(effect for effect in within_read if effect.unit != WORTH)],
            wanted=queries_for(head, worth.value or 0.0, drawn),
            reads=None,
            unread=None,
        )
    deciding = deciding_effects(within_read, margin, queries)
    if not deciding:
        why = "; ".join(f"{count(number)} queries: {text}" for text, number in skipped.items())
        return replace(unknown, reason=why or (FEW_PASSAGES if queries else NOTHING_MOVED))
    verdict = _answered(verdict, answer(deciding, margin, drawn), within_read)
    if restricted:
        verdict = replace(verdict, effects=[*verdict.effects, *effects])
    return _over_whole(verdict, effects, measure) if unread else verdict


def _too_many(missing: int, full: int) -> str:
    """Return why there is no verdict if too many queries have a missing score; else ""."""
    if missing <= MOST_MISSING * (missing + full):
        return ""
    return f"scores are missing for {count(missing)} of {count(missing + full)} queries"


def _answered(verdict: Verdict, answered: Answered, effects: Sequence[Effect]) -> Verdict:
    """Return the verdict with an answer, and these effects behind it, the deciding ones first."""
    return replace(
        verdict,
        preference=answered.preference,
        effects=sorted(effects, key=lambda one: one.contrast != answered.deciding.contrast),
        wanted=answered.wanted,
    )


def _over_whole(verdict: Verdict, over_all: Sequence[Effect], measure: str) -> Verdict:
    """Return the verdict over whole texts, from that within what a system reads."""
    margin = verdict.margin or 0.0
    units = {effect.unit: effect for effect in over_all if effect.contrast == Contrast.ENDS}
    whole = units.get(WORTH)
    if whole is None:  # no text is read whole, so the worth is unknown
        whole, margin = units.get(measure), MEASURE_MARGIN
    read = verdict.effect(Contrast.ENDS, WORTH, READ_WHOLE)
    lost = _lost(whole, read, verdict.preference, margin, -1 if verdict.from_end else 1)
    if whole is None or lost is False:
        return verdict
    wanted = None if lost else wanted_queries(whole, margin, verdict.drawn)
    answered = Answered(Preference.UNREAD if lost else Preference.UNKNOWN, whole, wanted)
    within_read = [effect for effect in verdict.effects if effect.subset == READ_WHOLE]
    verdict = replace(verdict, within=verdict.preference, margin=margin)
    verdict = _answered(verdict, answered, over_all)
    return replace(verdict, effects=[*verdict.effects, *within_read])


def _lost(
    whole: Effect | None, read: Effect | None, within_it: Preference, margin: float, side: int
) -> bool | None:
    """Return whether a system loses what it does not read: the end for ``side`` 1, the front for
    −1; beside a preference within what it reads, by more than the margin. None: cannot tell."""
    if whole is None or whole.value is None or whole.low is None or whole.within(margin):
        return False
    loss = -side * whole.value
    if within_it is Preference.NONE or read is None or read.value is None:
        return True if loss > 0 and whole.shows(margin) else None
    return whole.shows(margin) and loss > 0 and loss + side * read.value > margin


def list_verdict(nature: Nature, slopes: OrderSlopes | None, drawn: int = 0) -> Verdict:
    """Return the verdict on the place of a passage in a scorer's list; ``drawn`` queries gave the
    measured lists. A scorer's noise may hide that it reads the list, so it is measured too.
    """
    noise = 0.0 if nature.repeatable else nature.noise
    verdict = Verdict(Question.LIST, Preference.UNKNOWN, margin=ORDER_MARGIN, noise=noise)
    if nature.order_matters_not:
        return replace(verdict, preference=Preference.NONE)
    if slopes is not None and (reason := _too_many(slopes.missing, len(slopes.slopes))):
        return replace(verdict, reason=reason)
    if slopes is None or not len(slopes.slopes):
        return replace(verdict, reason=SHORT_LISTS)
    estimates = simultaneous(slopes.slopes, slopes.clusters)
    measured = zip((Contrast.ORDER, Contrast.ORDER_MIDDLE), estimates, strict=True)
    effects = [_effect(contrast, RANKS, one) for contrast, one in measured if one.count]
    answered = answer(effects, ORDER_MARGIN, drawn)
    if answered.preference is Preference.NONE:
        answered = answered._replace(deciding=effects[0])
    verdict = _answered(verdict, answered, effects)
    return replace(verdict, queries=answered.deciding.queries, drawn=drawn)

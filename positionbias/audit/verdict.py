"""Give verdicts on a system from the manipulations, with their effects.

The unit of an effect on scores is the evidence's **worth**: the score of the passage less its score
with an equally long sentence of another passage in the evidence's place, averaged over queries. It
depends on the system, the queries and the passages, and not on the candidates or their depth. An
effect is the ratio of two means, and its interval accounts for both. A system whose worth is not
shown to be above 0 *does not react to its evidence*: then no effect is measured [decision].

A contrast **shows** a preference if the simultaneous 95 % interval of its raw scores excludes 0 and
that of its ratio does not lie within ± the margin, the smallest effect of interest. An interval
within the margin is *no preference larger than* its far end, even if it excludes 0: with enough
queries a position-blind scorer that reads neighbouring words shows an effect of a few thousandths
[decision]. Everything else is *cannot tell*.

The moved sentence has two contrasts (end − front, middle − ends), rotation one; all three form one
family. "No preference" needs both contrasts of the moved sentence within the margin and no contrast
that shows a preference. Rotation may stay wide: it has only one pair of texts per query, so the
scorer's noise is large.

A verdict is about whole texts. Where a system does not read all of them to both ends, the
preference within what it reads is measured on texts that it reads whole, and the verdict is *loses
what it does not read* if the loss shows over whole texts and not within what is read [decision].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from positionbias.audit.answers import (
    RANKS,
    READ_WHOLE,
    WORTH,
    Contrast,
    Effect,
    Missing,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.lists import Nature, OrderSlopes
from positionbias.audit.manipulate import Measured
from positionbias.audit.reads import Reads
from positionbias.audit.trials import COLUMNS, MOVES
from positionbias.core.formatting import count
from positionbias.evaluation.bootstrap import FEWEST, span_of
from positionbias.evaluation.simultaneous import Simultaneous, simultaneous

__all__ = [
    "ALONE",
    "ALONE_WITHOUT_ANSWERS",
    "DECLARED",
    "MEASURE_MARGIN",
    "ORDER_MARGIN",
    "Answered",
    "agreed",
    "answer",
    "deciding_effects",
    "effects_of",
    "list_verdict",
    "passage_verdict",
    "queries_beyond",
    "queries_for",
    "raw_effects",
    "side",
    "wanted_queries",
]

MEASURE_MARGIN = 0.02  # the smallest effect of interest in the first measure [decision]
ORDER_MARGIN = 0.5  # ranks from a list's first place to its last [decision]
LEAST_READ = 0.1  # share of the trials: below it there is no verdict on preference within the limit
MOST_QUERIES = 1_000_000  # the largest number given as advice
LEAST_SHOWN = 20  # queries: a contrast with fewer may still show a preference
# reasons why no effect decides
TOO_LONG = "too few passages can be shortened to what it reads"
NOTHING_MOVED = "no query has a passage with a sentence to move"
FEW_PASSAGES = f"its queries are of fewer than {FEWEST} passages"
ALONE = "from one run; harder questions may have their answers elsewhere"
ALONE_WITHOUT_ANSWERS = "from one run, and this split has no located answer"
SHORT_LISTS = "no query has a list of three passages or more"
DECLARED = "declared"  # that a scorer reads passages alone
_BELOW = {
    Contrast.ENDS: Preference.FRONT,
    Contrast.MIDDLE: Preference.ENDS,
    Contrast.ROTATION: Preference.FRONT,
    Contrast.RUNS: Preference.FRONT,
    Contrast.ORDER: Preference.LAST,
    Contrast.ORDER_MIDDLE: Preference.MIDDLE,
}
_ABOVE = {
    Contrast.ENDS: Preference.END,
    Contrast.MIDDLE: Preference.MIDDLE,
    Contrast.ROTATION: Preference.END,
    Contrast.RUNS: Preference.END,
    Contrast.ORDER: Preference.FIRST,
    Contrast.ORDER_MIDDLE: Preference.ENDS,
}


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of several effects: the preference, the deciding effect, whether its interval lies
    beyond the margin, the queries needed, and other contrasts of the moved sentence that show a
    preference, or without one those that exclude 0."""

    preference: Preference
    deciding: Effect
    exceeds: bool | None
    wanted: int | None
    besides: Sequence[Effect] = ()


def within(effect: Effect, margin: float) -> bool:
    """Return True if the interval lies within ± margin."""
    return (
        effect.low is not None
        and effect.high is not None
        and -margin <= effect.low
        and effect.high <= margin
    )


def shows(effect: Effect, margin: float) -> bool:
    """Return True if the interval excludes 0 and does not lie within ± margin."""
    return effect.low is not None and effect.excludes_zero and not within(effect, margin)


def beyond(effect: Effect, margin: float) -> bool:
    """Return True if the interval lies wholly beyond the margin."""
    return (
        effect.low is not None
        and effect.high is not None
        and (effect.low > margin or effect.high < -margin)
    )


def wanted_queries(effect: Effect, margin: float, drawn: int = 0) -> int | None:
    """Estimate the queries needed for an answer with 80 % power, if the estimate is right, to two
    digits; None without an interval.

    An answer is an interval within the margin, or one that excludes 0. With ``drawn`` queries
    behind those of the effect, it is the number to draw."""
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
    number = queries * (half / room) ** 2
    if number > MOST_QUERIES:
        return None
    step = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return max(queries + 1, math.ceil(number / step) * step)


def queries_beyond(effect: Effect, margin: float, drawn: int = 0) -> int | None:
    """Estimate the queries that show with 80 % power whether a preference lies beyond the margin;
    None if no number of them would.
    """
    return queries_for(effect, abs(abs(effect.value or 0.0) - margin), drawn)


def answer(effects: Sequence[Effect], margin: float, drawn: int = 0) -> Answered:
    """Return the answer of several contrasts in one unit, the moved sentence's before rotation's;
    ``drawn`` queries gave the measured ones.

    Of several that show a preference the largest decides, the moved sentence's first. Rotation
    counts only if the evidence moved from front to end points to the same side and is not itself
    within the margin; otherwise the moved sentence alone decides. Rotation keeps the passage's
    order, and in real text the sentence before the evidence is more related to the query than the
    next [decision].
    """
    moved = [
        effect for effect in effects if effect.contrast != Contrast.ROTATION and effect.queries
    ]
    ends = next((effect for effect in moved if effect.contrast == Contrast.ENDS), None)

    def counts(effect: Effect) -> bool:
        if ends is None or effect.contrast != Contrast.ROTATION:
            return True
        return not within(ends, margin) and (effect.value or 0.0) * (ends.value or 0.0) > 0

    showing = sorted(
        (effect for effect in effects if shows(effect, margin) and counts(effect)),
        key=lambda one: (one.contrast == Contrast.ROTATION, -abs(one.value or 0)),
    )
    if showing:
        first = showing[0]
        besides = [effect for effect in showing[1:] if effect.contrast != Contrast.ROTATION]
        return Answered(side(first), first, beyond(first, margin), None, besides)
    if moved and all(within(effect, margin) for effect in moved):
        largest = max(moved, key=lambda one: max(abs(one.low or 0), abs(one.high or 0)))
        return Answered(
            Preference.NONE,
            largest,
            None,
            None,
            [effect for effect in moved if effect.excludes_zero],
        )
    open_ones = [effect for effect in moved if not within(effect, margin)] or list(effects)
    needs = [
        number
        for effect in open_ones
        if (number := wanted_queries(effect, margin, drawn)) is not None
    ]
    return Answered(Preference.UNKNOWN, open_ones[0], None, max(needs) if needs else None)


def side(effect: Effect) -> Preference:
    """Return the place that an effect prefers."""
    return (_BELOW if (effect.value or 0) < 0 else _ABOVE)[effect.contrast]


def effects_of(
    measured: Measured, measure: str, *, read: bool, shortened: Measured | None = None
) -> tuple[list[Effect], Simultaneous]:
    """Return every contrast as a share of the evidence's worth, in ranks and in the measure, for
    all texts or those ``read`` whole; and the worth.

    If a query's texts are not read whole, those of its ``shortened`` passage count as read. The
    worth is always of texts that are read whole. Intervals hold together over the contrasts of one
    unit. Without a worth above 0 there are no shares.
    """
    moves = _columns(measured, "score", read, shortened)[:, :-1]
    worths = _columns(measured, "score", True, shortened)[:, -1]
    (worth,) = simultaneous(worths[:, None], measured.clusters)
    raw = [
        None if one.value is None or one.low is None or one.high is None
        else (one.value, one.low, one.high)
        for one in simultaneous(moves, measured.clusters)
    ]  # fmt: skip
    found = []
    for name in (WORTH, RANKS, measure):
        if name == WORTH:
            positive = (worth.value or 0.0) > 0 and (worth.low is None or worth.low > 0)
            estimates = simultaneous(moves, measured.clusters, worths) if positive else []
        else:
            columns = _columns(measured, name, read, shortened)[:, :-1]
            span = span_of(columns, changes=True) if name == measure else None
            estimates = simultaneous(columns, measured.clusters, span=span)
        found += [
            Effect(
                contrast,
                name,
                e.value,
                e.low,
                e.high,
                e.detectable,
                e.count,
                READ_WHOLE if read else "",
                in_scores if name == WORTH else None,
            )
            for contrast, e, in_scores in zip(MOVES, estimates, raw, strict=False)
            if e.count
        ]
    return found, worth


def _columns(measured: Measured, unit: str, read: bool, shortened: Measured | None) -> np.ndarray:
    """Return the contrasts of all queries in one unit, ``(queries, COLUMNS)``; NaN where a text is
    to be ``read`` whole and is not.
    """
    contrasts = measured.by_unit[unit]
    if not read:
        return contrasts
    contrasts = np.where(measured.whole, contrasts, np.nan)
    if shortened is not None:
        places = {query_id: row for row, query_id in enumerate(measured.query_ids)}
        rows = [places[query_id] for query_id in shortened.query_ids]
        short = np.where(shortened.whole, shortened.by_unit[unit], np.nan)
        contrasts[rows] = np.where(np.isnan(contrasts[rows]), short, contrasts[rows])
    return contrasts


def raw_effects(
    measured: Measured, contrasts: Sequence[Contrast], shortened: Measured | None = None
) -> dict[tuple[Contrast | str, str], dict[str, float]]:
    """Return the scores of each contrast by query, over all texts and over those read whole."""
    found: dict[tuple[Contrast | str, str], dict[str, float]] = {}
    for subset in ("", READ_WHOLE) if not measured.whole.all() else ("",):
        columns = _columns(measured, "score", subset != "", shortened)
        for contrast, column in zip(contrasts, columns.T, strict=True):
            by_query = zip(measured.query_ids, column.tolist(), strict=True)
            if own := {query_id: score for query_id, score in by_query if score == score}:
                found[contrast, subset] = own
    return found


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
            or (effect.queries >= LEAST_SHOWN and shows(effect, margin))
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
    """Return the verdict on the place of the evidence in its passage.

    ``skipped`` counts queries without a trial, by reason. If the system does not read all texts
    whole, texts that fit and those of ``shortened`` passages give the preference within what it
    reads.
    """
    queries = len(measured.query_ids)
    drawn = queries + sum(skipped.values())
    over_all, worth = effects_of(measured, measure, read=False, shortened=shortened)
    ends = COLUMNS.index(Contrast.ENDS)
    unread = float(1 - measured.whole[:, ends].mean()) if queries else 0.0
    # perhaps only with filler
    restricted = bool(queries) and not measured.whole[:, : len(MOVES)].all()
    own = (
        effects_of(measured, measure, read=True, shortened=shortened)[0] if restricted else over_all
    )
    found = Verdict(
        Question.PASSAGE,
        Preference.UNKNOWN,
        over_all,
        margin,
        queries=queries,
        reads=reads.words if restricted else None,
        unread=unread or None,
        drawn=drawn,
        from_end=reads.from_end,
    )
    if restricted and not any(
        e.contrast == Contrast.ENDS and e.queries >= LEAST_READ * queries for e in own
    ):
        # otherwise text lost at an end would look like a preference
        return _over_whole(replace(found, reason=TOO_LONG, reads=reads.words), over_all, measure)
    if worth.low is not None and not worth.low > 0:
        return _unreactive(found, measured.unit, worth, own)
    in_unit = deciding_effects(own, margin, queries)
    if not in_unit:
        why = "; ".join(f"{count(number)} queries: {said}" for said, number in skipped.items())
        nothing = FEW_PASSAGES if queries else NOTHING_MOVED
        return Verdict(
            Question.PASSAGE,
            Preference.UNKNOWN,
            margin=margin,
            drawn=drawn,
            reason=why or nothing,
        )
    answered = answer(in_unit, margin, drawn)
    verdict = replace(
        found,
        preference=answered.preference,
        effects=[*_deciding_first(own, answered.deciding), *([] if own is over_all else over_all)],
        exceeds=answered.exceeds,
        wanted=answered.wanted,
    )
    return _over_whole(verdict, over_all, measure) if unread else verdict


def _over_whole(verdict: Verdict, over_all: Sequence[Effect], measure: str) -> Verdict:
    """Return the verdict over whole texts, from that within what a system reads."""
    within_it, margin = verdict.preference, verdict.margin or 0.0
    units = {effect.unit: effect for effect in over_all if effect.contrast == Contrast.ENDS}
    whole = units.get(WORTH)
    if whole is None:  # no text is read whole, so the worth is unknown
        whole, margin = units.get(measure), MEASURE_MARGIN
    read = next(
        (
            e
            for e in verdict.effects
            if (e.contrast, e.unit, e.subset) == (Contrast.ENDS, WORTH, READ_WHOLE)
        ),
        None,
    )
    lost = _lost(whole, read, within_it, margin, -1 if verdict.from_end else 1)
    if whole is None or lost is False:
        return verdict
    within_read = [effect for effect in verdict.effects if effect.subset == READ_WHOLE]
    changed = replace(
        verdict, effects=[*_deciding_first(over_all, whole), *within_read], within=within_it
    )
    if lost:
        exceeds = beyond(whole, margin)
        return replace(changed, preference=Preference.UNREAD, exceeds=exceeds, wanted=None)
    wanted = wanted_queries(whole, margin, verdict.drawn)
    return replace(changed, preference=Preference.UNKNOWN, exceeds=None, wanted=wanted)


def _lost(
    whole: Effect | None, read: Effect | None, within_it: Preference, margin: float, side: int
) -> bool | None:
    """Return whether a system loses what it does not read: the end for ``side`` 1, the front for
    −1. None: it cannot be told.

    A preference within what it reads shows over whole texts too, so beside one the effect must be
    larger by the margin."""
    if whole is None or whole.value is None or whole.low is None or within(whole, margin):
        return False
    loss = -side * whole.value
    if within_it is Preference.NONE or read is None or read.value is None:
        return True if loss > 0 and shows(whole, margin) else None
    return shows(whole, margin) and loss > 0 and loss + side * read.value > margin


def _deciding_first(effects: Sequence[Effect], deciding: Effect) -> list[Effect]:
    return sorted(effects, key=lambda effect: effect.contrast != deciding.contrast)


def _unreactive(
    found: Verdict, unit: str, worth: Simultaneous, effects: Sequence[Effect]
) -> Verdict:
    """Return the verdict on a system to which its evidence is not shown to be worth anything."""
    own = Effect(
        Contrast.WORTH, unit, worth.value, worth.low, worth.high, worth.detectable, worth.count
    )
    return replace(
        found,
        preference=Preference.UNREACTIVE,
        effects=[own, *(effect for effect in effects if effect.unit != WORTH)],
        wanted=queries_for(own, worth.value or 0.0, found.drawn),
        reads=None,
        unread=None,
    )


def list_verdict(nature: Nature, slopes: OrderSlopes | None, drawn: int = 0) -> Verdict:
    """Return the verdict on the place of a passage in a scorer's list. ``drawn`` queries gave those
    whose lists were measured.

    A scorer that is not repeatable is measured too, as its noise may hide that it reads the list.
    """
    found = Verdict(
        Question.LIST,
        Preference.UNKNOWN,
        margin=ORDER_MARGIN,
        noise=0.0 if nature.repeatable else nature.noise,
    )
    if nature.order_matters_not:
        reason = DECLARED if nature.declared else ""
        return replace(found, preference=Preference.NONE, reason=reason)
    if slopes is None or not len(slopes.slopes):
        return replace(found, reason=SHORT_LISTS)
    estimates = simultaneous(slopes.slopes, slopes.clusters)
    effects = [
        Effect(contrast, RANKS, e.value, e.low, e.high, e.detectable, e.count)
        for contrast, e in zip((Contrast.ORDER, Contrast.ORDER_MIDDLE), estimates, strict=True)
        if e.count
    ]
    answered = answer(effects, ORDER_MARGIN, drawn)
    none = answered.preference is Preference.NONE
    head = effects[0] if none else answered.deciding
    return replace(
        found,
        preference=answered.preference,
        effects=effects if none else _deciding_first(effects, head),
        exceeds=answered.exceeds,
        queries=head.queries,
        wanted=answered.wanted,
        drawn=drawn,
    )


def agreed(verdicts: Sequence[Verdict], missing: Missing) -> Verdict:
    """Return the verdict of several on the same queries that differ only by what missing scores
    are: one if they agree, else *cannot tell*. Its effects span those of all.
    """
    first = verdicts[0]
    same = len({verdict.preference for verdict in verdicts}) == 1
    exceeds = (
        first.exceeds if same and len({verdict.exceeds for verdict in verdicts}) == 1 else None
    )
    return replace(
        first,
        preference=first.preference if same else Preference.UNKNOWN,
        effects=_spanning([verdict.effects for verdict in verdicts]),
        exceeds=exceeds,
        wanted=None,
        missing=missing,
    )


def _spanning(found: Sequence[Sequence[Effect]]) -> list[Effect]:
    """Return each effect from its lowest to its highest; only those that all have."""
    by_key = [
        {(effect.contrast, effect.unit, effect.subset): effect for effect in effects}
        for effects in found
    ]
    spans = []
    for key, effect in by_key[0].items():
        if not all(key in effects for effects in by_key):
            continue
        ways = [effects[key] for effects in by_key]
        values = [way.value for way in ways if way.value is not None]
        low, high = [way.low for way in ways], [way.high for way in ways]
        spans.append(
            replace(
                effect,
                value=(min(values) + max(values)) / 2 if values else None,
                low=None if None in low else min(number for number in low if number is not None),
                high=None if None in high else max(number for number in high if number is not None),
                detectable=None,
                raw=None,
            )
        )
    return spans

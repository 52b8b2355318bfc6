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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from positionbias.audit.lists import Nature, OrderSlopes
from positionbias.audit.manipulate import Measured
from positionbias.audit.reads import Reads, unread_part
from positionbias.audit.trials import COLUMNS, MOVES
from positionbias.core.formatting import NBSP, count, decimal, percent
from positionbias.evaluation.bootstrap import FEWEST, span_of
from positionbias.evaluation.simultaneous import Simultaneous, simultaneous
from positionbias.results.audit import RANKS, READ_WHOLE, WORTH
from positionbias.results.payloads import Contrast, Effect, Preference, Question, Verdict

__all__ = [
    "MEASURE_MARGIN",
    "ORDER_MARGIN",
    "answer",
    "as_share",
    "effects_of",
    "leaning",
    "list_verdict",
    "moved_words",
    "passage_verdict",
    "queries_beyond",
    "queries_for",
    "sized",
    "wanted_queries",
    "what_helps",
]

MEASURE_MARGIN = 0.02  # the smallest effect of interest in the first measure [decision]
ORDER_MARGIN = 0.5  # ranks from a list's first place to its last [decision]
LEAST_READ = 0.1  # share of the trials: below it there is no verdict on preference within the limit
MOST_QUERIES = 1_000_000  # the largest number given as advice
LEAST_SHOWN = 20  # queries: a contrast with fewer may still show a preference
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
        return Answered(_side(first), first, beyond(first, margin), None, besides)
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
    nonzero = [
        None if one.low is None or one.high is None else not one.low <= 0 <= one.high
        for one in simultaneous(moves, measured.clusters)
    ]
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
                raw,
            )
            for contrast, e, raw in zip(
                MOVES, estimates, nonzero if name == WORTH else [None] * len(MOVES), strict=False
            )
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


def passage_verdict(
    name: str,
    measured: Measured,
    measure: str,
    margin: float,
    reads: Reads,
    skipped: Mapping[str, int],
    shortened: Measured | None = None,
    rule: str = "",
    among: str = "",
) -> Verdict:
    """Return the verdict on the place of the evidence in its passage; the evidence is the answer,
    or chosen by a ``rule``.

    ``skipped`` counts queries without a trial, by reason. If the system does not read all texts
    whole, texts that fit and those of ``shortened`` passages give the preference within what it
    reads. ``among`` names the candidates of ranks and the measure.
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
    if restricted and not any(
        e.contrast == Contrast.ENDS and e.queries >= LEAST_READ * queries for e in own
    ):
        # otherwise text lost at an end would look like a preference
        said = (
            f"{name}: cannot tell whether it prefers a place within what it reads: too few "
            "passages can be shortened to that."
        )
        sentences = [said, "Audit it on shorter passages, or let it read further."]
        unknown = Verdict(
            Question.PASSAGE,
            Preference.UNKNOWN,
            sentences,
            over_all,
            margin,
            None,
            queries,
            None,
            reads.words,
            unread,
            drawn,
        )
        return _over_whole(name, unknown, over_all, measure, reads, rule)
    if worth.low is not None and not worth.low > 0:
        return _unreactive(name, measured, worth, own, margin, drawn, rule)
    # a contrast with few texts that fit can show a preference, but decides nothing else
    in_unit = [
        effect
        for effect in own
        if effect.unit == WORTH
        and (
            effect.queries >= LEAST_READ * queries
            or (effect.queries >= LEAST_SHOWN and shows(effect, margin))
        )
    ]
    if not in_unit:
        why = "; ".join(f"{count(number)} queries: {said}" for said, number in skipped.items()) or (
            f"its queries are of fewer than {FEWEST} passages"
            if queries
            else "no query has a passage with a sentence to move"
        )
        of = f", moving {moved_words(rule)}" if rule else ""
        sentence = f"{name}: cannot tell whether it prefers a place in the passage{of}: {why}."
        return Verdict(Question.PASSAGE, Preference.UNKNOWN, [sentence], margin=margin, drawn=drawn)
    found = answer(in_unit, margin, drawn)
    effects = [*_deciding_first(own, found.deciding), *([] if own is over_all else over_all)]
    sentences = [
        _headline(name, found, margin, restricted, rule),
        _meaning(found, own, measure, rule, among),
        _next(found, margin, drawn),
    ]
    verdict = Verdict(
        Question.PASSAGE,
        found.preference,
        [sentence for sentence in sentences if sentence],
        effects,
        margin,
        found.exceeds,
        queries,
        found.wanted,
        reads.words if restricted else None,
        unread or None,
        drawn,
    )
    return _over_whole(name, verdict, over_all, measure, reads, rule) if unread else verdict


def _over_whole(
    name: str, verdict: Verdict, over_all: Sequence[Effect], measure: str, reads: Reads, rule: str
) -> Verdict:
    """Return the verdict over whole texts, from that ``within`` what a system reads."""
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
    part, longer = (
        unread_part(reads),
        f"{percent(verdict.unread or 0.0, 0)} of the queries have longer texts",
    )
    lost = _lost(whole, read, within_it, margin, -1 if reads.from_end else 1)
    first, *more = verdict.sentences
    if whole is None or lost is False:
        cost = _cost(units, measure, reads, rule)
        return replace(
            verdict, sentences=[first, f"It does not read {part}: {longer}{cost}.", *more[-1:]]
        )
    within_read = [effect for effect in verdict.effects if effect.subset == READ_WHOLE]
    changed = replace(
        verdict,
        effects=[*_deciding_first(over_all, whole), *within_read],
        loses=part,
        within=within_it,
    )
    if lost:
        sentences = [
            f"{name} loses {part}{_cost(units, measure, reads, rule)}; {longer}.",
            first,
            f"Let {name} read further, or give it shorter passages.",
        ]
        return replace(
            changed,
            preference=Preference.UNREAD,
            sentences=sentences,
            exceeds=beyond(whole, margin),
            wanted=None,
        )
    wanted = wanted_queries(whole, margin, verdict.drawn)
    more_queries = f"; about {count(wanted)} queries would do" if wanted else ""
    said = (
        f"{name}: cannot tell whether it matters that it does not read "
        f"{part}{_cost(units, measure, reads, rule)}{more_queries}; {longer}."
    )
    return replace(
        changed, preference=Preference.UNKNOWN, sentences=[said, first], exceeds=None, wanted=wanted
    )


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


def _cost(units: Mapping[str, Effect], measure: str, reads: Reads, rule: str) -> str:
    """Return what the limit costs: the change when the evidence moves to where it is not read, over
    whole texts; in scores if no rank changes.
    """
    effect = next(
        (units[unit] for unit in (measure, WORTH) if unit in units and units[unit].value), None
    )
    if effect is None:
        return ""
    change = _from_preferred(effect, Preference.END if reads.from_end else Preference.FRONT)
    value, _, bounds = sized(change).partition(" ")
    unit = "of the evidence's worth" if effect.unit == WORTH else effect.unit
    return (
        f": {value} {unit} {bounds} when {moved_words(rule)} moves to "
        f"{'the front' if reads.from_end else 'the end'} of whole texts"
    )


def _deciding_first(effects: Sequence[Effect], deciding: Effect) -> list[Effect]:
    return sorted(effects, key=lambda effect: effect.contrast != deciding.contrast)


def _unreactive(
    name: str,
    measured: Measured,
    worth: Simultaneous,
    effects: Sequence[Effect],
    margin: float,
    drawn: int,
    rule: str,
) -> Verdict:
    """Return the verdict on a system to which its evidence is not shown to be worth anything."""
    own = Effect(
        Contrast.WORTH,
        measured.unit,
        worth.value,
        worth.low,
        worth.high,
        worth.detectable,
        worth.count,
    )
    wanted = queries_for(own, worth.value or 0.0, drawn)
    if worth.low == 0 == worth.high:
        change = "nothing changes"
    elif measured.unit == RANKS:
        change = f"a passage falls by {sized(own, sign=False)} ranks"
    else:
        change = f"its score falls by {sized(own, sign=False)}"
    replaced = moved_words(rule, "that of the answer")
    sentences = [
        (
            f"{name} {Preference.UNREACTIVE}: {change} when a sentence of another passage replaces "
            f"{replaced} ({count(worth.count)} queries)."
        ),
        "So a preference for a place in the passage cannot be measured.",
    ]
    if wanted:
        sentences.append(
            f"Audit more queries: about {count(wanted)} would show a fall of this size (--queries, "
            "--needles)."
        )
    return Verdict(
        Question.PASSAGE,
        Preference.UNREACTIVE,
        sentences,
        [own, *(effect for effect in effects if effect.unit != WORTH)],
        margin,
        None,
        len(measured.query_ids),
        wanted,
        drawn=drawn,
    )


def sized(effect: Effect, *, sign: bool = True) -> str:
    """Return an effect with its interval, in the decimals of its unit."""
    numbers = [number for number in (effect.value, effect.low, effect.high) if number is not None]
    largest = max(map(abs, numbers), default=0.0)
    if effect.unit == WORTH:
        places, scale, unit = 1, 100.0, f"{NBSP}%"
    else:
        places, scale, unit = (1 if largest >= 1 else 2) if effect.unit == RANKS else 3, 1.0, ""
    value, *bounds = (decimal(scale * number, places, sign=sign) for number in numbers)
    if len(bounds) < 2:
        return f"{value}{unit} (no interval: queries of fewer than {FEWEST} passages)"
    return f"{value}{unit} [{bounds[0]}, {bounds[1]}]"


def as_share(margin: float) -> str:
    """Return a share as per cent, with as many decimals as it has.

    >>> as_share(0.1), as_share(0.025)
    ('10\\xa0%', '2.5\\xa0%')
    """
    return f"{round(100 * margin, 6):g}{NBSP}%"


def moved_words(rule: str, answer: str = "an answer") -> str:
    """Name what is moved: the answer, or the sentence that a rule chose."""
    return f"the sentence chosen by {rule}" if rule else answer


def _headline(name: str, found: Answered, margin: float, restricted: bool, rule: str) -> str:
    head = found.deciding
    where = ", within what it reads" if restricted else ""
    size = f"{head.contrast} {sized(head)} of the evidence's worth ({count(head.queries)} queries)"
    size += f" of moving {moved_words(rule)}" if rule else ""
    if found.preference == Preference.NONE:
        largest = max(abs(head.low or 0), abs(head.high or 0))
        if not largest:
            return (
                f"{name}: no preference{where}: its scores do not change when "
                f"{moved_words(rule, 'the answer')} moves ({count(head.queries)} queries)."
            )
        detects = f"; detects {percent(head.detectable)} with 80 % power" if head.detectable else ""
        return (
            f"{name}: no preference larger than {percent(largest)}{leaning(found.besides)}{where}: "
            f"{size}{detects}."
        )
    if found.preference == Preference.UNKNOWN:
        more = f"; about {count(found.wanted)} queries would do" if found.wanted else ""
        return f"{name}: cannot tell{where}: {size}, margin {as_share(margin)}{more}."
    compared = "beyond the margin of" if found.exceeds else "perhaps within the margin of"
    besides = "".join(f"; {one.contrast} {sized(one)} too" for one in found.besides)
    return f"{name} {found.preference}{where}: {size}, {compared} {as_share(margin)}{besides}."


def leaning(effects: Sequence[Effect]) -> str:
    """Return "(leans to …)" for effects that exclude 0 within the margin; "" for none.

    >>> leaning([Effect(Contrast.ENDS, WORTH, -0.07, -0.1, -0.05)])
    ' (leans to the front)'
    """
    sides = [_side(effect).removeprefix("prefers ") for effect in effects]
    return f" (leans to {' and '.join(sides)})" if sides else ""


def _side(effect: Effect) -> Preference:
    return (_BELOW if (effect.value or 0) < 0 else _ABOVE)[effect.contrast]


def _meaning(
    found: Answered, effects: Sequence[Effect], measure: str, rule: str, among: str
) -> str:
    """Describe the deciding contrast in ranks and in the measure, of the candidates ``among`` which
    they are.
    """
    of = {effect.unit: effect for effect in effects if effect.contrast == found.deciding.contrast}
    ranks, quality = of.get(RANKS), of.get(measure)
    if ranks is None or quality is None or ranks.value is None:
        return ""
    among = f" {among}" if among else ""
    if found.preference == Preference.NONE:
        if not any((found.deciding.low, found.deciding.high)):  # no score changes
            return ""
        largest = max(abs(quality.low or 0), abs(quality.high or 0))
        return (
            f"Moving {moved_words(rule)} within its passage changes {measure}{among} by at most "
            f"{decimal(largest)} on average."
        )
    if found.preference == Preference.UNKNOWN:
        return f"Measured so far: {sized(quality)} {measure}{among}."
    if not any((ranks.value, ranks.low, ranks.high, quality.value)):
        return f"Yet no passage changes its rank by it{among}, as scores are too far apart."
    moved = {
        Preference.FRONT: ("front", "end"), Preference.END: ("end", "front"),
        Preference.MIDDLE: ("middle", "ends"), Preference.ENDS: ("ends", "middle"),
    }[found.preference]  # fmt: skip
    return (
        f"When {moved_words(rule)} moves from the {moved[0]} to the {moved[1]}, its passage "
        f"changes by {sized(_from_preferred(ranks, found.preference))} places{among} and {measure} "
        f"by {sized(_from_preferred(quality, found.preference))}."
    )


def _from_preferred(effect: Effect, preference: Preference) -> Effect:
    """Return the effect as the change away from the preferred place."""
    if preference in (Preference.FRONT, Preference.ENDS) or effect.value is None:
        return effect
    low, high = (None if bound is None else -bound for bound in (effect.high, effect.low))
    return Effect(
        effect.contrast,
        effect.unit,
        -effect.value,
        low,
        high,
        effect.detectable,
        effect.queries,
        effect.subset,
    )


def _next(found: Answered, margin: float, drawn: int) -> str:
    if found.preference == Preference.UNKNOWN and found.deciding.low is None:
        return "Audit queries of other passages too."
    if found.preference == Preference.UNKNOWN:
        if found.wanted is None:
            return "Accept a wider margin (--margin): more queries would hardly help."
        return (
            "Audit more queries if there are any (--queries, --needles), or accept a wider margin "
            "(--margin)."
        )
    if found.preference == Preference.NONE:
        return ""
    if not found.exceeds:
        wanted = queries_beyond(found.deciding, margin, drawn)
        more = (
            f": about {count(wanted)} queries would show it (--queries, --needles)"
            if wanted
            else ""
        )
        return f"It may be too small to matter{more}."
    return what_helps(found.preference)


def what_helps(preference: Preference) -> str:
    """Return the next step for a model that prefers a place of its passages."""
    if preference is Preference.FRONT:
        return (
            "Train on rotated passages (posbias debias, or train --rotate-at-reading) and audit "
            "again; if it was trained on such passages, compare remedies (posbias study remedies)."
        )
    return (
        "Compare remedies (posbias study remedies) and audit again. Rotated training passages are "
        "known to help against a preference for the front alone; models trained on them may come "
        "to prefer the end."
    )


def list_verdict(name: str, nature: Nature, slopes: OrderSlopes | None, drawn: int = 0) -> Verdict:
    """Return the verdict on the place of a passage in a scorer's list. ``drawn`` queries gave those
    whose lists were measured.

    A scorer that is not repeatable is measured too, as its noise may hide that it reads the list.
    """
    unsteady = (
        ""
        if nature.repeatable
        else (
            f" It gives other scores when it is asked again ({percent(nature.noise, 0)} of a "
            "list's deviation)."
        )
    )
    if nature.order_matters_not:
        how = "is declared to score" if nature.declared else "scores"
        sentence = f"{name} {how} each passage by itself, so the order of the list does not matter."
        return Verdict(Question.LIST, Preference.NONE, [sentence], margin=ORDER_MARGIN)
    if slopes is None or not len(slopes.slopes):
        sentence = (
            f"{name}, order in the list: cannot tell: no query has a list of three passages or "
            f"more.{unsteady}"
        )
        return Verdict(Question.LIST, Preference.UNKNOWN, [sentence], margin=ORDER_MARGIN)
    estimates = simultaneous(slopes.slopes, slopes.clusters)
    effects = [
        Effect(contrast, RANKS, e.value, e.low, e.high, e.detectable, e.count)
        for contrast, e in zip((Contrast.ORDER, Contrast.ORDER_MIDDLE), estimates, strict=True)
        if e.count
    ]
    found = answer(effects, ORDER_MARGIN, drawn)
    if found.preference == Preference.NONE:
        sentence = (
            f"{name}, order in the list: no preference larger than {ORDER_MARGIN:g} ranks: "
            f"{_ranks_lost(effects[0])}.{unsteady}"
        )
        return Verdict(
            Question.LIST,
            Preference.NONE,
            [sentence],
            effects,
            ORDER_MARGIN,
            None,
            effects[0].queries,
            drawn=drawn,
        )
    head = found.deciding
    if found.preference == Preference.UNKNOWN:
        more = f"; about {count(found.wanted)} queries would do" if found.wanted else ""
        sentences = [
            f"{name}, order in the list: cannot tell: {_ranks_lost(head)}{more}.{unsteady}"
        ]
    else:
        sentences = [
            f"{name}, order in the list: {found.preference}: {_ranks_lost(head)}.{unsteady}",
            (
                "Shuffle the candidates before re-ranking, or average over several orders, and "
                "audit again."
            ),
        ]
    return Verdict(
        Question.LIST,
        found.preference,
        sentences,
        _deciding_first(effects, head),
        ORDER_MARGIN,
        found.exceeds,
        head.queries,
        found.wanted,
        drawn=drawn,
    )


def _ranks_lost(effect: Effect) -> str:
    places = (
        "from the list's first place to its last"
        if effect.contrast == Contrast.ORDER
        else "from the list's ends to its middle"
    )
    return f"{sized(effect)} ranks lost {places} ({count(effect.queries)} queries)"

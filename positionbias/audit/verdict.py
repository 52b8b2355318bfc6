"""Give verdicts on a system from the manipulations, with their effects.

A contrast **shows** a preference if its simultaneous 95 % interval excludes 0 and does not lie within ± the margin, the smallest effect of interest.
An interval within the margin is *no preference larger than* its far end, even if it excludes 0: with enough queries a position-blind scorer that
reads neighbouring words shows an effect of a few thousandths [decision]. Everything else is *cannot tell*.

The moved sentence has two contrasts (end − front, middle − ends), rotation one; all three form one family. "No preference" needs both contrasts of
the moved sentence within the margin and no contrast that shows a preference. Rotation may stay wide: it has only one pair of texts per query, so
the scorer's noise is large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.audit.lists import Nature, OrderSlopes
from positionbias.audit.manipulate import Measured
from positionbias.audit.reads import Reads
from positionbias.audit.trials import COLUMNS
from positionbias.core.formatting import count, decimal, percent
from positionbias.evaluation.simultaneous import simultaneous
from positionbias.results.audit import DEVIATIONS, RANKS, READ_WHOLE
from positionbias.results.payloads import Contrast, Effect, Preference, Question, Verdict

__all__ = ["ORDER_MARGIN", "answer", "list_verdict", "moved_words", "passage_verdict", "queries_for", "sized", "wanted_queries"]

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
    """The answer of several effects: the preference, the deciding effect, whether its interval lies beyond the margin, the queries needed, and other
    contrasts of the moved sentence that show a preference."""

    preference: Preference
    deciding: Effect
    exceeds: bool | None
    wanted: int | None
    besides: Sequence[Effect] = ()


def within(effect: Effect, margin: float) -> bool:
    """Return True if the interval lies within ± margin."""
    return effect.low is not None and effect.high is not None and -margin <= effect.low and effect.high <= margin


def shows(effect: Effect, margin: float) -> bool:
    """Return True if the interval excludes 0 and does not lie within ± margin."""
    if effect.low is None or effect.high is None:
        return False
    return not effect.low <= 0 <= effect.high and not within(effect, margin)


def beyond(effect: Effect, margin: float) -> bool:
    """Return True if the interval lies wholly beyond the margin."""
    return effect.low is not None and effect.high is not None and (effect.low > margin or effect.high < -margin)


def wanted_queries(effect: Effect, margin: float, drawn: int = 0) -> int | None:
    """Estimate the queries needed for an answer with 80 % power, if the estimate is right, to two digits; None without an interval.

    An answer is an interval within the margin, or one that excludes 0. With ``drawn`` queries behind those of the effect, it is the number to draw."""
    value = abs(effect.value or 0.0)
    return queries_for(effect, max(margin - value, value), drawn)


def queries_for(effect: Effect, room: float, drawn: int = 0) -> int | None:
    """Estimate the queries needed to find a difference of ``room`` with 80 % power, to two digits; None without an interval, or beyond a million."""
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


def answer(effects: Sequence[Effect], margin: float, drawn: int = 0) -> Answered:
    """Return the answer of several contrasts in one unit, the moved sentence's before rotation's; ``drawn`` queries gave the measured ones.

    Of several that show a preference the largest decides, the moved sentence's first. Rotation counts only if the evidence moved from front to end
    points to the same side and is not itself within the margin; otherwise the answer is *cannot tell*. Rotation keeps the passage's order, and in
    real text the sentence before the evidence is more related to the query than the next [decision].
    """
    moved = [effect for effect in effects if effect.contrast != Contrast.ROTATION and effect.queries]
    ends = next((effect for effect in moved if effect.contrast == Contrast.ENDS), None)
    showing = sorted(
        (effect for effect in effects if shows(effect, margin)),
        key=lambda one: (one.contrast == Contrast.ROTATION, -abs(one.value or 0)),
    )
    turned = showing[0] if showing and showing[0].contrast == Contrast.ROTATION else None
    if turned and ends and (within(ends, margin) or (turned.value or 0.0) * (ends.value or 0.0) <= 0):
        return Answered(Preference.UNKNOWN, turned, None, None)
    if showing:
        first = showing[0]
        side = _BELOW if (first.value or 0) < 0 else _ABOVE
        besides = [effect for effect in showing[1:] if effect.contrast != Contrast.ROTATION]
        return Answered(side[first.contrast], first, beyond(first, margin), None, besides)
    if moved and all(within(effect, margin) for effect in moved):
        largest = max(moved, key=lambda one: max(abs(one.low or 0), abs(one.high or 0)))
        return Answered(Preference.NONE, largest, None, None)
    open_ones = [effect for effect in moved if not within(effect, margin)] or list(effects)
    needs = [number for effect in open_ones if (number := wanted_queries(effect, margin, drawn)) is not None]
    return Answered(Preference.UNKNOWN, open_ones[0], None, max(needs) if needs else None)


def effects_of(measured: Measured, measure: str, *, read: bool, shortened: Measured | None = None) -> list[Effect]:
    """Return every contrast in deviations, ranks and the measure, for all texts or those ``read`` whole.

    If a query's texts are not read whole, those of its ``shortened`` passage count as read. Intervals hold together over the contrasts of one unit.
    """
    found = []
    for unit, name in (("score", DEVIATIONS), ("ranks", RANKS), (measure, measure)):
        contrasts = measured.by_unit[unit]
        if read:
            contrasts = np.where(measured.whole, contrasts, np.nan)
            if shortened is not None:
                places = {query_id: row for row, query_id in enumerate(measured.query_ids)}
                rows = [places[query_id] for query_id in shortened.query_ids]
                short = np.where(shortened.whole, shortened.by_unit[unit], np.nan)
                contrasts[rows] = np.where(np.isnan(contrasts[rows]), short, contrasts[rows])
        estimates = simultaneous(contrasts, measured.clusters, measured.units if unit == "score" else None)
        found += [
            Effect(contrast, name, e.value, e.low, e.high, e.detectable, e.count, READ_WHOLE if read else "")
            for contrast, e in zip(COLUMNS, estimates, strict=True)
            if e.count
        ]
    return found


def passage_verdict(
    name: str,
    measured: Measured,
    measure: str,
    margin: float,
    reads: Reads,
    skipped: Mapping[str, int],
    shortened: Measured | None = None,
    rule: str = "",
) -> Verdict:
    """Return the verdict on the place of the evidence in its passage; the evidence is the answer, or chosen by a ``rule``.

    ``skipped`` counts queries without a trial, by reason. If the system does not read all texts whole, the verdict uses texts that fit and those of
    ``shortened`` passages.
    """
    queries = len(measured.query_ids)
    drawn = queries + sum(skipped.values())
    over_all = effects_of(measured, measure, read=False)
    ends = COLUMNS.index(Contrast.ENDS)
    unread = float(1 - measured.whole[:, ends].mean()) if queries else 0.0
    own = effects_of(measured, measure, read=True, shortened=shortened) if unread else over_all
    restricted = bool(unread) and any(e.contrast == Contrast.ENDS and e.queries >= LEAST_READ * queries for e in own)
    if unread and not restricted:  # otherwise text lost at the end would look like a preference
        said = (
            f"{name}: cannot tell whether it prefers a place within what it reads: too few passages can be shortened to that."
        )
        sentences = [
            _unread(name, over_all, measure, reads, unread, rule),
            said,
            "Audit it on shorter passages, or let it read further.",
        ]
        return Verdict(
            Question.PASSAGE, Preference.UNKNOWN, sentences, over_all, margin, None, queries, None, reads.words, unread, drawn
        )
    # a contrast with few texts that fit can show a preference, but decides nothing else
    in_unit = [
        effect
        for effect in own
        if effect.unit == DEVIATIONS
        and (effect.queries >= LEAST_READ * queries or (effect.queries >= LEAST_SHOWN and shows(effect, margin)))
    ]
    if not in_unit:
        why = (
            "; ".join(f"{count(number)} queries: {said}" for said, number in skipped.items())
            or "no query has a passage with a sentence to move"
        )
        of = f", moving {moved_words(rule)}" if rule else ""
        sentence = f"{name}: cannot tell whether it prefers a place in the passage{of}: {why}."
        return Verdict(Question.PASSAGE, Preference.UNKNOWN, [sentence], margin=margin, drawn=drawn)
    found = answer(in_unit, margin, drawn)
    effects = [*_deciding_first(own, found.deciding), *([] if own is over_all else over_all)]
    sentences = [_headline(name, found, margin, restricted, rule), _meaning(found, own, measure, rule), _next(found)]
    if unread:  # the most certain finding first
        sentences = [_unread(name, over_all, measure, reads, unread, rule), sentences[0], sentences[2] or sentences[1]]
    return Verdict(
        Question.PASSAGE,
        found.preference,
        [sentence for sentence in sentences if sentence],
        effects,
        margin,
        found.exceeds,
        queries,
        found.wanted,
        reads.words if unread else None,
        unread or None,
        drawn,
    )


def _deciding_first(effects: Sequence[Effect], deciding: Effect) -> list[Effect]:
    return sorted(effects, key=lambda effect: effect.contrast != deciding.contrast)


def sized(effect: Effect, *, sign: bool = True) -> str:
    """Return an effect with its interval, in the decimals of its unit."""
    largest = max(abs(number) for number in (effect.value, effect.low, effect.high, 0) if number is not None)
    places = (1 if largest >= 1 else 2) if effect.unit == RANKS else 3
    value = decimal(effect.value, places, sign=sign)
    if effect.low is None or effect.high is None:
        return f"{value} (no interval: queries of one passage only)"
    return f"{value} [{decimal(effect.low, places, sign=sign)}, {decimal(effect.high, places, sign=sign)}]"


def moved_words(rule: str, answer: str = "an answer") -> str:
    """Name what is moved: the answer, or the sentence that a rule chose."""
    return f"the sentence chosen by {rule}" if rule else answer


def _headline(name: str, found: Answered, margin: float, restricted: bool, rule: str) -> str:
    head = found.deciding
    where = ", within what it reads" if restricted else ""
    size = f"{head.contrast} {sized(head)} deviations ({count(head.queries)} queries)"
    size += f" of moving {moved_words(rule)}" if rule else ""
    if found.preference == Preference.NONE:
        largest = max(abs(head.low or 0), abs(head.high or 0))
        if not largest:
            return f"{name}: no preference{where}: its scores do not change when {moved_words(rule, 'the answer')} moves ({count(head.queries)} queries)."
        detects = f"; detects {decimal(head.detectable)} with 80 % power" if head.detectable else ""
        return f"{name}: no preference larger than {decimal(largest)}{where}: {size}{detects}."
    if found.preference == Preference.UNKNOWN and head.contrast == Contrast.ROTATION and head.low is not None:
        return f"{name}: cannot tell{where}: {size}, but moving the sentence alone does not show it."
    if found.preference == Preference.UNKNOWN:
        more = f"; about {count(found.wanted)} queries would do" if found.wanted else ""
        return f"{name}: cannot tell{where}: {size}, margin {margin:g}{more}."
    compared = "beyond the margin of" if found.exceeds else "perhaps within the margin of"
    besides = "".join(f"; {one.contrast} {sized(one)} too" for one in found.besides)
    return f"{name} {found.preference}{where}: {size}, {compared} {margin:g}{besides}."


def _meaning(found: Answered, effects: Sequence[Effect], measure: str, rule: str) -> str:
    """Describe the deciding contrast in ranks and in the measure."""
    of = {effect.unit: effect for effect in effects if effect.contrast == found.deciding.contrast}
    ranks, quality = of.get(RANKS), of.get(measure)
    if ranks is None or quality is None or ranks.value is None:
        return ""
    if found.preference == Preference.NONE:
        largest = max(abs(quality.low or 0), abs(quality.high or 0))
        if not largest:
            return ""
        return f"Moving {moved_words(rule)} within its passage changes {measure} by at most {decimal(largest)} on average."
    if found.preference == Preference.UNKNOWN:
        return f"Measured so far: {sized(quality)} {measure}."
    if not any((ranks.value, ranks.low, ranks.high, quality.value, quality.low, quality.high)):
        return "Yet no passage changes its rank by it, as scores are too far apart."
    moved = {
        Preference.FRONT: ("front", "end"), Preference.END: ("end", "front"),
        Preference.MIDDLE: ("middle", "ends"), Preference.ENDS: ("ends", "middle"),
    }[found.preference]  # fmt: skip
    return (
        f"When {moved_words(rule)} moves from the {moved[0]} to the {moved[1]}, its passage changes by {sized(_from_preferred(ranks, found.preference))} "
        f"places and {measure} by {sized(_from_preferred(quality, found.preference))}."
    )


def _from_preferred(effect: Effect, preference: Preference) -> Effect:
    """Return the effect as the change away from the preferred place."""
    if preference in (Preference.FRONT, Preference.ENDS) or effect.value is None:
        return effect
    low, high = (None if bound is None else -bound for bound in (effect.high, effect.low))
    return Effect(effect.contrast, effect.unit, -effect.value, low, high, effect.detectable, effect.queries, effect.subset)


def _unread(name: str, over_all: Sequence[Effect], measure: str, reads: Reads, unread: float, rule: str) -> str:
    limit = f"about {reads.words:,.0f} words" if reads.words is not None else "its tokenizer's limit"
    by_contrast = {(effect.contrast, effect.unit): effect for effect in over_all}
    cost = by_contrast.get((Contrast.ENDS, measure))
    said = (
        ""
        if cost is None
        else f" Over all texts, moving {moved_words(rule)} from front to end changes {measure} by {sized(cost)}."
    )
    return f"{name} reads no further than {limit}; {percent(unread, 0)} of the queries have longer texts, whose ends are lost.{said}"


def _next(found: Answered) -> str:
    if found.preference == Preference.UNKNOWN and found.deciding.low is None:
        return "Audit queries of other passages too."
    if found.preference == Preference.UNKNOWN:
        return "Audit more queries if there are any (--queries, --needles), or accept a wider margin (--margin)."
    if found.preference == Preference.NONE:
        return ""
    if not found.exceeds:
        return "It may be too small to matter: more queries would show it (--queries, --needles)."
    return "Train on rotated passages (posbias debias, or train --rotate-at-reading) and audit again."


def list_verdict(name: str, nature: Nature, slopes: OrderSlopes | None, drawn: int = 0) -> Verdict:
    """Return the verdict on the place of a passage in a scorer's list. ``drawn`` queries gave those whose lists were measured.

    A scorer that is not repeatable is measured too, as its noise may hide that it reads the list.
    """
    unsteady = (
        ""
        if nature.repeatable
        else f" It gives other scores when it is asked again ({percent(nature.noise, 0)} of a list's deviation)."
    )
    if nature.order_matters_not:
        how = "is declared to score" if nature.declared else "scores"
        sentence = f"{name} {how} each passage by itself, so the order of the list does not matter."
        return Verdict(Question.LIST, Preference.NONE, [sentence], margin=ORDER_MARGIN)
    if slopes is None or not len(slopes.slopes):
        sentence = f"{name}, order in the list: cannot tell: no query has a list of three passages or more.{unsteady}"
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
            f"{name}, order in the list: no preference larger than {ORDER_MARGIN:g} ranks: {_ranks_lost(effects[0])}.{unsteady}"
        )
        return Verdict(Question.LIST, Preference.NONE, [sentence], effects, ORDER_MARGIN, None, effects[0].queries, drawn=drawn)
    head = found.deciding
    if found.preference == Preference.UNKNOWN:
        more = f"; about {count(found.wanted)} queries would do" if found.wanted else ""
        sentences = [f"{name}, order in the list: cannot tell: {_ranks_lost(head)}{more}.{unsteady}"]
    else:
        sentences = [
            f"{name}, order in the list: {found.preference}: {_ranks_lost(head)}.{unsteady}",
            "Shuffle the candidates before re-ranking, or average over several orders, and audit again.",
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
        "from the list's first place to its last" if effect.contrast == Contrast.ORDER else "from the list's ends to its middle"
    )
    return f"{sized(effect)} ranks lost {places} ({count(effect.queries)} queries)"

"""What the manipulations say of a system, as one typed answer with the effects that it rests on.

A contrast **shows** a preference where its simultaneous 95 % interval leaves out 0 and does not lie within ± the margin, the smallest effect of interest. An
interval within the margin is *no preference larger than* its far end, also where it leaves out 0: with enough queries a scorer that is blind to places but looks at
neighbouring words shows an effect of a few thousandths [decision]. What is neither is *cannot tell*.

The moved sentence has two contrasts (end − front, middle − ends), rotation one; all three share one family. No preference needs the two of the moved sentence
within the margin and none that shows one; rotation alone has one pair of texts a query, which noise of the scorer can leave wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.audit.lists import Nature, OrderSlopes
from positionbias.audit.manipulate import COLUMNS, Measured
from positionbias.audit.reads import Reads
from positionbias.core.formatting import count, decimal, percent
from positionbias.core.payloads import Contrast, Effect, Preference, Question, Verdict
from positionbias.evaluation.simultaneous import simultaneous

__all__ = ["DEVIATIONS", "ORDER_MARGIN", "RANKS", "VERDICT", "answer", "list_verdict", "passage_verdict", "wanted_queries"]

VERDICT = "verdict"
DEVIATIONS = "deviations"
RANKS = "ranks"
ORDER_MARGIN = 0.5  # ranks from a list's first place to its last [decision]
READ = "read"
LEAST_READ = 0.1  # of the trials: below it preference is taken over all texts
_BELOW = {Contrast.ENDS: Preference.FRONT, Contrast.MIDDLE: Preference.ENDS, Contrast.ROTATION: Preference.FRONT}
_ABOVE = {Contrast.ENDS: Preference.END, Contrast.MIDDLE: Preference.MIDDLE, Contrast.ROTATION: Preference.END}


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of several effects: which preference, by which of them, whether its interval lies beyond the margin, and the queries that would do."""

    preference: Preference
    deciding: Effect
    exceeds: bool | None
    wanted: int | None


def within(effect: Effect, margin: float) -> bool:
    """Whether the interval lies within ± margin."""
    return effect.low is not None and effect.high is not None and -margin <= effect.low and effect.high <= margin


def shows(effect: Effect, margin: float) -> bool:
    """Whether the interval leaves out 0 and does not lie within ± margin; of the middle the estimate must also lie beyond it.

    What stands in the middle is read in more context: a scorer that is blind to places but reads windows of 40 words shows 0.07 deviations there on SQuAD,
    fillers or not [decision].
    """
    if effect.value is None or effect.low is None or effect.high is None:
        return False
    if effect.low <= 0 <= effect.high or within(effect, margin):
        return False
    return effect.contrast != Contrast.MIDDLE or abs(effect.value) > margin


def beyond(effect: Effect, margin: float) -> bool:
    """Whether the interval lies wholly beyond the margin."""
    return effect.low is not None and effect.high is not None and (effect.low > margin or effect.high < -margin)


def wanted_queries(effect: Effect, margin: float) -> int | None:
    """About how many queries would end in an answer, were the estimate right: an interval within the margin, or one that leaves out 0, whichever
    comes first; two digits. None without an interval."""
    if effect.value is None or effect.low is None or effect.high is None or not effect.queries:
        return None
    size = abs(effect.value)
    # a middle contrast whose estimate lies within the margin shows nothing by leaving out 0
    room = margin - size if effect.contrast == Contrast.MIDDLE and size <= margin else max(margin - size, size)
    half = (effect.high - effect.low) / 2
    if not room > 0 or not math.isfinite(half):
        return None
    number = effect.queries * (half / room) ** 2
    step = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return max(effect.queries + 1, math.ceil(number / step) * step)


def answer(effects: Sequence[Effect], margin: float) -> Answered:
    """The answer of the contrasts of a moved sentence and of rotation, all in one unit, those of the moved sentence first.

    Of several that show a preference the largest decides, one of the moved sentence before rotation.
    """
    moved = [effect for effect in effects if effect.contrast != Contrast.ROTATION and effect.queries]
    showing = sorted(
        (effect for effect in effects if shows(effect, margin)),
        key=lambda one: (one.contrast == Contrast.ROTATION, -abs(one.value or 0)),
    )
    if showing:
        first = showing[0]
        side = _BELOW if (first.value or 0) < 0 else _ABOVE
        return Answered(side[first.contrast], first, beyond(first, margin), None)
    if moved and all(within(effect, margin) for effect in moved):
        largest = max(moved, key=lambda one: max(abs(one.low or 0), abs(one.high or 0)))
        return Answered(Preference.NONE, largest, None, None)
    open_ones = [effect for effect in moved if not within(effect, margin)] or list(effects)
    needs = [number for effect in open_ones if (number := wanted_queries(effect, margin)) is not None]
    return Answered(Preference.UNKNOWN, open_ones[0], None, max(needs) if needs else None)


def effects_of(measured: Measured, measure: str, *, read: bool) -> list[Effect]:
    """Every contrast in deviations, ranks and the measure; of texts that are ``read`` whole, or of all.

    Intervals hold together over the contrasts of one unit.
    """
    found = []
    for unit, name in (("score", DEVIATIONS), ("ranks", RANKS), (measure, measure)):
        contrasts = measured.by_unit[unit]
        if read:
            contrasts = np.where(measured.whole, contrasts, np.nan)
        estimates = simultaneous(contrasts, measured.clusters, measured.units if unit == "score" else None)
        found += [
            Effect(contrast, name, e.value, e.low, e.high, e.detectable, e.count, READ if read else "")
            for contrast, e in zip(COLUMNS, estimates, strict=True)
            if e.count
        ]
    return found


def passage_verdict(name: str, measured: Measured, measure: str, margin: float, reads: Reads, notes: Sequence[str]) -> Verdict:
    """Does the place of the evidence in its passage matter to this system?"""
    queries = len(measured.query_ids)
    over_all = effects_of(measured, measure, read=False)
    ends = COLUMNS.index(Contrast.ENDS)
    unread = float(1 - measured.whole[:, ends].mean()) if queries else 0.0
    restricted = 0 < unread <= 1 - LEAST_READ
    own = effects_of(measured, measure, read=True) if restricted else over_all
    in_unit = [effect for effect in own if effect.unit == DEVIATIONS]
    if not in_unit:
        why = "; ".join(notes) or "no query has a passage with a sentence to move"
        sentence = f"{name}: cannot tell whether it prefers a place in the passage: {why}."
        return Verdict(Question.PASSAGE, Preference.UNKNOWN, [sentence], margin=margin)
    found = answer(in_unit, margin)
    effects = [*_deciding_first(own, found.deciding), *([] if own is over_all else over_all)]
    sentences = [_headline(name, found, margin, restricted), _meaning(found, own, measure), _next(found)]
    if unread:  # the more certain finding comes first
        sentences = [_unread(name, over_all, measure, reads, unread), sentences[0], sentences[2] or sentences[1]]
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
    )


def _deciding_first(effects: Sequence[Effect], deciding: Effect) -> list[Effect]:
    return sorted(effects, key=lambda effect: effect.contrast != deciding.contrast)


def _with_interval(effect: Effect) -> str:
    places = 1 if effect.unit == RANKS else 3
    value = decimal(effect.value, places, sign=True)
    if effect.low is None or effect.high is None:
        return f"{value} (no interval: queries of one passage only)"
    return f"{value} [{decimal(effect.low, places, sign=True)}, {decimal(effect.high, places, sign=True)}]"


def _headline(name: str, found: Answered, margin: float, restricted: bool) -> str:
    head = found.deciding
    where = ", within what it reads" if restricted else ""
    size = f"{head.contrast} {_with_interval(head)} deviations ({count(head.queries)} queries)"
    if found.preference == Preference.NONE:
        largest = max(abs(head.low or 0), abs(head.high or 0))
        if not largest:
            return (
                f"{name}: no preference{where}: its scores do not change when the answer moves ({count(head.queries)} queries)."
            )
        detects = f"; detects {decimal(head.detectable)} with 80 % power" if head.detectable else ""
        return f"{name}: no preference larger than {decimal(largest)}{where}: {size}{detects}."
    if found.preference == Preference.UNKNOWN:
        more = f"; about {count(found.wanted)} queries would do" if found.wanted else ""
        return f"{name}: cannot tell{where}: {size}, margin {margin:g}{more}."
    compared = "beyond the margin of" if found.exceeds else "perhaps within the margin of"
    return f"{name} {found.preference}{where}: {size}, {compared} {margin:g}."


def _meaning(found: Answered, effects: Sequence[Effect], measure: str) -> str:
    """The deciding contrast in ranks and in the measure."""
    of = {effect.unit: effect for effect in effects if effect.contrast == found.deciding.contrast}
    ranks, quality = of.get(RANKS), of.get(measure)
    if ranks is None or quality is None or ranks.value is None:
        return ""
    if found.preference == Preference.NONE:
        largest = max(abs(quality.low or 0), abs(quality.high or 0))
        if not largest:
            return ""
        return f"Moving an answer within its passage changes {measure} by at most {decimal(largest)} on average."
    if found.preference == Preference.UNKNOWN:
        return f"Measured so far: {_with_interval(quality)} {measure}."
    moved = {
        Preference.FRONT: ("front", "end"), Preference.END: ("end", "front"),
        Preference.MIDDLE: ("middle", "ends"), Preference.ENDS: ("ends", "middle"),
    }[found.preference]  # fmt: skip
    places = abs(ranks.value)
    return (
        f"A passage falls by {decimal(places, 1)} places on average when its answer moves from the {moved[0]} to the {moved[1]}; "
        f"the change in {measure} is {_with_interval(_from_preferred(quality, found.preference))}."
    )


def _from_preferred(effect: Effect, preference: Preference) -> Effect:
    """The effect as the change away from what is preferred."""
    if preference in (Preference.FRONT, Preference.ENDS) or effect.value is None:
        return effect
    low, high = (None if bound is None else -bound for bound in (effect.high, effect.low))
    return Effect(effect.contrast, effect.unit, -effect.value, low, high, effect.detectable, effect.queries, effect.subset)


def _unread(name: str, over_all: Sequence[Effect], measure: str, reads: Reads, unread: float) -> str:
    limit = f"about {reads.words:,.0f} words" if reads.words is not None else "its tokenizer's limit"
    by_contrast = {(effect.contrast, effect.unit): effect for effect in over_all}
    cost = by_contrast.get((Contrast.ENDS, measure))
    said = (
        ""
        if cost is None
        else f" Over all texts, moving an answer from front to end changes {measure} by {_with_interval(cost)}."
    )
    return f"{name} reads no further than {limit}; {percent(unread, 0)} of the queries have longer texts, whose ends are lost.{said}"


def _next(found: Answered) -> str:
    if found.preference == Preference.UNKNOWN:
        return "Audit more queries (--needles, --queries), or accept a wider margin (--margin)."
    if found.preference == Preference.NONE:
        return ""
    return "Train on rotated passages (posbias debias, or train --rotate) and audit again."


def list_verdict(name: str, nature: Nature, slopes: OrderSlopes | None) -> Verdict:
    """Does the place of a passage in the list that a scorer is handed matter to its rank?"""
    unsteady = (
        ""
        if nature.repeatable
        else f" It gives other scores when it is asked again ({percent(nature.noise, 0)} of a list's deviation)."
    )
    if not nature.listwise:
        sentence = f"{name} scores each passage by itself: the order of the list cannot matter.{unsteady}"
        return Verdict(Question.LIST, Preference.NONE, [sentence], margin=ORDER_MARGIN)
    if slopes is None or not len(slopes.slopes):
        sentence = f"{name} is listwise; its order bias was not measured: no list of three passages or more.{unsteady}"
        return Verdict(Question.LIST, Preference.UNKNOWN, [sentence], margin=ORDER_MARGIN)
    estimate = simultaneous(slopes.slopes[:, None], slopes.clusters)[0]
    effect = Effect(Contrast.ORDER, RANKS, estimate.value, estimate.low, estimate.high, estimate.detectable, estimate.count)
    size = f"{_with_interval(effect)} ranks lost from the list's first place to its last ({count(effect.queries)} queries)"
    if shows(effect, ORDER_MARGIN):
        side = Preference.FIRST if (effect.value or 0) > 0 else Preference.LAST
        sentences = [
            f"{name}, order in the list: {side}: {size}.{unsteady}",
            "Shuffle the candidates before re-ranking, or average over several orders, and audit again.",
        ]
        return Verdict(Question.LIST, side, sentences, [effect], ORDER_MARGIN, beyond(effect, ORDER_MARGIN), effect.queries)
    if within(effect, ORDER_MARGIN):
        sentence = f"{name}, order in the list: no preference larger than {ORDER_MARGIN:g} ranks: {size}.{unsteady}"
        return Verdict(Question.LIST, Preference.NONE, [sentence], [effect], ORDER_MARGIN, None, effect.queries)
    wanted = wanted_queries(effect, ORDER_MARGIN)
    more = f"; about {count(wanted)} queries would do" if wanted else ""
    sentence = f"{name}, order in the list: cannot tell: {size}{more}.{unsteady}"
    return Verdict(Question.LIST, Preference.UNKNOWN, [sentence], [effect], ORDER_MARGIN, None, effect.queries, wanted)

"""The sentences of a verdict: the answer with its effect, its meaning for a user, the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from positionbias.audit.answers import (
    DEVIATIONS,
    RANKS,
    READ_WHOLE,
    SIZES,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.evidence_rule import error_note
from positionbias.audit.verdict import (
    ALONE,
    ALONE_WITHOUT_ANSWERS,
    DECLARED,
    ORDER_MARGIN,
    TOO_LONG,
    Answered,
    answer,
    deciding_effects,
    queries_beyond,
    side,
)
from positionbias.core.formatting import MISSING, NBSP, count, decimal, percent, plural
from positionbias.evaluation.bootstrap import FEWEST

__all__ = [
    "HOW",
    "MORE",
    "NEXT",
    "as_share",
    "error_note",
    "in_words",
    "leaning",
    "moved_words",
    "sentences_of",
    "sized",
    "unread_part",
    "what_helps",
]

MORE = (Contrast.TURNED_MORE, Contrast.HALVES_MORE)  # of ``SIZES``
FIRST = 10  # passages that runs of one system mostly share
NEXT = (
    "To find out: audit a collection with answers, or let a rule choose the evidence (--evidence "
    "terms)."
)
HOW = (
    "To find out: posbias debias COLLECTION, run your system on it, then posbias audit COLLECTION "
    "RUN --rotated COLLECTION2 RUN2."
)
SAME_RUN = (
    "Both runs are the same, scores included: make sure that the second was made over the rotated "
    "collection."
)
_DONE = {Contrast.TURNED: "rotated", Contrast.HALVES: "with its halves exchanged"}


def sentences_of(name: str, verdict: Verdict) -> list[str]:
    """Return the sentences of a verdict on the system of this name."""
    if verdict.missing is not None:
        said = _whatever_is_missing(name, verdict)
    elif verdict.question is Question.LIST:
        said = _on_list(name, verdict)
    elif verdict.question is Question.TEXT:
        said = _on_text(name, verdict)
    elif verdict.rotations:
        said = _on_runs(name, verdict)
    else:
        said = _on_passage(name, verdict)
    if verdict.rule and verdict.question is Question.PASSAGE:
        said.append(error_note(verdict.rule))
    return [sentence for sentence in said if sentence]


# -- parts of sentences --------------------------------------------------------------------------


def in_words(unit: str) -> str:
    """Return a unit as it stands behind a number."""
    return "of the evidence's worth" if unit == WORTH else unit


def sized(effect: Effect, *, sign: bool = True) -> str:
    """Return an effect with its interval, in the decimals of its unit."""
    if effect.value is None:
        return MISSING
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


def leaning(effects: Sequence[Effect]) -> str:
    """Return "(leans to …)" for effects that exclude 0 within the margin; "" for none.

    >>> leaning([Effect(Contrast.ENDS, WORTH, -0.07, -0.1, -0.05)])
    ' (leans to the front)'
    """
    sides = [side(effect).removeprefix("prefers ") for effect in effects]
    return f" (leans to {' and '.join(sides)})" if sides else ""


def unread_part(verdict: Verdict) -> str:
    """Name what a system does not read of a longer text: ``what stands behind word 50``."""
    from_end, words = verdict.from_end, verdict.reads
    if words is None:
        return f"what stands {'before' if from_end else 'behind'} its tokenizer's limit"
    return (
        f"what stands before word {words:,.0f} from the end"
        if from_end
        else f"what stands behind word {words:,.0f}"
    )


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


def _would_do(wanted: int | None) -> str:
    return f"; about {count(wanted)} queries would do" if wanted else ""


def _queries(number: int) -> str:
    return f"({count(number)} queries)"


# -- the place in the passage --------------------------------------------------------------------


def _on_passage(name: str, verdict: Verdict) -> list[str]:
    if verdict.preference is Preference.UNREACTIVE:
        return _on_unreactive(name, verdict)
    if verdict.reason in (ALONE, ALONE_WITHOUT_ANSWERS):
        step = HOW if verdict.reason == ALONE else NEXT
        return [f"{name}: cannot tell {verdict.reason}.", step]
    if not verdict.effects:
        of = f", moving {moved_words(verdict.rule)}" if verdict.rule else ""
        cannot = f"{name}: cannot tell whether it prefers a place in the passage{of}"
        return [f"{cannot}: {verdict.reason}."]
    if verdict.reason == TOO_LONG:
        said = [
            f"{name}: cannot tell whether it prefers a place within what it reads: {TOO_LONG}.",
            "Audit it on shorter passages, or let it read further.",
        ]
    else:
        read = [effect for effect in verdict.effects if effect.subset == READ_WHOLE]
        own, margin = read or list(verdict.effects), verdict.margin or 0.0
        answered = answer(_in_order(own, verdict), margin, verdict.drawn)
        said = [
            _headline(name, answered, verdict, restricted=bool(read)),
            _meaning(answered, own, verdict),
            _next(answered, margin, verdict.drawn),
        ]
    return _over_whole(name, verdict, [text for text in said if text]) if verdict.unread else said


def _in_order(effects: Sequence[Effect], verdict: Verdict) -> list[Effect]:
    """Return the effects that may decide, in the order in which they were measured."""
    order = list(Contrast)
    found = deciding_effects(effects, verdict.margin or 0.0, verdict.queries)
    return sorted(found, key=lambda effect: order.index(effect.contrast))


def _over_whole(name: str, verdict: Verdict, said: Sequence[str]) -> list[str]:
    """Return the sentences on whole texts, from those on what a system reads."""
    units = {
        effect.unit: effect
        for effect in verdict.effects
        if effect.contrast == Contrast.ENDS and not effect.subset
    }
    cost, part = _cost(units, verdict), unread_part(verdict)
    longer = f"{percent(verdict.unread or 0.0, 0)} of the queries have longer texts"
    first, *more = said
    if verdict.preference is Preference.UNREAD:
        return [
            f"{name} loses {part}{cost}; {longer}.",
            first,
            f"Let {name} read further, or give it shorter passages.",
        ]
    if verdict.within is not None:
        return [
            f"{name}: cannot tell whether it matters that it does not read "
            f"{part}{cost}{_would_do(verdict.wanted)}; {longer}.",
            first,
        ]
    return [first, f"It does not read {part}: {longer}{cost}.", *more[-1:]]


def _cost(units: Mapping[str, Effect], verdict: Verdict) -> str:
    """Return what the limit costs: the change when the evidence moves to where it is not read, over
    whole texts; in scores if no rank changes.
    """
    effect = next(
        (units[unit] for unit in (verdict.measure, WORTH) if unit in units and units[unit].value),
        None,
    )
    if effect is None:
        return ""
    change = _from_preferred(effect, Preference.END if verdict.from_end else Preference.FRONT)
    value, _, bounds = sized(change).partition(" ")
    end = "the front" if verdict.from_end else "the end"
    return (
        f": {value} {in_words(effect.unit)} {bounds} when {moved_words(verdict.rule)} moves to "
        f"{end} of whole texts"
    )


def _on_unreactive(name: str, verdict: Verdict) -> list[str]:
    worth = verdict.effects[0]
    if worth.low == 0 == worth.high:
        change = "nothing changes"
    elif worth.unit == RANKS:
        change = f"a passage falls by {sized(worth, sign=False)} ranks"
    else:
        change = f"its score falls by {sized(worth, sign=False)}"
    replaced = moved_words(verdict.rule, "that of the answer")
    said = [
        f"{name} {Preference.UNREACTIVE}: {change} when a sentence of another passage replaces "
        f"{replaced} {_queries(worth.queries)}.",
        "So a preference for a place in the passage cannot be measured.",
    ]
    if verdict.wanted:
        said.append(
            f"Audit more queries: about {count(verdict.wanted)} would show a fall of this size "
            "(--queries, --needles)."
        )
    return said


def _headline(name: str, answered: Answered, verdict: Verdict, *, restricted: bool) -> str:
    head, margin, rule = answered.deciding, verdict.margin or 0.0, verdict.rule
    where = ", within what it reads" if restricted else ""
    size = f"{head.contrast} {sized(head)} of the evidence's worth {_queries(head.queries)}"
    size += f" of moving {moved_words(rule)}" if rule else ""
    if answered.preference == Preference.NONE:
        largest = max(abs(head.low or 0), abs(head.high or 0))
        if not largest:
            return (
                f"{name}: no preference{where}: its scores do not change when "
                f"{moved_words(rule, 'the answer')} moves {_queries(head.queries)}."
            )
        detects = f"; detects {percent(head.detectable)} with 80 % power" if head.detectable else ""
        return (
            f"{name}: no preference larger than {percent(largest)}{leaning(answered.besides)}"
            f"{where}: {size}{detects}."
        )
    if answered.preference == Preference.UNKNOWN:
        more = _would_do(answered.wanted)
        return f"{name}: cannot tell{where}: {size}, margin {as_share(margin)}{more}."
    compared = "beyond the margin of" if answered.exceeds else "perhaps within the margin of"
    besides = "".join(f"; {one.contrast} {sized(one)} too" for one in answered.besides)
    return f"{name} {answered.preference}{where}: {size}, {compared} {as_share(margin)}{besides}."


def _meaning(answered: Answered, effects: Sequence[Effect], verdict: Verdict) -> str:
    """Describe the deciding contrast in ranks and in the measure, of the candidates among which
    they are.
    """
    own = {
        effect.unit: effect
        for effect in effects
        if effect.contrast == answered.deciding.contrast
        and effect.subset == answered.deciding.subset
    }
    measure, rule = verdict.measure, verdict.rule
    ranks, quality = own.get(RANKS), own.get(measure)
    if ranks is None or quality is None or ranks.value is None:
        return ""
    among = f" among the first {verdict.depth:,} of {verdict.among}" if verdict.among else ""
    if answered.preference == Preference.NONE:
        if not any((answered.deciding.low, answered.deciding.high)):  # no score changes
            return ""
        largest = max(abs(quality.low or 0), abs(quality.high or 0))
        return (
            f"Moving {moved_words(rule)} within its passage changes {measure}{among} by at most "
            f"{decimal(largest)} on average."
        )
    if answered.preference == Preference.UNKNOWN:
        return f"Measured so far: {sized(quality)} {measure}{among}."
    if not any((ranks.value, ranks.low, ranks.high, quality.value)):
        return f"Yet no passage changes its rank by it{among}, as scores are too far apart."
    moved = {
        Preference.FRONT: ("front", "end"), Preference.END: ("end", "front"),
        Preference.MIDDLE: ("middle", "ends"), Preference.ENDS: ("ends", "middle"),
    }[answered.preference]  # fmt: skip
    return (
        f"When {moved_words(rule)} moves from the {moved[0]} to the {moved[1]}, its passage "
        f"changes by {sized(_from_preferred(ranks, answered.preference))} places{among} and "
        f"{measure} by {sized(_from_preferred(quality, answered.preference))}."
    )


def _from_preferred(effect: Effect, preference: Preference) -> Effect:
    """Return the effect as the change away from the preferred place."""
    if preference in (Preference.FRONT, Preference.ENDS) or effect.value is None:
        return effect
    low, high = (None if bound is None else -bound for bound in (effect.high, effect.low))
    return replace(effect, value=-effect.value, low=low, high=high, raw=None)


def _next(answered: Answered, margin: float, drawn: int) -> str:
    if answered.preference == Preference.UNKNOWN and answered.deciding.low is None:
        return "Audit queries of other passages too."
    if answered.preference == Preference.UNKNOWN:
        if answered.wanted is None:
            return "Accept a wider margin (--margin): more queries would hardly help."
        return (
            "Audit more queries if there are any (--queries, --needles), or accept a wider margin "
            "(--margin)."
        )
    if answered.preference == Preference.NONE:
        return ""
    if not answered.exceeds:
        wanted = queries_beyond(answered.deciding, margin, drawn)
        more = (
            f": about {count(wanted)} queries would show it (--queries, --needles)"
            if wanted
            else ""
        )
        return f"It may be too small to matter{more}."
    return what_helps(answered.preference)


# -- runs ----------------------------------------------------------------------------------------


def _on_runs(name: str, verdict: Verdict) -> list[str]:
    """Return the sentences on a run and runs of the same system over rotated collections."""
    said = _of_two_runs(name, verdict)
    if verdict.alike:
        said = [said[0], SAME_RUN, *(said[2:] if not verdict.effects else [])]
    if verdict.shared is None:
        return said
    unlike = (
        f"The runs share {percent(verdict.shared, 0)} of their first {FIRST} passages, hardly more "
        "than by chance: make sure that one system made both, over these collections."
    )
    if not verdict.effects and not verdict.reason:
        return ["Cannot tell from these runs.", unlike]
    return [*said[:2], unlike]


def _of_two_runs(name: str, verdict: Verdict) -> list[str]:
    if not verdict.effects:
        return [
            f"{name}: cannot tell: {verdict.reason}, so it is unknown where rotation moved the "
            "evidence.",
            "What rotation changes mixes moves to the front with moves to the end, which cancel.",
            NEXT,
        ]
    if verdict.reason:
        return [
            f"{name}: cannot tell, {verdict.reason}.",
            "The verdict needs rotations that leave the sentence with the answer whole: posbias "
            "debias COLLECTION --mode sentences makes them.",
        ]
    head, margin = verdict.effects[0], verdict.margin or 0.0
    value, _, bounds = sized(head).partition(" ")
    measured = (
        f"{value} {head.unit} {bounds} when {moved_words(verdict.rule, 'the answer')} moves from "
        f"the front to the end ({count(verdict.queries)} queries, "
        f"{plural(verdict.rotations, 'rotation')})."
    )
    if verdict.preference == Preference.NONE:
        return [
            f"{name} has no position preference larger than {decimal(margin)}: {measured}",
            "The place of an answer in its passage makes no difference that a user would notice.",
        ]
    if verdict.preference != Preference.UNKNOWN:
        said = [f"{name} {verdict.preference}: {measured}", _in_ranks(verdict)]
        if not verdict.exceeds:
            said.append(
                f"The effect may still be smaller than the margin of {decimal(margin)} {head.unit}."
            )
        elif verdict.preference == Preference.FRONT:
            said.append(what_helps(verdict.preference))
        return said
    would = f"about {count(verdict.wanted)} queries would do, and " if verdict.wanted else ""
    return [
        f"{name}: cannot tell. {measured}",
        f"This test would detect {decimal(head.detectable)} (80 % power); the smallest effect "
        f"of interest is {decimal(margin)}.",
        f"Use more data: {would}more rotations help (posbias debias COLLECTION --seed 2).",
    ]


def _in_ranks(verdict: Verdict) -> str:
    ranks = verdict.effect(Contrast.RUNS, RANKS)
    if ranks is None or ranks.value is None or ranks.low is None or ranks.high is None:
        return "Its effect in ranks is undefined."
    bounds = ""
    if ranks.low * ranks.high > 0:
        low, high = sorted((abs(ranks.low), abs(ranks.high)))
        bounds = f" [{decimal(low, 1)}, {decimal(high, 1)}]"
    return (
        f"So moved, the passage {'rises' if ranks.value > 0 else 'falls'} by "
        f"{decimal(abs(ranks.value), 1)} ranks{bounds}."
    )


# -- the order of a passage's text ---------------------------------------------------------------


def _on_text(name: str, verdict: Verdict) -> list[str]:
    cannot = f"{name}: cannot tell whether it is sensitive to the order of a passage's text: "
    limit = (
        "its tokenizer's limit" if verdict.reads is None else f"about {verdict.reads:,.0f} words"
    )
    lost = (
        f"{name} reads no further than {limit}; {percent(verdict.unread, 0)} of the queries have "
        "longer texts, left out here: other parts of them would come into view."
        if verdict.unread
        else ""
    )
    if verdict.reason:
        step = "Audit it on shorter passages, or let it read further." if lost else ""
        return [f"{cannot}{verdict.reason}.", lost, step]
    noise = (
        f"Noise is part of it: a repeated call changes scores by {decimal(verdict.noise)} "
        "deviations."
    )
    return [
        _text_headline(name, cannot, verdict),
        lost,
        _text_meaning(verdict),
        noise if verdict.noise else "",
        "" if verdict.preference is Preference.INSENSITIVE else NEXT,
    ]


def _text_headline(name: str, cannot: str, verdict: Verdict) -> str:
    head, margin = verdict.effects[0], verdict.margin or 0.0
    queries = _queries(head.queries)
    if verdict.preference is Preference.INSENSITIVE:
        if not head.value:
            return (
                f"{name} is {verdict.preference}: scores do not change when relevant passages are "
                f"rotated or their halves exchanged {queries}; at most {decimal(head.high)} "
                "deviations on average may go unseen."
            )
        return (
            f"{name} is {verdict.preference}: when a relevant passage is rotated or its halves are "
            f"exchanged, its score changes by at most {decimal(head.high)} deviations on average, "
            f"either way {queries}, within the margin of {margin:g}."
        )
    size = (
        f"{_DONE[head.contrast]}, a relevant passage's score changes by {sized(head, sign=False)} "
        f"deviations on average, either way {queries}"
    )
    if verdict.preference is Preference.SENSITIVE:
        return f"{name} is {verdict.preference}: {size}, beyond the margin of {margin:g}."
    return f"{cannot}{size}, margin {margin:g}{_would_do(verdict.wanted)}."


def _text_meaning(verdict: Verdict) -> str:
    """Explain what the answer means and does not mean."""
    if verdict.preference is Preference.INSENSITIVE:
        return (
            "So no place in a passage gains more than that on average when its text moves by about "
            "half a passage; from one end to the other it may be twice as much."
        )
    contrast, measure = verdict.effects[0].contrast, verdict.measure
    ranks, quality = verdict.effect(contrast, RANKS), verdict.effect(contrast, measure)
    said = ""
    if ranks is not None and quality is not None:
        said = (
            f"It moves by {sized(ranks, sign=False)} ranks, and {measure} by "
            f"{sized(quality, sign=False)}. "
        )
    more = verdict.effect(MORE[SIZES.index(contrast)], DEVIATIONS)
    if more is not None:
        said += f"Relevant − irrelevant passages: {sized(more)} deviations. "
    if verdict.preference is Preference.UNKNOWN:
        return said.strip()
    return said + (
        "The place of the evidence is one possible cause; text broken at the cut and the order "
        "of words are others. No side is known."
    )


# -- the place in the list -----------------------------------------------------------------------


def _on_list(name: str, verdict: Verdict) -> list[str]:
    unsteady = (
        f" It gives other scores when it is asked again ({percent(verdict.noise, 0)} of a list's "
        "deviation)."
        if verdict.noise
        else ""
    )
    if not verdict.effects and verdict.preference is Preference.NONE:
        how = "is declared to score" if verdict.reason == DECLARED else "scores"
        return [f"{name} {how} each passage by itself, so the order of the list does not matter."]
    start = f"{name}, order in the list: "
    if not verdict.effects:
        return [f"{start}cannot tell: {verdict.reason}.{unsteady}"]
    lost = _ranks_lost(verdict.effects[0])
    if verdict.preference is Preference.NONE:
        return [f"{start}no preference larger than {ORDER_MARGIN:g} ranks: {lost}.{unsteady}"]
    if verdict.preference is Preference.UNKNOWN:
        return [f"{start}cannot tell: {lost}{_would_do(verdict.wanted)}.{unsteady}"]
    return [
        f"{start}{verdict.preference}: {lost}.{unsteady}",
        "Shuffle the candidates before re-ranking, or average over several orders, and audit "
        "again.",
    ]


def _ranks_lost(effect: Effect) -> str:
    places = (
        "from the list's first place to its last"
        if effect.contrast == Contrast.ORDER
        else "from the list's ends to its middle"
    )
    return f"{sized(effect)} ranks lost {places} {_queries(effect.queries)}"


# -- missing scores ------------------------------------------------------------------------------


def _whatever_is_missing(name: str, verdict: Verdict) -> list[str]:
    """Return the sentences of a verdict that holds whatever the missing scores are."""
    name = f"{name}, order in the list" if verdict.question is Question.LIST else name
    size = ""
    if (head := verdict.leading) is not None:
        bounds = (
            "any value"
            if head.low is None or head.high is None
            else f"[{decimal(head.low)}, {decimal(head.high)}]"
        )
        size = f": {head.contrast} {bounds} {head.unit}"
    queries = _queries(verdict.queries)
    if verdict.preference is Preference.UNKNOWN:
        said = (
            f"{name}: cannot tell, as scores are missing{size} with these at their worst {queries}."
        )
    else:
        said = f"{name}: {verdict.preference}, whatever its missing scores are{size} {queries}."
    return [
        said,
        str(verdict.missing),
        "Run it again to ask for these again, or audit a model whose answers can be read.",
    ]

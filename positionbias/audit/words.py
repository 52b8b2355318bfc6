"""The sentences of a verdict: the answer with its effect, its meaning for a user, the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from positionbias.audit.answers import (
    NO_PLACE,
    RANKS,
    READ_WHOLE,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.evidence import error_note
from positionbias.audit.verdict import ALONE, TOO_LONG, queries_for, side, wanted_queries
from positionbias.evaluation.bootstrap import FEWEST
from positionbias.text.formatting import MISSING, NBSP, count, decimal, percent, plural

HOW = (
    "To find out: posbias debias COLLECTION, run your system on it, then posbias audit COLLECTION "
    "RUN --rotated COLLECTION2 RUN2."
)
CUT = (
    "The verdict needs rotations that leave the sentence with the answer whole: posbias debias "
    "COLLECTION --mode sentences makes them."
)
SHORTER = "Audit it on shorter passages, or let it read further."
MORE_RUNS = "More queries or rotations help (posbias debias COLLECTION --seed 2)."
SHUFFLE = (
    "Shuffle the candidates before re-ranking, or average over several orders, and audit again."
)
HEADLINES = {  # by answer; None: a preference
    Preference.NONE: "{name}{about}: no preference larger than {largest}{leans}{where}: {size}"
    "{detects}.",
    Preference.UNKNOWN: "{name}{about}: cannot tell{where}: {size}, margin {margin}{would_do}.",
    None: "{name} {answer}{where}: {size}, {beyond} the margin of {margin}.",
}
MEANINGS = {
    Preference.NONE: "Moving {moved} within its passage changes {measure}{among} by at most {most} "
    "on average.",
    Preference.UNKNOWN: "Measured so far: {quality} {measure}{among}.",
    None: "When {moved} moves from the {places}, its passage changes by {ranks} places{among} and "
    "{measure} by {quality}.",
}
MOVES = {  # from the place named second to the first
    Contrast.ENDS: "front to the end",
    Contrast.MIDDLE: "ends to the middle",
    Contrast.ROTATION: "front to the end",
}
HELPS = {  # the next step, by the preferred place
    Preference.FRONT: "Train on rotated passages (posbias debias, or train --rotate-at-reading) "
    "and audit again; if it was trained on such passages, compare remedies (posbias study "
    "remedies).",
    None: "Compare remedies (posbias study remedies) and audit again. Rotated training passages "
    "are known to help against a preference for the front alone; models trained on them may come "
    "to prefer the end.",
}
Text = TypeVar("Text")
Said = tuple[Sequence[str], str]  # sentences, and the next step, "" where none is needed


def sentences_of(name: str, verdict: Verdict) -> list[str]:
    """Return the sentences of a verdict on the system of this name, the answer first."""
    sentences, step = _said(name, verdict)
    by_rule = verdict.rule and verdict.question is Question.PASSAGE
    note = error_note(verdict.rule) if by_rule else ""
    return [text for text in (*sentences, step, note) if text]


def step_of(name: str, verdict: Verdict) -> str:
    """Return what to do next; "" where nothing is needed."""
    return _said(name, verdict)[1]


def _said(name: str, verdict: Verdict) -> Said:
    if verdict.question is Question.LIST:
        return _on_list(name, verdict)
    return (_on_runs if verdict.rotations else _on_passage)(name, verdict)


# -- parts of sentences --------------------------------------------------------------------------


def in_words(unit: str) -> str:
    """Return a unit as it stands behind a number."""
    return "of the evidence's worth" if unit == WORTH else unit


def sized(effect: Effect, *, sign: bool = True) -> str:
    """Return an effect with its interval, in the decimals of its unit."""
    if effect.value is None:
        return MISSING
    places, scale, unit = 3, 1.0, ""
    if effect.unit == WORTH:
        places, scale, unit = 1, 100.0, f"{NBSP}%"
    elif effect.unit == RANKS:
        places = 1 if max(abs(effect.value), effect.largest) >= 1 else 2
    value = f"{decimal(scale * effect.value, places, sign=sign)}{unit}"
    if effect.low is None or effect.high is None:
        return f"{value} (no interval: queries of fewer than {FEWEST} passages)"
    low, high = (decimal(scale * end, places, sign=sign) for end in (effect.low, effect.high))
    return f"{value} [{low}, {high}]"


def in_unit(margin: float, unit: str) -> str:
    """Return a margin in its unit, with as many decimals as it has.

    >>> in_unit(0.1, "worth"), in_unit(0.025, "worth"), in_unit(0.5, "ranks")
    ('10\\xa0%', '2.5\\xa0%', '0.5 ranks')
    """
    return f"{round(100 * margin, 6):g}{NBSP}%" if unit == WORTH else f"{margin:g} {unit}"


def size_of(size: float, unit: str) -> str:
    """Return a size without a sign in its unit."""
    return percent(size) if unit == WORTH else f"{decimal(size)} {unit}"


def _moved(rule: str, answer: str = "an answer") -> str:
    """Name what is moved: the answer, or the sentence that a rule chose."""
    return f"the sentence chosen by {rule}" if rule else answer


def unread_part(verdict: Verdict) -> str:
    """Name what a system does not read of a longer text: ``what stands behind word 50``."""
    from_end, words = verdict.from_end, verdict.reads
    side = "before" if from_end else "behind"
    if words is None:
        return f"what stands {side} its tokenizer's limit"
    return f"what stands {side} word {words:,.0f}{' from the end' if from_end else ''}"


def _would_do(wanted: int | None) -> str:
    return f"; about {count(wanted)} queries would do" if wanted else ""


def _chosen(texts: Mapping[Preference | None, Text], preference: Preference) -> Text:
    return texts.get(preference, texts[None])


# -- the place in the passage --------------------------------------------------------------------


def _on_passage(name: str, verdict: Verdict) -> Said:
    if verdict.preference is Preference.UNREACTIVE:
        return _on_unreactive(name, verdict)
    if verdict.reason == ALONE:
        return [f"{name}: cannot tell {ALONE}."], HOW
    if not verdict.effects:
        moving = f", moving {_moved(verdict.rule)}" if verdict.rule else ""
        cannot = f"{name}: cannot tell whether it prefers a place in the passage{moving}"
        return [f"{cannot}: {verdict.reason}."], ""
    if verdict.reason == TOO_LONG:
        cannot = f"{name}: cannot tell whether it prefers a place within what it reads"
        said: Said = [f"{cannot}: {TOO_LONG}."], SHORTER
    else:
        said = _on_place(name, verdict)
    return _over_whole(name, verdict, said) if verdict.unread else said


def _on_place(name: str, verdict: Verdict) -> Said:
    """Return the sentences on the place within what a system reads."""
    read = [effect for effect in verdict.effects if effect.subset == READ_WHOLE]
    effects, margin = read or list(verdict.effects), verdict.margin or 0.0
    if verdict.within is not None:  # the verdict is on whole texts
        wanted = wanted_queries(effects[0], margin, verdict.drawn)
        verdict = replace(verdict, preference=verdict.within, effects=effects, wanted=wanted)
    where, head = ", within what it reads" if read else "", verdict.effects[0]
    if verdict.preference is Preference.NONE and not head.largest:
        moves = f"{_moved(verdict.rule, 'the answer')} moves ({count(head.queries)} queries)"
        return [f"{name}: no preference{where}: its scores do not change when {moves}."], ""
    return [_headline(name, verdict, where=where), _meaning(verdict, effects)], _next(verdict)


def _headline(name: str, verdict: Verdict, *, about: str = "", where: str = "") -> str:
    """Return the sentence with the answer, the deciding effect and the margin."""
    head, unit = verdict.effects[0], verdict.effects[0].unit
    moved = f" of moving {_moved(verdict.rule)}" if verdict.rule and not about else ""
    turns = f", {plural(verdict.rotations, 'rotation')}" if verdict.rotations else ""
    leaning = [
        side(effect).removeprefix("prefers ")
        for effect in verdict.effects
        if (effect.unit, effect.subset) == (unit, head.subset) and effect.excludes_zero
        if effect.contrast is not Contrast.ROTATION
    ]
    return _chosen(HEADLINES, verdict.preference).format(
        name=name,
        about=about,
        answer=verdict.preference,
        where=where,
        size=f"{head.contrast.removeprefix('two runs: ')} {sized(head)} "
        f"{f'{unit} lost' if about else in_words(unit)} ({count(head.queries)} queries{turns})"
        f"{moved}",
        margin=in_unit(verdict.margin or 0.0, unit),
        would_do=_would_do(verdict.wanted),
        largest=size_of(head.largest, unit),
        leans=f" (leans to {' and '.join(leaning)})" if leaning else "",
        detects=f"; detects {size_of(head.detectable, unit)} with 80 % power"
        if head.detectable
        else "",
        beyond="beyond" if verdict.exceeds else "perhaps within",
    )


def _meaning(verdict: Verdict, effects: Sequence[Effect]) -> str:
    """Describe the deciding contrast in ranks and in the measure, among which candidates."""
    head, preference = verdict.effects[0], verdict.preference
    of_units = {
        effect.unit: effect
        for effect in effects
        if (effect.contrast, effect.subset) == (head.contrast, head.subset)
    }
    ranks, quality = of_units.get(RANKS), of_units.get(verdict.measure)
    if ranks is None or quality is None or ranks.value is None:
        return ""
    among = f" among the first {verdict.depth:,} of {verdict.among}" if verdict.among else ""
    if preference not in NO_PLACE and not any((ranks.value, ranks.largest, quality.value)):
        return f"Yet no passage changes its rank by it{among}, as scores are too far apart."
    return _chosen(MEANINGS, preference).format(
        moved=_moved(verdict.rule),
        measure=verdict.measure,
        among=among,
        most=decimal(quality.largest),
        places=MOVES.get(head.contrast, ""),
        ranks=sized(ranks),
        quality=sized(quality),
    )


def _next(verdict: Verdict) -> str:
    head, margin = verdict.effects[0], verdict.margin or 0.0
    if verdict.preference is Preference.UNKNOWN:
        if head.low is None:
            return "Audit queries of other passages too."
        if verdict.wanted is None:
            return "Accept a wider margin (--set margin): more queries would hardly help."
        return (
            "Audit more queries if there are any (--queries, --set needles), or accept a wider "
            "margin (--set margin)."
        )
    if verdict.preference is Preference.NONE:
        return ""
    if verdict.exceeds:
        return _chosen(HELPS, verdict.preference)
    wanted = queries_for(head, abs(abs(head.value or 0.0) - margin), verdict.drawn)
    more = f": about {count(wanted)} queries would show it (--queries, --set needles)"
    return f"It may be too small to matter{more if wanted else ''}."


def _over_whole(name: str, verdict: Verdict, within: Said) -> Said:
    """Return the sentences on whole texts, from those on what a system reads."""
    (first, *_), step = within
    cost, part = _cost(verdict), unread_part(verdict)
    longer = f"{percent(verdict.unread or 0.0, 0)} of the queries have longer texts"
    if verdict.preference is Preference.UNREAD:
        read_further = f"Let {name} read further, or give it shorter passages."
        return [f"{name} loses {part}{cost}; {longer}.", first], read_further
    if verdict.within is not None:
        cannot = f"{name}: cannot tell whether it matters that it does not read"
        return [f"{cannot} {part}{cost}{_would_do(verdict.wanted)}; {longer}.", first], ""
    return [first, f"It does not read {part}: {longer}{cost}."], step


def _cost(verdict: Verdict) -> str:
    """Return the change when the evidence moves to where it is not read, over whole texts."""
    whole = (verdict.effect(Contrast.ENDS, unit, "") for unit in (verdict.measure, WORTH))
    effect = next((one for one in whole if one is not None and one.value), None)
    if effect is None:
        return ""
    value, _, bounds = sized(effect).partition(" ")
    return (
        f": {value} {in_words(effect.unit)} {bounds} when {_moved(verdict.rule)} moves from the "
        "front to the end of whole texts"
    )


def _on_unreactive(name: str, verdict: Verdict) -> Said:
    worth, size = verdict.effects[0], sized(verdict.effects[0], sign=False)
    in_ranks, score = f"a passage falls by {size} ranks", f"its score falls by {size}"
    change = in_ranks if worth.unit == RANKS else score
    change = "nothing changes" if worth.low == 0 == worth.high else change
    step = ""
    if verdict.wanted:
        step = f"Audit more queries: about {count(verdict.wanted)} would show a fall of this size"
        step += " (--queries, --set needles)."
    return [
        f"{name} {verdict.preference}: {change} when a sentence of another passage replaces "
        f"{_moved(verdict.rule, 'that of the answer')} ({count(worth.queries)} queries).",
        "So a preference for a place in the passage cannot be measured.",
    ], step


# -- runs, and the place in the list --------------------------------------------------------------


def _on_runs(name: str, verdict: Verdict) -> Said:
    if verdict.reason or not verdict.effects:
        return [f"{name}: cannot tell, {verdict.reason}."], CUT if verdict.effects else ""
    headline = _headline(name, verdict)
    if verdict.preference in NO_PLACE:
        return [headline], MORE_RUNS if verdict.preference is Preference.UNKNOWN else ""
    gained = f"So moved, the passage gains {sized(verdict.effects[1])} ranks."
    return [headline, gained], _chosen(HELPS, verdict.preference) if verdict.exceeds else ""


def _on_list(name: str, verdict: Verdict) -> Said:
    about = ", order in the list"
    noise = f"{percent(verdict.noise, 0)} of a list's deviation"
    unsteady = f" It gives other scores when it is asked again ({noise})." if verdict.noise else ""
    if verdict.effects:
        step = "" if verdict.preference in NO_PLACE else SHUFFLE
        return [f"{_headline(name, verdict, about=about)}{unsteady}"], step
    if verdict.preference is Preference.NONE:
        alone = "scores each passage by itself, so the order of the list does not matter"
        return [f"{name} {alone}."], ""
    return [f"{name}{about}: cannot tell: {verdict.reason}.{unsteady}"], ""

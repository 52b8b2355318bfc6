"""Select an audit's verdicts and effects, and word them for cards, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from positionbias.audit.select import System, of_audit, series_of, system_of
from positionbias.audit.verdict import as_share
from positionbias.core.formatting import count, decimal, interval, percent, with_interval
from positionbias.core.interval import Interval
from positionbias.results.audit import DEVIATIONS, RANKS, READ_WHOLE, WORTH
from positionbias.results.payloads import SIZES, Contrast, Effect, Preference, Question, Verdict
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = [
    "CONTRASTS",
    "PREFERS",
    "SUBSET_NAMES",
    "ContrastWords",
    "Panel",
    "all_effects",
    "deciding_subset",
    "bounds_of_effect",
    "compared_effects",
    "effect_in",
    "effect_text",
    "facts_of",
    "in_words",
    "leading",
    "margin_in",
    "margins",
    "number",
    "places_of",
    "plain_unit",
    "shown_effects",
    "value_text",
    "verdict_lines",
    "verdicts_of",
]

SUBSETS = ("", READ_WHOLE)


class ContrastWords(NamedTuple):
    """A contrast's short name, and the preference of an effect below and above 0."""

    name: str
    below: str
    above: str


CONTRASTS = {
    Contrast.ENDS: ContrastWords("end − front", "front", "end"),
    Contrast.MIDDLE: ContrastWords("middle − ends", "ends", "middle"),
    Contrast.ROTATION: ContrastWords("rotation: end − front", "front", "end"),
    Contrast.RUNS: ContrastWords("two runs: end − front", "front", "end"),
    Contrast.WORTH: ContrastWords("worth of the evidence", "another sentence", "the evidence"),
    Contrast.TURNED: ContrastWords("rotated: size of change", "none", "change"),
    Contrast.HALVES: ContrastWords("halves exchanged: size of change", "none", "change"),
    Contrast.TURNED_MORE: ContrastWords("rotated: relevant − irrelevant", "irrelevant", "relevant"),
    Contrast.HALVES_MORE: ContrastWords(
        "halves exchanged: relevant − irrelevant", "irrelevant", "relevant"
    ),
    Contrast.ORDER: ContrastWords("list: first to last place", "last", "first"),
    Contrast.ORDER_MIDDLE: ContrastWords("list: ends to middle", "middle", "ends"),
}
PREFERS = {
    Preference.FRONT: "front",
    Preference.END: "end",
    Preference.MIDDLE: "middle",
    Preference.ENDS: "both ends",
    Preference.FIRST: "first places",
    Preference.LAST: "last places",
    Preference.NONE: "none",
    Preference.UNREACTIVE: "ignores evidence",
    Preference.UNREAD: "what it reads",
    Preference.SENSITIVE: "sensitive",
    Preference.INSENSITIVE: "insensitive",
    Preference.UNKNOWN: "cannot tell",
}

SUBSET_NAMES = {"": "all texts", READ_WHOLE: "texts read whole"}

Panel = tuple[Contrast, str]  # a contrast and its unit in figures


def verdicts_of(
    results: Iterable[Result], question: Question | None = None
) -> list[tuple[Result, Verdict]]:
    """Return the verdicts with their payloads, in the given order, the first stage's last;
    ``question`` narrows them.
    """
    found = of_audit(results, Verdict)
    return [
        (result, verdict)
        for result, verdict in found
        if question is None or verdict.question == question
    ]


def leading(verdict: Verdict) -> Effect | None:
    """Return the deciding effect, or None."""
    return verdict.effects[0] if verdict.effects else None


def deciding_subset(verdict: Verdict) -> str:
    """Return the subset of queries behind the verdict: those whose texts are read whole if some are
    not, else all.
    """
    first = leading(verdict)
    return first.subset if first is not None else ""


def effect_in(
    verdict: Verdict, contrast: Contrast, unit: str, subset: str | None = None
) -> Effect | None:
    """Return a contrast's effect in one unit, by default over the deciding subset."""
    wanted = contrast, unit, deciding_subset(verdict) if subset is None else subset
    return next(
        (
            effect
            for effect in verdict.effects
            if (effect.contrast, effect.unit, effect.subset) == wanted
        ),
        None,
    )


def plain_unit(verdict: Verdict, contrast: Contrast) -> str | None:
    """Return the unit in which figures show a contrast: ranks for the list, else shares of the
    worth or deviations if there are any, else the measure."""
    units = distinct(effect.unit for effect in verdict.effects if effect.contrast == contrast)
    order = (
        (RANKS,)
        if contrast == Contrast.ORDER
        else (WORTH, DEVIATIONS, *(unit for unit in units if unit != RANKS), RANKS)
    )
    return next((unit for unit in (*order, *units) if unit in units), None)


def shown_effects(verdict: Verdict) -> list[Effect]:
    """Return the defined effects that a system's own figure shows: each contrast in one unit, the
    deciding subset first.
    """
    found = []
    for contrast in Contrast:
        unit = plain_unit(verdict, contrast)
        for subset in sorted(SUBSETS, key=lambda subset: subset != deciding_subset(verdict)):
            effect = effect_in(verdict, contrast, unit, subset) if unit else None
            if effect is not None and number(effect.value) is not None:
                found.append(effect)
    return found


def number(value: float | None) -> float | None:
    """Return a number, or None if it is undefined."""
    return value if value is not None and math.isfinite(value) else None


def bounds_of_effect(effect: Effect | None) -> Interval | None:
    """Return the interval of an effect, or None if a bound is undefined."""
    if effect is None or number(effect.low) is None or number(effect.high) is None:
        return None
    assert effect.low is not None
    assert effect.high is not None
    return Interval(effect.low, effect.high, method="simultaneous")


def places_of(unit: str) -> int:
    """Return the decimals of an effect: two of deviations, one of ranks and of per cent of the
    worth, three of a measure.
    """
    return {DEVIATIONS: 2, RANKS: 1, WORTH: 1}.get(unit, 3)


def in_words(unit: str) -> str:
    """Return a unit as it stands behind a number."""
    return "of the evidence's worth" if unit == WORTH else unit


def value_text(value: float | None, unit: str, *, sign: bool = False) -> str:
    """Return a number in its unit's decimals; a share of the worth as per cent."""
    form = percent if unit == WORTH else decimal
    return form(value, places_of(unit), sign=sign)


def effect_text(effect: Effect) -> str:
    """Return an effect with its interval and unit:
    ``−12.2 % [−14.5, −9.9] of the evidence's worth``.
    """
    signed = effect.contrast not in SIZES
    bounds = interval(
        bounds_of_effect(effect),
        as_percent=effect.unit == WORTH,
        places=places_of(effect.unit),
        sign=signed,
    )
    return (
        f"{with_interval(value_text(effect.value, effect.unit, sign=signed), bounds)} "
        f"{in_words(effect.unit)}"
    )


def margin_in(verdict: Verdict, unit: str) -> float | None:
    """Return the smallest effect of interest if it is in this unit."""
    first = leading(verdict)
    return (
        number(verdict.margin)
        if first is not None and first.unit == unit and first.contrast != Contrast.WORTH
        else None
    )


def margins(verdicts: Iterable[Verdict]) -> list[str]:
    """Return every margin with its unit, each once: ``10 % of the evidence's worth``."""
    named = [
        (verdict, first.unit) for verdict in verdicts if (first := leading(verdict)) is not None
    ]
    known = [
        (margin, unit)
        for verdict, unit in named
        if (margin := margin_in(verdict, unit)) is not None
    ]
    return distinct(
        f"{as_share(margin) if unit == WORTH else f'{margin:g}'} {in_words(unit)}"
        for margin, unit in known
    )


def all_effects(
    results: Iterable[Result], question: Question | None = None
) -> list[tuple[Result, Effect]]:
    """Return the effects of one question (default: all but the order of a passage's text) with
    their systems' results, in the verdicts' order.
    """
    found = verdicts_of(results, question)
    return [
        (result, effect)
        for result, verdict in found
        if question is not None or verdict.question != Question.TEXT
        for effect in verdict.effects
    ]


def compared_effects(results: Sequence[Result]) -> dict[Panel, dict[System, Effect]]:
    """Return the defined effects over the deciding queries by contrast and unit: the panels of the
    comparison.
    """
    found: dict[Panel, dict[System, Effect]] = {}
    for contrast in Contrast:
        for result, verdict in verdicts_of(results):
            unit = plain_unit(verdict, contrast)
            effect = effect_in(verdict, contrast, unit) if unit else None
            if effect is not None and number(effect.value) is not None:
                found.setdefault((contrast, effect.unit), {}).setdefault(system_of(result), effect)
    return found


def facts_of(verdict: Verdict) -> str:
    """Describe the basis of a verdict: its question, its queries, and the system's length limit."""
    parts = [f"{verdict.question[:1].upper()}{verdict.question[1:]}"]
    if verdict.queries:
        first = leading(verdict)
        used = (
            f"{count(first.queries)} of "
            if first is not None and 0 < first.queries < verdict.queries
            else ""
        )
        parts.append(f"{used}{count(verdict.queries)} queries")
    if verdict.exceeds is not None and (margin := next(iter(margins([verdict])), "")):
        parts.append(
            f"{'beyond' if verdict.exceeds else 'not shown to be beyond'} the margin of {margin}"
        )
    if (words := number(verdict.reads)) is not None:
        parts.append(f"reads {count(round(words))} words of a longer text")
    if share := number(verdict.unread):
        parts.append(f"{percent(share)} of queries have a text that is longer")
    return "; ".join(parts)


def verdict_lines(results: Sequence[Result]) -> list[str]:
    """Return the verdicts for a terminal, at most three lines per system; the first begins with the
    system's name.
    """
    series = series_of(results)
    lines = []
    for system, one in series.items():
        found = [
            list(verdict.sentences)
            for result, verdict in verdicts_of(results)
            if system_of(result) == system
        ]
        found = [sentences for sentences in found if sentences]
        if len(found) == 1:
            said = found[0]
        else:  # two questions: the first one's answer, its other remarks, and the second answer
            said = [part for first, *rest in found[:1] for part in (first, " ".join(rest)) if part]
            said += (
                [" ".join(sentence for sentences in found[1:] for sentence in sentences)]
                if found[1:]
                else []
            )
        said = [" ".join(line.split()) for line in [*said[:2], " ".join(said[2:])] if line]
        for place, line in enumerate(said):
            named = (
                line
                if line.startswith((f"{one.label}:", f"{one.label} "))
                else f"{one.label}: {line}"
            )
            lines.append(f"  {line}" if place else named)
    return lines

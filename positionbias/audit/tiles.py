"""An audit's verdicts as tiles: question, answer, deciding effect, margin and power, and the next
step.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.audit.select import series_of, system_of
from positionbias.audit.verdict import queries_beyond, what_helps
from positionbias.audit.verdict_words import (
    deciding_subset,
    effect_in,
    effect_text,
    leading,
    margins,
    number,
    value_text,
    verdicts_of,
)
from positionbias.core.formatting import count, percent
from positionbias.report.tiles import Answered, Tile
from positionbias.results.audit import DEVIATIONS, FIRST_STAGE, RANKS, READ_WHOLE, SCORE, WORTH
from positionbias.results.payloads import Contrast, Preference, Question, Verdict
from positionbias.results.result import Result

__all__ = ["verdict_tiles"]

QUESTIONS = {
    Question.PASSAGE: "Does the place of the evidence in its passage matter?",
    Question.TEXT: "Does the order of a passage's text matter?",
    Question.LIST: "Does the order of the candidates matter?",
}
_STEPS = ("To find out: ", "Audit ", "Accept ")  # begin a verdict's sentence on the next step
_NONE = (Preference.NONE, Preference.INSENSITIVE)


def verdict_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each verdict; the first stage's only where nothing else was audited."""
    found, series = verdicts_of(results), series_of(results)
    others = [item for item in found if item[0].facts.model != FIRST_STAGE]
    return [
        _tile(result.system, series[system_of(result)].full_label, verdict)
        for result, verdict in others or found
    ]


def _tile(name: str, label: str, verdict: Verdict) -> Tile:
    first = leading(verdict)
    measure = next(
        (
            effect.unit
            for effect in verdict.effects
            if effect.unit not in (WORTH, DEVIATIONS, SCORE, RANKS)
        ),
        label,
    )
    shown = (effect_in(verdict, Contrast.ENDS, measure) or first) if verdict.loses else first
    return Tile(
        question=QUESTIONS[verdict.question],
        subject=label,
        answer=_answer(verdict),
        words=_words(verdict),
        # a change has no side
        welcome=None
        if verdict.preference is Preference.SENSITIVE
        else _answer(verdict) is Answered.NO,
        effect=effect_text(shown) if shown is not None and number(shown.value) is not None else "",
        basis=_basis(verdict),
        advice=_advice(name, verdict),
        measure=measure,
    )


def _words(verdict: Verdict) -> str:
    if verdict.preference is Preference.UNREAD:
        return f"Loses {verdict.loses}"
    if (
        verdict.question is Question.LIST
        and verdict.preference is Preference.NONE
        and not verdict.effects
    ):
        return "Scores each passage by itself"
    where = (
        " within what it reads"
        if deciding_subset(verdict) == READ_WHOLE and verdict.preference is Preference.NONE
        else ""
    )
    return f"{verdict.preference[:1].upper()}{verdict.preference[1:]}{where}"


def _answer(verdict: Verdict) -> Answered:
    if verdict.preference in (Preference.UNKNOWN, Preference.UNREACTIVE):
        return Answered.UNKNOWN
    return Answered.NO if verdict.preference in _NONE else Answered.YES


def _basis(verdict: Verdict) -> list[str]:
    """Return the margin, the power, the queries, and what the system does not read."""
    first, parts = leading(verdict), []
    if verdict.within is not None:
        parts.append(f"within what it reads: {verdict.within}")
    if first is not None and (margin := next(iter(margins([verdict])), "")):
        beyond = {True: ", beyond it", False: ", perhaps within it", None: ""}[verdict.exceeds]
        parts.append(f"margin ±{margin}{beyond}")
    if first is not None and number(first.detectable) is not None:
        parts.append(f"detects {value_text(first.detectable, first.unit)} with 80 % power")
    if first is not None and first.queries:
        parts.append(f"{count(first.queries)} queries")
    if share := number(verdict.unread):
        parts.append(f"{percent(share)} of queries have texts that it does not read to the end")
    return parts


def _advice(name: str, verdict: Verdict) -> str:
    """Return the next step."""
    if verdict.preference is Preference.UNREAD:
        return (
            f"Let {name} read further, or give it shorter passages: it loses what stands beyond "
            "its limit."
        )
    if verdict.preference in _NONE:
        return ""
    if verdict.preference in (Preference.UNKNOWN, Preference.UNREACTIVE):
        if verdict.wanted:
            return (
                f"Audit {name} on more queries: about {count(verdict.wanted)} would decide "
                "(--queries, --needles)."
            )
        if verdict.unread and all(not effect.subset for effect in verdict.effects):
            return f"Audit {name} on shorter passages, or let it read further."
        return next((sentence for sentence in verdict.sentences if sentence.startswith(_STEPS)), "")
    if verdict.question is Question.LIST:
        return (
            f"Shuffle the candidates before {name} re-ranks them, or average over several orders, "
            "and audit again."
        )
    if verdict.question is Question.TEXT:
        return f"Audit {name} on queries with known answers: they show which place it prefers."
    if verdict.exceeds:
        return f"{name}: {what_helps(verdict.preference)}"
    first = leading(verdict)
    wanted = (
        queries_beyond(first, verdict.margin or 0.0, verdict.drawn) if first is not None else None
    )
    more = f": about {count(wanted)} queries would show it (--queries, --needles)" if wanted else ""
    return f"The preference of {name} may be too small to matter{more}."

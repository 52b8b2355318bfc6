"""An audit's verdicts on a page: a card per system, with the answers in large type and the effects
behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.audit.forest import CARD, effects_figure
from positionbias.audit.select import System, series_of, system_of
from positionbias.audit.verdict_words import (
    CONTRASTS,
    SUBSET_NAMES,
    deciding_subset,
    effect_text,
    facts_of,
    leading,
    margins,
    number,
    shown_effects,
    verdicts_of,
)
from positionbias.report.blocks import Answer, Card, Drawing
from positionbias.results.audit import READ_WHOLE
from positionbias.results.payloads import Preference, Verdict
from positionbias.results.result import Result

__all__ = ["effects_caption", "verdict_cards"]


def verdict_cards(results: Sequence[Result]) -> list[Card]:
    """Return a card per system with a verdict, in the systems' order."""
    cards = []
    for system, one in series_of(results).items():
        own = [verdict for result, verdict in verdicts_of(results) if system_of(result) == system]
        if own:
            cards.append(
                Card(
                    one.full_label, [_answer(verdict) for verdict in own], _drawing(results, system)
                )
            )
    return cards


def _answer(verdict: Verdict) -> Answer:
    words = (
        f"loses {verdict.loses}" if verdict.preference is Preference.UNREAD else verdict.preference
    )
    return Answer(
        f"{words[:1].upper()}{words[1:]}",
        facts_of(verdict),
        list(verdict.sentences),
        _sure(verdict),
    )


def _sure(verdict: Verdict) -> str:
    """Return the style of an answer's edge: beyond the margin, a preference, no preference, or no
    answer.
    """
    if verdict.preference in (Preference.UNKNOWN, Preference.UNREACTIVE):
        return "unknown"
    if verdict.preference in (Preference.NONE, Preference.INSENSITIVE):
        return "none"
    return "beyond" if verdict.exceeds else "found"


def _drawing(results: Sequence[Result], system: System) -> Drawing | None:
    own = [verdict for result, verdict in verdicts_of(results) if system_of(result) == system]
    if not any(shown_effects(verdict) for verdict in own):
        return None
    label = series_of(results)[system].full_label

    def draw(width: float) -> object:
        return effects_figure(results, system=system, width=min(width, CARD))

    return Drawing("effects", draw, effects_caption(label, own), "")  # type: ignore[arg-type]


def effects_caption(label: str, verdicts: Sequence[Verdict]) -> str:
    """Give the deciding effects in numbers, and explain the bars, the band and hollow points."""
    firsts = [
        first
        for verdict in verdicts
        if (first := leading(verdict)) is not None and number(first.value) is not None
    ]
    parts = [f"{CONTRASTS[effect.contrast].name} {effect_text(effect)}" for effect in firsts]
    sentences = [f"{label}: {'; '.join(parts)}."] if parts else []
    sentences.append("Bars are 95 % intervals.")
    if shown := margins(verdicts):
        sentences.append(f"Grey: the margin, ±{' or ±'.join(shown)}.")
    if any(
        effect.subset != deciding_subset(verdict)
        for verdict in verdicts
        for effect in shown_effects(verdict)
    ):
        whole = any(deciding_subset(verdict) == READ_WHOLE for verdict in verdicts)
        sentences.append(f"Hollow: {SUBSET_NAMES['' if whole else READ_WHOLE]}.")
    return " ".join(sentences)

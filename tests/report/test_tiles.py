"""Tiles: answers, signs and advice from typed verdicts; nothing unmeasured is good news."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from positionbias.audit.answers import Contrast, Preference, Question, Verdict
from positionbias.audit.shown import SHOWN
from positionbias.audit.systems import RERANKER
from positionbias.audit.verdict import ALONE
from positionbias.report.page import MOST_TILES, load_study, tiles_of
from positionbias.report.record import (
    Answered,
    Tile,
    Tone,
    advice_of,
    by_importance,
)
from tests.audit.figures import Figures

from . import invented, invented_audit

NBSP = "\u00a0"


def plain(text: str) -> str:
    return text.replace(NBSP, " ")


def tile(tone: Tone, advice: str = "", **more: str) -> Tile:
    answer = Answered.UNKNOWN if tone is Tone.UNKNOWN else Answered.YES
    names = {"question": "?", "subject": "s", "words": "w", "advice": advice, **more}
    return Tile(answer=answer, welcome=tone is Tone.GOOD, **names)  # type: ignore[arg-type]


def audit_tiles(*verdicts: Verdict) -> list[Tile]:
    """The tiles of these verdicts on one model."""
    found = [Figures("minilm", RERANKER, verdict) for verdict in verdicts]
    return SHOWN.tiles(SHOWN.own(invented_audit.collected(found).rows))


def test_an_audits_tiles() -> None:
    passage, listed = audit_tiles(
        invented_audit.passage_verdict(0.9), invented_audit.list_verdict(False)
    )
    assert (passage.answer, passage.tone, passage.words) == (
        Answered.YES,
        Tone.BAD,
        "Prefers the front",
    )
    # −0.45 times a lean of 0.9
    assert plain(passage.effect) == "−40.5 % [−45.5, −35.5] of the evidence's worth"
    assert passage.basis[:3] == [
        f"beyond the margin of 10{NBSP}%",
        f"detects 7.0{NBSP}% with 80 % power",
        "1,944 queries",
    ]
    assert passage.advice.startswith(
        "Train on rotated passages (posbias debias, or train --rotate-at-reading) and audit again;"
    )
    assert (listed.answer, listed.tone, listed.words) == (
        Answered.NO,
        Tone.GOOD,
        "Scores each passage by itself",
    )


def changed(**fields: Any) -> Tile:
    """The tile of the passage verdict with other fields."""
    (only,) = audit_tiles(replace(invented_audit.passage_verdict(0.9), **fields))
    return only


def test_what_is_open_is_never_good_news() -> None:
    few = changed(preference=Preference.UNKNOWN, wanted=2_400)
    assert (few.answer, few.tone) == (Answered.UNKNOWN, Tone.UNKNOWN)
    small = changed(margin=0.4)  # the interval reaches into it
    assert small.basis[0] == f"perhaps within the margin of 40{NBSP}%"
    assert changed(preference=Preference.NONE, unread=None, effects=[]).tone is Tone.GOOD


def test_the_basis_of_a_loss_is_in_the_unit_of_its_effect() -> None:
    whole = invented_audit.effect(Contrast.ENDS, "worth", -0.6, 0.05)
    quality = invented_audit.effect(Contrast.ENDS, "nDCG@10", -0.2, 0.1, queries=40)
    lost = changed(
        preference=Preference.UNREAD, within=Preference.NONE, reads=50.0, effects=[whole, quality]
    )
    assert plain(lost.effect) == "−0.200 [−0.300, −0.100] nDCG@10"
    assert lost.basis[:3] == [
        "within what it reads: no preference",
        "detects 0.140 nDCG@10 with 80 % power",
        "40 queries",
    ]


def test_several_systems_are_named_once_each() -> None:
    lost = replace(
        invented_audit.passage_verdict(0.9), preference=Preference.UNREAD, within=Preference.NONE
    )
    figures = [Figures(name, RERANKER, lost) for name in ("short", "other")]
    rows = SHOWN.own(invented_audit.collected(figures).rows)
    assert all(finding.text.count("short:") <= 1 for finding in SHOWN.findings(rows))


def test_a_run_alone_is_told_to_bring_another() -> None:
    (alone,) = audit_tiles(Verdict(Question.PASSAGE, Preference.UNKNOWN, reason=ALONE))
    assert alone.advice.startswith("To find out: posbias debias COLLECTION, run your system on it,")


def test_advice_is_of_bad_news_then_of_what_is_open() -> None:
    assert (
        advice_of([tile(Tone.GOOD), tile(Tone.UNKNOWN, "more"), tile(Tone.BAD, "train")]) == "train"
    )
    assert advice_of([tile(Tone.GOOD), tile(Tone.UNKNOWN, "more")]) == "more"
    assert advice_of([tile(Tone.GOOD)]) == "No action needed."
    assert advice_of([tile(Tone.GOOD), tile(Tone.UNKNOWN)]).startswith("These data do not decide")
    assert "No action" not in advice_of([tile(Tone.GOOD), tile(Tone.BAD)])


def test_six_tiles_stand_on_the_first_screen() -> None:
    tiles = [
        tile(tone, subject=str(number))
        for number, tone in enumerate([Tone.GOOD] * 5 + [Tone.UNKNOWN] + [Tone.BAD] * 2)
    ]
    important = [one.subject for one in by_importance(tiles)]
    assert important[:MOST_TILES] == ["6", "7", "5", "0", "1", "2"]


def test_results_without_a_verdict_have_no_tile(tmp_path: Path) -> None:
    study = load_study(invented.save_study(tmp_path / "s"))
    assert tiles_of(study) == []
    assert advice_of([]).startswith("Nothing to decide")

"""Tiles: answers, signs and advice from typed verdicts; nothing unmeasured is good news."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from positionbias.audit.answers import (
    READ_WHOLE,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.shown import SHOWN
from positionbias.audit.systems import RERANKER, Measurement
from positionbias.audit.verdict import ALONE
from positionbias.contamination.shown import SUSPICIONS
from positionbias.contamination.suspect import Obstacle, Suspected
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.report.html import write_page
from positionbias.report.page import MOST_TILES, load_study, tiles_of
from positionbias.report.tiles import (
    Answered,
    Tile,
    Tone,
    advice_of,
    by_importance,
)

from . import invented, invented_audit
from .test_html import check

NBSP = "\u00a0"


def plain(text: str) -> str:
    return text.replace(NBSP, " ")


def tile(tone: Tone, advice: str = "", **more: str) -> Tile:
    answer = Answered.UNKNOWN if tone is Tone.UNKNOWN else Answered.YES
    names = {"question": "?", "subject": "s", "words": "w", "advice": advice, **more}
    return Tile(answer=answer, welcome=tone is Tone.GOOD, **names)  # type: ignore[arg-type]


def audit_tiles(*verdicts: Verdict) -> list[Tile]:
    """The tiles of these verdicts on one model."""
    found = [Measurement("minilm", RERANKER, verdict) for verdict in verdicts]
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
        f"margin beyond ±10{NBSP}% of the evidence's worth",
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
    few = changed(preference=Preference.UNKNOWN, exceeds=None, wanted=2_400)
    assert (few.answer, few.tone) == (Answered.UNKNOWN, Tone.UNKNOWN)
    small = changed(exceeds=False)
    assert small.basis[0] == f"margin perhaps within ±10{NBSP}% of the evidence's worth"
    assert (
        changed(preference=Preference.NONE, exceeds=None, unread=None, effects=[]).tone is Tone.GOOD
    )


def with_limit(preference: Preference, within: Preference | None) -> Tile:
    """The tile of a system that does not read all texts whole."""
    read = Effect(Contrast.ENDS, WORTH, 0.0, -0.05, 0.05, 0.07, 300, READ_WHOLE)
    whole = Effect(Contrast.ENDS, WORTH, -0.9, -0.95, -0.84, 0.1, 489)
    quality = Effect(Contrast.ENDS, "nDCG@10", -0.38, -0.41, -0.35, 0.02, 489)
    effects = [read, whole, quality] if within is None else [whole, quality, read]
    return changed(
        preference=preference,
        within=within,
        reads=50.0,
        exceeds=None,
        unread=0.85,
        effects=effects,
    )


def test_ends_that_are_not_read_are_no_good_news() -> None:
    lost = with_limit(Preference.UNREAD, Preference.NONE)
    assert (lost.answer, lost.tone, lost.words) == (
        Answered.YES,
        Tone.BAD,
        "Loses what stands behind word 50",
    )
    assert plain(lost.effect) == "−0.380 [−0.410, −0.350] nDCG@10"
    assert lost.basis[0] == "within what it reads: no preference"
    assert lost.advice == ("Let minilm read further, or give it shorter passages.")
    assert with_limit(Preference.UNKNOWN, Preference.NONE).tone is Tone.UNKNOWN
    kept = with_limit(Preference.NONE, None)
    assert (kept.answer, kept.tone, kept.words) == (
        Answered.NO,
        Tone.GOOD,
        "No preference within what it reads",
    )
    assert "489 queries" in lost.basis
    assert "300 queries" in kept.basis


def test_a_run_alone_is_told_to_bring_another() -> None:
    (alone,) = audit_tiles(Verdict(Question.PASSAGE, Preference.UNKNOWN, reason=ALONE))
    assert alone.advice.startswith("To find out: posbias debias COLLECTION, run your system on it,")


KEYS = ("seen", "other")


def suspicion(answer: Suspected, obstacle: Obstacle | None = None) -> Tile:
    """The tile of a suspicion."""
    made = Collected({"study": "contamination suspect", "model": "m", "role": "model"}, KEYS)
    cells = {"margin": 0.05, "trainings": 2, "answer": answer, "reason": str(obstacle or "")}
    bounds = Interval(0.05, 0.11, 0.95)
    value, bounds_ = (0.08, bounds) if obstacle is None else (None, None)
    made.add("nDCG@10", "excess", value, bounds_, seen="seen", other="fresh", **cells)
    if obstacle is None:
        for statistic, rate in (("power at the margin", 0.9), ("false alarms", 0.04)):
            made.add("nDCG@10", statistic, rate, seen="seen", other="fresh")
    (only,) = SUSPICIONS.tiles(SUSPICIONS.own(made.rows))
    return only


def test_suspicions() -> None:
    yes, no = suspicion(Suspected.YES), suspicion(Suspected.NO)
    few = suspicion(Suspected.UNKNOWN, Obstacle.FEW)
    assert (yes.tone, no.tone, few.tone) == (Tone.BAD, Tone.GOOD, Tone.UNKNOWN)
    assert plain(yes.effect) == "+0.080 [+0.050, +0.110] nDCG@10 over its controls"
    assert [plain(text) for text in yes.basis] == [
        "margin 0.05",
        "2 controls",
        "finds the margin in 90 %",
        "false alarms 4.0 %",
    ]
    assert (few.effect, few.words) == (str(Obstacle.FEW), "Cannot tell")
    assert few.advice.startswith("Train at least 2 controls")


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


def test_the_page_has_signs_and_words_and_all_answers(tmp_path: Path) -> None:
    place = invented_audit.save_verdicts(tmp_path / "a", invented_audit.FOUR)
    page = check(write_page(load_study(place), tmp_path / "r.html").read_text("utf-8"))
    tiles = [e for e in page.root.every("li") if e.attributes.get("class", "").startswith("tile ")]
    assert len(tiles) == 8
    for one in tiles:
        shapes = {e.tag for e in one.every("svg")[0].children[:1]}
        assert shapes == {"path" if one.attributes["class"] == "tile bad" else "circle"}
        assert one.every("strong")[0].text in ("Yes", "No")
    assert "Further answers" in page.root.text

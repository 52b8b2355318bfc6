"""The first screen of a page: one sentence, one chart, tiles of the verdicts, what to do next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from positionbias.report.blocks import Picture, Section
from positionbias.report.load import Study
from positionbias.report.markdown import code, escaped
from positionbias.report.presentation import main_figure, shown_in, verdict_of
from positionbias.report.tiles import Answered, Tile, Tone, advice_of, by_importance

__all__ = ["MOST_TILES", "FirstScreen", "first_screen", "summary", "tiles_of"]

MOST_TILES = 6  # unfolded
BESIDE = 2  # studies whose figures stand side by side


class FirstScreen(NamedTuple):
    """The conclusion in a sentence, the tiles that matter most and the ``others`` by question, the
    advice, and the chart: a picture a study, with its title.
    """

    sentence: str
    tiles: Mapping[str, Sequence[Tile]]
    others: Mapping[str, Sequence[Tile]]
    advice: str
    charts: Sequence[tuple[str, Picture]]


def tiles_of(studies: Sequence[Study]) -> list[Tile]:
    """Return every answer of the studies; a subject that several share has its study's title. One
    that says so where nothing decides.
    """
    found = [(study, tile) for study in studies for tile in _tiles(study)]
    shared = Counter(
        key for _, key in {(study.number, (tile.question, tile.subject)) for study, tile in found}
    )
    tiles = [
        replace(tile, subject=f"{tile.subject} ({study.title})")
        if shared[tile.question, tile.subject] > 1
        else tile
        for study, tile in found
    ]
    return tiles or [_measured_only(studies)]


def _tiles(study: Study) -> list[Tile]:
    return [tile for shown, rows in shown_in(study) for tile in shown.tiles(rows)]


def _measured_only(studies: Sequence[Study]) -> Tile:
    names = dict.fromkeys(name for study in studies for name in study.collections)
    return Tile(
        question="What do these results decide?",
        subject=", ".join(names) or "no collection",
        answer=Answered.MEASURED if names else Answered.UNKNOWN,
        words="Measured only" if names else "Nothing measured",
        basis=("no verdict rests on them",),
    )


def first_screen(studies: Sequence[Study], sections: Sequence[Section]) -> FirstScreen:
    """Return the first screen; its chart leaves its section, which links to it."""
    tiles = tiles_of(studies)
    first = by_importance(tiles)[:MOST_TILES]
    return FirstScreen(
        _sentence(studies),
        _by_question([tile for tile in tiles if tile in first]),
        _by_question([tile for tile in tiles if tile not in first]),
        advice_of(tiles),
        _charts(sections),
    )


def _by_question(tiles: Sequence[Tile]) -> dict[str, list[Tile]]:
    groups: dict[str, list[Tile]] = {}
    for tile in tiles:
        groups.setdefault(tile.question, []).append(tile)
    return groups


def _sentence(studies: Sequence[Study]) -> str:
    """Return in one sentence the headline about the subject of the worst news, else the first one;
    without a headline, the conclusion. Of several studies, each with its title.
    """
    said = []
    for study in studies:
        heads = [line for shown, rows in shown_in(study) for line in shown.headline(rows)]
        if lines := heads or verdict_of(study):
            about = next((tile.subject for tile in by_importance(_tiles(study))), "")
            line = next((one for one in lines if about and about in one), lines[0])
            said.append((study.title, re.split(r"(?<=\.) (?=[A-Z“])", line)[0]))
    if len(studies) == 1:
        return said[0][1] if said else ""
    return " ".join(f"{title}: {line}" for title, line in said[:BESIDE])


def _charts(sections: Sequence[Section]) -> list[tuple[str, Picture]]:
    """Take the figure that says most out of its section: that of one study, or those of two studies
    side by side.
    """
    blocks = [block for section in sections for block in section.blocks]
    number = Counter(picture.name for block in blocks for picture in block.pictures)
    name = main_figure([name for name, times in number.items() if times <= BESIDE])
    taken = []
    for block in blocks:
        for picture in [picture for picture in block.pictures if picture.name == name]:
            block.pictures.remove(picture)
            block.moved = picture.anchor
            taken.append((block.heading if number[name] > 1 else "", picture))
    return taken


def summary(studies: Sequence[Study], title: str) -> str:
    """Return Markdown for a pull request: every answer with its effect, and the advice; answers
    that are no good news are bold.
    """
    tiles = tiles_of(studies)
    lines = [f"### posbias report: {escaped(title)}", ""]
    for tile in tiles:
        answer = f"**{tile.answer}**" if tile.tone in (Tone.BAD, Tone.UNKNOWN) else str(tile.answer)
        told = "; ".join(filter(None, [tile.words, tile.effect, *tile.basis]))
        question = escaped(tile.question)
        lines.append(f"- {code(tile.subject)}: {question} {answer}: {escaped(told)}")
    return "\n".join([*lines, "", f"Next: {escaped(advice_of(tiles))}", ""])

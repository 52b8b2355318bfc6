"""The first screen of a page: tiles of the verdicts, one chart, one sentence of advice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from positionbias.core.formatting import MISSING
from positionbias.report.blocks import Block, Picture, Section, Sheet
from positionbias.report.load import Study
from positionbias.report.markdown import code, document, escaped
from positionbias.report.parts import main_figure
from positionbias.report.presentation import shown_in
from positionbias.report.text import verdict_of
from positionbias.report.tiles import (
    MOST_TILES,
    Answered,
    Group,
    Tile,
    Tone,
    advice_of,
    answers_table,
    groups_of,
    shown_tiles,
)
from positionbias.results.select import distinct

__all__ = ["FirstScreen", "answers_block", "first_screen", "summary", "tiles_of"]

BESIDE = 2  # studies whose figures stand side by side


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The conclusion in a sentence, the tiles by question, how many answers there are in all, the
    advice, and the chart: a picture a study, with its title.
    """

    sentence: str
    groups: Sequence[Group]
    answers: int
    advice: str
    charts: Sequence[tuple[str, Picture]]

    @property
    def left_out(self) -> bool:
        """Return whether a table has further answers."""
        return self.answers > MOST_TILES


def tiles_of(studies: Sequence[Study]) -> list[Tile]:
    """Return every answer of the studies, verdicts first; a subject that several share has its
    study's title. One that says so where nothing decides.
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
    names = [name for study in studies for name in study.collections]
    about = ", ".join(distinct(names))
    words = "Measured only" if names else "Nothing measured"
    return Tile(
        question="What do these results decide?",
        subject=about or "no collection",
        answer=Answered.MEASURED if names else Answered.UNKNOWN,
        words=words,
        basis=("no verdict rests on them",),
    )


def answers_block(studies: Sequence[Study]) -> Block:
    """Return the table of all answers, where the first screen has not room for all."""
    tiles = tiles_of(studies)
    table = answers_table(tiles)
    return Block(
        "",
        sheets=[Sheet(f"table-{table.name}", table, folded=True)]
        if len(tiles) > MOST_TILES
        else [],
    )


def first_screen(studies: Sequence[Study], sections: Sequence[Section]) -> FirstScreen:
    """Return the first screen; its chart leaves its section, which links to it."""
    tiles = tiles_of(studies)
    return FirstScreen(
        _sentence(studies),
        groups_of(shown_tiles(tiles), [study.rows for study in studies]),
        len(tiles),
        advice_of(tiles),
        _charts(sections),
    )


def _sentence(studies: Sequence[Study]) -> str:
    """Return in one sentence the headline about the subject of the worst news, else the first one;
    without a headline, the conclusion. Of several studies, each with its title.
    """
    said = []
    for study in studies:
        heads = [line for shown, rows in shown_in(study) for line in shown.headline(rows)]
        if lines := heads or verdict_of(study):
            tiles = sorted(_tiles(study), key=lambda tile: list(Tone).index(tile.tone))
            about = next((tile.subject for tile in tiles), "")
            line = next((one for one in lines if about and about in one), lines[0])
            said.append((study.title, re.split(r"(?<=\.) (?=[A-Z“])", line)[0]))
    if len(studies) == 1:
        return said[0][1] if said else ""
    return " ".join(f"{title}: {line}" for title, line in said[:BESIDE])


def summary(studies: Sequence[Study], title: str) -> str:
    """Return Markdown for a pull request: every answer with its effect, and the advice; answers
    that are no good news are bold.
    """
    tiles = tiles_of(studies)
    rows = []
    for tile in tiles:
        answer = f"**{tile.answer}**" if tile.tone in (Tone.BAD, Tone.UNKNOWN) else str(tile.answer)
        texts = (
            escaped(text or MISSING) for text in (tile.words, tile.effect, "; ".join(tile.basis))
        )
        rows.append(
            [escaped(tile.question), code(tile.subject).replace("|", "\\|"), answer, *texts]
        )
    return document(
        f"posbias report: {escaped(title)}",
        answers_table(tiles).columns,
        rows,
        [escaped(advice_of(tiles))],
    )


def _charts(sections: Sequence[Section]) -> list[tuple[str, Picture]]:
    """Take the figure that says most out of its section: one of all studies, or those of two
    studies side by side.
    """
    blocks = [block for section in sections for block in section.blocks]
    number = Counter(picture.name for block in blocks for picture in block.pictures)
    joint = [name for name, times in number.items() if times == 1]
    name = main_figure(joint) or main_figure(
        name for name, times in number.items() if times <= BESIDE
    )
    taken = []
    for block in blocks:
        for picture in [picture for picture in block.pictures if picture.name == name]:
            block.pictures.remove(picture)
            block.moved = picture.anchor
            taken.append((block.heading if number[name] > 1 else "", picture))
    return taken

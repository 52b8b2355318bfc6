"""What a page is built of: sections of blocks, a block a study, with figures, tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from positionbias.report.drawing import same_scale
from positionbias.report.embed import inline_svg
from positionbias.report.examples import ExampleGroup
from positionbias.report.figure import NARROW
from positionbias.report.table import Table
from positionbias.results.payloads import Finding
from positionbias.results.select import distinct

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Answer", "Block", "Card", "Drawing", "Picture", "Section", "Sheet", "draw_blocks"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure in its two widths, as SVG, with its caption."""

    anchor: str
    wide: str
    narrow: str
    caption: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to be drawn at any width; ``same`` names the axes ("x", "y") that all studies' figures share."""

    name: str
    draw: Callable[[float], Figure]
    caption: str
    same: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with its anchor in the page; one that is ``folded`` (a figure's data) is shown when it is asked for, and on paper."""

    anchor: str
    table: Table
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question in large words, with what it rests on and what it means; ``sure`` says how its edge is drawn."""

    words: str
    facts: str
    sentences: Sequence[str]
    sure: str


@dataclass(slots=True)
class Card:
    """The answers about one system, and beside them the figure that they rest on."""

    heading: str
    answers: Sequence[Answer]
    drawing: Drawing | None = None
    picture: Picture | None = None


@dataclass(slots=True)
class Block:
    """One study's part of a section."""

    heading: str
    cards: list[Card] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
    examples: list[ExampleGroup] = field(default_factory=list)

    @property
    def has_more_than_tables(self) -> bool:
        """Whether anything stands before the tables."""
        return bool(self.cards or self.findings or self.sentences or self.pictures or self.examples)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a word on how to read what follows, and a block a study."""

    anchor: str
    title: str
    introduction: str
    blocks: list[Block]

    @property
    def has_more_than_tables(self) -> bool:
        """Whether anything stands before the tables."""
        return any(block.has_more_than_tables for block in self.blocks)

    @property
    def sheets(self) -> list[tuple[str, Sheet]]:
        """Every table with its study's title; tables of one name stand together, so that studies can be compared."""
        every = [(block.heading, sheet) for block in self.blocks for sheet in block.sheets]
        names = distinct(sheet.table.name for _, sheet in every)
        return sorted(every, key=lambda item: names.index(item[1].table.name))


def draw_blocks(blocks: Sequence[Block], width: float) -> None:
    """Draw what every block and its cards want drawn, in two widths; figures of one name get one scale, so that studies can be compared."""
    wanted: list[tuple[str, Drawing, Callable[[Picture], None]]] = []
    for number, block in enumerate(blocks, 1):
        for place, card in enumerate(block.cards, 1):
            if card.drawing is not None:
                wanted.append((f"{card.drawing.name}-{number}-{place}", card.drawing, partial(setattr, card, "picture")))
        wanted += [(f"{drawing.name}-{number}", drawing, block.pictures.append) for drawing in block.drawings]
    drawn = {inches: [drawing.draw(inches) for _, drawing, _ in wanted] for inches in (width, NARROW)}
    for name in distinct(drawing.name for _, drawing, _ in wanted):
        for figures in drawn.values():
            alike = [
                (figure, drawing.same) for figure, (_, drawing, _) in zip(figures, wanted, strict=True) if drawing.name == name
            ]
            if len(alike) > 1:
                same_scale([figure for figure, _ in alike], alike[0][1])
    for place, (anchor, drawing, keep) in enumerate(wanted):
        wide, narrow = (
            inline_svg(drawn[inches][place], f"{anchor}-{form}", drawing.caption)
            for form, inches in (("w", width), ("n", NARROW))
        )
        keep(Picture(f"figure-{anchor}", wide, narrow, drawing.caption))

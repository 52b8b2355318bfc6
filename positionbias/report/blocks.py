"""Building blocks of a page: sections of blocks, a block per study, with figures, tables and
sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from positionbias.report.drawing import same_scale
from positionbias.report.embed import inline_svg
from positionbias.report.figure import NARROW, WIDE
from positionbias.report.record import Finding
from positionbias.report.table import Table
from positionbias.results.select import distinct

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Block",
    "Drawing",
    "Picture",
    "Section",
    "Sheet",
    "draw_blocks",
]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure in two widths, as SVG, with its caption; ``name`` is its drawing's."""

    name: str
    anchor: str
    wide: str
    narrow: str
    caption: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure drawable at any width; ``same`` names the axes ("x", "y") that all studies' figures
    share.
    """

    name: str
    draw: Callable[[float], Figure]
    caption: str
    same: str

    def draw_wide(self) -> Figure:
        """Return the figure as wide as a page's column."""
        return self.draw(WIDE)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with its anchor in the page; a ``folded`` one (a figure's data) opens on request, and
    on paper.
    """

    anchor: str
    table: Table
    folded: bool = False


@dataclass(slots=True)
class Block:
    """One study's part of a section; ``number`` is the study's, by which its anchors are unique."""

    heading: str
    number: int = 0
    findings: list[Finding] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
    moved: str = ""  # the anchor of a figure that stands at the top of the page instead

    def add(self, *tables: Table, folded: bool = False) -> None:
        """Add the tables that have rows."""
        self.sheets += [
            Sheet(f"table-{table.name}-{self.number}", table, folded)
            for table in tables
            if table.rows
        ]

    @property
    def has_more_than_tables(self) -> bool:
        """Return whether anything precedes the tables."""
        return any((self.findings, self.sentences, self.pictures, self.moved))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a note on how to read the section, and a block per study."""

    anchor: str
    title: str
    introduction: str
    blocks: list[Block]

    @property
    def has_more_than_tables(self) -> bool:
        """Return whether anything precedes the tables."""
        return any(block.has_more_than_tables for block in self.blocks)

    @property
    def sheets(self) -> list[tuple[str, Sheet]]:
        """Return every table with its study's title, tables of one name together, for comparison
        across studies.
        """
        every = [(block.heading, sheet) for block in self.blocks for sheet in block.sheets]
        names = distinct(sheet.table.name for _, sheet in every)
        return sorted(every, key=lambda item: names.index(item[1].table.name))


def draw_blocks(blocks: Sequence[Block], width: float) -> None:
    """Draw the figures of every block in two widths; figures of one name get one scale
    across studies.
    """
    wanted: list[tuple[str, Drawing, Callable[[Picture], None]]] = []
    for number, block in enumerate(blocks, 1):
        wanted += [
            (f"{drawing.name}-{number}", drawing, block.pictures.append)
            for drawing in block.drawings
        ]
    drawn = {
        inches: [drawing.draw(inches) for _, drawing, _ in wanted] for inches in (width, NARROW)
    }
    for name in distinct(drawing.name for _, drawing, _ in wanted):
        for figures in drawn.values():
            alike = [
                (figure, drawing.same)
                for figure, (_, drawing, _) in zip(figures, wanted, strict=True)
                if drawing.name == name
            ]
            if len(alike) > 1:
                same_scale([figure for figure, _ in alike], alike[0][1])
    for place, (anchor, drawing, keep) in enumerate(wanted):
        wide, narrow = (
            inline_svg(drawn[inches][place], f"{anchor}-{form}", drawing.caption)
            for form, inches in (("w", width), ("n", NARROW))
        )
        keep(Picture(drawing.name, f"figure-{anchor}", wide, narrow, drawing.caption))

"""Building blocks of a page: sections of blocks, a block per study, with figures, tables and
sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from positionbias.report.record import Finding
from positionbias.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Block", "Drawing", "Picture", "Section", "Sheet"]


class Picture(NamedTuple):
    """A figure as SVG, with its caption; ``name`` is its drawing's."""

    name: str
    anchor: str
    svg: str
    caption: str


class Drawing(NamedTuple):
    """A figure drawable at any width; ``same`` names the axes ("x", "y") that all studies' figures
    share.
    """

    name: str
    draw: Callable[[float], Figure]
    caption: str
    same: str


class Sheet(NamedTuple):
    """A table with its anchor in the page; a ``folded`` one (a figure's data) opens on request, and
    on paper.
    """

    anchor: str
    table: Table
    folded: bool = False


@dataclass(slots=True)
class Block:
    """One study's part of a section; ``number`` is the study's, by which its anchors are unique.
    ``moved`` is the anchor of a figure that stands at the top of the page instead.
    """

    heading: str
    number: int = 0
    findings: list[Finding] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
    moved: str = ""

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
    def sheets(self) -> list[tuple[str, Sheet]]:
        """Return every table with its study's title, tables of one name together, for comparison
        across studies.
        """
        every = [(block.heading, sheet) for block in self.blocks for sheet in block.sheets]
        names = list(dict.fromkeys(sheet.table.name for _, sheet in every))
        return sorted(every, key=lambda item: names.index(item[1].table.name))

"""What stands on a page: a folder of results; its first screen (a sentence, tiles of the verdicts,
what to do next, a figure), then sections of sentences, figures and tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pandas import DataFrame

from positionbias.core import rows as of_rows
from positionbias.core.errors import bad_input
from positionbias.core.formatting import slug
from positionbias.core.manifest import read_manifest
from positionbias.report.figure import RowFigure, inline_svg
from positionbias.report.presentation import RowSection, Study, presentations
from positionbias.report.record import Finding
from positionbias.report.table import Table
from positionbias.report.tiles import Tile, advice_of, by_importance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TILES = 6  # unfolded


def load_study(place: Path | str) -> Study:
    """Read a folder of results, or the ``results`` in a study's.

    Raises:
        InputError: no results there.
    """
    inside = (Path(place), Path(place) / "results")
    folder = next((one for one in inside if (one / of_rows.ROWS).is_file()), None)
    if folder is None:
        raise bad_input(
            place,
            wanted="a folder of results",
            found=f"no {of_rows.ROWS}",
            do="give the --out of a measuring command",
        )
    measured, manifest = of_rows.load(folder), read_manifest(folder)
    by_query = (folder / of_rows.VALUES).is_file()
    values = of_rows.load_values(folder, measured) if by_query else of_rows.NO_VALUES
    return Study(manifest, measured, values, folder)


def verdict_of(study: Study) -> list[str]:
    """Return what a study concludes, a line for each sentence; none where it only measures."""
    lines: list[str] = []
    for shown, rows in study.shown:
        lines += shown.headline(rows)
        lines += [line for one in shown.findings(rows) for line in one.text.splitlines()]
    return lines


class Picture(NamedTuple):
    """A figure of rows, under its name on the page."""

    name: str
    figure: RowFigure
    rows: DataFrame

    @property
    def caption(self) -> str:
        """Return the caption, which also names the image."""
        return self.figure.caption(self.rows)

    def draw(self) -> Figure:
        """Draw the figure."""
        return self.figure.draw(self.rows)

    def svg(self) -> str:
        """Draw the figure as an element of the page."""
        return inline_svg(self.draw(), self.name, self.caption)


@dataclass(slots=True)
class Section:
    """A heading, a note on how to read the section, and what stands in it."""

    anchor: str
    title: str
    introduction: str = ""
    findings: Sequence[Finding] = ()
    sentences: Sequence[str] = ()
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def build_sections(study: Study, *, texts: bool = False) -> list[Section]:
    """Return every section with content; single queries with their ``texts``, if asked for."""
    tables = [table for shown, _ in study.shown for table in shown.queries(study, texts)]
    tables = [replace(table, folded=len(tables) > 1) for table in tables if table.rows]
    queries = Section("queries", "Which queries does it move most?", tables=tables)
    return [
        section
        for section in (*_sections(study), queries)
        if section.findings or section.sentences or section.pictures or section.tables
    ]


def _sections(study: Study) -> Iterator[Section]:
    findings = [finding for shown, rows in study.shown for finding in shown.findings(rows)]
    yield Section("found", "What was found", findings=findings)
    sentences = [sentence for shown, rows in study.shown for sentence in shown.run(rows)]
    nothing = ["This folder holds no results."] if study.rows.empty else []
    yield Section("run", "What was run", sentences=[*sentences, *nothing])
    order = list(presentations().values())
    for shown, rows in sorted(study.shown, key=lambda item: order.index(item[0])):
        yield from (_section(declared, rows) for declared in shown.sections)


def _section(declared: RowSection, rows: DataFrame) -> Section:
    section = Section(declared.anchor, declared.title, declared.introduction)
    parts = [("", rows)] if declared.together else list(rows.groupby("collection", sort=False))
    for collection, own in parts:
        tail = f"-{slug(str(collection))}" if len(parts) > 1 else ""
        section.pictures += [
            Picture(f"{figure.name}{tail}", figure, own)
            for figure in declared.figures
            if figure.there(own)
        ]
        for declaration in (*declared.tables, *declared.folded):
            table = replace(declaration.table(own), folded=declaration in declared.folded)
            if tail:
                title = f"{table.title}: {collection}"
                table = replace(table, name=f"{table.name}{tail}", title=title)
            section.tables += [table] * bool(table.rows)
    return section


def drawings_of(study: Study) -> dict[str, Callable[[], Figure]]:
    """Return what draws every figure of the page by its name, in the page's order."""
    return {one.name: one.draw for section in _sections(study) for one in section.pictures}


def tables_of(study: Study, *, queries: bool = True) -> dict[str, Table]:
    """Return the tables of the page by name, in its order; those of single ``queries`` without
    their texts.
    """
    sections = build_sections(study) if queries else _sections(study)
    return {table.name: table for section in sections for table in section.tables}


def first_screen(study: Study, sections: Sequence[Section]) -> dict[str, Any]:
    """Return what stands on the first screen: the conclusion in a sentence, the tiles that matter
    most and the others by question, the advice, and the page's first figure, which leaves its
    section.
    """
    tiles = tiles_of(study)
    first = by_importance(tiles)[:MOST_TILES]
    drawn = next((section for section in sections if section.pictures), None)
    return {
        "sentence": _sentence(study, tiles),
        "tiles": _by_question([tile for tile in tiles if tile in first]),
        "others": _by_question([tile for tile in tiles if tile not in first]),
        "advice": advice_of(tiles),
        "chart": drawn.pictures.pop(0) if drawn else None,
    }


def tiles_of(study: Study) -> list[Tile]:
    """Return every answer of a study."""
    return [tile for shown, rows in study.shown for tile in shown.tiles(rows)]


def _by_question(tiles: Sequence[Tile]) -> dict[str, list[Tile]]:
    groups: dict[str, list[Tile]] = {}
    for tile in tiles:
        groups.setdefault(tile.question, []).append(tile)
    return groups


def _sentence(study: Study, tiles: Sequence[Tile]) -> str:
    """Return in one sentence the headline about the subject of the worst news, else the first one;
    without a headline, the conclusion.
    """
    about = next((tile.subject for tile in by_importance(tiles)), "")
    heads = [line for shown, rows in study.shown for line in shown.headline(rows)]
    lines = heads or verdict_of(study) or [""]
    line = next((one for one in lines if about in one), lines[0])
    return re.split(r"(?<=\.) (?=[A-Z“])", line)[0]

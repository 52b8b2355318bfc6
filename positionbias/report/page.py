"""What stands on a page: the first screen (a sentence, tiles of the verdicts, what to do next, a
figure), then sections of sentences, figures and tables, made from a study's rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pandas import DataFrame

from positionbias.core.formatting import slug
from positionbias.report.figure import RowFigure, inline_svg
from positionbias.report.load import Study
from positionbias.report.presentation import (
    RowSection,
    main_figure,
    presentations,
    shown_in,
    verdict_of,
)
from positionbias.report.record import Finding
from positionbias.report.table import Table
from positionbias.report.tiles import Answered, Tile, advice_of, by_importance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["build_sections", "drawings_of", "first_screen", "open_tables", "tiles_of"]

MOST_TILES = 6  # unfolded


class Picture(NamedTuple):
    """A figure as SVG, with its anchor in the page and its caption."""

    anchor: str
    svg: str
    caption: str


class Sheet(NamedTuple):
    """A table with its anchor in the page; a ``folded`` one opens on request, and on paper."""

    anchor: str
    table: Table
    folded: bool = False


@dataclass(slots=True)
class Section:
    """A heading, a note on how to read the section, and what stands in it. ``figures`` are drawn on
    request, each of the rows beside it.
    """

    anchor: str
    title: str
    introduction: str = ""
    findings: Sequence[Finding] = ()
    sentences: Sequence[str] = ()
    figures: dict[str, tuple[RowFigure, DataFrame]] = field(default_factory=dict)
    pictures: dict[str, Picture] = field(default_factory=dict)
    sheets: list[Sheet] = field(default_factory=list)

    def draw(self) -> None:
        """Draw the figures."""
        for name, (figure, rows) in self.figures.items():
            caption = figure.caption(rows)
            svg = inline_svg(figure.draw(rows), name, caption)
            self.pictures[name] = Picture(f"figure-{name}", svg, caption)


def build_sections(study: Study, *, draw: bool = True) -> list[Section]:
    """Return every section with content; figures only with ``draw``."""
    sections = list(_sections(study))
    for section in sections if draw else ():
        section.draw()
    return [one for one in sections if one.findings or one.sentences or one.pictures or one.sheets]


def _sections(study: Study) -> Iterator[Section]:
    shown = shown_in(study)
    findings = [finding for one, rows in shown for finding in one.findings(rows)]
    yield Section("found", "What was found", findings=findings)
    sentences = [sentence for one, rows in shown for sentence in one.run(rows)]
    nothing = ["This folder holds no results."] if study.rows.empty else []
    yield Section("run", "What was run", sentences=[*sentences, *nothing])
    order = list(presentations().values())
    for one, rows in sorted(shown, key=lambda item: order.index(item[0])):
        for section in one.sections:
            yield _section(section, study, rows)


def _section(declared: RowSection, study: Study, rows: DataFrame) -> Section:
    section = Section(declared.anchor, declared.title, declared.introduction)
    parts = [("", rows)] if declared.together else list(rows.groupby("collection", sort=False))
    tables = []
    for collection, own in parts:
        tail = f"-{slug(str(collection))}" if len(parts) > 1 else ""
        for figure in declared.figures:
            if figure.there(own):
                section.figures[f"{figure.name}{tail}"] = (figure, own)
        for one in (*declared.tables, *declared.folded):
            table = one.table(own)
            if tail:
                title = f"{table.title}: {collection}"
                table = replace(table, name=f"{table.name}{tail}", title=title)
            tables.append((table, one in declared.folded))
    section.sheets = [
        Sheet(f"table-{table.name}", table, folded) for table, folded in tables if table.rows
    ]
    return section


def drawings_of(study: Study) -> dict[str, Callable[[], Figure]]:
    """Return what draws every figure of the page by its name, in the page's order."""
    figures = {name: one for section in _sections(study) for name, one in section.figures.items()}
    return {name: partial(figure.draw, rows) for name, (figure, rows) in figures.items()}


def open_tables(study: Study) -> list[Table]:
    """Return the tables of the page that are not folded, in the page's order."""
    sheets = [sheet for section in _sections(study) for sheet in section.sheets]
    return [sheet.table for sheet in sheets if not sheet.folded]


# --- the first screen -----------------------------------------------------------------------------


class FirstScreen(NamedTuple):
    """The conclusion in a sentence, the tiles that matter most and the ``others`` by question, the
    advice, and the figure that says most.
    """

    sentence: str
    tiles: Mapping[str, Sequence[Tile]]
    others: Mapping[str, Sequence[Tile]]
    advice: str
    chart: Picture | None


def first_screen(study: Study, sections: Sequence[Section]) -> FirstScreen:
    """Return the first screen; its figure leaves its section."""
    tiles = tiles_of(study)
    first = by_importance(tiles)[:MOST_TILES]
    main = main_figure([name for section in sections for name in section.pictures])
    charts = [one for section in sections if (one := section.pictures.pop(main, None))]
    return FirstScreen(
        _sentence(study, tiles),
        _by_question([tile for tile in tiles if tile in first]),
        _by_question([tile for tile in tiles if tile not in first]),
        advice_of(tiles),
        next(iter(charts), None),
    )


def tiles_of(study: Study) -> list[Tile]:
    """Return every answer of a study; one that says so where nothing decides."""
    return [tile for shown, rows in shown_in(study) for tile in shown.tiles(rows)] or [
        Tile(
            question="What do these results decide?",
            subject=", ".join(study.collections) or "no collection",
            answer=Answered.MEASURED if study.collections else Answered.UNKNOWN,
            words="Measured only" if study.collections else "Nothing measured",
            basis=("no verdict rests on them",),
        )
    ]


def _by_question(tiles: Sequence[Tile]) -> dict[str, list[Tile]]:
    groups: dict[str, list[Tile]] = {}
    for tile in tiles:
        groups.setdefault(tile.question, []).append(tile)
    return groups


def _sentence(study: Study, tiles: Sequence[Tile]) -> str:
    """Return in one sentence the headline about the subject of the worst news, else the first one;
    without a headline, the conclusion.
    """
    heads = [line for shown, rows in shown_in(study) for line in shown.headline(rows)]
    lines, about = heads or verdict_of(study), by_importance(tiles)[0].subject
    line = next((one for one in lines if about in one), next(iter(lines), ""))
    return re.split(r"(?<=\.) (?=[A-Z“])", line)[0]

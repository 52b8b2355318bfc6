"""How the rows of a study are shown: declared once, for the terminal, the page and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path

from pandas import DataFrame

from positionbias.core import rows as of_rows
from positionbias.core.manifest import Manifest
from positionbias.core.terminal import wrapped
from positionbias.report.figure import RowFigure
from positionbias.report.record import Finding, Sentences, Tile
from positionbias.report.table import RowTable, Table, as_text

SHOWN = (
    "report.answer_positions",
    "experiments.endings",
    "experiments.shown",
    "report.evaluation",
    "probe.shown",
    "report.made",
    "clicks.shown",
    "audit.shown",
    "contamination.shown",
    "leakage.shown",
    "overlap.shown",
)  # modules with one or several presentations, beside those of papers


@dataclass(frozen=True, eq=False)
class Study:
    """Rows, values by query, and what made them, with inputs named from ``place``."""

    manifest: Manifest
    rows: DataFrame = field(default_factory=lambda: of_rows.frame([]))
    values: DataFrame = field(default_factory=lambda: of_rows.NO_VALUES)
    place: Path = Path()

    @property
    def title(self) -> str:
        """The name of what was made, else its folder's."""
        return self.manifest.name or self.place.name

    @cached_property
    def shown(self) -> Sequence[tuple[Presentation, DataFrame]]:
        """Each presentation with its rows, prepared once for all parts of a page."""
        return list(shown_by(self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSection:
    """A section of the page: what it asks, how to read it, its figures and tables; ``folded`` ones
    open on request. Each collection has its own, unless they are ``together``.
    """

    anchor: str
    title: str
    introduction: str = ""
    figures: Sequence[RowFigure] = ()
    tables: Sequence[RowTable] = ()
    folded: Sequence[RowTable] = ()
    together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Presentation:
    """How the rows of a study are shown.

    ``headline`` says in sentences what they conclude, ``run`` what was measured, ``findings`` what
    was found, with whether it holds. ``prepare`` adds columns of words to the rows. A terminal
    shows the ``chart`` and the tables ``text``. The first figure of the page is the one that says
    most. ``queries`` are tables of single queries, with their texts or without.
    """

    study: str
    sections: Sequence[RowSection]
    text: Sequence[RowTable]
    chart: Callable[[DataFrame], str] = lambda rows: ""
    headline: Sentences = lambda rows: ()
    run: Sentences = lambda rows: ()
    findings: Callable[[DataFrame], Sequence[Finding]] = lambda rows: ()
    questions: Sequence[Callable[[DataFrame], list[Tile]]] = ()
    prepare: Callable[[DataFrame], DataFrame] = lambda rows: rows
    queries: Callable[[Study, bool], Sequence[Table]] = lambda study, texts: ()

    def own(self, rows: DataFrame) -> DataFrame:
        """Return the rows of this study, as its tables and figures take them."""
        return self.prepare(rows[rows["study"] == self.study])

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return the answers, a tile each."""
        return [tile for tiles_of in self.questions for tile in tiles_of(rows)]

    def as_text(self, rows: DataFrame) -> str:
        """Return the answer, what was measured, the findings, and the tables."""
        findings = "\n".join(finding.text for finding in self.findings(rows))
        sentences = ["\n".join(self.run(rows)), findings]
        blocks = ["\n".join(self.headline(rows)), *sentences]
        first, *others = map(wrapped, blocks)
        tables = [table for declared in self.text if (table := declared.table(rows)).rows]
        return "\n\n".join(filter(None, [first, self.chart(rows), *others, *map(as_text, tables)]))


@cache
def presentations() -> Mapping[str, Presentation]:
    """Return every study's presentation, by the study's name."""
    modules = [import_module(f"positionbias.{name}") for name in SHOWN]
    modules += import_module("positionbias.papers").modules("shown")
    shown: dict[str, Presentation] = {}
    for module in modules:
        several = module.SHOWN if isinstance(module.SHOWN, tuple) else (module.SHOWN,)
        shown |= {study.study: study for study in several}
    return shown


def shown_by(rows: DataFrame) -> Iterator[tuple[Presentation, DataFrame]]:
    """Yield the presentation of each study among the rows, with its rows."""
    for name in rows["study"].unique():
        shown = presentations()[name]
        yield shown, shown.own(rows)

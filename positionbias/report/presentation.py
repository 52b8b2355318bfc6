"""How the rows of a study are shown: declared once, for the terminal, the page and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from typing import Protocol

from pandas import DataFrame

from positionbias.core.screen import wrapped
from positionbias.report.figure import RowFigure
from positionbias.report.load import Study
from positionbias.report.record import Finding
from positionbias.report.table import RowTable, Table, as_text
from positionbias.report.tiles import Tile

__all__ = [
    "Presentation",
    "RowSection",
    "main_figure",
    "presentations",
    "shown_by",
    "shown_in",
    "tables_after",
    "verdict_of",
]

SHOWN = (
    "report.answer_positions",
    "experiments.endings",
    "report.evaluation",
    "report.similarity",
    "report.made",
    "clicks.shown",
    "audit.shown",
    "contamination.shown",
    "leakage.shown",
    "overlap.shown",
)  # modules with one or several presentations, beside those of papers
MOST_LINES = 12  # of a table in a terminal

Sentences = Callable[[DataFrame], Sequence[str]]


class Tiled(Protocol):
    """Makes tiles of rows."""

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return the answers, a tile each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSection:
    """A section of the page: what it asks, how to read it, its figures and tables; ``folded`` ones
    open on request. Each collection has its own, unless they are ``together``.
    """

    anchor: str
    title: str
    introduction: str
    figures: Sequence[RowFigure] = ()
    tables: Sequence[RowTable] = ()
    folded: Sequence[RowTable] = ()
    together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Presentation:
    """How the rows of a study are shown.

    ``headline`` says in sentences what they conclude, ``run`` what was measured, ``findings`` what
    was found, with whether it holds. ``prepare`` adds columns of words to the rows. A terminal
    shows the ``chart`` and the tables ``text``, and after a study or report those of the page whose
    names begin like ``after_study``; of ``whole`` ones every line. ``main`` are the figures that
    say most.
    """

    study: str
    sections: Sequence[RowSection]
    text: Sequence[RowTable]
    chart: Callable[[DataFrame], str] = lambda rows: ""
    headline: Sentences = lambda rows: ()
    run: Sentences = lambda rows: ()
    findings: Callable[[DataFrame], Sequence[Finding]] = lambda rows: ()
    questions: Sequence[Tiled] = ()
    prepare: Callable[[DataFrame], DataFrame] = lambda rows: rows
    main: Sequence[str] = ()
    after_study: Sequence[str] = ()
    whole: bool = False

    def own(self, rows: DataFrame) -> DataFrame:
        """Return the rows of this study, as its tables and figures take them."""
        return self.prepare(rows[rows["study"] == self.study])

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return the answers, a tile each."""
        return [tile for question in self.questions for tile in question.tiles(rows)]

    def as_text(self, rows: DataFrame) -> str:
        """Return the answer, what was measured, the findings, and the tables."""
        findings = "\n".join(finding.text for finding in self.findings(rows))
        sentences = ["\n".join(self.run(rows)), findings]
        blocks = ["\n".join(self.headline(rows)), *sentences]
        first, *others = map(wrapped, blocks)
        tables = [table for one in self.text if (table := one.table(rows)).rows]
        tables = tables if self.whole else [_shortened(table) for table in tables]
        return "\n\n".join(filter(None, [first, self.chart(rows), *others, *map(as_text, tables)]))


def _shortened(table: Table) -> Table:
    """Return a table of at most so many lines as a terminal shows."""
    more = len(table.rows) - MOST_LINES
    if more <= 0:
        return table
    notes = [*table.notes, f"{more:,} more lines stand in --out and on the page."]
    return replace(table, rows=table.rows[:MOST_LINES], notes=notes)


@cache
def presentations() -> Mapping[str, Presentation]:
    """Return every study's presentation, by the study's name."""
    modules = [import_module(f"positionbias.{name}") for name in SHOWN]
    modules += import_module("positionbias.papers").modules("shown")
    shown: dict[str, Presentation] = {}
    for module in modules:
        several = module.SHOWN if isinstance(module.SHOWN, tuple) else (module.SHOWN,)
        shown |= {one.study: one for one in several}
    return shown


def shown_by(rows: DataFrame) -> Iterator[tuple[Presentation, DataFrame]]:
    """Yield the presentation of each study among the rows, with its rows."""
    for name in rows["study"].unique():
        shown = presentations()[name]
        yield shown, shown.own(rows)


@lru_cache(maxsize=8)  # folders of results
def shown_in(study: Study) -> Sequence[tuple[Presentation, DataFrame]]:
    """Return the same of a folder's rows, prepared once for all parts of a page."""
    return list(shown_by(study.rows))


def verdict_of(study: Study) -> list[str]:
    """Return what a study concludes, a line for each sentence; none where it only measures."""
    lines: list[str] = []
    for shown, rows in shown_in(study):
        lines += shown.headline(rows)
        lines += [line for one in shown.findings(rows) for line in one.text.splitlines()]
    return lines


def main_figure(names: Sequence[str]) -> str:
    """Return the name of the figure that says most among these, the first where no presentation
    names one; "" where there are none.
    """
    named = [name for shown in presentations().values() for name in shown.main]
    return next((name for name in (*named, *names) if name in names), "")


def tables_after(tables: Mapping[str, Table]) -> list[Table]:
    """Return those tables of a report that the terminal shows after ``posbias study`` or ``posbias
    report``.
    """
    begin = tuple(name for shown in presentations().values() for name in shown.after_study)
    return [table for name, table in tables.items() if name.startswith(begin)]

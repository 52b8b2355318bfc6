"""How the rows of a study are shown: declared once, for the terminal, the page and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Protocol

from pandas import DataFrame

from positionbias.core.formatting import slug
from positionbias.core.screen import wrapped
from positionbias.report.blocks import Block, Drawing
from positionbias.report.load import Study
from positionbias.report.record import Finding, Record, records_of, said
from positionbias.report.row_figure import RowFigure
from positionbias.report.row_table import RowTable
from positionbias.report.table import Table, as_text
from positionbias.report.tiles import Answered, Tile

__all__ = [
    "Answer",
    "Presentation",
    "Question",
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
    "report.trainings",
    "report.evaluation",
    "report.similarity",
    "report.made",
    "clicks.shown",
    "audit.shown",
    "contamination.shown",
    "contamination.origins",
    "leakage.shown",
    "overlap.shown",
)  # modules with one or several presentations, beside those of papers
MOST_LINES = 12  # of a table in a terminal

Sentences = Callable[[DataFrame], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The meaning of one answer of a verdict: in a phrase, as yes or no, whether it is welcome, and
    what to do next.
    """

    answered: Answered
    words: str
    welcome: bool | None = False
    advice: Sequence[str] = ()


class Tiled(Protocol):
    """Makes tiles of rows."""

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return the answers, a tile each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that rows with an answer decide, one for each combination of ``by``: a tile.

    All texts are templates (``report.record``). Of ``effect`` and of an answer's advice the first
    stands whose statistics are there, of ``basis`` every one.
    """

    by: Sequence[str]
    where: str
    statistics: Sequence[str]
    question: str
    subject: str
    answers: Mapping[str, Answer]
    effect: Sequence[str]
    basis: Sequence[str] = ()

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return a tile for each record with an answer."""
        tiles = []
        for record in records_of(rows, self.by, self.where):
            row = next((record.rows[name] for name in self.statistics if name in record.rows), None)
            if row is None or not row.answer:
                continue
            answer = self.answers[row.answer]
            tiles.append(
                Tile(
                    question=said(self.question, record),
                    subject=said(self.subject, record),
                    answer=answer.answered,
                    words=answer.words,
                    welcome=answer.welcome,
                    effect=_first(self.effect, record),
                    basis=[text for one in self.basis if (text := said(one, record))],
                    advice=_first(answer.advice, record),
                )
            )
        return tiles


def _first(templates: Sequence[str], record: Record) -> str:
    return next((text for one in templates if (text := said(one, record))), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSection:
    """A section of the page: what it asks, how to read it, its figures and tables; ``folded`` ones
    open on request, as do those of values ``by_query``. Each collection has its own, unless they
    are ``together``.
    """

    anchor: str
    title: str
    introduction: str
    figures: Sequence[RowFigure] = ()
    tables: Sequence[RowTable] = ()
    folded: Sequence[RowTable] = ()
    by_query: Sequence[Callable[[DataFrame, DataFrame], Table]] = ()
    together: bool = False

    def block(self, study: Study, rows: DataFrame) -> Block:
        """Return the section's figures and tables."""
        block = Block(study.title, study.number)
        parts = [("", rows)] if self.together else list(rows.groupby("collection", sort=False))
        for collection, own in parts:
            tail = f"-{slug(str(collection))}" if len(parts) > 1 else ""
            for figure in self.figures:
                if figure.there(own):
                    name, draw = f"{figure.name}{tail}", partial(figure.draw, own)
                    block.drawings.append(Drawing(name, draw, figure.caption(own), figure.same))
            for away, tables in ((False, self.tables), (True, self.folded)):
                for one in tables:
                    table = one.table(own)
                    if tail:
                        title = f"{table.title}: {collection}"
                        table = replace(table, name=f"{table.name}{tail}", title=title)
                    block.add(table, folded=away)
        block.add(*(made(rows, study.values) for made in self.by_query), folded=True)
        return block


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

    def rows_of(self, study: Study) -> DataFrame:
        """Return ``own`` of a study's rows, prepared once for all parts of a page."""
        return _prepared_once(self, study)

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return the answers, a tile each."""
        return [tile for question in self.questions for tile in question.tiles(rows)]

    def as_text(self, rows: DataFrame) -> str:
        """Return the answer, what was measured, the findings, and the tables."""
        findings = "\n".join(finding.text for finding in self.findings(rows))
        tables = [one.table(rows) for one in self.text]
        tables = tables if self.whole else [_shortened(table) for table in tables]
        texts = ["\n".join(self.run(rows)), findings]
        told = [wrapped("\n".join(self.headline(rows))), self.chart(rows), *map(wrapped, texts)]
        return "\n\n".join(
            [*filter(None, told), *(as_text(table) for table in tables if table.rows)]
        )


@lru_cache(maxsize=8)  # the studies beside each other on a page
def _prepared_once(shown: Presentation, study: Study) -> DataFrame:
    return shown.own(study.rows)


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


def shown_in(study: Study) -> Iterator[tuple[Presentation, DataFrame]]:
    """Yield the same of a folder's rows, which all parts of a page share."""
    for name in study.rows["study"].unique():
        shown = presentations()[name]
        yield shown, shown.rows_of(study)


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

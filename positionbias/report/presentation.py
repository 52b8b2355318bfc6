"""How the rows of a study are shown: declared once, for the terminal, the page and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Protocol

from pandas import DataFrame, Series

from positionbias.core.formatting import slug
from positionbias.core.screen import wrapped
from positionbias.report.blocks import Block, Drawing
from positionbias.report.load import Study, rows_together
from positionbias.report.parts import PageSection, Part, each
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
    "presentations",
    "shown_by",
    "shown_in",
]

SHOWN = (
    "report.answer_positions",
    "report.trainings",
    "report.evaluation",
    "report.similarity",
    "pooling.shown",
    "clicks.shown",
    "audit.shown",
    "contamination.shown",
    "contamination.origins",
)  # modules with a presentation, beside those of papers
FIRST_STAGE = "first stage"  # the role of a ranking that stands beside others
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
    are ``together``; ``joint``: all studies of a page have one.
    """

    anchor: str
    title: str
    introduction: str
    figures: Sequence[RowFigure] = ()
    tables: Sequence[RowTable] = ()
    folded: Sequence[RowTable] = ()
    by_query: Sequence[Callable[[DataFrame, DataFrame], Table]] = ()
    together: bool = False
    joint: bool = False

    def block(self, study: Study, rows: DataFrame) -> Block:
        """Return the section's figures and tables."""
        block = Block(study.title, study.number)
        alike = self.together or self.joint
        parts = [("", rows)] if alike else list(rows.groupby("collection", sort=False))
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
    names begin like ``after_study``. ``main`` are the figures that say most.
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

    def part(self) -> Part:
        """Return the sections as a part of a page."""
        return Part(
            sections=[
                PageSection(
                    section.anchor,
                    section.title,
                    section.introduction,
                    self._joint(section) if section.joint else each(self._block(section)),
                )
                for section in self.sections
            ],
            figures=self.main,
            after_study=self.after_study,
            after_report=self.after_study,
        )

    def _block(self, section: RowSection) -> Callable[[Study], Block]:
        def block(study: Study) -> Block:
            if (study.rows["study"] == self.study).any():
                return section.block(study, self.rows_of(study))
            return Block(study.title, study.number)

        return block

    def _joint(self, section: RowSection) -> Callable[[Sequence[Study]], list[Block]]:
        def blocks(studies: Sequence[Study]) -> list[Block]:
            own = [study for study in studies if (study.rows["study"] == self.study).any()]
            if len(own) < 2:
                return [section.block(study, self.rows_of(study)) for study in own]
            rows, values = rows_together(_named_apart(own))
            whole = replace(own[0], title="", rows=rows, values=values)
            return [section.block(whole, self.own(rows))]

        return blocks

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
        tables = [_shortened(one.table(rows)) for one in self.text]
        texts = ["\n".join(self.run(rows)), findings]
        told = [wrapped("\n".join(self.headline(rows))), self.chart(rows), *map(wrapped, texts)]
        return "\n\n".join(
            [*filter(None, told), *(as_text(table) for table in tables if table.rows)]
        )


def _named_apart(studies: Sequence[Study]) -> list[Study]:
    """Return the studies with the title behind the names of models that an earlier one has too,
    and each ranking that stands beside them (a first stage) once.
    """
    found: list[Study] = []
    known: set[tuple[str, str, str]] = set()
    for study in studies:
        rows = study.rows
        keys = list(zip(rows["model"], rows["collection"], rows["split"], strict=True))
        again = Series([key in known for key in keys], rows.index)
        names = rows["model"].where(~again, rows["model"] + f" ({study.title})")
        kept = ~(again & (rows["role"] == FIRST_STAGE))
        found.append(replace(study, rows=rows.assign(model=names)[kept]))
        known |= set(keys)
    return found


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
    shown = [module.SHOWN for module in modules]
    shown.append(import_module("positionbias.report.similarity").CURVES)  # of two commands
    return {one.study: one for one in shown}


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

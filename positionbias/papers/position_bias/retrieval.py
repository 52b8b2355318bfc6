"""The paper's result tables: trainings by test passages (Tables 3 and 4), and prior training on
another collection (Table 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from positionbias.core.formatting import slug
from positionbias.papers.position_bias.effectiveness import BOLD_NOTE, PRINTED_NOTE
from positionbias.papers.position_bias.trainings import (
    TrainingRow,
    blocks,
    letters_of,
    repeats_cell,
    row_notes,
    shown_letters,
    stub_cells,
    training_rows,
)
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.published import Published, differences
from positionbias.report.table import Cell, Column, Table
from positionbias.results.published import DELTA, PublishedCell
from positionbias.results.result import Result
from positionbias.results.select import (
    BASELINES,
    MODELS,
    comparisons,
    distinct,
    model_name,
    of_kind,
)

__all__ = ["retrieval_tables", "transfer_tables"]

TESTS = ("original", "rotated")
PRINTED = "relative_as_printed"


@dataclass(frozen=True, slots=True)
class _Beside:
    """The published cells of one table, for the rows of one test set."""

    published: Published | None
    table: int
    collection: str
    split: str

    def find(self, row: TrainingRow, measure: str, test: str) -> PublishedCell | None:
        if self.published is None:
            return None
        facts = replace(row.facts, test=test)
        return self.published.find(
            self.table, self.collection, measure, facts=facts, split=self.split
        )

    def columns(self, row: TrainingRow, measures: Sequence[str]) -> list[PublishedCell | None]:
        """Return a row's cells: for each measure original, rotated, Δ (Tables 3 and 4), or only
        original (Table 5).
        """
        if self.table == 5:
            return [self.find(row, measure, "original") for measure in measures]
        parts = (("original", ""), ("rotated", ""), ("", f" {DELTA}"))
        return [
            self.find(row, measure + name, test) for measure in measures for test, name in parts
        ]


def _number_of(collection: str, published: Published | None) -> int:
    """Return the number of the paper's table about this collection (3 or 4), or 0."""
    name = published.names.get(collection) if published else None
    return (
        next(
            (
                cell.table
                for cell in published.cells
                if cell.collection == name and cell.table in (3, 4)
            ),
            0,
        )
        if published
        else 0
    )


def _named(name: str, tables: Mapping[tuple[str, str], Table]) -> list[Table]:
    """Return the non-empty tables; if there are several, names end with collection and split."""
    found = {test: table for test, table in tables.items() if table.rows}
    if len(found) == 1:
        return list(found.values())
    return [replace(table, name=f"{name}-{slug(' '.join(test))}") for test, table in found.items()]


def _title(words: str, collection: str, split: str) -> str:
    return f"{words}: {collection}" + (f", {split} queries" if split != "test" else "")


class _Sheet:
    """A builder of a table with our rows above the paper's."""

    def __init__(self, rows: list[TrainingRow], measures: list[str], beside: _Beside) -> None:
        self.rows, self.measures, self.beside = rows, measures, beside
        self.theirs = {row.facts: beside.columns(row, measures) for row in rows}
        self.any = any(any(cells) for cells in self.theirs.values())
        self.lettered = any(row.letter for row in rows)

    def stub_columns(self) -> list[Column]:
        names = [
            "Model",
            "Training",
            *(["Row"] if self.lettered else []),
            *(["Figures"] if self.any else []),
        ]
        return [Column(name, numeric=False) for name in names]

    def stub(self, row: TrainingRow, whose: str) -> list[Cell]:
        model, training, letter = stub_cells(row, self.rows, self.beside.collection)
        model = (
            model if whose == "ours" else text_cell(MODELS.get(row.facts.model, row.facts.model))
        )
        return [
            model,
            training,
            *([letter] if self.lettered else []),
            *([text_cell(whose)] if self.any else []),
        ]

    def letters(self, row: TrainingRow, cell: PublishedCell) -> str:
        """Return a published cell's letters in our lettering; letters of rows that we lack are left
        out.
        """
        block = [other for other in self.rows if other.facts.model == row.facts.model]
        ours = {
            c.row: other.letter
            for other in block
            for c in self.theirs[other.facts]
            if c is not None
        }
        return "".join(sorted(ours[letter] for letter in cell.letters if letter in ours))

    def places(self) -> str:
        """Name the tables and rows of the paper's figures."""
        found = [cell.place for cells in self.theirs.values() for cell in cells if cell]
        return "; ".join(distinct(", ".join(place.split(", ")[:1]) for place in found))

    def notes(self, results: Sequence[Result]) -> list[str]:
        if not self.any or self.beside.published is None:
            return []
        collections = [self.beside.collection, *(row.facts.source for row in self.rows)]
        return [
            f"Rows marked published: {self.places()}.",
            *differences(results, self.beside.published, collections),
        ]


# -- Tables 3 and 4 --------------------------------------------------------------------------------


def retrieval_tables(results: Sequence[Result], published: Published | None = None) -> list[Table]:
    """Return each model's trainings on both kinds of test passages, with the paper's three columns
    per measure and the plain change.

    There is one table per collection and split with compared test sets. Results on rotated passages
    have another collection's name; if a split has comparisons of several collections, they cannot
    be assigned, and only the comparisons are used.
    """
    tests = distinct(
        (r.collection, r.split) for r, _ in comparisons(results, "test sets") if r.facts.model
    )
    tables = {}
    for collection, split in tests:
        alone = [other for other, s in tests if s == split] == [collection]
        chosen = [
            r
            for r in results
            if r.split == split
            and (r.collection == collection or (alone and r.facts.test == "rotated"))
        ]
        rows = training_rows(chosen, lambda row: bool(row.changes))
        tables[collection, split] = _retrieval_table(
            results, rows, _Beside(published, _number_of(collection, published), collection, split)
        )
    return _named("retrieval", tables)


def _retrieval_table(results: Sequence[Result], rows: list[TrainingRow], beside: _Beside) -> Table:
    measures = distinct(measure for row in rows for measure in row.changes)
    sheet = _Sheet(rows, measures, beside)
    letters = {test: letters_of(rows, measures, test) for test in TESTS}
    smallest = _smallest(rows, measures)
    body: list[list[Cell]] = []
    for row in rows:
        cells = sheet.stub(row, "ours")
        for measure in measures:
            for test in TESTS:
                given = shown_letters(letters[test].get((row.facts, measure), ("", "")))
                cells.append(decimal_cell(*row.mean(measure, test), letters=given))
            margin, bounds = row.change(measure, PRINTED)
            strong = margin is not None and abs(margin) == smallest.get(
                (model_name(row.facts), measure)
            )
            cells += [
                percent_cell(margin, bounds, strong=strong),
                percent_cell(*row.change(measure, "relative")),
            ]
        body.append([*cells, repeats_cell(row), count_cell(row.queries)])
        if any(sheet.theirs[row.facts]):
            body.append([*sheet.stub(row, "published"), *_printed(row, sheet), Cell(""), Cell("")])
    columns = sheet.stub_columns()
    for measure in measures:
        columns += [
            Column(name, measure, wide=name == "Change")
            for name in ("Original", "Rotated", "Δ as printed", "Change")
        ]
    columns += [Column("Repeats", wide=True), Column("Queries", wide=True)]
    lettered = any(plain for found in letters.values() for plain, _ in found.values())
    notes = [PRINTED_NOTE, BOLD_NOTE, *row_notes(rows, lettered=lettered), *sheet.notes(results)]
    title = _title(
        "Trainings on original and on rotated test passages", beside.collection, beside.split
    )
    return Table("retrieval", title, columns, body, notes, stub=len(sheet.stub_columns()))


def _smallest(rows: Sequence[TrainingRow], measures: Sequence[str]) -> dict[tuple[str, str], float]:
    """Return the smallest absolute Δ by model and measure, for models with several trainings."""
    found = {}
    for block in blocks(rows):
        for measure in measures:
            margins = [
                abs(margin)
                for row in block
                if (margin := row.change(measure, PRINTED)[0]) is not None
            ]
            if len(margins) > 1:
                found[model_name(block[0].facts), measure] = min(margins)
    return found


def _printed(row: TrainingRow, sheet: _Sheet) -> list[Cell]:
    """Return the paper's figures, with the plain change from its printed means."""
    block = [other for other in sheet.rows if other.facts.model == row.facts.model]
    cells: list[Cell] = []
    theirs = sheet.theirs[row.facts]
    for start in range(0, len(theirs), 3):
        original, rotated, delta = theirs[start : start + 3]
        margins = [
            abs(cell.value)
            for other in block
            if (cell := sheet.theirs[other.facts][start + 2]) is not None
        ]
        strong = delta is not None and len(margins) > 1 and abs(delta.value) == min(margins)
        cells += [decimal_cell(cell.value if cell else None) for cell in (original, rotated)]
        cells.append(percent_cell(delta.value if delta else None, strong=strong))
        cells.append(
            percent_cell(
                (rotated.value - original.value) / original.value if original and rotated else None
            )
        )
    return cells


# -- Table 5 ---------------------------------------------------------------------------------------


def transfer_tables(results: Sequence[Result], published: Published | None = None) -> list[Table]:
    """Return models trained only here or first on another collection: results on original test
    passages, with letters (Table 5).
    """
    ranked = [
        r
        for r in of_kind(results, "per_query")
        if r.facts.test == "original" and r.facts.model not in ("", *BASELINES)
    ]
    tables = {}
    for collection, split in distinct((r.collection, r.split) for r in ranked if r.facts.source):
        here = [r for r in ranked if (r.collection, r.split) == (collection, split)]
        transferred = {r.facts.model for r in here if r.facts.source}
        rows = training_rows([r for r in here if r.facts.model in transferred])
        tables[collection, split] = _transfer_table(
            results, rows, _Beside(published, 5, collection, split)
        )
    return _named("transfer", tables)


def _transfer_table(results: Sequence[Result], rows: list[TrainingRow], beside: _Beside) -> Table:
    measures = distinct(measure for row in rows for measure, _ in row.results)
    sheet = _Sheet(rows, measures, beside)
    letters = letters_of(rows, measures, "original")
    body = []
    for row in rows:
        given: dict[str, str] = {
            m: shown_letters(letters.get((row.facts, m), ("", ""))) for m in measures
        }
        cells = [
            decimal_cell(*row.mean(measure, "original"), letters=given[measure])
            for measure in measures
        ]
        body.append([*sheet.stub(row, "ours"), *cells, repeats_cell(row), count_cell(row.queries)])
        if any(theirs := sheet.theirs[row.facts]):
            printed = [
                decimal_cell(c.value, letters=sheet.letters(row, c)) if c else decimal_cell(None)
                for c in theirs
            ]
            body.append([*sheet.stub(row, "published"), *printed, Cell(""), Cell("")])
    columns = [
        *sheet.stub_columns(),
        *map(Column, measures),
        Column("Repeats", wide=True),
        Column("Queries", wide=True),
    ]
    notes = [
        *row_notes(rows, lettered=any(plain for plain, _ in letters.values())),
        *sheet.notes(results),
    ]
    title = _title("Trained on another collection before", beside.collection, beside.split)
    return Table("transfer", title, columns, body, notes, stub=len(sheet.stub_columns()))

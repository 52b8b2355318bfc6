"""Tables as one small record with three forms: text for a terminal, LaTeX (booktabs), CSV."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from positionbias.core.csv_cells import write_rows
from positionbias.core.formatting import plural
from positionbias.core.manifest import MANIFEST, Manifest, provenance, write_manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.screen import line_width, wrap
from positionbias.core.terminal import neutral
from positionbias.report.layout import Grid, fits, lay_out

__all__ = [
    "Cell",
    "Column",
    "Table",
    "as_csv",
    "as_latex",
    "as_text",
    "header_groups",
    "records",
    "row_spans",
    "save_tables",
]

LARGER_SIDE = "± is the larger side of an interval that is not symmetric; --wide shows both ends."
LINE, MOST = 90, 160  # characters in a line of LaTeX, and in one shrunk to the limit of legibility


@dataclass(frozen=True, slots=True)
class Cell:
    """The text shown, and for CSV the unrounded value and, where there are any, interval and
    letters.

    ``brief`` is shown where there is no room for an interval; "" where that drops nothing. ``near``
    has the interval as ±, its larger side where it is ``lopsided``.
    """

    text: str
    value: str | int | float | None = None
    low: float | None = None
    high: float | None = None
    strong: bool = False
    letters: str = ""
    brief: str = ""
    near: str = ""
    lopsided: bool = False

    def briefly(self) -> Cell:
        """Return it without its interval."""
        return replace(self, text=self.brief or self.text, near="")


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading; ``group`` is above neighbours that share it. Numbers are set flush right.

    ``wide``: a terminal shows it only where there is room.
    """

    name: str
    group: str = ""
    numeric: bool = True
    wide: bool = False

    @property
    def full_name(self) -> str:
        """Return the heading with its group, for forms that have one line of headings."""
        return f"{self.group} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Table:
    """Title, columns, rows, notes. The first ``stub`` columns name the row; ``name`` is the file's
    name.

    Raises:
        ValueError: a row that has not one cell a column.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default_factory=tuple)
    stub: int = 1

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name!r}, row {number}: {len(row)} cells for {len(self.columns)} "
                    "columns"
                )


def header_groups(table: Table) -> list[tuple[str, int]]:
    """Return the upper line of headings as (group, columns it spans); empty where no column has a
    group.
    """
    groups = [
        (group, len(list(items)))
        for group, items in groupby(column.group for column in table.columns)
    ]
    return groups if any(group for group, _ in groups) else []


def row_spans(table: Table) -> list[list[int]]:
    """Return how many rows each cell spans, by row and stub column; 0 where a cell above covers it.

    The last stub column is never merged: it names the single row.
    """
    spans = [[1] * table.stub for _ in table.rows]
    for column in range(table.stub - 1):
        first = 0
        for index in range(1, len(table.rows)):
            same = all(
                table.rows[index][c].text == table.rows[first][c].text for c in range(column + 1)
            )
            if same:
                spans[first][column] += 1
                spans[index][column] = 0
            else:
                first = index
    return spans


def _one_line(text: str) -> str:
    return neutral(" ".join(text.split("\n")).replace("\t", " ").replace("\r", " "))


def as_text(table: Table) -> str:
    """Return aligned columns for a terminal, fitted to its width; merged row names appear once,
    ``*`` marks bold.

    Until it fits: intervals become ±, columns marked ``wide`` are left out from the right, headings
    and names wrap, columns go below one another.
    """
    width = line_width()
    table, notes = _narrowed(table, width)
    lines = [*wrap(_one_line(table.title), width or sys.maxsize), ""] if table.title else []
    lines += lay_out(_grid(table), width)
    if told := [*table.notes, *notes]:
        lines += [
            "",
            *(line for note in told for line in wrap(_one_line(note), width or sys.maxsize)),
        ]
    return "\n".join(lines)


def _grid(table: Table) -> Grid:
    """Return the texts of a table."""
    spans = row_spans(table)
    # a space in place of the star keeps figures aligned
    marks = [
        "\u00a0" if any(row[index].strong for row in table.rows) else ""
        for index in range(len(table.columns))
    ]
    body: list[list[str]] = []
    for row, span in zip(table.rows, spans, strict=True):
        shown = [
            _one_line(cell.text) + ("*" if cell.strong else mark)
            for cell, mark in zip(row, marks, strict=True)
        ]
        body.append(
            [
                "" if index < table.stub and not span[index] else text
                for index, text in enumerate(shown)
            ]
        )
    groups = [_one_line(column.group) for column in table.columns]
    headings = [_one_line(column.name) for column in table.columns]
    return Grid(body, [column.numeric for column in table.columns], table.stub, headings, groups)


def _narrowed(table: Table, width: int | None) -> tuple[Table, list[str]]:
    """Return the table with ± for intervals and without wide columns, as far as its width wants it,
    and notes that say so.
    """
    notes: list[str] = []
    if fits(_grid(table), width):
        return table, notes
    if any(cell.near for row in table.rows for cell in row):
        notes += (
            [LARGER_SIDE]
            if any(cell.near and cell.lopsided for row in table.rows for cell in row)
            else []
        )
        columns = [
            replace(column, name=_near(column.name), group=_near(column.group))
            if any(row[at].near for row in table.rows)
            else column
            for at, column in enumerate(table.columns)
        ]
        rows = [[replace(cell, text=cell.near or cell.text) for cell in row] for row in table.rows]
        table = replace(table, columns=columns, rows=rows)
    left, gone = list(range(len(table.columns))), 0
    for at in [at for at, column in enumerate(table.columns) if column.wide][::-1]:
        if fits(_grid(_only(table, left)), width):
            break
        left.remove(at)
        gone += 1
    if gone:
        notes.append(
            f"{plural(gone, 'column')} left out; --wide shows {'it' if gone == 1 else 'them'}."
        )
    return _only(table, left), notes


def _near(heading: str) -> str:
    """Return a heading of intervals as one of ±: ``Change [95 %]`` as ``Change ± (95 %)``."""
    return re.sub(r"\[(\d[^\]]*)\]", r"± (\1)", heading)


def _only(table: Table, columns: Sequence[int]) -> Table:
    rows = [[row[at] for at in columns] for row in table.rows]
    stub = sum(at < table.stub for at in columns)
    return replace(table, columns=[table.columns[at] for at in columns], rows=rows, stub=stub)


def as_csv(table: Table) -> str:
    """Return CSV: one line of headings, then ``records``."""
    out = io.StringIO()
    write_rows(
        out, [["" if value is None else value for value in record] for record in records(table)]
    )
    return out.getvalue()


def records(table: Table) -> list[list[str | int | float | None]]:
    """Return the headings, then the rows: unrounded values, columns of intervals (``NAME low``,
    ``NAME high``) and letters.
    """
    cells = [[row[index] for row in table.rows] for index in range(len(table.columns))]
    ranged = [any(cell.low is not None for cell in column) for column in cells]
    lettered = [any(cell.letters for cell in column) for column in cells]
    headings: list[str | int | float | None] = []
    for column, has_interval, has_letters in zip(table.columns, ranged, lettered, strict=True):
        more = ["low", "high"] * has_interval + ["letters"] * has_letters
        headings += [column.full_name, *(f"{column.full_name} {name}" for name in more)]
    found = [headings]
    for row in table.rows:
        record: list[str | int | float | None] = []
        for cell, column, has_interval, has_letters in zip(
            row, table.columns, ranged, lettered, strict=True
        ):
            missing = None if column.numeric else cell.text
            record.append(cell.value if cell.value is not None else missing)
            record += [cell.low, cell.high] * has_interval
            record += [cell.letters] * has_letters
        found.append(record)
    return found


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\n": " ",
    "\u00a0": "~",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "Δ": r"$\Delta$",
    "Σ": r"$\Sigma$",
    "–": "--",
}


def latex_escape(text: str) -> str:
    """Escape text for LaTeX's text mode."""
    return "".join(_LATEX.get(char, char) for char in text)


def as_latex(table: Table) -> str:
    """Return a ``table`` environment for booktabs: caption, label ``tab:NAME``, notes below.

    A table too wide for a line is shrunk to it; where it would be illegible, the intervals are left
    to the CSV.
    """
    brief = _letters_across(table) > MOST and any(cell.brief for row in table.rows for cell in row)
    if brief:
        rows = [[cell.briefly() for cell in row] for row in table.rows]
        table = replace(
            table, rows=rows, notes=[*table.notes, "Intervals stand in the CSV of this table."]
        )
    wide = _letters_across(table) > LINE
    alignment = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        f"% needs \\usepackage{{booktabs{',graphicx' * wide}}}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex_escape(table.title)}}}",
        f"\\label{{tab:{table.name}}}",
        *(["\\resizebox{\\linewidth}{!}{%"] if wide else []),
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
    ]
    if groups := header_groups(table):
        cells, rules, at = [], [], 1
        for group, width in groups:
            cells.append(f"\\multicolumn{{{width}}}{{l}}{{{latex_escape(group)}}}")
            if group:
                rules.append(f"\\cmidrule(lr){{{at}-{at + width - 1}}}")
            at += width
        lines += [" & ".join(cells) + r" \\", " ".join(rules)]
    lines += [
        " & ".join(latex_escape(column.name) for column in table.columns) + r" \\",
        "\\midrule",
    ]
    for number, (row, span) in enumerate(zip(table.rows, row_spans(table), strict=True)):
        if number and table.stub > 1 and span[0]:
            lines.append("\\addlinespace")
        lines.append(" & ".join(_latex_cells(row, span)) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}" + "}" * wide]
    lines += [f"\\par\\smallskip\\footnotesize {latex_escape(note)}" for note in table.notes]
    return "\n".join([*lines, "\\end{table}", ""])


def _letters_across(table: Table) -> int:
    columns = [
        [column.name, *(row[index].text for row in table.rows)]
        for index, column in enumerate(table.columns)
    ]
    return sum(max(map(len, column)) for column in columns)


def _latex_cells(row: Sequence[Cell], span: Sequence[int]) -> list[str]:
    cells = []
    for index, cell in enumerate(row):
        text = "" if index < len(span) and not span[index] else latex_escape(cell.text)
        # a leading "[" would be read as the optional argument of the line break before it
        text = f"{{}}{text}" if index == 0 and text.startswith(("[", "*")) else text
        cells.append(f"\\textbf{{{text}}}" if cell.strong and text else text)
    return cells


def save_tables(
    tables: Mapping[str, Table], folder: Path | str, *, overwrite: bool = False
) -> None:
    """Write each table as ``NAME.csv`` and ``NAME.tex``; the folder appears whole or not at all.

    Raises:
        OutputExistsError: the folder exists and ``overwrite`` is false.
        StorageError: the file system refused.
    """
    with atomic_folder(folder, overwrite=overwrite) as partial:
        for name, table in tables.items():
            (partial / f"{name}.csv").write_text(as_csv(table), encoding="utf-8", newline="")
            (partial / f"{name}.tex").write_text(as_latex(table), encoding="utf-8", newline="")
        content = {"tables": list(tables)}
        manifest = Manifest(
            kind="tables",
            name=Path(folder).name,
            command="report",
            content=content,
            provenance=provenance(),
        )
        write_manifest(partial / MANIFEST, manifest)

"""Tables as one small record with its forms: text for a terminal, LaTeX (booktabs), CSV, frames."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame, MultiIndex

from positionbias.core.csv_cells import write_rows
from positionbias.core.formatting import plural
from positionbias.core.manifest import MANIFEST, Manifest, provenance, write_manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.screen import line_width, shown_width, words_of, wrap
from positionbias.core.terminal import neutral

__all__ = [
    "Cell",
    "Column",
    "Table",
    "as_csv",
    "as_frame",
    "as_latex",
    "as_text",
    "header_groups",
    "row_spans",
    "save_tables",
]

LARGER_SIDE = "± is the larger side of an interval; --wide shows both ends."
GAP = "  "
NARROW = 8  # columns of a text that is wrapped, at least
ANY_WIDTH = 1_000_000


class Cell(NamedTuple):
    """The text shown, and for CSV the unrounded value and, where there are any, interval and
    letters. ``near`` is the text with the interval as ±, for where there is less room.
    """

    text: str
    value: str | int | float | None = None
    low: float | None = None
    high: float | None = None
    letters: str = ""
    near: str = ""


class Column(NamedTuple):
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

    def only(self, columns: Sequence[int]) -> Table:
        """Return some columns."""
        rows = [[row[at] for at in columns] for row in self.rows]
        stub = sum(at < self.stub for at in columns)
        return replace(self, columns=[self.columns[at] for at in columns], rows=rows, stub=stub)


def header_groups(table: Table) -> list[tuple[str, int]]:
    """Return the upper line of headings as (group, columns it spans); empty where no column has a
    group.
    """
    groups = [(group, len(list(own))) for group, own in groupby(c.group for c in table.columns)]
    return groups if any(group for group, _ in groups) else []


def row_spans(table: Table) -> list[list[int]]:
    """Return how many rows each cell spans, by row and stub column; 0 where a cell above covers it.

    The last stub column is never merged: it names the single row.
    """
    spans = [[1] * table.stub for _ in table.rows]
    for column in range(table.stub - 1):
        first = 0
        for index in range(1, len(table.rows)):
            above, row = table.rows[first], table.rows[index]
            if all(row[at].text == above[at].text for at in range(column + 1)):
                spans[first][column] += 1
                spans[index][column] = 0
            else:
                first = index
    return spans


def _texts(table: Table) -> list[list[str]]:
    """Return the rows' texts; a merged row name stands once."""
    return [
        ["" if at < table.stub and not span[at] else cell.text for at, cell in enumerate(row)]
        for row, span in zip(table.rows, row_spans(table), strict=True)
    ]


# --- text -----------------------------------------------------------------------------------------


def as_text(table: Table) -> str:
    """Return aligned columns for a terminal, fitted to its width; merged row names appear once.

    Until it fits: intervals become ±, columns marked ``wide`` are left out from the right, headings
    and names wrap, columns go below one another.
    """
    width = line_width() or ANY_WIDTH
    table, notes = _narrowed(table, width)
    parts = [f"{line}\n" for line in wrap(_one_line(table.title), width) if line]
    parts.append("\n\n".join("\n".join(_lines(part, width)) for part in _parts(table, width)))
    told = [line for note in (*table.notes, *notes) for line in wrap(_one_line(note), width)]
    return "\n".join([*parts, *(["", *told] if told else [])])


def _one_line(text: str) -> str:
    return neutral(" ".join(text.split("\n")).replace("\t", " ").replace("\r", " "))


def _narrowed(table: Table, width: int) -> tuple[Table, list[str]]:
    """Return the table with ± for intervals and without wide columns, as far as its width wants it,
    and notes that say so.
    """
    notes = []
    if sum(_widths(table)) > width and any(cell.near for row in table.rows for cell in row):
        rows = [[cell._replace(text=cell.near or cell.text) for cell in row] for row in table.rows]
        table, notes = replace(table, rows=rows), [LARGER_SIDE]
    gone = 0
    for at in range(len(table.columns) - 1, -1, -1):
        if table.columns[at].wide and sum(_widths(table)) > width:
            table = table.only([other for other in range(len(table.columns)) if other != at])
            gone += 1
    if gone:
        shows = "it" if gone == 1 else "them"
        notes.append(f"{plural(gone, 'column')} left out; --wide shows {shows}.")
    return table, notes


def _widths(table: Table, *, least: bool = False) -> list[int]:
    """Return each column's width with the gap behind it: of whole lines, or the ``least`` at which
    no number and no word of a heading is split.
    """
    found = []
    texts = _texts(table)
    for at, column in enumerate(table.columns):
        body = max((shown_width(_one_line(row[at])) for row in texts), default=0)
        heading = _one_line(column.full_name)
        if least:
            body = body if column.numeric else min(body, NARROW)
            body = max(body, *map(shown_width, words_of(heading)))
        else:
            body = max(body, shown_width(heading))
        found.append(body + len(GAP))
    found[-1] -= len(GAP)
    return found


def _parts(table: Table, width: int) -> list[Table]:
    """Return tables of the row names and as many of the other columns as fit."""
    names = list(range(table.stub))
    least = _widths(table, least=True)
    parts: list[list[int]] = [[]]
    for at in range(table.stub, len(table.columns)):
        if parts[-1] and sum(least[one] for one in (*names, *parts[-1], at)) > width:
            parts.append([])
        parts[-1].append(at)
    return [table.only([*names, *part]) for part in parts]


def _lines(table: Table, width: int) -> Iterator[str]:
    widths, least = _widths(table), _widths(table, least=True)
    while sum(widths) > width and widths != least:
        widest = max(
            (at for at in range(len(widths)) if widths[at] > least[at]), key=widths.__getitem__
        )
        widths[widest] -= 1
    widths = [width - len(GAP) for width in widths[:-1]] + widths[-1:]
    right = [column.numeric for column in table.columns]
    if any(column.name for column in table.columns):
        heads = [
            wrap(_one_line(column.full_name), width)
            for column, width in zip(table.columns, widths, strict=True)
        ]
        deepest = max(map(len, heads))
        heads = [[""] * (deepest - len(head)) + head for head in heads]
        yield from _side_by_side(heads, widths, right)
        yield GAP.join("─" * width for width in widths)
    for row in _texts(table):
        parts = [wrap(_one_line(text), width) for text, width in zip(row, widths, strict=True)]
        yield from _side_by_side(parts, widths, right)


def _side_by_side(
    parts: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[str]:
    for line in zip_longest(*parts, fillvalue=""):
        cells = []
        for text, width, flush_right in zip(line, widths, right, strict=True):
            gap = " " * (width - shown_width(text))
            cells.append(gap + text if flush_right else text + gap)
        yield GAP.join(cells).rstrip()


# --- CSV and frames -------------------------------------------------------------------------------


def as_frame(table: Table) -> DataFrame:
    """Return unrounded values, columns of intervals (``NAME low``, ``NAME high``) and letters."""
    names: list[str] = []
    columns: list[list[Any]] = []
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        own = {"": [cell.text if _is_text(cell, column) else cell.value for cell in cells]}
        if any(cell.low is not None for cell in cells):
            own |= {" low": [cell.low for cell in cells], " high": [cell.high for cell in cells]}
        if any(cell.letters for cell in cells):
            own[" letters"] = [cell.letters for cell in cells]
        names += [f"{column.full_name}{tail}" for tail in own]
        columns += own.values()
    return DataFrame(list(zip(*columns, strict=True)), columns=names, dtype=object)


def _is_text(cell: Cell, column: Column) -> bool:
    return cell.value is None and not column.numeric


def as_csv(table: Table) -> str:
    """Return CSV: one line of headings, then the rows of ``as_frame``."""
    frame, out = as_frame(table), io.StringIO()
    rows = frame.astype(object).where(frame.notna(), "")
    write_rows(out, [list(frame), *rows.itertuples(index=False, name=None)])
    return out.getvalue()


# --- LaTeX ----------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "[": "{[}",  # behind a line break it would begin an argument
    "*": "{*}",
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
    """Return a ``table`` environment for booktabs: caption, label ``tab:NAME``, notes below. A
    table too wide for a line is shrunk to it.
    """
    headings = [(latex_escape(c.group), latex_escape(c.name)) for c in table.columns]
    grouped = any(group for group, _ in headings)
    frame = DataFrame([[latex_escape(text) for text in row] for row in _texts(table)])
    frame.columns = MultiIndex.from_tuples(headings) if grouped else [name for _, name in headings]
    text = frame.style.hide(axis="index").to_latex(
        column_format="".join("r" if column.numeric else "l" for column in table.columns),
        caption=latex_escape(table.title),
        label=f"tab:{table.name}",
        position_float="centering",
        multicol_align="l",
        hrules=True,
    )
    body, end = text.split("\\end{table}")
    begin = "\\begin{tabular}"
    body = body.replace(begin, f"\\begin{{adjustbox}}{{max width=\\linewidth}}\n{begin}", 1)
    body += "\\end{adjustbox}\n"
    notes = [f"\\par\\smallskip\\footnotesize {latex_escape(note)}\n" for note in table.notes]
    return f"% needs \\usepackage{{booktabs,adjustbox}}\n{body}{''.join(notes)}\\end{{table}}{end}"


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
        manifest = Manifest(
            kind="tables",
            name=Path(folder).name,
            command="report",
            content={"tables": list(tables)},
            provenance=provenance(),
        )
        write_manifest(partial / MANIFEST, manifest)

"""Tables declared over rows, and their forms: text for a terminal, LaTeX, CSV, frames."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame, MultiIndex

from positionbias.core.csv_cells import write_rows
from positionbias.core.manifest import Manifest, provenance, write_manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.records import Interval
from positionbias.core.seal import MANIFEST
from positionbias.core.terminal import line_width, neutral, shown_width, words_of, wrap
from positionbias.evaluation.answers import is_significant
from positionbias.report.record import Record, bounds_of, records_of, said
from positionbias.text.formatting import (
    MISSING,
    NBSP,
    as_form,
    decimal,
    plural,
    with_interval,
)

DOUBTFUL, MARK = "†", "‡"  # of a significant difference: before and after the correction
P_NOTE = (
    "p: two-sided, by sign flips of clusters of queries; queries with the same single relevant "
    "passage are one cluster. Wilcoxon's and Student's p take queries one by one."
)
LARGER_SIDE = "± is the larger side of an interval; COLUMNS=300 shows both ends."
GAP, NARROW = "  ", 10  # between columns; columns of a text that is wrapped, at least
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


def number_cell(
    value: float | None, form: str = ".3f", bounds: Interval | None = None, letters: str = ""
) -> Cell:
    """Return the cell of a value with its significance letters and interval.

    >>> number_cell(0.4213, ".3f", Interval(0.4152, 0.4288)).near  # the larger side, rounded up
    '0.421\\xa0±\\xa00.008'
    """
    brief = as_form(value, form) + letters
    if bounds is None or value is None:
        return Cell(brief, value, letters=letters)
    percent, places = form.endswith("%"), int(form.strip("+.f%"))
    scale, unit = (100, f"{NBSP}%") if percent else (1, "")
    shown = round(scale * value, places)
    side = max(shown - scale * bounds.low, scale * bounds.high - shown)
    digit = 10**-places
    half = math.ceil(side / digit - 1e-6) * digit if math.isfinite(side) else side
    near = f"{brief.removesuffix(unit)}{NBSP}±{NBSP}{decimal(half, places)}{unit}"
    text = with_interval(brief, bounds, form)
    return Cell(text, value, bounds.low, bounds.high, letters, near)


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
    name. On the page a ``folded`` one opens on request, and on paper.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    stub: int = 1
    folded: bool = False

    def only(self, columns: Sequence[int]) -> Table:
        """Return some columns."""
        rows = [[row[at] for at in columns] for row in self.rows]
        stub = sum(at < self.stub for at in columns)
        return replace(self, columns=[self.columns[at] for at in columns], rows=rows, stub=stub)


Note = str | Callable[[DataFrame], str]


def where_printed(text: str) -> Note:
    """Return a note that stands where there are a paper's figures."""
    return lambda rows: text if rows["whose"].any() else ""


@dataclass(frozen=True, slots=True)
class Value:
    """A cell: a ``statistic`` under a ``heading`` (and a ``group`` of headings).

    ``form`` is ".3f", "+.1%", "," or "p"; a row with a ``form`` of its own has that. ``show`` is
    the column of the row that is shown; a value has its interval beside it, unless ``brief``. A
    value of the unit "share" is in per cent. ``mark`` is a statistic that marks the value where its
    p is below 0.05; a paper's figure has its answer as its mark. ``wide``: a terminal shows it only
    where there is room.
    """

    statistic: str
    heading: str = ""
    form: str = ".3f"
    group: str = ""
    show: str = "value"
    wide: bool = False
    mark: str = ""
    brief: bool = False

    def cell(self, record: Record) -> Cell:
        """Return the cell of a record."""
        row = record.rows.get(self.statistic)
        shown = None if row is None else getattr(row, self.show)
        if isinstance(shown, str):
            return Cell(shown)
        if row is None or shown is None or shown != shown:
            return Cell(MISSING)
        is_value = self.show == "value"
        form: str = (getattr(row, "form", "") if is_value else "") or self.form
        if form in (",", "p"):
            return Cell(as_form(shown, form), int(shown) if form == "," else shown)
        letters = ""
        if form.endswith("%") or row.unit == "share":
            form = "+.1%" if form.startswith("+") else ".1%"
        else:
            letters = row.answer if row.whose else _mark(record.rows.get(self.mark))
        bounds = bounds_of(row) if is_value else None
        cell = number_cell(float(shown), form, bounds, letters)
        return cell._replace(text=as_form(shown, form) + letters, near="") if self.brief else cell


def _mark(tested: Any) -> str:
    if tested is None or not is_significant(tested.p):
        return ""
    return MARK if is_significant(tested.p_adjusted) else DOUBTFUL


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTable:
    """A table over the rows that ``where`` chooses: a line for each combination of the keys in
    ``stub`` (key -> heading), whose cells are statistics.

    ``across``: keys whose combinations repeat the cells, side by side. Rows of a paper's figures
    (``whose``) stand below ours. ``notes`` are templates, or functions of the rows; a note without
    its statistics is left out, and so is a column without a figure or name. ``needs`` is the
    statistic that every line has, ``order`` one that sorts them, falling.
    """

    name: str
    title: str
    stub: Mapping[str, str]
    cells: Sequence[Value]
    where: str = ""
    across: Sequence[str] = ()
    notes: Sequence[Note] = ()
    needs: str = ""
    order: str = ""

    def table(self, rows: DataFrame) -> Table:
        """Return the table of these rows."""
        chosen = rows.query(self.where) if self.where else rows
        by = [*self.stub, *(["whose"] if chosen["whose"].any() else [])]
        last = max(1, len(self.stub) - 1)  # theirs stand below ours of the same keys before it
        lines = records_of(chosen, [*by[:last], *reversed(by[last:])])
        lines = [line for line in lines if not self.needs or self.needs in line.rows]
        if self.order:
            lines.sort(key=lambda line: -(line.value(self.order) or 0.0))
        if not lines:
            return Table(self.name, self.title, (), ())
        groups = [tuple(record.keys.values()) for record in records_of(chosen, self.across)]
        columns = [
            Column(heading, numeric=chosen[key].astype(str).str.isdecimal().all())
            for key, heading in self.stub.items()
        ]
        columns += [Column("Figures", numeric=False)] * ("whose" in by)
        columns += [_column(value, group) for group in groups for value in self.cells]
        every = records_of(chosen, [*by, *self.across])
        records = {tuple(record.keys.values()): record for record in every}
        nothing, body = Record({}, {}), []
        for line in lines:
            key = tuple(line.keys[name] for name in by)
            named = [_named(name, cell) for name, cell in zip(by, key, strict=True)]
            beside = [records.get((*key, *group), nothing) for group in groups]
            body.append([*named, *(cell.cell(record) for record in beside for cell in self.cells)])
        notes = [note(chosen) if callable(note) else said(note, lines[0]) for note in self.notes]
        shown = Table(self.name, self.title, columns, body, [*filter(None, notes)], stub=len(by))
        filled = [
            any(cell.text not in ("", MISSING) for cell in cells)
            for cells in zip(*body, strict=True)
        ]
        return shown.only([at for at, there in enumerate(filled) if there])


def _named(key: str, cell: Any) -> Cell:
    if key == "whose":
        return Cell(cell or "ours")
    return Cell("" if key in ("seed", "rotation") and cell == -1 else str(cell))


def _column(value: Value, group: Sequence[Any]) -> Column:
    names = [*map(str, group), *filter(None, (value.group, value.heading))]
    return Column(names[-1], " ".join(names[:-1]), value.show != "answer", value.wide)


def header_groups(table: Table) -> list[tuple[str, int]]:
    """Return the upper line of headings as (group, columns it spans), if any column has a group."""
    runs = groupby(column.group for column in table.columns)
    groups = [(group, len(list(columns))) for group, columns in runs]
    return groups if any(group for group, _ in groups) else []


def _texts(table: Table) -> list[list[str]]:
    """Return the rows' texts. Names that are those of the row above are left out, but for the last,
    which names the single row.
    """
    texts, above = [], [""] * table.stub
    for row in table.rows:
        names = [_one_line(cell.text) for cell in row]
        same = 0
        while same < table.stub - 1 and names[same] == above[same]:
            same += 1
        texts.append([*[""] * same, *names[same:]])
        above = names[: table.stub]
    return texts


def as_text(table: Table) -> str:
    """Return aligned columns for a terminal, fitted to its width; merged row names appear once.

    Until it fits: intervals become ±, columns marked ``wide`` are left out from the right, headings
    and names wrap, columns go below one another.
    """
    width, notes = line_width() or ANY_WIDTH, list(table.notes)
    if _width(table) > width and any(cell.near for row in table.rows for cell in row):
        rows = [[cell._replace(text=cell.near or cell.text) for cell in row] for row in table.rows]
        table, notes = replace(table, rows=rows), [*notes, LARGER_SIDE]
    kept = list(range(len(table.columns)))
    for at in reversed(kept[:]):
        if table.columns[at].wide and _width(table.only(kept)) > width:
            kept.remove(at)
    if left_out := len(table.columns) - len(kept):
        shows = "it" if left_out == 1 else "them"
        notes.append(f"{plural(left_out, 'column')} left out; COLUMNS=300 shows {shows}.")
    parts = "\n\n".join("\n".join(_lines(part, width)) for part in _parts(table.only(kept), width))
    title, *below = ("\n".join(wrap(_one_line(text), width)) for text in (table.title, *notes))
    return "\n\n".join(filter(None, [title, parts, "\n".join(below)]))


def _one_line(text: str) -> str:
    return neutral(" ".join(text.split("\n")).replace("\t", " ").replace("\r", " "))


def _parts(table: Table, width: int) -> Iterator[Table]:
    """Yield tables of the row names and as many of the other columns as fit."""
    names = list(range(table.stub))
    part = list(names)
    for at in range(table.stub, len(table.columns)):
        if len(part) > len(names) and _width(table.only([*part, at]), least=True) > width:
            yield table.only(part)
            part = list(names)
        part.append(at)
    yield table.only(part)


def _width(table: Table, *, least: bool = False) -> int:
    """Return the columns that whole lines take, or lines of which all wraps that can."""
    return sum(sizes[least] for sizes in _sizes(table)) + len(GAP) * (len(table.columns) - 1)


def _sizes(table: Table) -> list[tuple[int, int]]:
    """Return each column's width, and the least that splits no number and no heading's word."""
    sizes, rows = [], _texts(table)
    for at, column in enumerate(table.columns):
        heading = _one_line(column.full_name)
        body = max((shown_width(row[at]) for row in rows), default=0)
        least = max(map(shown_width, words_of(heading)))
        least = max(least, body if column.numeric else min(body, NARROW))
        sizes.append((max(body, shown_width(heading)), least))
    return sizes


def _lines(table: Table, width: int) -> Iterator[str]:
    widths, least = map(list, zip(*_sizes(table), strict=True))
    while sum(widths) + len(GAP) * (len(widths) - 1) > width and widths != least:
        wrapping = [at for at in range(len(widths)) if widths[at] > least[at]]
        widths[max(wrapping, key=widths.__getitem__)] -= 1
    headings = [_one_line(column.full_name) for column in table.columns]
    for row in [headings, ["─" * size for size in widths], *_texts(table)]:
        cells = list(map(wrap, row, widths))
        if row is headings:  # they stand on the rule
            most = max(map(len, cells))
            cells = [[*[""] * (most - len(lines)), *lines] for lines in cells]
        for parts in zip_longest(*cells, fillvalue=""):
            yield GAP.join(map(_padded, parts, widths, table.columns)).rstrip(" ")


def _padded(text: str, size: int, column: Column) -> str:
    room = " " * (size - shown_width(text))
    return f"{room}{text}" if column.numeric else f"{text}{room}"


def as_frame(table: Table) -> DataFrame:
    """Return unrounded values, columns of intervals (``NAME low``, ``NAME high``) and letters."""
    columns: dict[tuple[int, str], list[Any]] = {}
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        columns[at, column.full_name] = [
            cell.text if cell.value is None and not column.numeric else cell.value for cell in cells
        ]
        for part in ("low", "high", "letters"):
            if any(getattr(cell, part) not in (None, "") for cell in cells):
                columns[at, f"{column.full_name} {part}"] = [getattr(cell, part) for cell in cells]
    names = [name for _, name in columns]
    return DataFrame(list(zip(*columns.values(), strict=True)), columns=names, dtype=object)


def as_csv(table: Table) -> str:
    """Return CSV: one line of headings, then the rows of ``as_frame``."""
    frame, out = as_frame(table), io.StringIO()
    rows = frame.where(frame.notna(), "")
    write_rows(out, [list(frame), *rows.itertuples(index=False, name=None)])
    return out.getvalue()


_NAMED = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater"}
_MATH = {"−": "-", "±": r"\pm", "×": r"\times", "→": r"\rightarrow", "≤": r"\leq", "≥": r"\geq"}
_LATEX = {
    **{char: f"\\{char}" for char in "{}$&#%_"},
    **{char: f"{{{char}}}" for char in "[*"},  # behind a line break they would begin an argument
    **{char: f"\\text{name}{{}}" for char, name in _NAMED.items()},
    **{char: f"${name}$" for char, name in _MATH.items()},
    "\n": " ",
    NBSP: "~",
    "–": "--",
    "Δ": r"$\Delta$",
    "Σ": r"$\Sigma$",
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
    notes = [f"\\par\\smallskip\\footnotesize {latex_escape(note)}\n" for note in table.notes]
    return (
        f"% needs \\usepackage{{booktabs,adjustbox}}\n{body}\\end{{adjustbox}}\n"
        f"{''.join(notes)}\\end{{table}}{end}"
    )


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
        content, place = {"tables": list(tables)}, Path(folder).name
        manifest = Manifest("tables", place, "report", content=content, provenance=provenance())
        write_manifest(partial / MANIFEST, manifest)

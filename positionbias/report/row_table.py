"""Tables declared over rows: which keys name a line, and which statistics stand in its cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pandas import DataFrame

from positionbias.core.formatting import MISSING
from positionbias.evaluation.answers import is_significant
from positionbias.report.cells import decimal_cell, drop_columns, percent_cell, text_cell
from positionbias.report.record import Record, bounds_of, formatted, records_of, said
from positionbias.report.table import Cell, Column, Table

__all__ = ["DOUBTFUL", "MARK", "RowTable", "Value", "where_printed"]

DOUBTFUL, MARK = "†", "‡"  # of a significant difference: before and after the correction

NOTHING = ("", MISSING)
Note = str | Callable[[DataFrame], str]


def where_printed(text: str) -> Note:
    """Return a note that stands where there are a paper's figures."""
    return lambda rows: text if rows["whose"].any() else ""


@dataclass(frozen=True, slots=True)
class Value:
    """A cell: a ``statistic`` under a ``heading`` (and a ``group`` of headings).

    ``form`` is ".3f", "+.1%", "," or "p"; a row with a ``form`` of its own has that. ``show`` is
    the column of the row that is shown; a value has its interval beside it, unless ``brief``, which
    leaves it to the CSV. A value of the unit "share" is in per cent. ``mark`` is a statistic that
    marks the value where its p is below 0.05; a paper's figure has its answer as its mark.
    ``wide``: a terminal shows it only where there is room.
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
            return text_cell(shown)
        if row is None or shown is None or shown != shown:
            return Cell(MISSING)
        own: str = getattr(row, "form", "") if self.show == "value" else ""
        form = own or self.form
        if form in (",", "p"):
            return Cell(formatted(shown, form), int(shown) if form == "," else shown)
        bounds = bounds_of(row) if self.show == "value" else None
        sign = form.startswith("+")
        if form.endswith("%") or row.unit == "share":
            cell = percent_cell(float(shown), bounds, sign=sign)
        else:
            letters = row.answer if row.whose else _mark(record.rows.get(self.mark))
            places = int(form.strip("+.f"))
            cell = decimal_cell(float(shown), bounds, places=places, sign=sign, letters=letters)
        if not self.brief:
            return cell
        return cell._replace(text=cell.near.partition("\u00a0±")[0] or cell.text, near="")


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
    its statistics is left out, and so is a column without a figure or name. ``order`` sorts the
    lines by a statistic, falling; ``blank`` is the text of an empty key.
    """

    name: str
    title: str
    stub: Mapping[str, str]
    cells: Sequence[Value]
    where: str = ""
    across: Sequence[str] = ()
    notes: Sequence[Note] = ()
    order: str = ""
    blank: str = ""
    only: Callable[[Record], bool] = lambda record: True

    def table(self, rows: DataFrame) -> Table:
        """Return the table of these rows."""
        chosen = rows.query(self.where) if self.where else rows
        by = [*self.stub, *(["whose"] if chosen["whose"].any() else [])]
        last = max(1, len(self.stub) - 1)  # theirs stand below ours of the same keys before it
        order = [*by[:last], *reversed(by[last:])]
        lines = [record for record in records_of(chosen, order) if self.only(record)]
        if self.order:
            lines.sort(key=lambda record: -(record.value(self.order) or 0.0))
        groups: list[tuple[Any, ...]] = [()]
        if self.across:
            groups = [tuple(one.keys.values()) for one in records_of(chosen, self.across)]
        columns = [
            Column(heading, numeric=chosen[key].astype(str).str.isdecimal().all())
            for key, heading in self.stub.items()
        ]
        columns += [Column("Figures", numeric=False)] * ("whose" in by)
        columns += [self._column(cell, group) for group in groups for cell in self.cells]
        beside: dict[tuple[Any, ...], dict[tuple[Any, ...], Record]] = {}
        for one in records_of(chosen, [*by, *self.across]) if self.across else ():
            key, group = (tuple(one.keys[name] for name in names) for names in (by, self.across))
            beside.setdefault(key, {})[group] = one
        body = [self._line(record, by, beside, groups) for record in lines]
        empty = [at for at in range(len(columns)) if all(row[at].text in NOTHING for row in body)]
        drop_columns(columns, body, empty)
        stub = len(by) - sum(at < len(by) for at in empty)
        notes = [
            note(chosen) if callable(note) else said(note, lines[0]) for note in self.notes if lines
        ]
        told = [note for note in notes if note]
        return Table(self.name, self.title, columns, body, told, stub=max(1, stub))

    def _line(
        self,
        record: Record,
        by: Sequence[str],
        beside: Mapping[tuple[Any, ...], Mapping[tuple[Any, ...], Record]],
        groups: Sequence[tuple[Any, ...]],
    ) -> list[Cell]:
        keys = {name: record.keys[name] for name in by}
        own = beside.get(tuple(keys.values()), {(): record})
        if "whose" in keys:
            keys["whose"] = keys["whose"] or "ours"
        keys |= {name: "" for name in ("seed", "rotation") if keys.get(name) == -1}
        line = [text_cell(str(cell) or self.blank) for cell in keys.values()]
        nothing = Record({}, {})
        return line + [
            cell.cell(own.get(group, nothing)) for group in groups for cell in self.cells
        ]

    def _column(self, cell: Value, group: Sequence[Any]) -> Column:
        names = [*(str(name) for name in group), *filter(None, (cell.group, cell.heading))]
        return Column(names[-1], " ".join(names[:-1]), cell.show != "answer", cell.wide)

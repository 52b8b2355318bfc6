"""Printed figures of papers, each with its place in the paper, for comparison with ours."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from positionbias.core.schema import converted
from positionbias.results.result import Facts

__all__ = ["DELTA", "DEVIATION", "PublishedCell", "read_cells"]

DELTA = "Δ"  # suffix of a measure's name: the printed relative difference of the two test sets
DEVIATION = "deviation"  # after a measure's name


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell of a printed table: its subject, the figure (a share where printed in per cent), and
    its place.

    ``collection`` and ``facts.source`` are the paper's names. ``row`` is its row's letter,
    ``letters`` those of the rows to which it is significantly superior.
    """

    table: int
    collection: str
    measure: str
    value: float
    place: str
    split: str = ""
    facts: Facts = field(default_factory=Facts)
    row: str = ""
    letters: str = ""


def read_cells(path: Path) -> tuple[PublishedCell, ...]:
    """Read the cells of a CSV file, in which a line is a row of a printed table.

    The columns ``table``, ``row``, ``split`` and ``place`` describe the row, as do those named like
    a text field of ``Facts``. Every other column has figures, possibly empty, and is named
    COLLECTION|MEASURE|PLACE; letters may follow a figure.
    """
    cells = []
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            facts = converted(
                Facts, {name: row[name] for name in Facts.__dataclass_fields__ if name in row}
            )
            of_row = PublishedCell(
                int(row["table"]),
                "",
                "",
                0.0,
                row["place"],
                row.get("split", ""),
                facts,
                row.get("row", ""),
            )
            for head, text in row.items():
                if "|" in head and (figure := re.fullmatch(r"([-+.\d]+)(\S*)", text)):
                    collection, measure, place = head.split("|")
                    where = f"{of_row.place}, {place}"
                    named = replace(of_row, collection=collection, measure=measure, place=where)
                    cells.append(replace(named, value=float(figure[1]), letters=figure[2]))
    return tuple(cells)

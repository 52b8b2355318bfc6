"""Figures that papers print, each with its place, to stand beside ours."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from positionbias.core.schema import converted
from positionbias.results.result import Facts

__all__ = ["DELTA", "DEVIATION", "PublishedCell", "read_cells", "under_pools"]

DELTA = "Δ"  # after a measure's name: the printed relative difference of the two test sets
DEVIATION = "deviation"  # after a measure's name


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell of a printed table: what it is of, the figure (a share where it is printed in per cent), and where it stands.

    ``collection`` and ``facts.source`` are the paper's names. ``row`` is its row's letter, ``letters`` those of the rows that it is
    significantly better than.
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
    """Return the cells of a CSV file, a line a row of a printed table.

    The columns ``table``, ``row``, ``split`` and ``place`` are the row's, so are those named as a field of text in ``Facts``.
    Every other column holds figures, empty where there is none, and is named COLLECTION|MEASURE|PLACE; letters may stand behind
    a figure.
    """
    cells = []
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            facts = converted(Facts, {name: row[name] for name in Facts.__dataclass_fields__ if name in row})
            of_row = PublishedCell(
                int(row["table"]), "", "", 0.0, row["place"], row.get("split", ""), facts, row.get("row", "")
            )
            for head, text in row.items():
                if "|" in head and (figure := re.fullmatch(r"([-+.\d]+)(\S*)", text)):
                    collection, measure, place = head.split("|")
                    where = f"{of_row.place}, {place}"
                    named = replace(of_row, collection=collection, measure=measure, place=where)
                    cells.append(replace(named, value=float(figure[1]), letters=figure[2]))
    return tuple(cells)


def under_pools(pool: str, test: str) -> Facts:
    """What a cell on test collections is of: systems of the kind ``test`` ("all": of every kind) under pools drawn from the
    kind ``pool``."""
    return Facts(variant=f"{test} systems, {pool} pools")

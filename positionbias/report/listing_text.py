"""Listed artefacts as tables, one for each folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from positionbias.core.files import home
from positionbias.core.formatting import MISSING
from positionbias.core.listing import Listed
from positionbias.report.table import Cell, Column, Table

__all__ = ["listing_tables"]

_COLUMNS = [
    Column("Name", numeric=False),
    Column("Kind", numeric=False),
    Column("Holds", numeric=False),
    Column("Made of", numeric=False),
    Column("MB"),
    Column("Made", numeric=False),
]
_INPUTS = 2  # names of what an artefact was made of


def listing_tables(artefacts: Sequence[Listed], folders: Sequence[Path]) -> list[Table]:
    """Return a table for each folder that has artefacts."""
    tables = []
    for number, folder in enumerate(folders, 1):
        rows = [_row(one) for one in artefacts if folder in (one.path, one.path.parent)]
        if rows:
            under_home = folder == home()
            title = f"Under $POSBIAS_HOME ({folder})" if under_home else f"In {'this folder' if folder == Path() else folder}"
            tables.append(Table(f"artefacts-{number}", title, _COLUMNS, rows))
    return tables


def _row(one: Listed) -> list[Cell]:
    size = MISSING if one.bytes is None else f"{one.bytes / 1e6:,.1f}"
    holds = f"damaged: {one.fault}" if one.fault else one.holds
    day = (one.created or MISSING)[:10]
    more = f" and {left} more" if (left := len(one.inputs) - _INPUTS) > 0 else ""
    inputs = f"{', '.join(one.inputs[:_INPUTS])}{more}"
    return [
        Cell(one.path.name or one.path.resolve().name, one.name),
        Cell(one.kind),
        Cell(holds),
        Cell(inputs),
        Cell(size, one.bytes),
        Cell(day, one.created),
    ]

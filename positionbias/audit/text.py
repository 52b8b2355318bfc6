"""An audit in a terminal: the verdicts in words and as a table, then the descriptive tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.audit.page import description_tables
from positionbias.audit.verdict_tables import verdict_tables
from positionbias.audit.verdict_words import verdict_lines
from positionbias.report.table import Table, as_text, text_width
from positionbias.results.result import Result

__all__ = ["DESCRIPTION", "WIDTH", "audit_text"]

DESCRIPTION = "Description (nothing is concluded from it)"
WIDTH = 120  # columns that a table of verdicts may take


def audit_text(results: Sequence[Result]) -> str:
    """Return the verdicts, at most three lines a system, their table, and the descriptive tables."""
    parts = ["\n".join(verdict_lines(results)), *(as_text(_narrow(table)) for table in verdict_tables(results))]
    described = [as_text(table) for table in description_tables(results)]
    if described:
        parts += [f"{DESCRIPTION}\n{'=' * len(DESCRIPTION)}", *described]
    return "\n\n".join(part for part in parts if part)


def _narrow(table: Table) -> Table:
    """Drop the intervals of ranks, then of measures, where the table would be too wide; the first ones stay."""
    ranged = [at for at in range(len(table.columns)) if any(row[at].brief for row in table.rows)]
    left_out = False
    for at in ranged[1:]:
        if text_width(table) > WIDTH:
            rows = [
                [replace(cell, text=cell.brief or cell.text) if i == at else cell for i, cell in enumerate(row)]
                for row in table.rows
            ]
            name = table.columns[at].name.partition(" [")[0]
            columns = [replace(column, name=name) if i == at else column for i, column in enumerate(table.columns)]
            table, left_out = replace(table, rows=rows, columns=columns), True
    return (
        replace(table, notes=[*table.notes, "Intervals that have no room here: posbias report, or --json."])
        if left_out
        else table
    )

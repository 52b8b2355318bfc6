"""An audit in a terminal: the verdicts in words and as a table, then the descriptive tables."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.audit.page import description_tables
from positionbias.audit.verdict_tables import verdict_tables
from positionbias.audit.verdict_words import verdict_lines
from positionbias.core.formatting import decimal
from positionbias.report.bars import spark
from positionbias.report.table import as_text
from positionbias.results.buckets import ResponseCurve
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["DESCRIPTION", "audit_text"]

DESCRIPTION = "Description (nothing is concluded from it)"
NOTHING = "No verdict was asked for (--needles 0), and no description (--describe)."


def audit_text(results: Sequence[Result]) -> str:
    """Return the verdicts, at most three lines a system, their table, and the descriptive
    tables.
    """
    parts = ["\n".join(verdict_lines(results)), *map(as_text, verdict_tables(results))]
    described = [as_text(table) for table in description_tables(results)]
    if described:
        parts += [
            f"{DESCRIPTION}\n{'=' * len(DESCRIPTION)}",
            "\n".join(_responses(results)),
            *described,
        ]
    said = "\n\n".join(part for part in parts if part)
    return said or (NOTHING if results else "")


def _responses(results: Sequence[Result]) -> list[str]:
    """Draw each system's score by the place of the evidence, in a line."""
    lines = []
    for result, own in of_type(results, ResponseCurve):
        if known := [score for score in own.scores if score is not None]:
            ends = (
                f"{decimal(min(known), sign=True)} to {decimal(max(known), sign=True)} deviations"
            )
            lines.append(
                f"{result.system}: score by place of the evidence, first to last  "
                f"{spark(own.scores)}  ({ends})"
            )
    return lines

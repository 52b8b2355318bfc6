"""A set of training triples as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.clicks.tables import click_tables
from positionbias.report.table import as_text
from positionbias.results.result import Result

__all__ = ["clicks_text"]


def clicks_text(results: Sequence[Result]) -> str:
    """Return the tables of a set of training triples."""
    return "\n\n".join(map(as_text, click_tables(results)))

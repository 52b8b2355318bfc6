"""Cells of tables: a number as it is read, with the unrounded value and its interval for CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence

from positionbias.core.formatting import NBSP, decimal, interval, percent, with_interval
from positionbias.core.interval import Interval
from positionbias.report.table import Cell, Column

__all__ = [
    "OVER_NOTE",
    "P_NOTE",
    "decimal_cell",
    "drop_columns",
    "percent_cell",
    "text_cell",
]

# wording for the p of a comparison
P_NOTE = (
    "p: two-sided, by sign flips of clusters of queries; queries with the same single relevant "
    "passage are one cluster. Wilcoxon's and Student's p take queries one by one."
)
# wording for what intervals and p of trained systems are over, for studies of one or several seeds
OVER_NOTE = (
    "Intervals and p of three training seeds or more are over trainings and queries; of one seed "
    "over queries alone, and speak of this checkpoint; of two there are none."
)


def text_cell(text: str) -> Cell:
    """Return the cell of a name."""
    return Cell(text)


def decimal_cell(
    value: float | None,
    bounds: Interval | None = None,
    *,
    places: int = 3,
    sign: bool = False,
    letters: str = "",
) -> Cell:
    """Return the cell of a value with fixed decimals, its significance letters and its interval."""
    brief = decimal(value, places, sign=sign) + letters
    if bounds is None or value is None:
        return Cell(brief, value, letters=letters)
    near = f"{brief}{NBSP}±{NBSP}{_half(value, bounds, places)}"
    text = with_interval(brief, interval(bounds, places=places, sign=sign))
    return Cell(text, value, bounds.low, bounds.high, letters, near)


def percent_cell(value: float | None, bounds: Interval | None = None, *, sign: bool = True) -> Cell:
    """Return the cell of a fraction as per cent with its interval."""
    brief = percent(value, sign=sign)
    if bounds is None or value is None:
        return Cell(brief, value)
    half = _half(100 * value, Interval(100 * bounds.low, 100 * bounds.high), 1)
    near = f"{brief.removesuffix(f'{NBSP}%')}{NBSP}±{NBSP}{half}{NBSP}%"
    text = with_interval(brief, interval(bounds, as_percent=True, sign=sign))
    return Cell(text, value, bounds.low, bounds.high, near=near)


def _half(value: float, bounds: Interval, places: int) -> str:
    """Return the larger side of an interval, such that the value as shown ± it holds the interval.

    >>> _half(0.4213, Interval(0.4152, 0.4288), 3)
    '0.008'
    """
    shown, unit = round(value, places), 10**-places
    side = max(shown - bounds.low, bounds.high - shown)
    return decimal(math.ceil(side / unit - 1e-6) * unit if math.isfinite(side) else side, places)


def drop_columns(columns: list[Column], rows: list[list[Cell]], gone: Sequence[int]) -> None:
    """Remove these columns."""
    for index in sorted(gone, reverse=True):
        del columns[index]
        for row in rows:
            del row[index]

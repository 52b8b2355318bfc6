"""Cells of tables: a number as it is read, with the unrounded value and its interval for CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from positionbias.core.formatting import (
    NBSP,
    count,
    decimal,
    interval,
    p_value,
    percent,
    setting,
    with_interval,
)
from positionbias.core.interval import Interval
from positionbias.report.table import Cell, Column

__all__ = [
    "OVER_NOTE",
    "P_NOTE",
    "any_cell",
    "count_cell",
    "decimal_cell",
    "drop_columns",
    "drop_empty",
    "p_cell",
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


def count_cell(number: int | None) -> Cell:
    """Return the cell of a whole number."""
    return Cell(count(number), number)


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
    if bounds is None:
        return Cell(brief, value, letters=letters)
    shown = with_interval(brief, interval(bounds, places=places, sign=sign))
    near, lopsided = _plus_minus(value, bounds, places)
    near = near and f"{brief}{NBSP}{near}"
    return Cell(
        shown,
        value,
        bounds.low,
        bounds.high,
        letters=letters,
        brief=brief,
        near=near,
        lopsided=lopsided,
    )


def p_cell(p: float | None) -> Cell:
    """Return the cell of a p-value."""
    return Cell(p_value(p), p)


def percent_cell(
    value: float | None,
    bounds: Interval | None = None,
    *,
    sign: bool = True,
    strong: bool = False,
    more: str = "",
) -> Cell:
    """Return the cell of a fraction as per cent with its interval; ``more`` follows it in the text
    alone.
    """
    brief = percent(value, sign=sign)
    if bounds is None:
        return Cell(brief + more, value, strong=strong)
    shown = with_interval(brief, interval(bounds, as_percent=True, sign=sign))
    near, lopsided = _plus_minus(value, bounds, 1, 100)
    near = near and f"{brief.removesuffix(f'{NBSP}%')}{NBSP}{near}{NBSP}%"
    return Cell(
        shown + more,
        value,
        bounds.low,
        bounds.high,
        strong=strong,
        brief=brief + more,
        near=near and near + more,
        lopsided=lopsided,
    )


def _plus_minus(
    value: float | None, bounds: Interval, places: int, scale: int = 1
) -> tuple[str, bool]:
    """Return ``± HALF`` such that the value as shown ± it holds the interval, and whether its sides
    differ as shown; "" where undefined.

    >>> _plus_minus(0.4213, Interval(0.4152, 0.4288), 3)
    ('±\xa00.008', True)
    """
    if value is None or not all(map(math.isfinite, (value, bounds.low, bounds.high))):
        return "", False
    shown, unit = round(scale * value, places), 10**-places
    sides = [
        math.ceil(side / unit - 1e-6)
        for side in (shown - scale * bounds.low, scale * bounds.high - shown)
    ]
    return f"±{NBSP}{decimal(max(sides) * unit, places)}", abs(sides[0] - sides[1]) > 1


def drop_columns(columns: list[Column], rows: list[list[Cell]], gone: Sequence[int]) -> None:
    """Remove these columns."""
    for index in sorted(gone, reverse=True):
        del columns[index]
        for row in rows:
            del row[index]


def drop_empty(columns: list[Column], rows: list[list[Cell]], first: int) -> None:
    """Remove the columns, from the one numbered ``first``, that are empty in every row."""
    drop_columns(
        columns,
        rows,
        [i for i in range(first, len(columns)) if all(row[i].value is None for row in rows)],
    )


def any_cell(value: Any) -> Cell:
    """Return the cell of any value of a statistics table."""
    plain = value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    shown = setting(value)
    return Cell(shown, plain if plain is not None or value is None else shown)

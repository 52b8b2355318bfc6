"""Rows of one thing side by side, and templates of sentences about it.

A template names a key or a statistic in braces, as Python's formats do: ``{pool}``,
``{effect:+.3f}`` (a value with its interval), ``{effect.low:.3f}``, ``{power:.0%}``,
``{groups:,}``, ``{effect.p_adjusted:p}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from pandas import DataFrame

from positionbias.core.formatting import as_form, with_interval
from positionbias.core.records import Interval


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was measured: what names it (``keys``), and its row of each statistic."""

    keys: Mapping[str, Any]
    rows: Mapping[str, Any]

    def value(self, statistic: str) -> float | None:
        """Return the value of a statistic; None where it is missing or undefined."""
        value = self.rows[statistic].value if statistic in self.rows else None
        return None if value is None or value != value else float(value)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about figures; ``holds`` is None if they are undecided."""

    text: str
    holds: bool | None = None


def records_of(rows: DataFrame, by: Sequence[str], where: str = "") -> list[Record]:
    """Return the chosen rows, those of one combination of keys together, by first occurrence of
    each key in turn.
    """
    chosen = rows.query(where) if where else rows
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in chosen.itertuples(index=False):
        found.setdefault(tuple(getattr(row, name) for name in by), {})[row.statistic] = row
    places = [{cell: place for place, cell in enumerate(chosen[name].unique())} for name in by]
    order = sorted(
        found, key=lambda key: [place[cell] for place, cell in zip(places, key, strict=True)]
    )
    return [Record(dict(zip(by, key, strict=True)), found[key]) for key in order]


def rows_with(rows: DataFrame, keys: Mapping[str, Any]) -> DataFrame:
    """Return the rows that have these cells."""
    for name, cell in keys.items():
        rows = rows[rows[name] == cell]
    return rows


def bounds_of(row: Any) -> Interval | None:
    """Return the interval of a row, if any."""
    return Interval(row.low, row.high, row.level) if row.low == row.low else None


def said(template: str, record: Record) -> str:
    """Return the sentence about a record; empty where a statistic that is named has no row, or is
    undefined.

    Example:
        >>> from positionbias.core.rows import frame
        >>> row = {"measure": "RR", "statistic": "change", "value": -0.1, "low": -0.2, "high": 0.0}
        >>> (record,) = records_of(frame([row]), ["measure"])
        >>> said("{measure}: {change:+.2f}", record), said("{tau:.2f}", record)
        ('RR: −0.10\\xa0[−0.20,\\xa00.00]', '')
    """
    try:
        return _Words().vformat(template, (), {**record.keys, **record.rows})
    except KeyError:
        return ""


def first_said(templates: Sequence[str], record: Record) -> str:
    """Return the first of several sentences that is not empty; empty where all are."""
    return next(filter(None, (said(template, record) for template in templates)), "")


def sentences(
    by: Sequence[str], where: str, *templates: str
) -> Callable[[DataFrame], Sequence[str]]:
    """Return what says of each record of the rows the first sentence whose statistics are there."""
    return lambda rows: [
        sentence for one in records_of(rows, by, where) if (sentence := first_said(templates, one))
    ]


class _Words(Formatter):
    """Formats a row as its value with its interval, and a number as it is read."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        number = getattr(value, "value", value)
        if number != number:  # undefined
            raise KeyError(format_spec)
        shown = as_form(number, format_spec)
        if number is value or format_spec in (",", "p"):
            return shown
        return with_interval(shown, bounds_of(value), format_spec)

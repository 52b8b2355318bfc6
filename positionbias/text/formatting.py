"""Format numbers for readers: three decimals, per cent with a sign, intervals, p-values.

Minus is U+2212, and the space before a per-cent sign does not break. ``None`` and NaN become an en
dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from positionbias.core.records import Interval

MINUS = "\u2212"
NBSP = "\u00a0"
MISSING = "–"


def _number(value: float | None, places: int, sign: bool) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{abs(value):,.{places}f}"
    if not any(digit in text for digit in "123456789"):
        return text  # rounds to zero, which has no sign
    if value < 0:
        return MINUS + text
    return f"+{text}" if sign else text


def decimal(value: float | None, places: int = 3, *, sign: bool = False) -> str:
    """Format a value with fixed decimals; with ``sign``, a plus before positive values."""
    return _number(value, places, sign)


def percent(fraction: float | None, places: int = 1, *, sign: bool = False) -> str:
    """Format a fraction as per cent: −0.0856 is ``−8.6 %``."""
    text = _number(None if fraction is None else 100 * fraction, places, sign)
    return text if text == MISSING else f"{text}{NBSP}%"


def as_form(value: float | None, form: str) -> str:
    """Format a value by a Python format such as ``.3f`` or ``+.1%`` (fixed decimals, plain or as
    per cent), as a count by ``,``, or as a p-value by ``p``.

    >>> as_form(-0.0856, "+.1%"), as_form(0.25, "+.2f"), as_form(-0.0001, ".3f"), as_form(0.03, "p")
    ('−8.6\xa0%', '+0.25', '0.000', '0.030')
    """
    if form in (",", "p"):
        return count(value) if form == "," else p_value(value)
    places, sign = int(form.lstrip("+.")[:-1]), form.startswith("+")
    number = percent if form.endswith("%") else decimal
    return number(value, places, sign=sign)


def with_interval(text: str, bounds: Interval | None, form: str = ".3f") -> str:
    """Append ``[low, high]`` to a formatted value, if it has an interval; per-cent bounds have no
    unit, as the value beside them has one.

    >>> with_interval("−8.6\xa0%", Interval(-0.1004, -0.0716), ".1%")
    '−8.6\xa0%\xa0[−10.0,\xa0−7.2]'
    """
    if bounds is None:
        return text
    ends = (as_form(end, form).removesuffix(f"{NBSP}%") for end in (bounds.low, bounds.high))
    return f"{text}{NBSP}[{f',{NBSP}'.join(ends)}]"


def p_value(p: float | None) -> str:
    """Format a p-value with three decimals, ``<0.001`` below that."""
    if p is None or not math.isfinite(p):
        return MISSING
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def count(number: float | None) -> str:
    """Format a whole number with thousands separated by commas."""
    return MISSING if number is None or number != number else f"{int(number):,}"


def plural(number: int, noun: str) -> str:
    """Format a number of things.

    >>> plural(1, "row"), plural(1_000, "passage"), plural(0, "query")
    ('1 row', '1,000 passages', '0 queries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def any_value(value: Any) -> str:
    """Format any value of a manifest or a table of statistics."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return f"{value:,.4g}".replace("-", MINUS) if math.isfinite(value) else MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {any_value(item)}" for key, item in value.items()) or MISSING
    if isinstance(value, Sequence):
        return ", ".join(map(any_value, value)) or MISSING
    return str(value)


def slug(text: str) -> str:
    """Turn a text into part of a file name or an anchor: lower-case ASCII letters and digits,
    separated by hyphens.
    """
    return (
        "-".join(
            "".join(
                char if char.isascii() and char.isalnum() else " " for char in text.lower()
            ).split()
        )
        or "unnamed"
    )

"""Durations in words."""

from __future__ import annotations

import math

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def duration_in_words(seconds: float) -> str:
    """Return an expected duration in words, to about two figures.

    Tens of seconds below a minute, whole minutes below an hour, then hours and tens of minutes,
    from twelve hours whole hours, and from two days days and hours.

    >>> duration_in_words(4), duration_in_words(163), duration_in_words(4_150)
    ('under 10 seconds', 'about 3 minutes', 'about 1 hour 10 minutes')

    Raises:
        ValueError: the duration is negative or not finite.
    """
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"wanted a finite number of seconds, at least 0; found {seconds}")
    if seconds < 10:
        return "under 10 seconds"
    # each bound is where rounding reaches the next form: 55 seconds are a minute, not 60 seconds
    if seconds < 55:
        return f"about {_rounded(seconds, 10)} seconds"
    if seconds < 59.5 * MINUTE:
        return f"about {_counted(_rounded(seconds, MINUTE) // MINUTE, 'minute')}"
    if seconds < 11 * HOUR + 55 * MINUTE:
        hours, rest = divmod(_rounded(seconds, 10 * MINUTE), HOUR)
        return f"about {_counted(hours, 'hour')}{f' {rest // MINUTE} minutes' if rest else ''}"
    if seconds < 47.5 * HOUR:
        return f"about {_counted(_rounded(seconds, HOUR) // HOUR, 'hour')}"
    days, rest = divmod(_rounded(seconds, HOUR), DAY)
    more = f" {_counted(rest // HOUR, 'hour')}" if rest else ""
    return f"about {_counted(days, 'day')}{more}"


def _rounded(seconds: float, unit: int) -> int:
    """Round to the nearest multiple of ``unit``, halves up."""
    return math.floor(seconds / unit + 0.5) * unit


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def shown_time(seconds: float) -> str:
    """Return seconds, minutes or hours, whichever is short to read."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"

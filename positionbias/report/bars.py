"""Small charts of text: bars, curves, and curves of one line; of ASCII where the terminal's
encoding has no blocks. None has a colour.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from positionbias.core.formatting import decimal
from positionbias.core.screen import LEAST, line_width, shown_width

__all__ = ["Bar", "area", "bars", "spark"]

LONGEST, HEIGHT = 60, 5  # columns of a bar or curve at most, and lines of a curve


class Glyphs(NamedTuple):
    """Characters to draw with: eighths of a line's height from the bottom, eighths of a column's
    width from the left, a mark, and a side.
    """

    up: str
    along: str
    mark: str
    side: str


BLOCKS = Glyphs(" ▁▂▃▄▅▆▇█", " ▏▎▍▌▋▊▉█", "┃", "│")
ASCII = Glyphs("  ..::||#", "     ####", "|", "|")


class Bar(NamedTuple):
    """A bar: its name, its length, a length to mark on it, and a text behind it."""

    name: str
    value: float
    mark: float
    text: str


def _glyphs() -> Glyphs:
    """Return blocks, or ASCII where standard output cannot write them."""
    try:
        "".join(BLOCKS).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return ASCII
    return BLOCKS


def _room(names: Sequence[str], texts: Sequence[str] = ("",)) -> int:
    taken = max(map(shown_width, names)) + max(map(shown_width, texts)) + 4
    return max(10, min(LONGEST, (line_width() or LEAST) - taken))


def bars(shown: Sequence[Bar]) -> list[str]:
    """Return a line for each bar, all on the scale of the longest, from 0."""
    glyphs = _glyphs()
    names, texts = [bar.name for bar in shown], [bar.text for bar in shown]
    room, longest = _room(names, texts), max(max(bar.value, bar.mark) for bar in shown) or 1.0
    lines = []
    for bar in shown:
        whole, part = divmod(round(8 * room * bar.value / longest), 8)
        drawn = (glyphs.along[8] * whole + (glyphs.along[part] if part else "")).ljust(room)
        at = min(room - 1, round(room * bar.mark / longest))
        line = f"{drawn[:at]}{glyphs.mark}{drawn[at + 1 :]}"
        lines.append(
            f"{bar.name.rjust(max(map(shown_width, names)))}  {line}  "
            f"{bar.text.rjust(max(map(shown_width, texts)))}"
        )
    return lines


def _levels(
    values: Sequence[float | None], low: float, high: float, room: int, steps: int
) -> list[int]:
    """Return heights from 0 (nothing known) or 1 (the least) to ``steps``, of at most ``room``
    columns: means of neighbours where there are more.
    """
    columns = min(room, len(values))
    found = []
    for column in range(columns):
        part = values[column * len(values) // columns : (column + 1) * len(values) // columns]
        known = [value for value in part if value is not None]
        share = (sum(known) / len(known) - low) / ((high - low) or 1.0) if known else None
        found.append(0 if share is None else 1 + round((steps - 1) * min(1.0, max(0.0, share))))
    return found


def _ends(values: Sequence[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def spark(values: Sequence[float | None], ends: tuple[float, float] | None = None) -> str:
    """Return a curve of one line, from its least to its greatest value or between ``ends``; ""
    where nothing is known.

    >>> spark([0.0, 1.0, 2.0, None, 7.0])
    '▁▂▃ █'
    """
    ends = ends or _ends(values)
    return (
        "".join(_glyphs().up[level] for level in _levels(values, *ends, LONGEST, 8)) if ends else ""
    )


def area(values: Sequence[float | None], ends: tuple[float, float] | None = None) -> list[str]:
    """Return a filled curve with its greatest and least value at its side; nothing where no value
    is known.
    """
    ends = ends or _ends(values)
    if ends is None:
        return []
    glyphs, names = _glyphs(), [decimal(ends[1]), decimal(ends[0])]
    levels, side = _levels(values, *ends, _room(names), 8 * HEIGHT), max(map(len, names))
    lines = []
    for below in range(8 * (HEIGHT - 1), -1, -8):
        name = {8 * (HEIGHT - 1): names[0], 0: names[1]}.get(below, "")
        drawn = "".join(glyphs.up[min(8, max(0, level - below))] for level in levels)
        lines.append(f"{name.rjust(side)} {glyphs.side}{drawn}".rstrip())
    return lines

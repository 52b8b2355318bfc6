"""Columns of text set side by side, fitted to the width of a line: headings wrap first, then texts,
then the columns go below one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from positionbias.core.screen import shown_width, words_of, wrap

__all__ = ["Grid", "fits", "lay_out"]

GAP = "  "
HEADING_LINES = 6
NARROWEST = (28, 20, 14, 10, 6)  # columns of a text that is wrapped, the first that will do


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of single-line texts; ``right`` says which columns are flush right, the first ``stub``
    name the row.

    ``groups`` has each column's upper heading: neighbours of the same share it. ``headings`` may be
    empty: no line of them then.
    """

    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    stub: int = 1
    headings: Sequence[str] = ()
    groups: Sequence[str] = field(default=())

    def only(self, columns: Sequence[int]) -> Grid:
        """Return some columns."""

        def chosen(row: Sequence[str]) -> list[str]:
            return [row[at] for at in columns] if row else []

        right = [self.right[at] for at in columns]
        return Grid(
            list(map(chosen, self.rows)),
            right,
            self.stub,
            chosen(self.headings),
            chosen(self.groups),
        )

    def spans(self) -> list[tuple[str, int, int]]:
        """Return each upper heading with its first column and the number of its columns."""
        found, at = [], 0
        for group, columns in groupby(self.groups):
            count = len(list(columns))
            found.append((group, at, count))
            at += count
        return found

    def widths(self, lines: int) -> list[int]:
        """Return the columns' widths where a heading takes this many lines at most, and no other
        text is wrapped.
        """
        body = [
            max((shown_width(row[at]) for row in self.rows), default=0)
            for at in range(len(self.right))
        ]
        heads = [_heading_width(name, lines) for name in self.headings] or [0] * len(body)
        found = list(map(max, body, heads))
        for group, start, count in self.spans():
            found[start + count - 1] += max(
                0, _heading_width(group, lines) - _room(found, start, count)
            )
        return found

    def least(self, narrowest: int) -> list[int]:
        """Return the widths below which a number would be split, or a text be narrower than
        ``narrowest``.
        """
        found = []
        for at, (right, most) in enumerate(
            zip(self.right, self.widths(HEADING_LINES), strict=True)
        ):
            words = (shown_width(word) for row in self.rows for word in words_of(row[at]))
            heading = _heading_width(self.headings[at], HEADING_LINES) if self.headings else 0
            longest = max(words, default=0)
            found.append(
                min(
                    most,
                    max(longest if right else min(longest, narrowest), min(heading, 2 * narrowest)),
                )
            )
        return found


def _heading_width(text: str, lines: int) -> int:
    """Return the least width at which a heading takes at most so many lines, and parts no word."""
    width = max(map(shown_width, words_of(text)))
    if lines == 1:
        return shown_width(text)
    while len(wrap(text, width)) > lines:
        width += 1
    return width


def _room(widths: Sequence[int], start: int = 0, count: int | None = None) -> int:
    chosen = widths[start:] if count is None else widths[start : start + count]
    return sum(chosen) + len(GAP) * (len(chosen) - 1)


def fits(grid: Grid, width: int | None) -> bool:
    """Check that nothing need be wrapped."""
    return width is None or _room(grid.widths(1)) <= width


def lay_out(grid: Grid, width: int | None) -> list[str]:
    """Return the lines; what does not fit beside its row names stands below, after an empty line,
    with the row names again.
    """
    for lines in range(1, HEADING_LINES + 1):
        widths = grid.widths(lines)
        if width is None or _room(widths) <= width:
            return _lines(grid, widths)
    assert width is not None
    for narrowest in NARROWEST:
        if (least := _fitted(grid, grid.least(narrowest), width)) is not None:
            return _lines(grid, _shared(grid.widths(HEADING_LINES), least, width))
        if len(grid.right) > grid.stub + 1 and (parts := _parts(grid, narrowest, width)):
            return [
                line
                for number, part in enumerate(parts)
                for line in [*[""] * (number > 0), *lay_out(part, width)]
            ]
    return _lines(
        grid, _shared(grid.widths(HEADING_LINES), [NARROWEST[-1]] * len(grid.right), width)
    )


def _fitted(grid: Grid, least: list[int], width: int) -> list[int] | None:
    return least if _room(least) <= width else None


def _parts(grid: Grid, narrowest: int, width: int) -> list[Grid]:
    """Return grids of the row names and as many of the other columns as fit, groups whole where
    they can be; none where a column does not fit.
    """
    least, names = grid.least(narrowest), list(range(grid.stub))

    def fitting(columns: Sequence[int]) -> bool:
        return _room([least[at] for at in (*names, *columns)]) <= width

    parts: list[list[int]] = []
    for unit in _units(grid):
        for columns in [unit] if fitting(unit) else [[at] for at in unit]:
            if not fitting(columns):
                return []
            if parts and fitting([*parts[-1], *columns]):
                parts[-1] += columns
            else:
                parts.append(list(columns))
    return [grid.only([*names, *part]) for part in parts]


def _units(grid: Grid) -> list[list[int]]:
    """Return the columns behind the row names that stay together: those of a group."""
    spans = [
        (group, range(max(start, grid.stub), start + count)) for group, start, count in grid.spans()
    ]
    spans = spans or [("", range(grid.stub, len(grid.right)))]
    return [
        unit
        for group, columns in spans
        for unit in ([list(columns)] if group else [[at] for at in columns])
        if unit
    ]


def _shared(wanted: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return widths between the least and those wanted: the room that is left goes to whichever
    column wraps most.
    """
    found = list(least)
    for _ in range(max(0, width - _room(found))):
        at = max(range(len(found)), key=lambda one: wanted[one] / max(1, found[one]))
        if found[at] >= wanted[at]:
            break
        found[at] += 1
    return found


def _pad(text: str, width: int, right: bool) -> str:
    gap = " " * max(0, width - shown_width(text))
    return gap + text if right else text + gap


def _joined(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    """Return a row's lines."""
    parts = [wrap(text, width) for text, width in zip(row, widths, strict=True)]
    lines = zip_longest(*parts, fillvalue="")
    return [GAP.join(map(_pad, line, widths, right)).rstrip() for line in lines]


def _below(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    """Return headings that end on one line."""
    parts = [wrap(text, width) for text, width in zip(texts, widths, strict=True)]
    deepest = max(map(len, parts))
    lines = zip(*([""] * (deepest - len(part)) + part for part in parts), strict=True)
    return [GAP.join(map(_pad, line, widths, right)).rstrip() for line in lines]


def _lines(grid: Grid, widths: Sequence[int]) -> list[str]:
    lines = []
    if any(grid.groups):
        spans = grid.spans()
        rooms = [_room(widths, start, count) for _, start, count in spans]
        lines += _below([group for group, _, _ in spans], rooms, [False] * len(spans))
    if grid.headings:
        lines += _below(grid.headings, widths, grid.right)
        lines.append(GAP.join("─" * width for width in widths))
    return [*lines, *(line for row in grid.rows for line in _joined(row, widths, grid.right))]

"""Markdown of a summary for a pull request: a heading, a table, lines and notes, in which no name
is markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from positionbias.report.table import Column

__all__ = ["code", "document", "escaped", "one_line", "table_lines"]

_NO_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_MARKED = re.compile(r"([\\`*_{}\[\]<>|~&!])")


def document(
    heading: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    lines: Sequence[str],
    notes: Sequence[str] = (),
) -> str:
    """Return the whole text. The cells of ``rows``, the lines and the notes are Markdown
    already.
    """
    table = table_lines(columns, rows)
    parts = [f"### {heading}", "", *table, "", *(f"- {line}" for line in lines)]
    return "\n".join([*parts, *(["", *(f"- {note}" for note in notes)] if notes else []), ""])


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose cells are Markdown already."""
    table = [f"| {' | '.join(column.name for column in columns)} |"]
    table.append(f"|{'|'.join(' ---: ' if column.numeric else ' --- ' for column in columns)}|")
    return [*table, *(f"| {' | '.join(row)} |" for row in rows)]


def code(text: str) -> str:
    """Return a code span, in which no name is markup, a mention or a link."""
    text = one_line(text) or "unnamed"
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{ticks} {text} {ticks}" if "`" in text else f"{ticks}{text}{ticks}"


def escaped(text: str) -> str:
    """Escape markup in a text; a zero-width space keeps ``@name`` and ``#1`` from becoming
    mentions.
    """
    return re.sub(r"((?<!\w)@|#)(?=\w)", "\\1\u200b", _MARKED.sub(r"\\\1", one_line(text)))


def one_line(text: str) -> str:
    """Return the text on one line, without control characters; non-breaking spaces stay."""
    return _NO_LINE.sub(" ", text).strip()

"""Markdown for a pull request, in which no name is markup."""

from __future__ import annotations

import re

__all__ = ["code", "escaped", "one_line"]

_NO_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_MARKED = re.compile(r"([\\`*_{}\[\]<>|~&!])")


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

"""Markdown made of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKED = re.compile(r"([\\`*_{}\[\]<>#|$~])")


def plain(text: str) -> str:
    """Return text whose characters have no meaning in Markdown."""
    return _MARKED.sub(r"\\\1", " ".join(text.split()))


def fence(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text}\n```"


def toctree(pages: Iterable[str], *, hidden: bool = True) -> str:
    """Return a table of contents of these pages, for the navigation."""
    return "\n".join(["```{toctree}", *([":hidden:"] if hidden else []), *pages, "```"])


def page(*blocks: str) -> str:
    """Return a page of these blocks."""
    return "\n\n".join(filter(None, blocks)) + "\n"

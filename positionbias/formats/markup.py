"""Convert marked-up text to plain text and back: tags, comments, character references, white space.

Used for TREC's SGML, topics and the Washington Post's HTML. [decision] A run of white space in the
markup becomes one space, and the ends are stripped; white space to preserve is written as a
character reference. So the line breaks of old files vanish, and any text survives ``escape`` and
``plain_text``.
"""

from __future__ import annotations

import re
from html.entities import html5

# tags inside a word or a sentence; any other ends a word
INLINE = frozenset(
    "a abbr b big cite code em font i ins kbd mark q s small span strike strong sub sup tt "
    "u".split()
)
# a tag, or an unclosed start of one, which is text and is scanned only once
_TAG = re.compile(
    r"<(?:/?([A-Za-z][\w.:-]*+)|[!?])(?:[^<>=]|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+(>?)"
)
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{0,31}));")
_SPACES = re.compile(r"[ \t\n\r\f\v]+")
_SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ESCAPED = re.compile(r"[&<>\t\n\r\f\v]|\A | \Z|(?<= ) ")
# of the Federal Register; HTML gives these names another meaning or none
_SGML = {"blank;": " ", "hyph;": "-"}


def collapse(text: str) -> str:
    """Replace each run of ASCII white space by one space, and strip the ends."""
    return _SPACES.sub(" ", text).strip(" ")


def resolve(text: str) -> str:
    """Replace ``&amp;``, ``&#38;``, ``&#x26;`` by their characters; unknown ones stay.

    A reference ends with a semicolon: "R&D" and "AT&T" are text. Numbers 128 to 159 mean
    Windows-1252, as in HTML.
    """
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _SGML.get(f"{name.lower()};") or html5.get(f"{name};", match[0])
    number = int(decimal) if decimal else int(hexadecimal, 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        return match[0]
    if 0x80 <= number < 0xA0:
        return bytes([number]).decode("cp1252", "ignore") or chr(number)
    return chr(number)


def plain_text(markup: str) -> str:
    """Remove tags and comments, resolve references and collapse white space."""
    if "<" in markup:
        markup = _TAG.sub(_replaced, _without_comments(markup))
    return resolve(collapse(markup))


def _replaced(tag: re.Match[str]) -> str:
    if not tag[2]:
        return tag[0]
    return "" if (tag[1] or "").lower() in INLINE else " "


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join((*kept, text[at:]))


def escape(text: str) -> str:
    """Return markup that ``plain_text`` reads as exactly ``text``."""
    return _ESCAPED.sub(lambda match: _SPECIAL.get(match[0]) or f"&#{ord(match[0])};", text)

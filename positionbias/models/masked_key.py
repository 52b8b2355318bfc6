"""Mask a key in what a server says, in any case and encoding."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

_MASK, _WITHHELD = "[key]", "[a message that holds the key]"
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt])")
_LEAST = 4  # characters of an encoded key: fewer would mask words
_PART = 12  # characters of a part of a key, at least half of it: fewer may be words


def without_key(text: str, key: str) -> str:
    """Return the text with the key masked; a text that holds half of it (12 characters or more), or
    all in another encoding, is withheld whole.

    Read are upper and lower case, percent encoding, JSON's and HTML's escapes, hexadecimal and
    base64 (also of a text around the key), and two of them on top of each other.
    """
    if not key:
        return text
    text = re.sub(re.escape(key), _MASK, text, flags=re.IGNORECASE)
    part = min(len(key), max(_PART, len(key) // 2))
    forms = [key[at : at + part].casefold() for at in range(len(key) - part + 1)]
    forms += [form for form in _encoded(key.encode()) if len(form) >= _LEAST]
    views = {text}
    for _ in range(2):
        views |= {decoded for view in views for decoded in _decoded(view)}
    held = any(form in view for view in (view.casefold() for view in views) for form in forms)
    return _WITHHELD if held else text


def _decoded(text: str) -> Iterator[str]:
    """Yield the text with its escapes read."""
    yield unquote(text)
    yield unquote_plus(text)
    yield html.unescape(text)
    yield _ESCAPE.sub(lambda escape: json.loads(f'"{escape[0]}"'), text)


def _encoded(key: bytes) -> Iterator[str]:
    """Yield the key's hexadecimal and base64 forms, lower case: of base64 what does not depend on
    the text around the key.
    """
    yield key.hex()
    for before in range(3):
        packed = base64.b64encode(b"\0" * before + key).decode()
        # the first and the last characters share bits with other text
        whole = (before + len(key)) * 8 // 6
        middle = packed[-(-before * 8 // 6) : whole]
        yield middle.lower()
        yield middle.replace("+", "-").replace("/", "_").lower()

"""Comparable words of a text: NFKC, without case, runs of letters, digits and underscores (``\\w+``).

A text in ASCII needs no more than a table of bytes; any other goes through Python's Unicode tables first. Both leave words of bytes between
spaces, so that all later steps see one form.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

__all__ = ["SPACE", "comparable_bytes", "comparable_words"]

SPACE = 0x20
_WORD = re.compile(r"\w+")
_ASCII = bytes(ord(chr(byte).lower()) if _WORD.match(chr(byte)) else SPACE for byte in range(128))
_TABLE = _ASCII + bytes(range(128, 256))  # bytes of other characters are those of words


def comparable_words(text: str) -> list[str]:
    """Return the words of a text.

    >>> comparable_words("The ﬁrst CAFÉ, re-opened.")
    ['the', 'first', 'café', 're', 'opened']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def comparable_bytes(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of texts as UTF-8 between spaces: all bytes ``(b,)`` uint8, a space after each text, and where texts begin ``(t + 1,)``."""
    pieces = [text.encode() if text.isascii() else " ".join(comparable_words(text)).encode() for text in texts]
    data = b" ".join([*pieces, b""]).translate(_TABLE)
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)) + 1, out=starts[1:])
    return np.frombuffer(data, np.uint8), starts

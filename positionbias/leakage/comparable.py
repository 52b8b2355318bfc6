"""Normalise queries for comparison, ignoring case, dashes and question marks."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["comparable"]

_APOSTROPHES = str.maketrans("’‘`´", "''''")
_JOINED = re.compile(r"(?<=[^\W\d_])[-‐‑–—/_,;:](?=[^\W\d_])")  # between letters: "food/drug"
# signs that are part of a word: C++, C#, 50%, $5
_BEFORE = re.compile(r"(?<!\S)[^\w\s+#%&@$€£¥]+")
# tried once per run of signs
_BEHIND = re.compile(r"(?<![^\w\s+#%&@$€£¥])[^\w\s+#%&@$€£¥]++(?!\S)")


def comparable(text: str) -> str:
    """Return a text in one case, without punctuation around its words, its words separated by one
    space [decision].

    Dashes and slashes between letters separate words. Signs that distinguish words (+ # % & @ and
    currencies) stay.

    >>> comparable('What is the "post–polio" syndrome?'), comparable("C++ or C#?")
    ('what is the post polio syndrome', 'c++ or c#')
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    return " ".join(_BEHIND.sub("", _BEFORE.sub("", _JOINED.sub(" ", folded))).split())

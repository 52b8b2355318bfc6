"""The form of a query in which two are compared: a copy with another case, dash or question mark is the same text."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["comparable"]

_APOSTROPHES = str.maketrans("’‘`´", "''''")
_JOINED = re.compile(r"(?<=[^\W\d_])[-‐‑–—/_,;:](?=[^\W\d_])")  # between letters: "food/drug"
# signs that belong to a word: C++, C#, 50%, $5
_BEFORE = re.compile(r"(?<!\S)[^\w\s+#%&@$€£¥]+")
_BEHIND = re.compile(r"(?<![^\w\s+#%&@$€£¥])[^\w\s+#%&@$€£¥]++(?!\S)")  # tried once a run of signs


def comparable(text: str) -> str:
    """Return a text in one case, without punctuation around its words, its words parted by one space [decision].

    Dashes and slashes between letters part words. Signs that tell words apart (+ # % & @ and currencies) stay.

    >>> comparable('What is the "post–polio" syndrome?'), comparable("C++ or C#?")
    ('what is the post polio syndrome', 'c++ or c#')
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    return " ".join(_BEHIND.sub("", _BEFORE.sub("", _JOINED.sub(" ", folded))).split())

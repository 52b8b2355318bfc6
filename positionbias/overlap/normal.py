"""Comparable words of a text: NFKC, without case, runs of letters, digits and underscores
(``\\w+``); in scripts without spaces, each cluster.

Nothing in ASCII needs Unicode's tables, and no rule of theirs reaches over an ASCII character that
is not of a word. So blocks of texts become bytes by one table, and only runs with other characters
are looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from positionbias.text.clusters import clusters, with_clusters

__all__ = ["SPACE", "Encoded", "comparable_words", "raw_bytes"]

SPACE = 0x20
_WORD = re.compile(r"\w+")
_ASCII = bytes(ord(chr(byte).lower()) if _WORD.match(chr(byte)) else SPACE for byte in range(128))
_TABLE = _ASCII + bytes(range(128, 256))


def comparable_words(text: str) -> list[str]:
    """Return the words of a text.

    >>> comparable_words("The ﬁrst CAFÉ, re-opened.")
    ['the', 'first', 'café', 're', 'opened']
    >>> comparable_words("在2019年")
    ['在', '2019', '年']
    """
    return with_clusters(unicodedata.normalize("NFKC", text).casefold(), _WORD, clusters)


class Encoded(Sequence[str]):
    """Texts in UTF-8, one after another, that are decoded when they are asked for; most never are.
    Text i is ``data[ends[i] : ends[i + 1]]``.
    """

    def __init__(self, data: bytes, ends: Sequence[int]) -> None:
        self.data, self.ends = data, ends

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        if isinstance(place, slice):
            first, last, _ = place.indices(len(self))
            return Encoded(self.data, self.ends[first : last + 1])
        return self.data[self.ends[place] : self.ends[place + 1]].decode()

    def pieces(self) -> list[bytes]:
        """Return the bytes of each text."""
        return [self.data[start:end] for start, end in pairwise(self.ends)]


def raw_bytes(texts: Sequence[str]) -> tuple[bytes, np.ndarray]:
    """Return texts in UTF-8 and where they begin ``(t + 1,)``: ASCII without case, a space for any
    of its characters that is not of a word, and one after each text.
    """
    # half of a surrogate pair is of no word
    pieces = (
        texts.pieces()
        if isinstance(texts, Encoded)
        else [text.encode("utf-8", "replace") for text in texts]
    )
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)) + 1, out=starts[1:])
    return b" ".join([*pieces, b""]).translate(_TABLE), starts

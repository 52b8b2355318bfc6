"""Words of texts as hashes, and hashes of their runs of n words.

A word is what stands between spaces and punctuation after NFKC and without case; in scripts without
spaces, each cluster. A run of n words with hashes w has the hash Σ w_j·b^(n−j) modulo 2^64, in the
same few passes of numpy whatever the words are (Karp, Rabin 1987). Two different runs share a hash
with a probability of about 2^-60 [decision]: of 10^9 training and 10^7 test runs about one pair in
a hundred searches does, and one run makes no pair of texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from pandas.util import hash_array

from positionbias.text.clusters import clusters, with_clusters

__all__ = ["COMMON", "Words", "common_runs", "comparable_words", "hash_words", "once", "runs_of"]

COMMON = 0.01
(
    """Share of one set's texts: a run of words in more of them tells nothing about a copy, and """
    """counts for nothing [decision]."""
)
_FEW = 20  # texts of a small set that may well be copies of each other
_BASE = np.uint64(0x9E3779B97F4A7C13)
_WORD = re.compile(r"\w+")


def comparable_words(text: str) -> list[str]:
    """Return the words of a text.

    >>> comparable_words("The ﬁrst CAFÉ, re-opened.")
    ['the', 'first', 'café', 're', 'opened']
    >>> comparable_words("在2019年")
    ['在', '2019', '年']
    """
    return with_clusters(unicodedata.normalize("NFKC", text).casefold(), _WORD, clusters)


class Words(NamedTuple):
    """Hashes of the words of texts, one text's after another's ``(w,)`` uint64, the number of words
    of each text ``(t,)``, and the hash of each whole text ``(t,)`` uint64.
    """

    hashes: np.ndarray
    counts: np.ndarray
    whole: np.ndarray


def hash_words(texts: Iterable[str]) -> Words:
    """Return the hashes of the comparable words of texts."""
    words = [comparable_words(text) for text in texts]
    counts = np.fromiter(map(len, words), np.int64, len(words))
    return Words(_hashed(chain.from_iterable(words)), counts, _hashed(map(" ".join, words)))


def _hashed(strings: Iterable[str]) -> np.ndarray:
    return np.asarray(hash_array(np.array([*strings], object), categorize=False))


def runs_of(words: Words, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the text of each run of n words within a text ``(r,)`` int64, in order, and the hashes
    of the runs ``(r,)`` uint64.
    """
    texts = np.repeat(np.arange(len(words.counts)), words.counts)
    count = max(len(texts) - n + 1, 0)
    hashes = np.zeros(count, np.uint64)
    for place in range(n if count else 0):
        hashes = hashes * _BASE + words.hashes[place : place + count]
    inside = texts[:count] == texts[len(texts) - count :]
    return texts[:count][inside], hashes[inside]


def once(
    texts: np.ndarray, hashes: np.ndarray, without: Sequence[int] | np.ndarray = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Return each run of a text once, by text and hash, ``without`` some hashes."""
    order = np.lexsort((hashes, texts))
    texts, hashes = texts[order], hashes[order]
    new = np.ones(len(texts), bool)
    new[1:] = (texts[1:] != texts[:-1]) | (hashes[1:] != hashes[:-1])
    new &= ~np.isin(hashes, np.asarray(without, np.uint64))
    return texts[new], hashes[new]


def common_runs(words: Words, n: int) -> np.ndarray:
    """Return the sorted hashes of the runs of n words in more than ``COMMON`` of these texts, and
    in more than 20 of them: boilerplate. Equal texts are one.
    """
    _, first = np.unique(words.whole, return_index=True)
    texts, hashes = runs_of(words, n)
    different = np.isin(texts, first)
    _, hashes = once(texts[different], hashes[different])
    values, counts = np.unique(hashes, return_counts=True)
    return values[counts > max(COMMON * len(first), _FEW)]

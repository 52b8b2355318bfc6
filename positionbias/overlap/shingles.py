"""Hashes of words, of runs of n words (shingles) and of whole texts, by prefix sums modulo 2^64.

With values v of the bytes of a word and an odd base p, and H(i) = Σ_{j < i} v_j p^j over all bytes,

    hash of bytes [s, e) = (H(e) − H(s)) · p^(−s)  (mod 2^64)

which does not depend on where the word stands. Shingles are the same sum over the words' hashes. So a block of texts costs a few passes
of numpy, whatever its words (Karp, Rabin 1987). Two different shingles share a hash with a probability of about 2^-60 [decision]: in a run
of 10^9 training and 10^7 test shingles, one shared shingle in some thousand runs is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from positionbias.overlap.normal import SPACE, comparable_bytes

__all__ = ["Words", "hash_words", "shingle_hashes", "text_hashes"]

_BASE = 0x9E3779B97F4A7C13  # ≡ 3 modulo 8, so that differences of powers keep most of their bits
_WORD_BASE = 0xD6E8FEB86659FD93
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_LEAST_POWERS = 1 << 18
_VALUES = np.random.Generator(np.random.PCG64(20_231_127)).integers(1, 2**64, 256, np.uint64)  # of the 256 bytes


@dataclass(frozen=True, slots=True)
class Words:
    """The words of texts: their hashes ``(w,)`` uint64, and the first word of each text ``(t + 1,)`` int64."""

    hashes: np.ndarray
    first: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The number of words of each text ``(t,)``."""
        return np.diff(self.first)


def hash_words(texts: Sequence[str]) -> Words:
    """Return the hashes of the words of texts."""
    data, text_starts = comparable_bytes(texts)
    inside = np.empty(len(data) + 1, bool)
    inside[0] = False
    np.not_equal(data, SPACE, out=inside[1:])
    edges = np.flatnonzero(inside[1:] != inside[:-1])  # a space stands after each text, so edges come in pairs
    starts, ends = edges[::2], edges[1::2]
    hashes = _mixed(_spans(_VALUES[data], starts, ends, _BASE))
    return Words(hashes, np.searchsorted(starts, text_starts))


def shingle_hashes(words: Words, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of all runs of n words within a text ``(s,)`` uint64, in order, and the text of each ``(s,)`` int64."""
    runs = np.maximum(words.counts - n + 1, 0)
    texts = np.repeat(np.arange(len(runs)), runs)
    starts = np.arange(len(texts)) + (words.first[:-1] - np.cumsum(runs) + runs)[texts]
    return _mixed(_spans(words.hashes, starts, starts + n, _WORD_BASE)), texts


def text_hashes(words: Words) -> np.ndarray:
    """Return the hash of all words of each text ``(t,)`` uint64."""
    return _mixed(_spans(words.hashes, words.first[:-1], words.first[1:], _WORD_BASE))


def _spans(values: np.ndarray, starts: np.ndarray, ends: np.ndarray, base: int) -> np.ndarray:
    """Return the hashes of ``values [start, end)``, independent of where they stand."""
    powers, inverse = _powers(base, max(_LEAST_POWERS, 1 << len(values).bit_length()))
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values * powers[: len(values)], out=sums[1:])
    return (sums[ends] - sums[starts]) * inverse[starts]


@cache
def _powers(base: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return base^i and base^-i modulo 2^64 for i < length, ``(length,)`` uint64."""
    found = []
    for number in (base, pow(base, -1, 1 << 64)):
        powers = np.full(length, number, np.uint64)
        powers[0] = 1
        found.append(np.multiply.accumulate(powers))
    return found[0], found[1]


def _mixed(hashes: np.ndarray) -> np.ndarray:
    """Spread hashes over all their bits, one to one."""
    hashes = (hashes ^ (hashes >> _HALF)) * _MIX
    return hashes ^ (hashes >> _HALF)

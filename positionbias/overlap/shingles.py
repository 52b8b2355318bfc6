"""Hashes of words, of runs of n words (shingles) and of whole texts, by prefix sums modulo 2^64.

With values v of the bytes of a word and an odd base p, and H(i) = Σ_{j < i} v_j p^j over all bytes,

    hash of bytes [s, e) = (H(e) − H(s)) · p^(−s)  (mod 2^64)

which does not depend on where the word stands. Shingles are the same sum over the words' hashes. So
a block of texts costs a few passes of numpy, whatever its words (Karp, Rabin 1987). Two different
shingles share a hash with a probability of about 2^-60 [decision]: of 10^9 training and 10^7 test
shingles about one pair in a hundred runs does, and one shingle makes no pair of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np

from positionbias.overlap.normal import SPACE, comparable_words, raw_bytes

__all__ = [
    "Words",
    "common_shingles",
    "distinct",
    "first_of",
    "hash_words",
    "own_runs",
    "runs",
    "shingle_hashes",
    "text_hashes",
]

COMMON = 0.01
(
    """Share of one set's texts: a run of words in more of them tells nothing about a copy, and """
    """counts for nothing [decision]."""
)
_FEW = 20  # texts of a small set that may well be copies of each other
_MODULUS = 1 << 64
_BASE = 0x9E3779B97F4A7C13  # ≡ 3 modulo 8, so that differences of powers keep most of their bits
_WORD_BASE = 0xD6E8FEB86659FD93
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_PART = 1 << 20  # powers that are kept
_TEXTS = 4_096  # hashed at once: their arrays fit a processor's cache
_MOST_RUNS = 1 << 20
_MOST_WORDS = 1 << 22  # in scripts without spaces a run is a clause
# of the 256 bytes
_VALUES = np.random.Generator(np.random.PCG64(20_231_127)).integers(1, _MODULUS, 256, np.uint64)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of texts: their hashes ``(w,)`` uint64, and the first word of each text
    ``(t + 1,)`` int64.
    """

    hashes: np.ndarray
    first: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The number of words of each text ``(t,)``."""
        return np.diff(self.first)

    def part(self, low: int, high: int) -> Words:
        """Return those of the texts from ``low`` to below ``high``."""
        first = self.first[low : high + 1]
        return Words(self.hashes[first[0] : first[-1]], first - first[0])


def hash_words(texts: Sequence[str]) -> Words:
    """Return the hashes of the comparable words of texts; of many texts, some at once."""
    parts = (
        [_hashed(texts)]
        if len(texts) <= _TEXTS
        else [_hashed(texts[at : at + _TEXTS]) for at in range(0, len(texts), _TEXTS)]
    )
    firsts = np.concatenate([[0], *(part.counts for part in parts)])
    return (
        Words(np.concatenate([part.hashes for part in parts]), np.cumsum(firsts))
        if len(parts) > 1
        else parts[0]
    )


def _hashed(texts: Sequence[str]) -> Words:
    data, text_starts = raw_bytes(texts)
    starts, ends, hashes = _runs(data)
    first = np.searchsorted(starts, text_starts)
    if data.isascii():
        return Words(hashes, first)
    places = _with_others(np.frombuffer(data, np.uint8) >= 0x80, starts)
    counts, words = _KNOWN.words(data, hashes[places], starts[places], ends[places])
    lengths = np.ones(len(hashes), np.int64)
    lengths[places] = counts
    made = np.repeat(hashes, lengths)
    before = np.zeros(len(hashes) + 1, np.int64)
    np.cumsum(lengths, out=before[1:])
    made[np.repeat(before[places], counts) + runs(counts)] = words
    return Words(made, before[first])


def _runs(data: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first and last place of each run of other bytes than spaces, and its hash; the
    last byte is a space.
    """
    array = np.frombuffer(data, np.uint8)
    inside = np.empty(len(array) + 1, bool)
    inside[0] = False
    np.not_equal(array, SPACE, out=inside[1:])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    return starts, ends, _mixed(_spans(_VALUES[array], starts, ends, _BASE))


def _with_others(other: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the runs that have one of the ``other (b,)`` bytes, in order."""
    first = other.copy()
    first[1:] &= ~other[:-1]
    places = np.searchsorted(starts, np.flatnonzero(first), side="right") - 1
    return places[np.diff(places, prepend=-1) > 0]


class _KnownRuns:
    """The comparable words in runs that are not all ASCII, by the hash of the run: their hashes,
    one run's after another's.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.numbers: dict[int, int] = {}
        self.counts, self.starts = (np.zeros(0, np.int64) for _ in range(2))
        self.hashes = np.zeros(0, np.uint64)

    def words(
        self, data: bytes, hashes: np.ndarray, starts: np.ndarray, ends: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how many words each run has, and their hashes, one after another."""
        if len(self.numbers) > _MOST_RUNS or len(self.hashes) > _MOST_WORDS:
            self._clear()
        keys = hashes.tolist()
        if new := {key: place for place, key in enumerate(keys) if key not in self.numbers}:
            spans = ((starts[place], ends[place]) for place in new.values())
            self._learn(
                list(new), [comparable_words(data[start:end].decode()) for start, end in spans]
            )
        numbers = np.fromiter(map(self.numbers.__getitem__, keys), np.int64, len(keys))
        counts = self.counts[numbers]
        return counts, self.hashes[np.repeat(self.starts[numbers], counts) + runs(counts)]

    def _learn(self, keys: Sequence[int], found: Sequence[Sequence[str]]) -> None:
        _, _, hashes = _runs(" ".join([*chain.from_iterable(found), ""]).encode())
        counts = np.array([len(words) for words in found], np.int64)
        self.numbers.update(
            zip(keys, range(len(self.numbers), len(self.numbers) + len(keys)), strict=True)
        )
        self.starts = np.concatenate([self.starts, len(self.hashes) + np.cumsum(counts) - counts])
        self.counts = np.concatenate([self.counts, counts])
        self.hashes = np.concatenate([self.hashes, hashes])


_KNOWN = _KnownRuns()  # of this process


def shingle_hashes(words: Words, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of all runs of n words within a text ``(s,)`` uint64, in order, and the
    text of each ``(s,)`` int64.
    """
    counts = np.maximum(words.counts - n + 1, 0)
    texts = np.repeat(np.arange(len(counts)), counts)
    starts = words.first[texts] + runs(counts)
    return _mixed(_spans(words.hashes, starts, starts + n, _WORD_BASE)), texts


def common_shingles(parts: Iterable[Words], n: int) -> np.ndarray:
    """Return the sorted hashes of the runs of n words in more than ``COMMON`` of these texts, and
    in more than 20 of them: boilerplate. Equal texts are one.
    """
    found, seen = [np.zeros(0, np.uint64)], np.zeros(0, np.uint64)
    for words in parts:
        known, whole = len(seen), text_hashes(words)
        seen, first = np.unique(np.concatenate([seen, whole]), return_index=True)
        new = np.zeros(len(whole), bool)
        new[first[first >= known] - known] = True
        hashes, texts = shingle_hashes(words, n)
        hashes, texts = hashes[new[texts]], texts[new[texts]]
        order = np.lexsort((hashes, texts))
        hashes, texts = hashes[order], texts[order]
        found.append(hashes[first_of(hashes) | first_of(texts)])  # each once a text
    hashes = np.sort(np.concatenate(found))
    starts = np.flatnonzero(first_of(hashes))
    return hashes[starts][np.diff(starts, append=len(hashes)) > max(COMMON * len(seen), _FEW)]


def own_runs(words: Words, n: int, common: np.ndarray) -> np.ndarray:
    """Return how many runs of n words each text has that are not common ``(t,)``."""
    hashes, texts = shingle_hashes(words, n)
    return np.bincount(texts[~np.isin(hashes, common)], minlength=len(words.counts))


def text_hashes(words: Words) -> np.ndarray:
    """Return the hash of all words of each text ``(t,)`` uint64."""
    return _mixed(_spans(words.hashes, words.first[:-1], words.first[1:], _WORD_BASE))


def first_of(values: np.ndarray) -> np.ndarray:
    """Return True where a sorted value differs from the one before it."""
    new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the distinct values in order, as ``np.unique`` does in more time."""
    values = np.sort(values)
    return values[first_of(values)]


def runs(counts: np.ndarray) -> np.ndarray:
    """Return 0 … c − 1 for each of the counts, one after another: ``(sum of counts,)`` int64."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def _spans(values: np.ndarray, starts: np.ndarray, ends: np.ndarray, base: int) -> np.ndarray:
    """Return the hashes of ``values [start, end)``, independent of where they stand."""
    sums = np.empty(len(values) + 1, np.uint64)
    sums[0] = 0
    for low in range(0, len(values), _PART):
        part = values[low : low + _PART]
        powers = np.multiply(
            part, _powers(base)[: len(part)], out=sums[low + 1 : low + 1 + len(part)]
        )
        if low:
            powers *= np.uint64(pow(base, low, _MODULUS))
    np.cumsum(sums, out=sums)
    inverse = pow(base, -1, _MODULUS)
    found: np.ndarray = (sums[ends] - sums[starts]) * _powers(inverse)[starts % _PART]
    if len(values) > _PART:
        found *= _powers(pow(inverse, _PART, _MODULUS))[starts // _PART]
    return found


@cache
def _powers(base: int) -> np.ndarray:
    """Return base^i modulo 2^64 for i < 2^20, uint64."""
    powers = np.full(_PART, base, np.uint64)
    powers[0] = 1
    found: np.ndarray = np.multiply.accumulate(powers)
    return found


def _mixed(hashes: np.ndarray) -> np.ndarray:
    """Spread hashes over all their bits, one to one and in place."""
    hashes ^= hashes >> _HALF
    hashes *= _MIX
    hashes ^= hashes >> _HALF
    return hashes

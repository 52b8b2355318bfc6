"""The shingles of the test texts, to look up those of training texts: a sorted table, its texts, and a bitmap that most lookups end at."""

from __future__ import annotations

import numpy as np

from positionbias.overlap.shingles import Words, runs, shingle_hashes

__all__ = ["Postings", "ShingleTable", "least_shared"]

_BITS_A_KEY, _FEWEST_BITS, _MOST_BITS = 7, 16, 29  # powers of two: 128 bits a key, 64 MiB at most
_THREE, _SEVEN, _ONE = np.uint64(3), np.uint8(7), np.uint8(1)


def least_shared(sizes: np.ndarray, containment: float) -> np.ndarray:
    """Return how many of ``sizes`` distinct shingles a share of at least ``containment`` is: the smallest whole c with c / size >= containment."""
    least = np.maximum(np.ceil(sizes * containment - 1e-9).astype(np.int64), 1)
    least += least / np.maximum(sizes, 1) < containment  # rounding
    return least


class Postings:
    """Lists of numbers by row: those of row r are ``numbers[starts[r] : starts[r + 1]]``."""

    def __init__(self, rows: np.ndarray, numbers: np.ndarray, count: int) -> None:
        order = np.lexsort((numbers, rows))
        self.numbers = numbers[order].astype(np.int32)
        self.starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=count), out=self.starts[1:])

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of these rows, and for each number the place in ``rows`` that it belongs to."""
        counts = self.starts[rows + 1] - self.starts[rows]
        places = np.repeat(np.arange(len(rows)), counts)
        return self.numbers[self.starts[rows][places] + runs(counts)], places


class ShingleTable:
    """The distinct shingles of test texts of ``n`` words a run; ``tests`` are the texts that have some.

    ``keys (k,)`` uint64 are sorted; ``holders`` lists the texts of each key and ``rare`` those for which it is among their rarest shingles:
    so many that a text with ``containment`` of all must have ``hits`` of them, or all that are needed if fewer (the prefix filter of Chaudhuri,
    Ganti, Kaushik 2006). Rarity is the number of test texts, then the key.
    """

    def __init__(self, words: Words, n: int, tests: np.ndarray, containment: float, hits: int = 1) -> None:
        hashes, texts = shingle_hashes(words, n)
        wanted = np.zeros(len(words.counts), bool)
        wanted[tests] = True
        hashes, texts = hashes[wanted[texts]], texts[wanted[texts]]
        self.n, self.containment = n, containment
        self.keys, rows = np.unique(hashes, return_inverse=True)
        pairs = np.unique(texts * max(len(self.keys), 1) + rows)
        texts, rows = np.divmod(pairs, max(len(self.keys), 1))
        self.sizes = np.bincount(texts, minlength=len(words.counts))
        self.holders = Postings(rows, texts, len(self.keys))
        self.pairs = pairs  # sorted: text * keys + row
        self.rarity = np.diff(self.holders.starts)
        order = np.lexsort((rows, self.rarity[rows], texts))
        least = least_shared(self.sizes, containment)
        self.hits = np.minimum(least, hits)
        prefix = self.sizes - least + self.hits
        first = runs(self.sizes[self.sizes > 0]) < prefix[texts[order]]
        self.rare = Postings(rows[order][first], texts[order][first], len(self.keys))
        self._sieve = _Sieve(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the places in ``hashes`` of those in the table, and their rows."""
        places = self._sieve.passed(hashes)
        if not len(places) or not len(self.keys):
            return places[:0], places[:0]
        rows = np.minimum(np.searchsorted(self.keys, hashes[places]), len(self.keys) - 1)
        there = self.keys[rows] == hashes[places]
        return places[there], rows[there]

    def holds(self, texts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return True where a test text has the shingle of a row."""
        wanted = texts * len(self.keys) + rows
        at = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        found: np.ndarray = self.pairs[at] == wanted
        return found


class _Sieve:
    """A bit for each key, by its first bits."""

    def __init__(self, keys: np.ndarray) -> None:
        bits = min(_MOST_BITS, max(_FEWEST_BITS, len(keys).bit_length() + _BITS_A_KEY))
        self.shift = np.uint64(64 - bits)
        self.bits = np.zeros(1 << (bits - 3), np.uint8)
        places = keys >> self.shift
        np.bitwise_or.at(self.bits, places >> _THREE, _ONE << (places.astype(np.uint8) & _SEVEN))

    def passed(self, hashes: np.ndarray) -> np.ndarray:
        """Return the places of hashes that may be among the keys."""
        places = hashes >> self.shift
        return np.flatnonzero((self.bits[places >> _THREE] >> (places.astype(np.uint8) & _SEVEN)) & _ONE)

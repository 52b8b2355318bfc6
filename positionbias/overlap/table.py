"""The shingles of the test texts, to look up those of training texts: a sorted table, its texts,
and a bitmap that most lookups end at.
"""

from __future__ import annotations

import numpy as np

from positionbias.overlap.shingles import Words, distinct, first_of, runs, shingle_hashes

__all__ = ["Postings", "ShingleTable", "least_shared"]

_BITS_A_KEY, _FEWEST_BITS, _MOST_BITS = 7, 16, 29  # powers of two: 128 bits a key, 64 MiB at most
_TEXTS = 4_096
_THREE, _SEVEN, _ONE = np.uint64(3), np.uint8(7), np.uint8(1)


def least_shared(sizes: np.ndarray, containment: float) -> np.ndarray:
    """Return how many of ``sizes`` distinct shingles a share of at least ``containment`` is: the
    smallest whole c with c / size >= containment.
    """
    least = np.maximum(np.ceil(sizes * containment - 1e-9).astype(np.int64), 1)
    least += least / np.maximum(sizes, 1) < containment  # rounding
    return least


class Postings:
    """Lists of numbers by row: those of row r are ``numbers[starts[r] : starts[r + 1]]``, in the
    given order.
    """

    def __init__(self, rows: np.ndarray, numbers: np.ndarray, count: int) -> None:
        self.numbers = numbers[np.argsort(rows, kind="stable")].astype(np.int32)
        self.starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=count), out=self.starts[1:])

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """Return how many numbers these rows have."""
        return self.starts[rows + 1] - self.starts[rows]

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of these rows, and for each number the place in ``rows`` that it
        belongs to.
        """
        counts = self.counts(rows)
        places = np.repeat(np.arange(len(rows)), counts)
        return self.numbers[self.starts[rows][places] + runs(counts)], places


class ShingleTable:
    """The distinct shingles of test texts of ``n`` words a run; ``tests`` are the texts that have
    some.

    Those that are ``common`` are left out. ``keys (k,)`` uint64 are sorted; ``holders`` lists the
    texts of each key and ``rare`` those for which it is among their rarest shingles: so many that a
    text with ``containment`` of all must have one of them (the prefix filter of Chaudhuri, Ganti,
    Kaushik 2006). Rarity is the number of test texts, then the key.
    """

    def __init__(
        self,
        words: Words,
        n: int,
        tests: np.ndarray,
        containment: float,
        common: np.ndarray = np.zeros(0, np.uint64),  # noqa: B008  # never written to
    ) -> None:
        self.n, self.containment, self.common = n, containment, common
        hashes, texts = self.counted(*_shingles(words, n, tests))
        order = np.argsort(hashes)
        new = first_of(hashes[order])
        self.keys = hashes[order][new]
        width = max(len(self.keys), 1)
        rows = np.empty(len(order), np.int64)
        rows[order] = np.cumsum(new) - 1
        self.pairs = distinct(texts * width + rows)  # sorted: text * keys + row
        texts, rows = np.divmod(self.pairs, width)
        self.sizes = np.bincount(texts, minlength=len(words.counts))
        self.holders = Postings(rows, texts, len(self.keys))
        self.rarity = np.diff(self.holders.starts)
        least = least_shared(self.sizes, containment)
        by_rarity = np.argsort(self.rarity, kind="stable")
        rank = np.empty(len(by_rarity), np.int64)
        rank[by_rarity] = np.arange(len(by_rarity))
        texts, ranks = np.divmod(np.sort(texts * width + rank[rows]), width)
        rare = runs(self.sizes[self.sizes > 0]) < (self.sizes - least + 1)[texts]
        self.rare = Postings(by_rarity[ranks[rare]], texts[rare], len(self.keys))
        self._sieve = _Sieve(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def counted(self, hashes: np.ndarray, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the shingles that are not common, and their texts."""
        kept = ~np.isin(hashes, self.common) if len(self.common) else slice(None)
        return hashes[kept], texts[kept]

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


def _shingles(words: Words, n: int, tests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shingles of these texts, and the text of each; some texts at once, as large arrays
    take longer.
    """
    wanted = np.zeros(len(words.counts), bool)
    wanted[tests] = True
    found = [(np.zeros(0, np.uint64), np.zeros(0, np.int64))]
    for low in range(0, len(wanted), _TEXTS):
        hashes, texts = shingle_hashes(words.part(low, low + _TEXTS), n)
        kept = wanted[low + texts]
        found.append((hashes[kept], low + texts[kept]))
    hashes, texts = (np.concatenate(part) for part in zip(*found, strict=True))
    return hashes, texts


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
        return np.flatnonzero(
            (self.bits[places >> _THREE] >> (places.astype(np.uint8) & _SEVEN)) & _ONE
        )

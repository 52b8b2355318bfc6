"""Near-duplicates: texts whose sets of runs of ``settings.near_n`` words have a Jaccard coefficient of at least ``settings.jaccard``.

    J(A, B) = |A ∩ B| / |A ∪ B|

MinHash estimates this coefficient, and its buckets miss some pairs. As the test texts' runs are in memory here, nothing needs
an estimate [decision]: a pair shares at least the part J of the test text's runs, so it shares ``HITS`` of its rarest ones, and
all pairs that do are counted (prefix filter: Chaudhuri, Ganti, Kaushik 2006). This finds every pair, in less time than MinHash
in buckets by datasketch or rensa (``benchmarks/overlap_detectors.py``).

Runs have 3 words [decision]: a changed word spoils as many runs as a run has words, so J >= 0.5 allows one changed word in 9
(with runs of 5, one in 15; with runs of 13, one in 39). Test texts of fewer than ``settings.n`` words are not asked for
[decision]: half of their few runs are those of their form, as in "what is the meaning of". Of 2,032 MS MARCO queries against
56,390 others, 750 pairs that are not equal were found so, and of a random 14 none asked the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from positionbias.overlap.detectors import Search, Texts
from positionbias.overlap.scan import AT_ONCE, ShingleSearch, parts
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.table import ShingleTable

__all__ = ["near"]

HITS = 2  # of a test text's rarest runs; fewer give more candidates to count, more a larger index


def near(tests: Texts, settings: OverlapSettings) -> Search:
    """Prepare the search for near-duplicates of test texts that have words enough (``settings.words_of``)."""
    asked = np.flatnonzero(tests.words.counts >= settings.words_of("near")[0])
    return NearSearch(ShingleTable(tests.words, settings.near_n, asked, settings.jaccard, HITS))


class NearSearch(ShingleSearch):
    """The search by Jaccard coefficient; as both texts share a part J of their runs, only the test texts' rarest are looked up."""

    def scores(self, shared: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        return {"jaccard_words": shared / (train + test - shared)}

    def candidates(self, train: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> Iterator[np.ndarray]:
        table, tests = self.table, len(self.table.sizes)
        cost = np.bincount(train, table.rare.counts(rows), len(sizes))
        for low, high in parts(cost, AT_ONCE):
            part = slice(*np.searchsorted(train, (low, high)))
            numbers, places = table.rare.of(rows[part])
            found, hits = np.unique(train[part][places] * tests + numbers, return_counts=True)
            own, test = np.divmod(found, tests)
            larger = np.maximum(sizes[own], table.sizes[test])
            alike = np.minimum(sizes[own], table.sizes[test]) >= table.containment * larger - 1e-9 * larger
            yield found[(hits >= table.hits[test]) & alike]

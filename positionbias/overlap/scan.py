"""Search training texts for test texts: equal ones, and those that share a given part of their
shingles.

A pair is found by shingles if one text has at least ``containment`` of the other's distinct
shingles, in either direction. Candidates come from a prefix filter in each direction, which loses
no pair: a pair shares one of the test text's rarest shingles, or one of the training text's. Their
shared shingles are then counted. Runs of ``n`` words that stand in many texts of one set
(``shingles.COMMON``) are boilerplate: they count for nothing, neither as shared nor in a text's
number. So templated text makes no pairs, whose number would grow with the square of its texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from positionbias.overlap.detectors import Hits, Search, Texts
from positionbias.overlap.normal import comparable_words
from positionbias.overlap.settings import EXACT, NGRAM, OverlapSettings
from positionbias.overlap.shingles import distinct, first_of, runs, shingle_hashes, text_hashes
from positionbias.overlap.table import ShingleTable, least_shared

__all__ = ["AT_ONCE", "ShingleSearch", "exact", "ngram", "searches"]

_APART = np.uint64(0x9E3779B97F4A7C15)  # so that equal shingles of different texts differ
AT_ONCE = 1 << 22  # lookups of shared shingles


def searches(tests: Texts, settings: OverlapSettings) -> Mapping[str, Search]:
    """Return the search of each detector, by name."""
    return {EXACT: exact(tests, settings), NGRAM: ngram(tests, settings)}


def exact(tests: Texts, settings: OverlapSettings) -> Search:
    """Prepare the search for texts of the same words. Hashes only propose: words are compared. An
    empty text equals none.
    """
    asked = np.flatnonzero(tests.words.counts > 0)
    own = text_hashes(tests.words)[asked]
    order = np.argsort(own, kind="stable")
    keys, numbers = own[order], asked[order]

    def search(batch: Texts) -> Hits:
        hashes = text_hashes(batch.words)
        first, last = (np.searchsorted(keys, hashes, side) for side in ("left", "right"))
        last[batch.words.counts == 0] = 0
        counts = np.maximum(last - first, 0)
        train = np.repeat(np.arange(len(hashes)), counts)
        test = numbers[np.repeat(first, counts) + runs(counts)]
        texts = (
            (batch.texts[one], tests.texts[other])
            for one, other in zip(train.tolist(), test.tolist(), strict=True)
        )
        same = np.array([_same(*pair) for pair in texts], bool)
        ones = np.ones(int(same.sum()))
        return Hits(train[same], test[same], {"of_test": ones, "of_train": ones})

    return search


def _same(one: str, other: str) -> bool:
    return one == other or comparable_words(one) == comparable_words(other)


def ngram(tests: Texts, settings: OverlapSettings) -> Search:
    """Prepare the search by runs of ``settings.n`` words, for test texts that have one."""
    asked = np.flatnonzero(tests.words.counts >= settings.n)
    return ShingleSearch(
        ShingleTable(tests.words, settings.n, asked, settings.containment, common=tests.common)
    )


class ShingleSearch:
    """The search by containment of shingles in a table of test texts."""

    def __init__(self, table: ShingleTable) -> None:
        self.table = table

    def __call__(self, batch: Texts) -> Hits:
        table = self.table
        if not len(table):
            return Hits.none()
        hashes, texts = table.counted(*shingle_hashes(batch.words, table.n))
        places, rows = table.find(hashes)
        if not len(places):
            return Hits.none()
        new = first_of(texts[places])
        # the training texts with a known shingle
        met, number = texts[places][new], np.cumsum(new) - 1
        sizes = _distinct(hashes, texts, met)
        known = distinct(number * len(table) + rows)
        # by training text: its known shingles, each once
        train, rows = np.divmod(known, len(table))
        found = []
        for part in self.candidates(train, rows, sizes):
            own, test, shared = self._counted(part, train, rows, len(met))
            scores = {"of_test": shared / table.sizes[test], "of_train": shared / sizes[own]}
            kept = np.max(list(scores.values()), axis=0) >= table.containment
            found.append(
                Hits(
                    met[own[kept]],
                    test[kept],
                    {name: score[kept] for name, score in scores.items()},
                )
            )
        return Hits.together(found)

    def candidates(
        self, train: np.ndarray, rows: np.ndarray, sizes: np.ndarray
    ) -> Iterator[np.ndarray]:
        """Yield candidates as ``training text * tests + test text``, sorted, each once, in parts
        that fit memory.
        """
        table, tests = self.table, len(self.table.sizes)
        counts = np.bincount(train, minlength=len(sizes))
        # of a training text's rarest shingles those come first that no test text has
        needed = counts - least_shared(sizes, table.containment) + 1
        order = np.lexsort((rows, table.rarity[rows], train))
        first = np.zeros(len(rows), bool)
        first[order] = runs(counts) < needed[train]
        cost = np.bincount(
            train, table.rare.counts(rows) + first * table.rarity[rows], len(sizes)
        ) * np.maximum(counts, 1)
        for low, high in _parts(cost, AT_ONCE):
            part = slice(*np.searchsorted(train, (low, high)))
            found = []
            for postings, wanted in ((table.rare, slice(None)), (table.holders, first[part])):
                numbers, places = postings.of(rows[part][wanted])
                found.append(train[part][wanted][places] * tests + numbers)
            if len(candidates := distinct(np.concatenate(found))):
                yield candidates

    def _counted(
        self, candidates: np.ndarray, train: np.ndarray, rows: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the candidates' training and test texts, and how many shingles they share."""
        own, test = np.divmod(candidates, len(self.table.sizes))
        starts = np.searchsorted(train, np.arange(count + 1))
        lengths = (starts[1:] - starts[:-1])[own]
        shared = np.zeros(len(own), np.int64)
        for low, high in _parts(lengths, AT_ONCE):
            of = np.repeat(np.arange(low, high), lengths[low:high])
            asked = rows[starts[own[of]] + runs(lengths[low:high])]
            shared[low:high] = np.bincount(of - low, self.table.holds(test[of], asked), high - low)
        return own, test, shared


def _distinct(hashes: np.ndarray, texts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the number of distinct shingles of each of the ``wanted`` texts, which are sorted."""
    first, last = (np.searchsorted(texts, wanted, side) for side in ("left", "right"))
    own = np.repeat(np.arange(len(wanted)), last - first)
    taken = hashes[np.repeat(first, last - first) + runs(last - first)]
    # equal ones of a text stand together, in no other order
    order = np.argsort(taken + own.astype(np.uint64) * _APART)
    again = (taken[order][1:] == taken[order][:-1]) & (own[order][1:] == own[order][:-1])
    return np.bincount(own, minlength=len(wanted)) - np.bincount(
        own[order][1:][again], minlength=len(wanted)
    )


def _parts(costs: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of items that cost at most ``most`` together; an item that alone costs more is a
    range.
    """
    total, low = np.cumsum(costs), 0
    while low < len(costs):
        before = total[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + most, side="right")))
        yield low, high
        low = high

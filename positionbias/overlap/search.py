"""Search training texts for test texts: equal ones, and those that share a given part of their runs
of n words.

A word is what stands between spaces and punctuation after NFKC and without case; in scripts without
spaces, each cluster. A run of n words with hashes w has the hash Σ w_j·b^(n−j) modulo 2^64, in the
same few passes of numpy whatever the words are (Karp, Rabin 1987). Two different runs share a hash
with a probability of about 2^-60 [decision]: of 10^9 training and 10^7 test runs about one pair in
a hundred searches does, and one run makes no pair of texts.

A pair is found by runs if one text has at least ``containment`` of the other's distinct runs, in
either direction. Runs that stand in many texts of one set (``COMMON``) are boilerplate: they count
for nothing, neither as shared nor in a text's number. So templated text makes no pairs, whose
number would grow with the square of its texts.

Memory: the runs of the test texts in each process, a batch of training texts, and the best hits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from pandas import DataFrame
from pandas.util import hash_array

from positionbias.core.steps import MapShards, make_shards
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.texts import Block
from positionbias.text.clusters import clusters, with_clusters

# share of one set's texts: a run of words in more of them counts for nothing [decision]
COMMON = 0.01
_FEW = 20  # texts of a small set that may well be copies of each other
_BASE = np.uint64(0x9E3779B97F4A7C13)
_WORD = re.compile(r"\w+")
KEPT = 100  # pairs of a test text and training set; more say nothing new [decision]
SHARED = 1 << 22  # shared runs counted at once
LOOKUP = "tests.npz"
PILE = 1 << 18  # hits of a block, before all but the best are dropped
SCORES = ["of_test", "of_train"]
HITS = DataFrame(
    {
        "test": np.zeros(0, np.int64),  # number of the test text
        "train_id": np.zeros(0, object),
        "train_text": np.zeros(0, object),
        "exact": np.zeros(0, bool),
        "ngram": np.zeros(0, bool),
        **{name: np.zeros(0) for name in SCORES},
    }
)


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


class Lookup(NamedTuple):
    """All test texts of a unit, to look up training texts in: the hashes of their words, in order,
    with the text of each; those of their runs without the ``common`` ones; and the numbers of
    ``words (t,)`` and ``runs (t,)`` of each text.
    """

    equal: np.ndarray
    equal_texts: np.ndarray
    sharing: np.ndarray
    sharing_texts: np.ndarray
    common: np.ndarray
    words: np.ndarray
    runs: np.ndarray

    @staticmethod
    def of(tests: Sequence[Iterable[str]], training: Sequence[Iterable[str]], n: int) -> Lookup:
        """Return the texts of all test sets. ``training`` are the first texts of each training set,
        where common runs are looked for too.
        """
        hashed = [hash_words(texts) for texts in (*tests, *training)]
        common = np.unique(np.concatenate([common_runs(words, n) for words in hashed]))
        words = Words(*map(np.concatenate, zip(*hashed[: len(tests)], strict=True)))
        equal = np.argsort(words.whole, kind="stable")
        equal = equal[words.counts[equal] > 0]
        texts, hashes = once(*runs_of(words, n), common)
        sharing = np.argsort(hashes, kind="stable")
        runs = np.bincount(texts, minlength=len(words.counts))
        return Lookup(
            *(words.whole[equal], equal, hashes[sharing], texts[sharing]),
            *(common, words.counts, runs),
        )


def _spans(hashes: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first place of each hash among the ``known``, which are in order, and how often it
    stands there.
    """
    first, last = (np.searchsorted(known, hashes, side) for side in ("left", "right"))
    return first, last - first


def _each(first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the span that each place of spans is in, and the place."""
    numbers = np.repeat(np.arange(len(counts)), counts)
    return numbers, np.arange(len(numbers)) + (first - np.cumsum(counts) + counts)[numbers]


def found_in(batch: DataFrame, tests: Lookup, settings: OverlapSettings) -> DataFrame:
    """Return the hits of training texts (id, text)."""
    words = hash_words(batch["text"])
    train, places = _each(*_spans(words.whole, tests.equal))
    same = {"exact": True, "ngram": False, "of_test": 1.0, "of_train": 1.0}
    equal = DataFrame({"train": train, "test": tests.equal_texts[places], **same})
    hits = pandas.concat([equal, *_sharing(words, tests, settings)])
    if not len(hits):
        return HITS
    hits = hits.groupby(["train", "test"], as_index=False).max()
    return hits.join(batch.add_prefix("train_"), on="train")[list(HITS)].astype(HITS.dtypes)


def _sharing(words: Words, tests: Lookup, settings: OverlapSettings) -> Iterator[DataFrame]:
    """Yield the hits of texts that share runs of words."""
    texts, hashes = runs_of(words, settings.n)
    _, counts = _spans(hashes, tests.sharing)
    near = np.isin(texts, texts[counts > 0])
    texts, hashes = once(texts[near], hashes[near], tests.common)
    runs = np.bincount(texts, minlength=len(words.counts))
    first, counts = _spans(hashes, tests.sharing)
    for part in np.array_split(np.unique(texts), 1 + counts.sum() // SHARED):
        own = np.isin(texts, part)
        numbers, places = _each(first[own], counts[own])
        codes = texts[own][numbers] * len(tests.runs) + tests.sharing_texts[places]
        codes, shared = np.unique(codes, return_counts=True)
        train, test = np.divmod(codes, max(len(tests.runs), 1))
        scores = {"of_test": shared / tests.runs[test], "of_train": shared / runs[train]}
        found = {"train": train, "test": test, "exact": False, "ngram": True}
        hits = DataFrame({**found, **scores})
        yield hits[hits[SCORES].max(axis=1) >= settings.containment]


def best(hits: DataFrame, apart: Sequence[str] = ()) -> DataFrame:
    """Return the ``KEPT`` best hits of each test text, and the best of each training text, the best
    first; each combination of the columns ``apart`` keeps as many.
    """
    ordered = hits.assign(strength=-hits[SCORES].max(axis=1))
    ordered = ordered.sort_values(["strength", "test", *apart, "train_id"], ignore_index=True)
    of_test = ordered.groupby([*apart, "test"], sort=False).cumcount() < KEPT
    of_train = ~ordered.duplicated([*apart, "train_id"])
    return ordered[of_test | of_train].drop(columns="strength")


def search_blocks(
    folder: Path, blocks: Iterator[Block], settings: OverlapSettings, map_shards: MapShards = map
) -> Iterator[int]:
    """Search every block for the test texts in ``folder``; yield how many hits stand in the n-th
    file there, with the training set as their ``source``, and the checksum of its ``corpus``.
    """
    search = partial(_search_block, folder / LOOKUP, settings)
    return make_shards(int, search, blocks, lambda number: folder / f"{number:06}", map_shards)


def _search_block(tests: Path, settings: OverlapSettings, block: Block, path: Path) -> int:
    known = _loaded(tests, tests.stat().st_mtime_ns)
    hits = [HITS]
    for batch in block.batches():
        hits.append(found_in(batch, known, settings))
        if sum(map(len, hits)) > PILE:
            hits = [best(pandas.concat(hits))]
    kept, of = best(pandas.concat(hits)), block.of
    kept.assign(source=of.name, corpus=of.collection.passages_checksum).to_parquet(path)
    return len(kept)


@lru_cache(maxsize=1)
def _loaded(path: Path, changed: int) -> Lookup:
    """Return the test texts, read once in each process."""
    with np.load(path) as arrays:
        return Lookup(**arrays)

"""Search training texts for test texts: equal ones, and those that share a given part of their runs
of n words.

A pair is found by runs if one text has at least ``containment`` of the other's distinct runs, in
either direction. Runs that stand in many texts of one set (``words.COMMON``) are boilerplate: they
count for nothing, neither as shared nor in a text's number. So templated text makes no pairs, whose
number would grow with the square of its texts.

Memory: the runs of the test texts in each process, a batch of training texts, and the best hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from pandas import DataFrame

from positionbias.core.shard_work import MapShards, make_shards
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.texts import Block
from positionbias.overlap.words import Words, common_runs, hash_words, once, runs_of

__all__ = ["HITS", "KEPT", "LOOKUP", "SCORES", "Lookup", "best", "found_in", "search_blocks"]

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

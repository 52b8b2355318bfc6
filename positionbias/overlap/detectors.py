"""The texts of one side, and the pairs that a search of training texts returns.

A detector prepares the test texts once in each process, and returns a search for every batch of
training texts; its hits depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from positionbias.leakage.pairs import OVERLAP_SCORES
from positionbias.overlap.shingles import Words, hash_words

__all__ = ["SCORES", "Hits", "Search", "Texts"]

SCORES = OVERLAP_SCORES


@dataclass(frozen=True)
class Texts:
    """Texts with their ids, of one side; their words are hashed once for all detectors.
    ``left_out`` counts rows without a usable text, and ``common`` are the hashes of the runs of
    words that count for nothing, of test texts."""

    ids: Sequence[str]
    texts: Sequence[str]
    left_out: int = 0
    common: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def words(self) -> Words:
        """The hashes of the words."""
        return hash_words(self.texts)


@dataclass(frozen=True, slots=True)
class Hits:
    """Pairs found in a batch: the training text's place in it ``(h,)``, the test text's number
    ``(h,)`` and scores by name ``(h,)`` float64.
    """

    train: np.ndarray
    test: np.ndarray
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)

    @staticmethod
    def none() -> Hits:
        """Return no hits."""
        return Hits(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @staticmethod
    def together(parts: Sequence[Hits]) -> Hits:
        """Return the hits of one detector in several parts, one after another."""
        if not parts:
            return Hits.none()
        scores = {
            name: np.concatenate([part.scores[name] for part in parts]) for name in parts[0].scores
        }
        return Hits(
            np.concatenate([part.train for part in parts]),
            np.concatenate([part.test for part in parts]),
            scores,
        )


Search = Callable[[Texts], Hits]

"""Detectors: functions that prepare the test texts, and return a search of training texts for them.

A detector is a module with a function ``make(tests, settings) -> Search`` and a line in ``settings.DETECTORS``; that of meaning takes an encoder too. ``make`` is called once in each
process, and ``search(batch)`` for every batch of training texts; what they return depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module

import numpy as np

from positionbias.overlap.settings import DETECTORS, MEANING, OverlapSettings
from positionbias.overlap.shingles import Words, hash_words

__all__ = ["SCORES", "Encode", "Hits", "Maker", "Search", "Texts", "searches"]

SCORES = ("of_test", "of_train", "jaccard_words", "cosine")  # in this order the scores of a pair decide


@dataclass(frozen=True)
class Texts:
    """Texts with their ids, of one side; their words are hashed once for all detectors. ``left_out`` counts rows without a usable text, and
    ``common`` are the hashes of the runs of words that count for nothing, of test texts."""

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
    """Pairs found in a batch: the training text's place in it ``(h,)``, the test text's number ``(h,)`` and scores by name ``(h,)`` float64."""

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
        scores = {name: np.concatenate([part.scores[name] for part in parts]) for name in parts[0].scores}
        return Hits(np.concatenate([part.train for part in parts]), np.concatenate([part.test for part in parts]), scores)


Search = Callable[[Texts], Hits]
Maker = Callable[[Texts, OverlapSettings], Search]
Encode = Callable[[Sequence[str]], np.ndarray]  # texts to float32 vectors (n, dim)


def searches(tests: Texts, settings: OverlapSettings, encode: Encode | None = None) -> dict[str, Search]:
    """Return the search of each detector, by name; ``encode`` is for meaning."""
    found = {}
    for name in settings.detectors:
        module, function = DETECTORS[name]
        make = getattr(import_module(f"positionbias.overlap.{module}"), function)
        found[name] = make(tests, settings, encode) if name == MEANING else make(tests, settings)
    return found

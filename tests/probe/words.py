"""Invented words with vectors, and ATS the slow way: a loop over every pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Words(NamedTuple):
    """As ``average_term_similarity`` takes them."""

    terms: np.ndarray
    positions: np.ndarray
    passages: np.ndarray
    vectors: np.ndarray


def words(
    passages: Sequence[Sequence[int]], vectors: np.ndarray | Sequence[Sequence[float]]
) -> Words:
    """Words of passages given as lists of term numbers; ``vectors`` one a word, in order."""
    lengths = [len(passage) for passage in passages]
    return Words(
        np.array([term for passage in passages for term in passage], np.int32),
        np.array([position for length in lengths for position in range(length)], np.int32),
        np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64)),
        np.array(vectors, np.float32),
    )


def random_words(
    seed: int, *, passages: int = 30, length: int = 25, terms: int = 40, dimension: int = 6
) -> Words:
    """Passages of uneven length, frequent and rare terms, vectors that depend on term and
    position.
    """
    rng = np.random.default_rng(seed)
    drawn = [
        np.minimum(rng.zipf(1.4, rng.integers(0, length + 1)), terms).tolist()
        for _ in range(passages)
    ]
    found = words(drawn, np.zeros((sum(map(len, drawn)), dimension)))
    by_term, by_position = (
        rng.standard_normal((terms + 1, dimension)),
        rng.standard_normal((length, dimension)),
    )
    noise = rng.standard_normal((len(found.terms), dimension))
    return found._replace(
        vectors=(by_term[found.terms] + by_position[found.positions] + noise).astype(np.float32)
    )


def every_pair(found: Words, pairs: str = "different") -> dict[int, dict[int, list[float]]]:
    """The cosines of all pairs, by Δ and term."""
    norms = np.linalg.norm(found.vectors.astype(np.float64), axis=1, keepdims=True)
    units = found.vectors / np.where(norms == 0, 1.0, norms)
    cosines: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for a, b in combinations(range(len(found.terms)), 2):
        if found.terms[a] != found.terms[b] or found.terms[a] < 2:
            continue
        if pairs == "different" and found.passages[a] == found.passages[b]:
            continue
        delta = abs(int(found.positions[a]) - int(found.positions[b]))
        cosines[delta][int(found.terms[a])].append(float(units[a] @ units[b]))
    return cosines

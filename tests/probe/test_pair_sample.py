"""The sample of pairs: which pairs are numbered, that draws are uniform, and the deviation it
gives.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from positionbias.probe.ats import average_term_similarity
from positionbias.probe.pair_sample import draw_pairs
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.sums import read_occurrences

from .words import every_pair, random_words, words


def counted(found: object, width: int) -> np.ndarray:
    """Pairs at each Δ, within passages as well."""
    cosines = every_pair(found, "all")  # type: ignore[arg-type]
    return np.array([sum(map(len, cosines[delta].values())) for delta in range(width)])


def test_numbering_reaches_every_pair_once() -> None:
    found = random_words(1, passages=60, length=9)
    totals = counted(found, 9)
    occurrences = read_occurrences(*found[:3])
    first, second = draw_pairs(occurrences, totals, totals, sample=int(totals.max()), seed=1)
    pairs = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
    assert len(pairs) == len(first) == totals.sum()
    assert (occurrences.terms[first] == occurrences.terms[second]).all()


def test_draws_are_uniform_over_the_pairs_at_a_delta() -> None:
    # term 2 at positions 0, 1, 2 of 2, 3 and 4 passages, term 3 at 0 and 1 of 3 and 5: unlike
    # weights, within cells too
    passages = [[2, 2, 2], [2, 2, 2], [0, 2, 2], [0, 0, 2], [3, 3], [3, 3], [3, 3], [0, 3], [0, 3]]
    found = words(passages, np.ones((sum(map(len, passages)), 2)))
    totals = counted(found, 3)
    # Δ = 0: 2·1/2 + 3·2/2 + 4·3/2 + 3·2/2 + 5·4/2 = 23; Δ = 1: 2·3 + 3·4 + 3·5 = 33; Δ = 2: 2·4 = 8
    assert totals.tolist() == [23, 33, 8]
    occurrences = read_occurrences(*found[:3])
    seen: Counter[tuple[int, int]] = Counter()
    for seed in range(400):
        first, second = draw_pairs(occurrences, totals, totals, sample=7, seed=seed)
        assert len(first) == 21
        seen.update(
            (min(pair), max(pair)) for pair in zip(first.tolist(), second.tolist(), strict=True)
        )
    deltas = {
        pair: abs(int(occurrences.positions[pair[0]] - occurrences.positions[pair[1]]))
        for pair in seen
    }
    for delta, total in enumerate(totals):
        drawn = [count for pair, count in seen.items() if deltas[pair] == delta]
        assert len(drawn) == total
        assert chisquare(drawn).pvalue > 1e-3


def test_a_sample_comes_close_to_the_deviation_over_all_pairs() -> None:
    found = random_words(3, passages=150, terms=10)
    exact = average_term_similarity(*found, ProbeSettings(minimum_terms=1, sample_pairs=10**9))
    sampled = average_term_similarity(*found, ProbeSettings(minimum_terms=1, sample_pairs=1_500))
    assert min(exact.pairs[:10]) > 3_000
    # the deviation of a deviation from 1,500 values is about 2 %
    assert sampled.over_pairs[:10] == pytest.approx(exact.over_pairs[:10], rel=0.08)
    assert sampled.ats == exact.ats


def test_the_seed_decides_and_nothing_else_does() -> None:
    found = random_words(4)
    one, again, other = (
        average_term_similarity(*found, ProbeSettings(minimum_terms=1, sample_pairs=20, seed=seed))
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one.over_pairs != other.over_pairs
    assert one.ats == other.ats

"""Near-duplicates by Jaccard: by hand, against brute force, and what cuts and boilerplate change (nothing)."""

from __future__ import annotations

import os
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.overlap.detectors import Hits, Texts, searches
from positionbias.overlap.normal import comparable_words
from positionbias.overlap.settings import OverlapSettings

Found = dict[tuple[int, int], float]


def texts(*given: str) -> Texts:
    return Texts([str(number) for number in range(len(given))], given)


def found(test: Texts, train: Texts, **chosen: float) -> Found:
    return pairs(searches(test, OverlapSettings(detectors=("near",), n=2, **chosen))["near"](train))  # type: ignore[arg-type]


def pairs(hits: Hits, first: int = 0) -> Found:
    scores = hits.scores.get("jaccard_words", np.zeros(0)).tolist()
    there = zip(hits.train.tolist(), hits.test.tolist(), strict=True)
    return {(train + first, test): score for (train, test), score in zip(there, scores, strict=True)}


def brute_force(test: Texts, train: Texts, n: int, least: float) -> Found:
    """Every pair of texts, as sets of runs of words."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = comparable_words(text)
        return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}

    of_test, of_train = [runs(text) for text in test.texts], [runs(text) for text in train.texts]
    asked = [len(comparable_words(text)) > 1 for text in test.texts]  # at least n = 2 words
    scores = {
        (number, place): len(a & b) / len(a | b)
        for (number, a), (place, b) in product(enumerate(of_train), enumerate(of_test))
        if a and b and asked[place]
    }
    return {pair: score for pair, score in scores.items() if score >= least}


def test_one_changed_word_of_seven_by_hand() -> None:
    # runs of a b c d e f g: abc bcd cde def efg; of a b c d e f x: abc bcd cde def efx. In common 4 of 6.
    assert found(texts("A b, c d e f g."), texts("a b c d e f x")) == {(0, 0): pytest.approx(4 / 6)}
    # a change in the middle spoils three runs of five: 2 of 8
    assert found(texts("a b c d e f g"), texts("a b c x e f g")) == {}
    assert found(texts("a b c d e f g"), texts("a b c x e f g"), jaccard=0.25) == {(0, 0): 0.25}


def test_the_threshold_itself_is_found() -> None:
    # a b c d / a b c x: runs abc bcd / abc bcx, 1 of 3; exactly 1/3 in float64
    assert found(texts("a b c d"), texts("a b c x"), jaccard=1 / 3) == {(0, 0): 1 / 3}


def test_texts_without_a_run_are_not_found() -> None:
    assert found(texts("a b", "", "..."), texts("a b", "", "...", "a b c d")) == {}


def test_short_texts_are_not_asked_for() -> None:
    twelve = " ".join(f"w{number}" for number in range(12))
    search = searches(texts(twelve, f"{twelve} more"), OverlapSettings(detectors=("near",)))["near"]
    # the first has 12 words, fewer than 13; runs of the second: 11, of them 10 in common
    assert pairs(search(texts(twelve))) == {(0, 1): 10 / 11}


def test_repeated_runs_count_once() -> None:
    assert found(texts("a b c a b c"), texts("a b c a b c a b c a b c")) == {(0, 0): 1.0}  # abc bca cab on both sides


def corpus(seed: int, count: int, vocabulary: int) -> list[str]:
    """Texts of few words, so that much is shared, with copies of which some words are changed."""
    own = random.Random(seed)
    made = [[f"w{own.randrange(vocabulary)}" for _ in range(own.randrange(25))] for _ in range(count)]
    for words in list(made):
        made.append([f"w{own.randrange(vocabulary)}" if own.random() < 0.1 else word for word in words])
    return [" ".join(["the usual words of every page", *words]) if own.random() < 0.7 else " ".join(words) for words in made]


@pytest.mark.parametrize(("n", "least"), [(1, 0.5), (2, 0.3), (3, 0.5), (3, 0.1), (3, 1.0), (5, 0.8)])
def test_every_pair_of_brute_force_is_found_with_its_score(n: int, least: float) -> None:
    test, train = texts(*corpus(1, 60, 40)), texts(*corpus(1, 60, 40)[::-1], *corpus(2, 30, 40))
    expected = brute_force(test, train, n, least)
    assert expected
    assert found(test, train, near_n=n, jaccard=least) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("ab .", max_size=30), max_size=6),
    st.lists(st.text("ab .", max_size=30), max_size=6),
    st.integers(1, 4),
    st.sampled_from([0.1, 1 / 3, 0.5, 0.7, 1.0]),
)
def test_any_texts_give_what_brute_force_gives(test: list[str], train: list[str], n: int, least: float) -> None:
    expected = brute_force(texts(*test), texts(*train), n, least)
    assert found(texts(*test), texts(*train), near_n=n, jaccard=least) == pytest.approx(expected)


def test_cuts_change_nothing() -> None:
    test, train = texts(*corpus(3, 50, 40)), corpus(3, 50, 40)
    search = searches(test, OverlapSettings(detectors=("near",), n=2))["near"]
    whole = pairs(search(texts(*train)))
    parts: Found = {}
    for start in range(0, len(train), 7):
        parts |= pairs(search(texts(*train[start : start + 7])), start)
    assert whole
    assert parts == whole


def test_parts_of_bounded_memory_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    test, train = texts(*corpus(3, 50, 40)), texts(*corpus(4, 50, 40))
    whole = found(test, train, jaccard=0.2)
    monkeypatch.setattr("positionbias.overlap.near.AT_ONCE", 3)
    monkeypatch.setattr("positionbias.overlap.scan.AT_ONCE", 3)
    assert whole
    assert found(test, train, jaccard=0.2) == whole


@pytest.mark.realdata
def test_near_duplicates_of_real_passages_are_those_of_brute_force() -> None:
    """MS MARCO's passages hold near-duplicates of each other; every pair of a set of runs with another one says which."""
    place = Path(os.environ["POSBIAS_DATA"]) / "msmarco_mini" / "collection.tsv"
    lines = [line.split("\t", 1)[1] for line in place.read_text("utf-8").splitlines()[:1_800]]
    test, train = texts(*lines[:300]), texts(*lines[300:])
    chosen = OverlapSettings(detectors=("near",), jaccard=0.3)
    got = pairs(searches(test, chosen)["near"](train))
    long = [len(comparable_words(text)) >= chosen.n for text in test.texts]
    expected = {pair: score for pair, score in brute_force(test, train, 3, 0.3).items() if long[pair[1]]}
    assert len(expected) > 10
    assert got == pytest.approx(expected)

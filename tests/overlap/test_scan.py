"""Equal texts, and texts that share runs of words: by hand, and as sets of tuples have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.overlap import scan
from positionbias.overlap.detectors import Hits, Search, Texts
from positionbias.overlap.normal import comparable_words
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.shingles import hash_words

Pairs = dict[tuple[int, int], tuple[float, float]]  # by training and test text: of_test, of_train


def texts(of: Sequence[str]) -> Texts:
    return Texts([str(number) for number in range(len(of))], of)


def found(
    make: Callable[[Texts, OverlapSettings], Search],
    train: Sequence[str],
    test: Sequence[str],
    settings: OverlapSettings,
) -> Pairs:
    hits: Hits = make(texts(test), settings)(texts(train))
    none = np.zeros(0)
    scores = zip(
        hits.scores.get("of_test", none).tolist(),
        hits.scores.get("of_train", none).tolist(),
        strict=True,
    )
    return dict(zip(zip(hits.train.tolist(), hits.test.tolist(), strict=True), scores, strict=True))


def shingles(text: str, n: int) -> set[tuple[str, ...]]:
    words = comparable_words(text)
    return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}


def by_sets(train: Sequence[str], test: Sequence[str], n: int, containment: float) -> Pairs:
    """What shingles as sets of tuples find, every pair compared."""
    pairs: Pairs = {}
    for one, training in enumerate(shingles(text, n) for text in train):
        for other, text in enumerate(test):
            own = shingles(text, n)
            shared = len(training & own)
            if shared and max(shared / len(own), shared / len(training)) >= containment:
                pairs[one, other] = shared / len(own), shared / len(training)
    return pairs


def test_containment_in_both_directions_by_hand() -> None:
    test = ["a b c d e f"]  # runs of three: abc bcd cde def
    train = [
        "A, b: c d!",  # abc bcd: 2 of 4, and both of its own
        "x y a b c z w v",  # abc: 1 of 4, and 1 of 6
        "d e f",  # def: 1 of 4, and all of its own
        "a b c d e f g h i j k l m",  # 4 of 4, 4 of 11
        "a b",
        "",
    ]
    settings = OverlapSettings(n=3)
    assert found(scan.ngram, train, test, settings) == {
        (0, 0): (0.5, 1.0),
        (2, 0): (0.25, 1.0),
        (3, 0): (1.0, 4 / 11),
    }


def test_repeated_shingles_count_once() -> None:
    settings = OverlapSettings(n=2, containment=0.9)
    # ab ba and nothing else, however often
    assert found(scan.ngram, ["a b a b a b a", "a b c"], ["a b a"], settings) == {
        (0, 0): (1.0, 1.0)
    }


def test_equal_texts_differ_in_case_and_punctuation_only() -> None:
    test = ["The Café (new)", "", "…", "café new the"]
    train = ["the CAFÉ: new?", "", "!", "the cafe new", "the cafe\u0301 new"]
    assert found(scan.exact, train, test, OverlapSettings()) == {
        (0, 0): (1.0, 1.0),
        (4, 0): (1.0, 1.0),
    }


def test_texts_that_share_a_hash_alone_are_not_equal() -> None:
    test, train = texts(["alpha beta"]), texts(["gamma delta", "alpha beta"])
    train.__dict__["words"] = hash_words(["alpha beta", "alpha beta"])  # as if both had this hash
    assert scan.exact(test, OverlapSettings())(train).train.tolist() == [1]


WORD = st.sampled_from(["a", "b", "c", "d", "é", "Σ", "x-y"])
TEXTS = st.lists(st.lists(WORD, max_size=20).map(" ".join), min_size=1, max_size=12)


@given(TEXTS, TEXTS, st.integers(2, 6), st.sampled_from([0.1, 0.3, 1 / 3, 0.5, 0.7, 1.0]))
def test_the_prefix_filter_loses_nothing(
    train: list[str], test: list[str], n: int, containment: float
) -> None:
    settings = OverlapSettings(n=n, containment=containment)
    assert found(scan.ngram, train, test, settings) == by_sets(train, test, n, containment)
    equal = {
        (i, j)
        for i, a in enumerate(train)
        for j, b in enumerate(test)
        if comparable_words(a) == comparable_words(b) != []
    }
    assert found(scan.exact, train, test, settings).keys() == equal


def test_boilerplate_makes_no_candidates_by_itself() -> None:
    """Every text has the same eight words: a run that stands in all test texts is looked up in none
    of them.
    """
    boiler = "subscribe now and read our terms of use"
    test = [
        f"{boiler} " + " ".join(f"t{number}x{word}" for word in range(20)) for number in range(300)
    ]
    train = [
        f"{boiler} " + " ".join(f"r{number}x{word}" for word in range(20)) for number in range(300)
    ]
    settings = OverlapSettings(n=5)
    search = scan.ngram(texts(test), settings)
    assert isinstance(search, scan.ShingleSearch)
    # of 24 runs 12 must be shared, so one of the 13 rarest
    assert len(search.table.rare.numbers) == 300 * 13
    assert search.table.rarity.max() == 300
    assert not np.diff(search.table.rare.starts)[search.table.rarity == 300].any()
    assert len(search(texts(train)).train) == 0
    assert search(texts([*train, test[7]])).test.tolist() == [7]


def test_many_pairs_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pairs come of any size of the parts that are looked up at once."""
    same = ["a b c d", "a b c e", "a b c d"] * 10
    settings = OverlapSettings(n=2)
    whole = found(scan.ngram, same, same, settings)
    assert len(whole) == 900  # ab bc cd against ab bc ce: two of three
    monkeypatch.setattr(scan, "AT_ONCE", 7)
    assert found(scan.ngram, same, same, settings) == whole

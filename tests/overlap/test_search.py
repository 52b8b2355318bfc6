"""Equal texts, texts that share runs of words, and the best of them: by hand, and as sets of tuples
have it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import DataFrame

from positionbias.overlap import search
from positionbias.overlap.search import HITS, Lookup, best, comparable_words, found_in
from positionbias.overlap.settings import OverlapSettings

Pairs = dict[tuple[int, int], tuple[float, float]]  # by training and test text: of_test, of_train


def found(
    train: Sequence[str], test: Sequence[str], settings: OverlapSettings, detector: str = "ngram"
) -> Pairs:
    batch = DataFrame({"id": [str(number) for number in range(len(train))], "text": train})
    hits = found_in(batch, Lookup.of([test], [], settings.n), settings)
    return {
        (int(hit.train_id), hit.test): (hit.of_test, hit.of_train)
        for hit in hits[hits[detector]].itertuples()
    }


def by_sets(train: Sequence[str], test: Sequence[str], n: int, containment: float) -> Pairs:
    """What runs of words as sets of tuples find, every pair compared."""
    pairs: Pairs = {}
    sides = (
        [
            {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}
            for words in map(comparable_words, side)
        ]
        for side in (train, test)
    )
    training, tests = map(list, sides)
    for one, mine in enumerate(training):
        for other, own in enumerate(tests):
            shared = len(mine & own)
            if shared and max(shared / len(own), shared / len(mine)) >= containment:
                pairs[one, other] = shared / len(own), shared / len(mine)
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
    assert found(train, test, OverlapSettings(n=3)) == {
        (0, 0): (0.5, 1.0),
        (2, 0): (0.25, 1.0),
        (3, 0): (1.0, 4 / 11),
    }


def test_repeated_runs_count_once() -> None:
    settings = OverlapSettings(n=2, containment=0.9)
    # ab ba and nothing else, however often
    assert found(["a b a b a b a", "a b c"], ["a b a"], settings) == {(0, 0): (1.0, 1.0)}


def test_equal_texts_differ_in_case_and_punctuation_only() -> None:
    test = ["The Café (new)", "", "…", "café new the"]
    train = ["the CAFÉ: new?", "", "!", "the cafe new", "the cafe\u0301 new"]
    assert found(train, test, OverlapSettings(), "exact") == {
        (0, 0): (1.0, 1.0),
        (4, 0): (1.0, 1.0),
    }


WORD = st.sampled_from(["a", "b", "c", "d", "é", "Σ", "x-y"])
TEXTS = st.lists(st.lists(WORD, max_size=20).map(" ".join), min_size=1, max_size=12)


@given(TEXTS, TEXTS, st.integers(2, 6), st.sampled_from([0.1, 0.3, 1 / 3, 0.5, 0.7, 1.0]))
def test_every_pair_is_found(train: list[str], test: list[str], n: int, containment: float) -> None:
    settings = OverlapSettings(n=n, containment=containment)
    assert found(train, test, settings) == by_sets(train, test, n, containment)
    assert found(train, test, settings, "exact").keys() == {
        (i, j)
        for i, a in enumerate(train)
        for j, b in enumerate(test)
        if comparable_words(a) == comparable_words(b) != []
    }


def test_many_pairs_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    same = ["a b c d", "a b c e", "a b c d"] * 6
    whole = found(same, same, OverlapSettings(n=2))
    assert len(whole) == 18 * 18  # ab bc cd against ab bc ce: two of three
    monkeypatch.setattr(search, "SHARED", 7)
    assert found(same, same, OverlapSettings(n=2)) == whole


def hits(*rows: tuple[int, str, float]) -> DataFrame:
    """Hits of test texts, by training texts, with a score."""
    made = DataFrame(rows, columns=["test", "train_id", "of_test"])
    return made.assign(train_text="", exact=False, ngram=True, of_train=0.1)[list(HITS)]


def rows(found: DataFrame) -> list[tuple[int, str, float]]:
    return list(zip(found["test"], found["train_id"], found["of_test"], strict=True))


def test_the_best_are_kept_of_each_test_text_and_of_each_training_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "KEPT", 2)
    made = hits((1, "b", 0.6), (1, "a", 0.6), (1, "c", 0.9), (0, "b", 0.5), (0, "d", 0.4))
    assert rows(best(made)) == [
        (1, "c", 0.9),
        (1, "a", 0.6),
        (1, "b", 0.6),  # the third, and the best of b
        (0, "b", 0.5),
        (0, "d", 0.4),
    ]
    apart = best(made.assign(shared=made["train_id"] == "c"), ["shared"])
    assert len(apart) == 5


HIT = st.tuples(st.integers(0, 3), st.sampled_from("abcdef"), st.sampled_from([0.5, 0.6, 0.7]))


@given(st.lists(HIT, max_size=30, unique_by=lambda hit: hit[:2]), st.integers(0, 30))
def test_cuts_change_nothing(made: list[tuple[int, str, float]], cut: int) -> None:
    """No training text is in two blocks."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search, "KEPT", 2)
        blocks = [
            hits(*(hit for hit in made if (hit[1] < "c") is first)) for first in (True, False)
        ]
        whole = rows(best(pandas.concat(blocks)))
        assert rows(best(pandas.concat([best(block) for block in blocks]))) == whole

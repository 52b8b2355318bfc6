"""The words a model knows: which are kept, in which order, and how text is read."""

from __future__ import annotations

from collections import Counter

import pytest

from positionbias.text.vocabulary import PADDING, UNKNOWN, Vocabulary, count_words, words_of


def test_words_are_blingfires_lower_cased() -> None:
    assert words_of("The Lamp's oil, GREEN.") == ["the", "lamp", "'s", "oil", ",", "green", "."]
    assert count_words(["A lamp", "a Lamp!", ""]) == Counter({"a": 2, "lamp": 2, "!": 1})


def test_seen_twice_or_having_a_vector() -> None:
    counts = Counter({"the": 5, "oil": 2, "lamp": 2, "once": 1, "rare": 1})
    # most frequent first, then by spelling
    assert Vocabulary.build(counts).words == ["the", "lamp", "oil"]
    assert Vocabulary.build(counts, vectored={"rare", "unseen"}).words == [
        "the",
        "lamp",
        "oil",
        "rare",
    ]
    assert Vocabulary.build(counts, minimum=1).words == ["the", "lamp", "oil", "once", "rare"]
    assert Vocabulary.build(counts, minimum=6).words == []


def test_the_order_of_counting_does_not_matter() -> None:
    words = ["b", "a", "c", "b", "a", "c", "c"]
    assert (
        Vocabulary.build(Counter(words)).words
        == Vocabulary.build(Counter(reversed(words))).words
        == ["c", "a", "b"]
    )


def test_numbers_and_words() -> None:
    vocabulary = Vocabulary(["the", "lamp"])
    assert (len(vocabulary), PADDING, UNKNOWN) == (4, 0, 1)
    assert [vocabulary.number(word) for word in ("the", "lamp", "gate")] == [2, 3, UNKNOWN]
    assert [vocabulary.word(number) for number in range(4)] == [
        "[padding]",
        "[unknown]",
        "the",
        "lamp",
    ]
    assert "lamp" in vocabulary
    assert "Lamp" not in vocabulary  # look-up takes lower-cased words; reading lowers them
    assert vocabulary.encode("The LAMP of the lamp", limit=4) == [2, 3, UNKNOWN, 2]
    assert vocabulary.encode("", limit=4) == []


def test_a_word_stands_once() -> None:
    with pytest.raises(ValueError, match="every word once"):
        Vocabulary(["the", "the"])

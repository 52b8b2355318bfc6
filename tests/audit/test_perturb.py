"""Texts made for an audit: the needle's places, and thirds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from positionbias.audit.perturb import NOT_ONE_SENTENCE, TOO_FEW, Needle, move_sentence, sentences, thirds

TEXT = "One came.  Two left. Three stayed."


def test_the_sentence_with_the_answer_stands_at_every_place_once_and_the_rest_keep_their_order() -> None:
    found = move_sentence(TEXT, TEXT.index("left"), TEXT.index("left") + 4)
    assert found == Needle(
        ["Two left. One came. Three stayed.", "One came. Two left. Three stayed.", "One came. Three stayed. Two left."], 1
    )


def test_what_cannot_be_moved_says_why() -> None:
    assert move_sentence("One came. Two left.", 0, 3) == TOO_FEW
    assert move_sentence(TEXT, TEXT.index("came"), TEXT.index("left")) == NOT_ONE_SENTENCE
    assert move_sentence("", 0, 0) == TOO_FEW


def test_an_answer_that_ends_its_sentence_lies_in_that_one() -> None:
    end = TEXT.index("Two")  # the offsets take in the white space behind the sentence
    found = move_sentence(TEXT, 0, end)
    assert isinstance(found, Needle)
    assert found.own == 0


WORD = st.text(alphabet="abcdefghij", min_size=1, max_size=6)
SENTENCE = st.lists(WORD, min_size=2, max_size=6).map(lambda words: f"{words[0].capitalize()} {' '.join(words[1:])}.")


@given(st.lists(SENTENCE, min_size=1, max_size=7), st.data())
def test_every_version_holds_the_same_words(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    at = data.draw(st.integers(0, len(text) - 1))
    found = move_sentence(text, at, at + 1)
    if isinstance(found, str):
        assert found == TOO_FEW
        assert len(sentences(text)) < 3
        return
    assert found.texts[found.own] == " ".join(sentences(text))
    assert {tuple(sorted(Counter(version.split()).items())) for version in found.texts} == {
        tuple(sorted(Counter(text.split()).items()))
    }


def test_thirds_of_seven_words_are_two_two_and_three() -> None:
    assert thirds("a b  c d e f g") == ["a b", "c d", "e f g"]


def test_short_texts_have_fewer_parts() -> None:
    assert thirds("one two") == ["one", "two"]
    assert thirds("  ") == []


@given(st.lists(WORD, min_size=3, max_size=40))
def test_thirds_hold_every_word_once_in_order(words: list[str]) -> None:
    parts = thirds(" ".join(words), "whitespace")
    assert len(parts) == 3
    assert " ".join(parts).split() == words
    assert max(len(part.split()) for part in parts) - min(len(part.split()) for part in parts) <= 1

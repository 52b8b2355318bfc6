"""The sentences of a text, and which of them holds a span."""

from __future__ import annotations

from positionbias.text.sentences import (
    NOT_ONE_SENTENCE,
    TOO_FEW,
    Parts,
    parts_of,
    sentence_holding,
    sentence_spans,
    with_own_at,
)

TEXT = "  One came.  Two left. Three stayed. "
STARTS = [2, 13, 23]


def test_spans_leave_white_space_out() -> None:
    assert sentence_spans(TEXT) == [(2, 11), (13, 22), (23, 36)]
    assert [TEXT[start:end] for start, end in sentence_spans(TEXT)] == [
        "One came.",
        "Two left.",
        "Three stayed.",
    ]
    assert sentence_spans("") == sentence_spans(" \n ") == []


def test_the_sentence_that_holds_all_spans() -> None:
    assert sentence_holding(TEXT, STARTS, [(13, 16), (17, 21)]) == 1
    # white space in front belongs to the first
    assert sentence_holding(TEXT, STARTS, [(0, 5)]) == 0
    # and that behind to the sentence before it
    assert sentence_holding(TEXT, STARTS, [(13, 23)]) == 1
    assert sentence_holding(TEXT, STARTS, [(13, 24)]) == NOT_ONE_SENTENCE
    assert sentence_holding(TEXT, STARTS, [(13, 16), (23, 28)]) == NOT_ONE_SENTENCE
    assert sentence_holding(TEXT, STARTS[:2], [(13, 16)]) == TOO_FEW
    assert parts_of(TEXT, 23, 28) == Parts(["One came.", "Two left.", "Three stayed."], 2)


def test_every_place_holds_the_same_words() -> None:
    parts = Parts(["a.", "b.", "c."], 1)
    assert [with_own_at(parts, place) for place in range(3)] == ["b. a. c.", "a. b. c.", "a. c. b."]

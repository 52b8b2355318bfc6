"""Locating answers, each case by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.records import Answer
from positionbias.positions.locate import (
    Check,
    Span,
    TokenisedPassage,
    Words,
    check_span,
    known_span,
    locate,
)
from positionbias.positions.settings import Matching

TEXT = "The gate, the iron gate, opens at dusk."
#       0   4     10  14   19    25    31 34
# words: The gate , the iron gate , opens at dusk .


def passage(text: str = TEXT, **matching: Any) -> TokenisedPassage:
    return TokenisedPassage(text, Matching(**matching))


def answer(text: str, start: int | None = None, end: int | None = None) -> Answer:
    return Answer("q", "p", text, start, end)


def test_all_matches_are_found_in_order() -> None:
    assert locate(passage(), answer("gate")) == ([Span(4, 8), Span(19, 23)], "by_matching", None)


def test_overlapping_matches_count_each() -> None:
    assert passage("a a a b").find("a a") == [Span(0, 3), Span(2, 5)]


def test_an_answer_of_several_words_must_stand_in_a_row() -> None:
    assert passage().find("gate, the iron") == [Span(4, 18)]
    assert passage().find("gate the iron") == []


def test_a_match_at_the_very_end_is_found() -> None:
    # the published script's loop stops one word too early
    assert passage().find("dusk.") == [Span(34, 39)]
    assert passage().find(TEXT) == [Span(0, 39)]
    assert passage().find(f"{TEXT} more") == []


def test_case_counts_unless_folded() -> None:
    assert passage().find("the") == [Span(10, 13)]
    assert passage(fold_case=True).find("THE") == [Span(0, 3), Span(10, 13)]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("THE GATE", "found when case is ignored"),
        ("us", "text found, but not at word boundaries"),
        ("iron bridge", "words not found in a row"),
    ],
)
def test_unmatched_answers_say_why(text: str, cause: str) -> None:
    assert locate(passage(), answer(text)) == ([], "unmatched", cause)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("", "empty"), ("  ", "empty"), ("No Answer Present.", "no_answer_present")],
)
def test_what_is_no_answer_is_not_looked_for(text: str, outcome: str) -> None:
    assert locate(passage("No Answer Present."), answer(text)) == ([], outcome, None)


def test_offsets_are_used_where_known_unless_told_otherwise() -> None:
    second = answer("gate", 19, 23)
    assert locate(passage(), second) == ([Span(19, 23)], "by_offsets", None)
    assert locate(passage(offsets=False), second).spans == [Span(4, 8), Span(19, 23)]


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (0, 40), (5, 4)])
def test_offsets_outside_the_passage_are_an_error(start: int, end: int) -> None:
    with pytest.raises(InputError, match=f"'p'.*query 'q'.*39 characters.*{start} to {end}"):
        known_span(answer("x", start, end), TEXT)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (Span(0, 3), Words(0, 1)),
        (Span(4, 9), Words(1, 2)),  # "gate,"
        (Span(5, 7), Words(1, 1)),  # "at" inside "gate"
        (Span(34, 39), Words(9, 2)),  # "dusk."
        # " th": the white space before a word is not of the word before
        (Span(9, 12), Words(3, 1)),
        (Span(0, 39), Words(0, 11)),
    ],
)
def test_the_words_that_a_span_touches(span: Span, words: Words) -> None:
    assert passage().words_at(span) == words


@given(st.text(alphabet="ab ,.é\u00a0", min_size=1, max_size=30), st.data())
def test_words_of_any_span_lie_in_the_passage(text: str, data: st.DataObject) -> None:
    split = passage(text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if not len(split):
        with pytest.raises(ValueError, match="without words"):
            split.words_at(Span(start, end))
        return
    first, length = split.words_at(Span(start, end))
    assert length >= 1
    assert 0 <= first <= first + length <= len(split)
    if text[start:end].strip():
        assert split.starts[first] < end
        assert split.ends[first + length - 1] > start


@pytest.mark.parametrize(
    ("text", "span", "given_text", "check"),
    [
        (TEXT, (19, 23), "gate", Check(None, ["the same words elsewhere in the passage"])),
        (TEXT, (9, 13), " the", Check(None, [])),  # white space at the edge is no difference
        (TEXT, (5, 8), "ate", Check("starts inside a word", [])),
        (TEXT, (4, 7), "gat", Check("ends inside a word", [])),
        (
            TEXT,
            (0, 3),
            "the",
            Check(
                "the text at the offsets is not the answer's",
                ["the same words elsewhere in the passage"],
            ),
        ),
        (
            "Made in the U.S. by hand.",
            (12, 16),
            "U.S.",
            Check("split into different words alone and in the passage", []),
        ),
    ],
)
def test_a_given_span_is_held_against_the_matches(
    text: str, span: tuple[int, int], given_text: str, check: Check
) -> None:
    assert check_span(passage(text), Span(*span), given_text, marked=set()) == check


def test_a_match_that_another_annotator_marked_is_distinguished() -> None:
    marked = {Span(4, 8), Span(19, 23)}
    assert check_span(passage(), Span(4, 8), "gate", marked) == Check(
        None, ["another span of this query"]
    )

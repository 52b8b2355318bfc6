"""The splitter for machines without BlingFire: by hand, its soundness, and how near it comes to
BlingFire.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.text.splitter import load_blingfire
from positionbias.text.words import (
    byte_offsets,
    sentence_starts,
    tokenize,
    unicode_sentence_starts,
    unicode_word_spans,
)

texts = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("abAB 12.,'’&+\n\u0301ไ日\ud800")),
    max_size=40,
)


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in unicode_word_spans(text)]


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("The U.S. isn't rich.", "The|U.S.|is|n't|rich|."),
        ("It’s 3.5 of 1,000,000 (5%)", "It|’s|3.5|of|1,000,000|(|5|%|)"),
        ("cannot CAN'T O'Neill d’un dogs' 'so'", "can|not|CA|N'T|O'|Neill|d’|un|dogs|'|'|so|'"),
        ("C++ at AT&T, a_b ten-year", "C++|at|AT&T|,|a_b|ten|-|year"),
        ("naïve cafe\u0301 हिन्दी 한국어", "naïve|cafe\u0301|हिन्दी|한국어"),
        ("\ufeffa\u200b\x00b \t\u3000", "a|b"),
        ("1,2 and 10:30", "1|,|2|and|10|:|30"),
    ],
)
def test_words_by_hand(text: str, split: str) -> None:
    assert words(text) == split.split("|")
    if not isinstance(load_blingfire(), str):
        assert tokenize(text, "blingfire") == words(text)


def test_sentences_by_hand() -> None:
    text = (
        '  Dr. Ann left. J. Doe, e.g. of the U.S. Army, said "No!"  Why? It fell by 3.5 in. No. 5 '
        "won...\n\nLast"
    )
    starts = unicode_sentence_starts(text)
    found = [
        text[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]
    assert found == [
        "Dr. Ann left.",
        'J. Doe, e.g. of the U.S. Army, said "No!"',
        "Why?",
        "It fell by 3.5 in.",
        "No. 5 won...",
        "Last",
    ]
    assert unicode_sentence_starts("日本語。つぎ。") == [0, 4]
    assert unicode_sentence_starts(" \n ") == unicode_sentence_starts("") == []


@given(texts)
def test_spans_rise_and_leave_out_nothing_but_blank_and_invisible_characters(text: str) -> None:
    last, left = 0, []
    for start, end in [*unicode_word_spans(text), (len(text), len(text))]:
        assert last <= start <= end
        left.append(text[last:start])
        assert not any(map(str.isspace, text[start:end]))
        last = end
    assert not any(character.isalnum() for character in "".join(left))


@given(texts)
def test_sentences_begin_in_order_at_no_white_space(text: str) -> None:
    starts = unicode_sentence_starts(text)
    assert starts == sorted(set(starts))
    assert all(not text[start].isspace() for start in starts)


@given(texts.filter(lambda text: "\ud800" not in text), st.data())
def test_byte_offsets_are_those_of_the_encoded_text(text: str, data: st.DataObject) -> None:
    offsets = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)))
    assert byte_offsets(text, offsets) == [len(text[:offset].encode()) for offset in offsets]


@pytest.mark.skipif(
    isinstance(load_blingfire(), str), reason="BlingFire's library cannot be loaded here"
)
@given(
    st.lists(st.sampled_from(["lamp", "Gate", "12", "café"]), min_size=1, max_size=9),
    st.sampled_from([". ", "! ", ", "]),
)
def test_plain_prose_has_blingfires_words_and_sentences(said: list[str], mark: str) -> None:
    text = f"The {f'{mark}The '.join(said)}."
    assert words(text) == tokenize(text, "blingfire")
    assert unicode_sentence_starts(text) == sentence_starts(text)

"""Planted duplicates: each kind by hand, what they keep of a text, and that draws depend on nothing but their key."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.overlap.normal import comparable_words
from positionbias.overlap.planted import DuplicateKind, duplicate, plan_duplicates

TEXT = "The lantern of the old mill is amber. Records name its keeper, a weaver. It hums (softly) at night."
OTHERS = ("Nothing else is known here.", "The ferry crosses at dawn.")


def made(kind: DuplicateKind, text: str = TEXT, seed: int = 1) -> str | None:
    return duplicate(kind, text, OTHERS, Random(seed))


def test_exact_and_case_have_the_same_words_in_the_same_order() -> None:
    assert made(DuplicateKind.EXACT) == TEXT
    for seed in range(6):
        changed = made(DuplicateKind.CASE, seed=seed)
        assert changed is not None
        assert changed != TEXT
        assert comparable_words(changed) == comparable_words(TEXT)


def test_truncated_keeps_the_first_six_words_in_ten() -> None:
    assert len(TEXT.split()) == 19  # 0.6 · 19 = 11.4
    assert made(DuplicateKind.TRUNCATED) == "The lantern of the old mill is amber. Records name its"
    assert made(DuplicateKind.TRUNCATED, "two words") == "two"
    assert made(DuplicateKind.TRUNCATED, "one") is None


def test_two_of_nineteen_words_are_dropped_in_order() -> None:
    dropped = made(DuplicateKind.DROPPED)
    assert dropped is not None
    left, words = dropped.split(), iter(TEXT.split())
    assert len(left) == 17
    assert all(word in words for word in left)
    assert made(DuplicateKind.DROPPED, "one") is None


def test_sentences_stay_whole_and_change_their_order() -> None:
    parts = ["The lantern of the old mill is amber.", "Records name its keeper, a weaver.", "It hums (softly) at night."]
    for seed in range(8):
        turned = made(DuplicateKind.SENTENCES, seed=seed)
        assert turned is not None
        assert turned != TEXT
        assert sorted(re.split(r"(?<=\.) ", turned)) == sorted(parts)
    assert made(DuplicateKind.SENTENCES, "One sentence alone.") is None


def test_swapped_words_are_the_same_words() -> None:
    swapped = made(DuplicateKind.SWAPPED)
    assert swapped is not None
    assert swapped != TEXT
    assert sorted(swapped.split()) == sorted(TEXT.split())
    assert made(DuplicateKind.SWAPPED, "two words") == "words two"
    assert made(DuplicateKind.SWAPPED, "one") is None


def test_merged_stands_between_two_others() -> None:
    assert made(DuplicateKind.MERGED) == f"{OTHERS[0]} {TEXT} {OTHERS[1]}"
    assert duplicate(DuplicateKind.MERGED, TEXT, (TEXT, TEXT), Random(1)) is None  # no other text is there


def test_other_spelling_changes_one_letter_of_one_long_word_in_ten() -> None:
    for seed in range(20):
        spelled = made(DuplicateKind.SPELLING, seed=seed)
        assert spelled is not None
        changed = [(a, b) for a, b in zip(TEXT.split(), spelled.split(), strict=True) if a != b]
        assert len(changed) == 1
        assert abs(len(changed[0][0]) - len(changed[0][1])) <= 1
    assert made(DuplicateKind.SPELLING, "it is so") is None


def test_six_of_nineteen_words_are_replaced_by_words_of_others() -> None:
    replaced = made(DuplicateKind.REPLACED)
    assert replaced is not None
    changed = [b for a, b in zip(TEXT.split(), replaced.split(), strict=True) if a != b]
    assert 0 < len(changed) <= 6
    assert set(changed) <= set(" ".join(OTHERS).split())


@given(st.text(min_size=0, max_size=60), st.sampled_from(list(DuplicateKind)), st.integers(0, 99))
def test_any_text_gives_a_duplicate_or_none(text: str, kind: DuplicateKind, seed: int) -> None:
    found = duplicate(kind, text, OTHERS, Random(seed))
    assert found is None or isinstance(found, str)
    if kind is DuplicateKind.CASE and found is not None and text.isascii():
        assert comparable_words(found) == comparable_words(text)


def test_a_draw_depends_on_seed_and_id_alone() -> None:
    texts = [(f"p{number}", f"{TEXT} {number}") for number in range(30)]
    first = plan_duplicates(texts, 10, 1)
    assert plan_duplicates(texts, 10, 1) == first
    assert {texts[one.test][0] for one in first} == {texts[one.test][0] for one in plan_duplicates(texts, 10, 1)}
    turned = texts[::-1]
    assert [(one.kind, turned[one.test][0], one.text) for one in plan_duplicates(turned, 10, 1)] == [
        (one.kind, texts[one.test][0], one.text) for one in first
    ]
    assert {texts[one.test][0] for one in plan_duplicates(texts, 10, 2)} != {texts[one.test][0] for one in first}


def test_a_smaller_draw_is_part_of_a_larger_one() -> None:
    texts = [(f"p{number}", f"{TEXT} {number}") for number in range(30)]
    few, many = ({one.test for one in plan_duplicates(texts, count, 1)} for count in (5, 20))
    assert len(few) == 5
    assert few < many


@pytest.mark.parametrize("number", [4, 400])
def test_every_drawn_text_gives_each_kind_that_it_allows(number: int) -> None:
    texts = [("a", TEXT), ("b", "One sentence alone."), ("c", "word"), ("d", " .. "), ("e", TEXT + " Also.")]
    found = plan_duplicates(texts, number, 1)
    kinds = {place: {one.kind for one in found if one.test == place} for place in range(5)}
    assert kinds[0] == kinds[4] == set(DuplicateKind)
    assert kinds[1] == set(DuplicateKind) - {DuplicateKind.SENTENCES}
    assert kinds[2] == {
        DuplicateKind.EXACT,
        DuplicateKind.CASE,
        DuplicateKind.MERGED,
        DuplicateKind.SPELLING,
        DuplicateKind.REPLACED,
    }
    assert kinds[3] == set()  # no word

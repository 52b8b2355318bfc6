"""Sentences in a drawn order: nothing lost, every order as likely."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from positionbias.positions.shuffle import SentenceShuffle

SENTENCES = ("One is here.", "Two is there.", "Three is gone.")


def test_each_order_is_drawn_about_as_often() -> None:
    text = " ".join(SENTENCES)
    drawn = Counter(SentenceShuffle(seed=1).apply(text, f"p{number}") for number in range(1_200))
    assert set(drawn) == {" ".join(order) for order in permutations(SENTENCES)}
    assert all(140 < count < 260 for count in drawn.values())  # 200 expected, a deviation of 13


def test_the_draw_follows_seed_and_key() -> None:
    text = " ".join(SENTENCES)
    one = [SentenceShuffle(seed=1).apply(text, 0, number, "p") for number in range(20)]
    assert one == [SentenceShuffle(seed=1).apply(text, 0, number, "p") for number in range(20)]
    assert one != [SentenceShuffle(seed=2).apply(text, 0, number, "p") for number in range(20)]
    assert one != [SentenceShuffle(seed=1).apply(text, 1, number, "p") for number in range(20)]


@given(st.text(max_size=200), st.integers(0, 50))
def test_no_character_but_white_space_is_lost_or_added(text: str, seed: int) -> None:
    found = SentenceShuffle(seed=seed).apply(text, "p")
    assert Counter("".join(found.split())) == Counter("".join(text.split()))

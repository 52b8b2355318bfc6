"""Words and their hashes: the same as Python's Unicode rules give, wherever they stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from positionbias.overlap.normal import Encoded, comparable_words
from positionbias.overlap.shingles import hash_words, shingle_hashes, text_hashes
from positionbias.overlap.table import ShingleTable, least_shared

# letters that change under NFKC or casefold, combining marks, and characters that are of no word
ODD = (
    "aAIJhß İǰẖéÉ\u0301\u0307\u030c\u0338=<_-.,;\n\t"
    "´ﬁ①½㎏ア\uff71\u3099カ한\u1112\u1161\u11abσςΣΐ\u00a0\u2003\ud800\u017f\u212a"
)
TEXT = st.text(alphabet=st.one_of(st.sampled_from(ODD), st.characters()), max_size=30)


def test_words_are_those_of_nfkc_without_case_and_punctuation() -> None:
    assert comparable_words("The ﬁrst CAFÉ, re-opened: 3½ ﾊﾟﾝ_x!") == [
        "the",
        "first",
        "café",
        "re",
        "opened",
        "31",
        "2",
        "パ",  # Kana have no spaces: each cluster is a word
        "ン",
        "_x",
    ]
    assert comparable_words(" …?! ") == comparable_words("") == []


@given(st.lists(TEXT, max_size=5))
@example(["I\u0307", "i\u0307", "=\u0338 <\u0338"])
def test_bytes_have_the_words_that_unicode_rules_give(texts: list[str]) -> None:
    words = hash_words(texts)
    wanted = [comparable_words(text) for text in texts]
    assert words.counts.tolist() == [len(of) for of in wanted]
    flat = [word for of in wanted for word in of]
    assert words.hashes.tolist() == [hash_words([word]).hashes[0] for word in flat]
    assert len(set(words.hashes.tolist())) == len(set(flat))


def test_encoded_texts_are_the_same_as_decoded_ones() -> None:
    texts = ["Ab c", "", "é x", "z"]
    data = "".join(texts).encode()
    encoded = Encoded(data, [0, 4, 4, 8, 9])
    assert list(encoded) == texts
    assert list(encoded[1:3]) == ["", "é x"]
    assert hash_words(encoded).hashes.tolist() == hash_words(texts).hashes.tolist()
    assert hash_words(encoded).first.tolist() == [0, 2, 2, 4, 5]


def test_a_hash_does_not_depend_on_where_a_word_stands() -> None:
    # more bytes than the powers that are kept
    long = hash_words(["lorem ipsum dolor " * 150_000, "dolor"])
    assert set(long.hashes.tolist()) == set(hash_words(["ipsum lorem dolor"]).hashes.tolist())
    assert len(set(shingle_hashes(long, 4)[0].tolist())) == 3


def test_shingles_by_hand() -> None:
    words = hash_words(["a b a b a", "b a", "", "a b a"])
    hashes, texts = shingle_hashes(words, 2)
    assert texts.tolist() == [0, 0, 0, 0, 1, 3, 3]  # ab ba ab ba | ba | ab ba
    ab, ba = hashes[0], hashes[1]
    assert hashes.tolist() == [ab, ba, ab, ba, ba, ab, ba]
    assert shingle_hashes(words, 6)[0].tolist() == []
    whole = text_hashes(words)
    assert len(set(whole.tolist())) == 4
    assert whole[3] == shingle_hashes(words, 3)[0][0]  # aba


@pytest.mark.parametrize(
    ("size", "share", "least"),
    [
        (1, 0.5, 1),
        (2, 0.5, 1),
        (3, 0.5, 2),
        (10, 0.3, 3),
        (3, 1 / 3, 1),
        (7, 1.0, 7),
        (100, 0.01, 1),
    ],
)
def test_the_least_number_of_shared_shingles(size: int, share: float, least: int) -> None:
    assert least_shared(np.array([size]), share).tolist() == [least]


def test_a_table_counts_repeated_shingles_once() -> None:
    table = ShingleTable(hash_words(["a b a b a b", "a b c", "x"]), 2, np.array([0, 1, 2]), 0.5)
    assert len(table) == 3  # ab, ba, bc
    assert table.sizes.tolist() == [2, 2, 0]
    assert sorted(table.rarity.tolist()) == [1, 1, 2]
    # of two shingles one is enough, so either may be the shared one
    assert len(table.rare.numbers) == 4

"""Words, their runs and boilerplate: the same as Python's Unicode rules give."""

from __future__ import annotations

from positionbias.overlap.search import common_runs, comparable_words, hash_words, once, runs_of


def test_words_are_those_of_nfkc_without_case_and_punctuation() -> None:
    assert comparable_words("The ﬁrst CAFÉ, re-opened: 3½ ﾊﾟﾝ_x!") == [
        *("the", "first", "café", "re", "opened", "31", "2"),
        *("パ", "ン"),  # Kana have no spaces: each cluster is a word
        "_x",
    ]
    assert comparable_words(" …?! ") == comparable_words("") == []


def test_a_hash_depends_on_the_words_alone() -> None:
    words = hash_words(["a b a", "B, a!", ""])
    a, b = words.hashes[:2].tolist()
    assert words.hashes.tolist() == [a, b, a, b, a]
    assert words.counts.tolist() == [3, 2, 0]
    assert words.whole[1] == hash_words(["b a"]).whole[0]
    assert len(set(words.whole.tolist())) == 3


def test_runs_by_hand() -> None:
    words = hash_words(["a b a b a", "b a", "", "a b a"])
    texts, hashes = runs_of(words, 2)
    assert texts.tolist() == [0, 0, 0, 0, 1, 3, 3]  # ab ba ab ba | ba | ab ba
    ab, ba = hashes[:2].tolist()
    assert hashes.tolist() == [ab, ba, ab, ba, ba, ab, ba]
    assert [len(part) for part in runs_of(words, 6)] == [0, 0]
    texts, hashes = once(texts, hashes)
    assert texts.tolist() == [0, 0, 1, 3, 3]
    assert once(texts, hashes, [ba])[1].tolist() == [ab, ab]


def test_boilerplate_is_in_more_than_twenty_different_texts() -> None:
    texts = [f"read our terms {n}" for n in range(21)]
    (read_our, our_terms) = runs_of(hash_words(["read our terms"]), 2)[1].tolist()
    assert common_runs(hash_words(texts), 2).tolist() == sorted([read_our, our_terms])
    assert len(common_runs(hash_words([*texts[:20], texts[0]]), 2)) == 0

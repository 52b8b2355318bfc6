"""Learned word pieces: merges by hand, against the tokenizers package's trainer, and what always
holds.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from positionbias.text.word_pieces import CONTINUED, learn_pieces

# Sennrich et al. (2016), algorithm 1, without its mark at a word's end
WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def test_the_papers_example_by_hand() -> None:
    found = learn_pieces(WORDS, 100)
    # ##e 2 + 6 + 6 + 3 = 17, ##w 5 + 2 + 6 = 13, ##s and ##t 9, ##o and l 7, n 6, ##d and ##i and w
    # 3, ##r 2
    assert found[:11] == ["##e", "##w", "##s", "##t", "##o", "l", "n", "##d", "##i", "w", "##r"]
    # ##e ##s stands 9 times, as does ##s ##t: by letters. Then ##es ##t 9; ##o ##w and l ##o 7;
    # ##ow goes on with l 7; n ##e, ##e ##w and ##w ##est 6
    assert found[11:15] == ["##es", "##est", "##ow", "low"]
    assert found[15:18] == ["##ew", "##ewest", "newest"]
    assert set(WORDS) <= set(found)


def test_the_size_bounds_letters_and_merges() -> None:
    assert learn_pieces(WORDS, 13) == learn_pieces(WORDS, 100)[:13]
    assert learn_pieces(WORDS, 2) == ["##e", "##w"]
    assert learn_pieces({}, 5) == []
    assert learn_pieces({"ab": 1}, 5) == ["##b", "a"]  # what stands once is no pattern


def test_a_word_with_a_dropped_letter_is_not_learned_from() -> None:
    # letters: a 9, ##b 9, c 1, ##d 1; four letters leave room for no merge, and two for a and ##b
    # alone
    assert learn_pieces({"ab": 9, "cd": 1}, 2) == ["##b", "a"]


def test_the_same_pieces_as_the_tokenizers_trainer() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    # counts such that no tie decides: ab 70, xb 48, xbc 41, abc 20 (its trainer breaks ties by
    # chance)
    counts = {"ab": 50, "abc": 20, "xbc": 41, "xb": 7}
    ours = learn_pieces(counts, 100)
    assert ours == ["##b", "a", "##c", "x", "ab", "xb", "xbc", "abc"]
    for merges in range(1, 5):
        core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        core.pre_tokenizer = pre_tokenizers.Whitespace()
        # its alphabet has every letter as if it began a word, too
        letters = ["a", "b", "c", "x", "##b", "##c"]
        size = 1 + len(letters) + merges
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=["[UNK]"], show_progress=False
        )
        core.train_from_iterator((f"{word} " * count for word, count in counts.items()), trainer)
        assert set(core.get_vocab()) == {"[UNK]", *letters, *ours[4 : 4 + merges]}


@given(
    st.dictionaries(st.text("abcd", min_size=1, max_size=6), st.integers(1, 9), max_size=12),
    st.integers(1, 40),
)
def test_pieces_are_distinct_parts_of_words_and_do_not_follow_the_order(
    counts: dict[str, int], size: int
) -> None:
    found = learn_pieces(counts, size)
    assert len(found) == len(set(found)) <= size
    assert found == learn_pieces(dict(reversed(counts.items())), size)
    for piece in found:
        if piece.startswith(CONTINUED):
            assert any(piece.removeprefix(CONTINUED) in word[1:] for word in counts)
        else:
            assert any(word.startswith(piece) for word in counts)
    # of what repeats, whole words are reached in the end
    assert {word for word, count in counts.items() if count > 1 and len(word) > 1} <= set(
        learn_pieces(counts, 1000)
    )

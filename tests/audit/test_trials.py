"""Texts in which evidence is exchanged with a placebo, and filler."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.audit.answers import Contrast
from positionbias.audit.trials import NO_PLACEBO, exchanges, placebos, turned
from positionbias.core.seeds import choose
from positionbias.text.filler import filler, known_words
from positionbias.text.sentences import Parts, sentences


def drawn_by(seed: int):
    """Draws that are keyed as those of an audit."""
    return lambda count, size, purpose: choose(count, size, seed, "test", purpose)


FILL = filler("", [], 1)


def split(text: str) -> list[str]:
    """The sentences without the filler between them."""
    return [one for one in sentences(text) if one != FILL]


LETTERS = [f"{letter.upper()}{letter}{letter} came." for letter in "abcdefgh"]


@given(st.integers(3, 8), st.sampled_from([2, 4, 8]), st.integers(0, 1_000), st.data())
def test_an_exchange_swaps_the_evidence_with_a_placebo_and_nothing_else(
    count: int, orders: int, seed: int, data: st.DataObject
) -> None:
    parts = Parts(LETTERS[:count], data.draw(st.integers(0, count - 1)))
    evidence = parts.sentences[parts.own]
    made = exchanges(parts, FILL, orders, drawn_by(seed))
    assert [one.contrast for one in made] == [Contrast.ENDS, Contrast.MIDDLE] * orders
    for one in made:
        before, after = sentences(one.before), sentences(one.after)
        assert Counter(before) == Counter(after)
        assert Counter(split(one.before)) == Counter(parts.sentences)
        changed = [
            place
            for place, pair in enumerate(zip(before, after, strict=True))
            if pair[0] != pair[1]
        ]
        assert len(changed) == 2
        assert (before[changed[0]], before[changed[1]]) == (after[changed[1]], after[changed[0]])
        assert evidence in (before[changed[0]], after[changed[0]])
        if one.contrast == Contrast.ENDS:
            assert changed == [0, len(before) - 1]
            assert (before[0], after[-1]) == (evidence, evidence)


def test_exchanges_by_hand() -> None:
    a, b, c, e, p = "Aa.", "Bb.", "Cc.", "Ee.", "Pp."
    # the placebo is the first candidate, the others stand as they come, the smaller half first
    made = exchanges(
        Parts([p, a, e, b, c], 2), FILL, 2, lambda count, size, purpose: list(range(size))
    )
    f = FILL
    assert made == [
        (Contrast.ENDS, f"{e} {a} {b} {c} {p}", f"{p} {a} {b} {c} {e}"),
        (Contrast.MIDDLE, f"{e} {a} {f} {p} {b} {c}", f"{p} {a} {f} {e} {b} {c}"),
        (Contrast.ENDS, f"{e} {c} {b} {a} {p}", f"{p} {c} {b} {a} {e}"),
        (Contrast.MIDDLE, f"{a} {p} {f} {c} {b} {e}", f"{a} {e} {f} {c} {b} {p}"),
    ]


def test_a_fragment_changes_places_with_a_fragment_only() -> None:
    # a window of a longer text begins and ends inside of a sentence
    window = [
        "and so on.",
        "One came.",
        'Two left."',
        "Who? (Three stayed.)",
        "or went home.",
        "Four sta",
    ]
    assert [placebos(Parts(window, own)) for own in range(6)] == [
        [4],
        [2, 3],
        [1, 3],
        [1, 2],
        [0],
        [],
    ]
    with pytest.raises(ValueError, match=NO_PLACEBO):
        exchanges(Parts(window, 5), FILL, 2, drawn_by(1))
    for one in exchanges(Parts(window, 0), FILL, 4, drawn_by(1)):
        if one.contrast == Contrast.ENDS:
            assert one.before.startswith("and so on.")
            assert one.before.endswith("or went home.")


def test_a_piece_without_an_end_is_never_read_as_one_with_the_next() -> None:
    cut = Parts(["One came", "Two left.", "Who?", "(Three stayed", "Four sta"], 0)
    texts = [
        text for one in exchanges(cut, FILL, 4, drawn_by(1)) for text in (one.before, one.after)
    ]
    for text in (*texts, *turned(cut)):
        whole = {"One came.", "Two left.", "Who?", "(Three stayed.", "Four sta.", FILL}
        found = sentences(text)
        assert {*found[:-1]} <= whole
        assert found[-1].rstrip(".") in {one.rstrip(".") for one in whole}
        assert len(found) == len(cut.sentences) + (FILL in text)
    # at the passage's end it stays as it is
    assert turned(cut) == (
        "One came. Two left. Who? (Three stayed. Four sta",
        "Two left. Who? (Three stayed. Four sta. One came",
    )


WORDS = "further remarks notes various follow perhaps sooner topic hint what oil".split()


@given(
    st.lists(st.sampled_from(WORDS), max_size=8),
    st.lists(st.sampled_from([*WORDS, "tree", "oily"]), max_size=20, unique=True),
)
def test_filler_shares_no_word_with_the_text_to_be_avoided(
    words: list[str], known: list[str]
) -> None:
    made = filler(" ".join(words), known, 1, "q")
    used = {word.strip(".,").casefold() for word in made.split()}
    assert len(made.split()) == 20
    assert len(used) >= 5
    assert not used & set(words)
    assert not any(word.startswith(stem[:4]) for word in used for stem in words if len(stem) > 3)
    assert len(sentences(made)) == 1
    assert len(sentences(f"{made} Oil burns. {made}")) == 3


class Texts(list[str]):
    """Passages in a list."""

    def texts_at(self, rows: np.ndarray) -> list[str]:
        return [self[row] for row in rows]


def test_known_words_are_those_of_several_passages_but_not_of_most() -> None:
    common = [f"{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    passages = Texts(
        [" ".join(common)] * 3 + ["Oil, oil and Tree 3 aa.", "A Tree, oil's tree and x once."]
    )
    # the hundred stand in three passages; these words in two, and "once" in one
    assert known_words(passages, 1) == ["and", "oil", "tree"]
    assert known_words(Texts(passages[3:]), 1) == []

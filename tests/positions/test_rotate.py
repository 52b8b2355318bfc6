"""Rotation: every character survives, spans keep pointing at their text, the draw is uniform and
keyed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from positionbias import rotate
from positionbias.core.errors import SettingError
from positionbias.positions.rotate import (
    MODES,
    Rotation,
    found_cut,
    move_span,
    rotate_at,
    unit_starts,
)
from positionbias.text.clusters import has_unspaced
from positionbias.text.words import WORD_METHODS, tokenize

texts = st.one_of(st.text(), st.text(alphabet="ab é日.!? \n\u00a0", max_size=40))
PLAIN = st.lists(st.text(alphabet="abcdefgh", min_size=1, max_size=6), min_size=2, max_size=12)


def rotations(text: str, count: int, **settings: Any) -> Counter[str]:
    return Counter(rotate(text, f"p{number}", **settings) for number in range(count))


def test_the_two_parts_change_places_and_are_joined_by_one_space() -> None:
    # words r … n, then words 1 … r − 1 (Eq. 7), for r = 1, 2, 3
    assert [rotate_at("One lamp, lit.", cut) for cut in (0, 4, 8)] == [
        "One lamp, lit.",
        "lamp, lit. One ",
        ", lit. One lamp",
    ]


def test_all_n_rotations_are_drawn_and_nothing_else() -> None:
    assert set(rotations("a b c d", 200)) == {"a b c d", "b c d a ", "c d a b ", "d a b c "}


def test_without_identity_no_passage_stays() -> None:
    assert set(rotations("a b c", 100, identity=False)) == {"b c a ", "c a b "}


@pytest.mark.parametrize("text", ["", " ", "\n", "word", "  word ", "\x00"])
@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_empty_blank_and_one_word_texts_stay(text: str, identity: bool, mode: Any) -> None:
    assert set(rotations(text, 20, identity=identity, mode=mode)) == {text}


@given(texts, st.text(), st.sampled_from(WORD_METHODS), st.sampled_from(MODES), st.booleans())
def test_every_character_survives(
    text: str, passage_id: str, words: Any, mode: Any, identity: bool
) -> None:
    rotation = Rotation(words=words, mode=mode, identity=identity)
    cut = rotation.cut(text, passage_id)
    rotated = rotation.apply(text, passage_id)
    assert rotated == rotate(text, passage_id, words=words, mode=mode, identity=identity)
    assert cut == 0 or cut in unit_starts(text, words, mode)
    seam = len(text) - cut
    assert (rotated[seam + 1 :] + rotated[:seam] if cut else rotated) == text
    if not identity and len(unit_starts(text, words, mode)) > 1:
        assert cut > 0


@given(texts, st.data())
def test_spans_point_at_the_same_text_or_are_cut(text: str, data: st.DataObject) -> None:
    assume(text)
    cut = data.draw(st.integers(0, len(text) - 1))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    moved = move_span(start, end, cut, len(text))
    assert (moved is None) == (start < cut < end)
    if moved:
        assert rotate_at(text, cut)[slice(*moved)] == text[start:end]


@given(PLAIN, st.integers())
def test_words_are_those_of_the_reference_rule_on_plain_text(plain: list[str], key: int) -> None:
    """The paper's code joins tokens r … n and 1 … r − 1 by spaces; our raw slices hold the same
    tokens.
    """
    text = f"{', '.join(plain)}."
    tokens = tokenize(text)
    cut = Rotation(seed=1).cut(text, key)
    r = unit_starts(text).index(cut)
    assert tokenize(rotate_at(text, cut)) == tokens[r:] + tokens[:r]


@given(texts.filter(lambda text: not has_unspaced(text)), st.text())
def test_whitespace_words_are_never_parted(text: str, passage_id: str) -> None:
    assert Counter(rotate(text, passage_id, words="whitespace").split()) == Counter(text.split())


def test_sentences_are_cut_only_at_their_starts() -> None:
    text = "The lamp burns. The gate opens! Who is there?"
    assert set(rotations(text, 60, mode="sentences")) == {
        text,
        "The gate opens! Who is there? The lamp burns. ",
        "Who is there? The lamp burns. The gate opens! ",
    }


@pytest.mark.parametrize(("identity", "kinds"), [(True, 7), (False, 6)])
def test_the_draw_is_uniform(identity: bool, kinds: int) -> None:
    drawn = rotations("a b c d e f g", 14_000, identity=identity)
    assert len(drawn) == kinds
    assert chisquare(list(drawn.values())).pvalue > 0.01  # the keys are fixed, and so is this value


def test_the_draw_depends_on_seed_purpose_and_key() -> None:
    text = " ".join(map(str, range(500)))
    base = Rotation(seed=1).cut(text, "p")
    assert base == Rotation(seed=1).cut(text, "p") == Rotation().cut(text, "p")
    assert len({base, Rotation(seed=1).cut(text, "q"), Rotation(seed=2).cut(text, "p")}) == 3
    assert base != Rotation(seed=1).cut(text, "p", purpose="training")
    assert Rotation(seed=1).cut(text, 3, 17, "p") != Rotation(seed=1).cut(text, 3, 18, "p")


def test_a_wrong_setting_never_passes_for_another() -> None:
    with pytest.raises(SettingError, match="whitespace"):
        rotate("a b", "p", words="white space")  # type: ignore[arg-type]


def test_a_cut_is_found_whatever_the_white_space() -> None:
    assert found_cut("one  two three\n", "three one two") == 9
    assert found_cut("a b", "a c") is None
    assert found_cut("same text", "same text ") == 0
    assert found_cut("", "") == 0

"""Cuts found in bulk are the cuts of ``rotate``, text by text."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from positionbias.positions import cuts as cuts_module
from positionbias.positions.cuts import Cuts, byte_cuts, fates, possible_fates
from positionbias.positions.rotate import Rotation, unit_starts

SPACES = (
    "\t\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000"
)
NO_SPACES = "\x00\x08\x0e\x1b\x7f\u180e\u200b\u2060\ufeff"
TEXTS = st.lists(
    st.text(st.sampled_from("ab.,'é中€â\x80😀" + SPACES + NO_SPACES), max_size=30)
    | st.text(max_size=20),
    max_size=12,
)
# what the rules of BlingFire treat by what stands around it: abbreviations, contractions, numbers,
# marks, white space that is none to Python
PIECES = st.sampled_from(
    ["U.S.", "e.g.", "a.b", "é.ü.", "...", ".", "'", '"', "'s", "n't", "cannot", "d'un", "3.5",
     ".net", "c++", "C#", "#a", "@b", "/x", "1,000", "$5", "\ufeff", "\x7f", "\x85", "\u200b",
     "\x00", "\x03", "\x04", "中文", "กำ", "2年", "a", "Zed", " ", "  ", "\n", "\t", "-", "“", "&",
     "_"]
)  # fmt: skip
SENTENCES = st.lists(
    st.lists(PIECES, max_size=8).map("".join) | st.lists(PIECES, max_size=8).map(" ".join),
    max_size=10,
)
ROTATIONS = [
    Rotation(words=words, identity=identity)
    for words in ("blingfire", "whitespace")
    for identity in (True, False)
]


def laid_out(texts: list[str], gap: bytes) -> tuple[bytes, np.ndarray, np.ndarray]:
    """Texts one after the other, with ``gap`` before each."""
    data, starts, ends = bytearray(), [], []
    for text in texts:
        data += gap
        starts.append(len(data))
        data += text.encode()
        ends.append(len(data))
    return bytes(data), np.array(starts, np.int64), np.array(ends, np.int64)


def cut_one_by_one(texts: list[str], ids: list[str], rotation: Rotation) -> Cuts:
    """The same by ``rotate``'s own functions, in bytes."""
    offsets = [
        len(text[: rotation.cut(text, item)].encode())
        for text, item in zip(texts, ids, strict=True)
    ]
    units = [len(unit_starts(text, rotation.words, rotation.mode)) for text in texts]
    return Cuts(np.array(offsets, np.int64), np.array(units, np.int64))


@pytest.mark.parametrize("rotation", ROTATIONS, ids=str)
@pytest.mark.parametrize(
    "gap",
    [
        b"\n17\t",
        b"x",
    ],
)
@given(texts=TEXTS | SENTENCES)
@example(
    texts=[
        "the U.S.",
        "",
        " ",
        "'",
        "in the U.S. ",
        "\ufeffa b",
        "e.g.'",
        'A. "',
        "x é.é.",
        "U.S.\x00",
    ]
)
@example(texts=["", " ", "one", "one two", " one two ", "a\u2003b", "中文 文本", "U.S. it's"])
@example(texts=["\x1c", "\u200a\u200b", "a\x00b c", "\x00"])
def test_cuts_of_a_block_are_the_cuts_of_each_text(
    rotation: Rotation, gap: bytes, texts: list[str]
) -> None:
    ids = [f"p{number}é" for number in range(len(texts))]
    found = byte_cuts(*laid_out(texts, gap), [item.encode() for item in ids], rotation)
    wanted = cut_one_by_one(texts, ids, rotation)
    assert found.units.tolist() == wanted.units.tolist()
    assert found.offsets.tolist() == wanted.offsets.tolist()


@pytest.mark.parametrize("rotation", [*ROTATIONS, Rotation(mode="sentences")], ids=str)
def test_many_portions_are_cut_as_one(rotation: Rotation) -> None:
    texts = [
        f"The word{n} stands here. And word{n + 1} there,\u00a0twice {'x ' * (n % 90)}"
        for n in range(400)
    ]
    texts[7] = "lang " * 250_000  # longer than a portion
    ids = [str(n) for n in range(len(texts))]
    found = byte_cuts(*laid_out(texts, b"1\t"), [item.encode() for item in ids], rotation)
    wanted = cut_one_by_one(texts, ids, rotation)
    assert found.units.tolist() == wanted.units.tolist()
    assert found.offsets.tolist() == wanted.offsets.tolist()


def test_fates_are_counted() -> None:
    rotation = Rotation(words="whitespace", identity=False)
    data, starts, ends = laid_out(["", "  ", "one", "中文，文本", "one two", "a b c"], b"")
    cuts = byte_cuts(data, starts, ends, [b"1", b"2", b"3", b"4", b"5", b"6"], rotation)
    found = fates(cuts, rotation)
    assert found == Counter(rotated=3, drawn_as_it_was=0, without_words=2, one_word=1)
    assert set(found) == set(possible_fates(rotation))


@pytest.mark.parametrize("rotation", ROTATIONS[::3], ids=str)
@given(
    text=st.lists(TEXTS | SENTENCES, min_size=1, max_size=12).map(
        lambda parts: " ".join(chain.from_iterable(parts))
    )
)
def test_a_long_passage_is_cut_as_one_though_its_words_are_found_by_piece(
    rotation: Rotation, text: str
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        for name in ("_PIECE", "_CALL", "_PORTION"):
            patched.setattr(cuts_module, name, 8)
        found = byte_cuts(*laid_out([text], b"1\t"), [b"p"], rotation)
    wanted = cut_one_by_one([text], ["p"], rotation)
    assert (found.units.tolist(), found.offsets.tolist()) == (
        wanted.units.tolist(),
        wanted.offsets.tolist(),
    )

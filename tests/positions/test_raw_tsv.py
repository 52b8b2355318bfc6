"""Raw TSV rotated: the same cuts as one by one, every other byte as it was, faults named by their
line.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.blocks import Block, file_blocks, stream_blocks
from positionbias.core.errors import InputError
from positionbias.positions.raw_formats import Edits, rotate_tsv, spliced
from positionbias.positions.rotate import Rotation, rotate


def block_of(data: bytes) -> Block:
    return Block("test.tsv", 0, 0, len(data), data=data, lines_before=0)


def rotated(data: bytes, **settings: object) -> bytes:
    return spliced(data, rotate_tsv(Rotation(**settings), block_of(data))[0])  # type: ignore


def test_texts_are_cut_and_all_else_stays() -> None:
    # rotate("one two three four", "p1") is cut before "two" (its own doctest); one word cannot be
    # cut
    data = b"p1\tone two three four\np2\tword\np3\t\n"
    edits, counts = rotate_tsv(Rotation(words="whitespace"), block_of(data))
    assert spliced(data, edits) == b"p1\ttwo three four one \np2\tword\np3\t\n"
    assert {name: count for name, count in counts.items() if count} == {
        "rotated": 1,
        "one_word": 1,
        "without_words": 1,
    }


# no newline: it ends a line; a CR at the end of a text would be taken for a part of the line's end
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")).filter(
    lambda text: not text.endswith("\r")
)
ID = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\ufeff"), min_size=1)


@given(st.lists(st.tuples(ID, TEXT), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_content(rows: list[tuple[str, str]], line_end: str, last_line_ends: bool) -> None:
    def written(texts: list[tuple[str, str]]) -> bytes:
        content = "".join(f"{passage_id}\t{text}{line_end}" for passage_id, text in texts)
        return (content if last_line_ends else content.removesuffix(line_end)).encode()

    wanted = written(
        [(passage_id, rotate(text, passage_id, words="whitespace")) for passage_id, text in rows]
    )
    assert rotated(written(rows), words="whitespace") == wanted


def test_a_cr_at_the_end_of_a_line_stays_there() -> None:
    assert (
        rotated(b"p1\tone two three four\r\n", words="whitespace") == b"p1\ttwo three four one \r\n"
    )
    # without a newline after it, it is the last character of the text
    assert rotated(b"p1\tone two three four\r", words="whitespace") == b"p1\ttwo three four\r one "
    assert rotated(b"p1\t\r\n", words="whitespace") == b"p1\t\r\n"


def test_a_byte_order_mark_at_the_start_of_the_file_is_dropped_and_no_other() -> None:
    assert (
        rotated(b"\xef\xbb\xbfp1\tone two three four\n", words="whitespace")
        == b"p1\ttwo three four one \n"
    )
    later = Block("test.tsv", 1, 100, 103, data="\ufeffp1\tone\n".encode(), lines_before=7)
    assert spliced(later.read(), rotate_tsv(Rotation(), later)[0]) == "\ufeffp1\tone\n".encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b"p1\tone\nno tab here\n",
            "test.tsv:2: wanted a passage id, a tab and a text; found no tab",
        ),
        (
            b"p1\tone\n\tno id\n",
            "test.tsv:2: wanted a passage id, a tab and a text; found no id before the tab",
        ),
        (b"p1\tone\np2\tcaf\xe9\n", "test.tsv:2: wanted text in UTF-8; found the byte 0xe9"),
    ],
)
def test_a_bad_line_is_named(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match="^" + said.replace(".", r"\.")):
        rotated(data)


def test_a_bad_line_is_named_by_its_place_in_the_whole_source(tmp_path: Path) -> None:
    path = tmp_path / "long.tsv"
    path.write_bytes(
        b"".join(b"p%d\tsome words here\n" % number for number in range(100)) + b"bad\n"
    )
    with open(path, "rb") as stream:
        streamed = list(stream_blocks(stream, "standard input", 500))
    for blocks, name in ((list(file_blocks(path, 500)), str(path)), (streamed, "standard input")):
        assert len(blocks) > 3
        with pytest.raises(InputError, match=f"^{name}:101: "):
            rotate_tsv(Rotation(), blocks[-1])


def test_splicing_moves_the_parts_of_every_text_and_nothing_else() -> None:
    data = b"head|abcdef|mid|ghij|kl|tail"
    columns = np.array([5, 21]), np.array([7, 22]), np.array([11, 23])
    assert spliced(data, Edits(0, *columns)) == b"head|cdef ab|mid|ghij|l k|tail"
    assert spliced(data, Edits(5, *columns)) == b"cdef ab|mid|ghij|l k|tail"
    many = Edits(0, *(np.arange(2_500) * 4 + place for place in (0, 1, 3)))  # more than a portion
    assert spliced(b"abc|" * 2_501, many) == b"bc a|" * 2_500 + b"abc|"


def test_an_empty_block_gives_nothing() -> None:
    edits, counts = rotate_tsv(Rotation(), block_of(b"\xef\xbb\xbf"))
    assert (spliced(b"\xef\xbb\xbf", edits), counts.total()) == (b"", 0)

"""Documents cut into chunks: which words a chunk holds, and where evidence stands in it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.audit.chunks import Circle, Document, Measured, Window, words_within
from positionbias.results.chunk_grid import Within


def in_words(text: str) -> Measured:
    return Measured(text.split(), np.ones(len(text.split()), np.int64))


def test_chunks_of_ten_words() -> None:
    starts = np.arange(11)
    assert Window(4, 0).spans(starts) == [(0, 4), (4, 8), (8, 10)]
    assert Window(4, 1).spans(starts) == [(0, 4), (3, 7), (6, 10)]
    assert Window(4, 2).spans(starts) == [(0, 4), (2, 6), (4, 8), (6, 10)]
    assert Window(10, 0).spans(starts) == [(0, 10)]
    assert Window(12, 3).spans(starts) == [(0, 10)]


def test_a_word_belongs_to_the_chunk_in_which_it_begins() -> None:
    # words of 3, 3, 1 and 2 tokens begin at 0, 3, 6 and 7
    assert Window(4, 0).spans(np.array([0, 3, 6, 7, 9])) == [(0, 2), (2, 4)]


@given(st.integers(1, 200), st.integers(1, 40), st.data())
def test_every_word_is_in_a_chunk_and_neighbours_share_the_overlap(total: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    window = Window(size, overlap)
    spans = window.spans(np.arange(total + 1))
    assert len(spans) == window.count(total)
    assert set().union(*(range(*span) for span in spans)) == set(range(total))
    assert all(first[1] - second[0] == overlap for first, second in pairwise(spans))
    assert sum(end - start == size for start, end in spans) == window.whole(total)
    if fitted := window.fitted(total):
        assert {end - start for start, end in window.spans(np.arange(fitted + 1))} == {size}
        assert total - window.step < fitted <= total


def test_all_documents_of_a_circle_have_the_same_words_and_the_evidence_the_same_neighbours() -> None:
    circle, piece = Circle([in_words("a b c"), in_words("d e f g")], 9), in_words("X Y")
    texts = [" ".join(circle.document(piece, before).words) for before in range(8)]
    assert texts[0] == "X Y a b c d e f g"
    assert texts[2] == "f g X Y a b c d e"
    assert texts[7] == "a b c d e f g X Y"
    assert len({tuple(sorted(text.split())) for text in texts}) == 1
    assert [circle.document(piece, before).evidence for before in (0, 7)] == [(0, 2), (7, 9)]


def test_what_is_too_much_is_cut_far_from_the_evidence() -> None:
    circle = Circle([in_words("a b c."), in_words("d e."), in_words("f g h i."), in_words("j k.")], 10)
    document = circle.document(in_words("X Y"), 4)  # eight words of fillers: one word of nine is too much
    assert document.text((0, 10)) == "f g h i. X Y a b c. e."
    assert [circle.fillers(in_words("X " * size)).size for size in (1, 2, 5)] == [9, 8, 5]


def test_evidence_stands_where_it_is_wanted() -> None:
    circle, piece = Circle([in_words("a b c"), in_words("d e f g")], 9), in_words("X Y")
    assert circle.before(piece, 2.4, 0, 8) == 2
    assert circle.before(piece, 2.4, 3, 4) == 3
    assert circle.before(piece, 2.4, 8, 9) is None
    longer = [Measured(["aa", "bb", "c"], np.array([2, 2, 1]))]  # 1, 3 and 5 tokens before the evidence
    assert [Circle(longer, 7).before(piece, wanted, 0, 7) for wanted in (0, 1, 3, 5)] == [0, 1, 2, 3]


def test_places_in_the_first_middle_and_last_chunk() -> None:
    window, length, evidence = Window(10, 0), 50, 4
    for within, offset in ((Within.START, 0), (Within.MIDDLE, 3), (Within.END, 6)):
        found = [window.start_of(within, place, length, evidence) for place in (0.0, 0.5, 1.0)]
        assert [one[0] for one in found if one] == [offset, 20 + offset, 40 + offset]
    assert window.start_of(Within.CUT, 0.0, length, evidence) == (8, 7, 9)
    assert window.start_of(Within.CUT, 1.0, length, evidence) == (38, 37, 39)
    assert window.start_of(Within.ANYWHERE, 0.25, length, evidence) == (11.5, 0, 50)


def test_places_that_there_are_not() -> None:
    assert Window(50, 0).start_of(Within.START, 0.0, 50, 4) is None  # one chunk
    assert Window(25, 0).start_of(Within.START, 0.5, 50, 4) is None  # two have no middle one
    assert Window(25, 0).start_of(Within.CUT, 1.0, 50, 4) is None  # and one border
    assert Window(10, 3).start_of(Within.CUT, 0.0, 45, 4) is None  # four words fit into an overlap of three and one more
    assert Window(10, 2).start_of(Within.CUT, 0.0, 50, 4) == (7, 7, 7)


@given(st.integers(4, 40), st.integers(0, 20), st.integers(2, 20), st.integers(2, 6), st.sampled_from(Within))
def test_evidence_is_whole_in_its_chunk_and_cut_in_none(
    size: int, overlap: int, evidence: int, chunks: int, within: Within
) -> None:
    overlap, evidence = min(overlap, size // 2), min(evidence, size // 2)
    window = Window(size, overlap)
    length = size + (chunks - 1) * window.step
    piece = in_words(" ".join(["X"] * evidence))
    circle = Circle([in_words("a")] * length, length)
    for place in (0.0, 0.5, 1.0):
        start = window.start_of(within, place, length, evidence)
        before = None if start is None else circle.before(piece, *start)
        if before is None:
            continue
        document = circle.document(piece, before)
        assert len(document.words) == length
        spans = window.spans(document.starts)
        held = document.held(document.evidence, spans)
        if within is Within.CUT:
            assert held == 0
        elif within is not Within.ANYWHERE:
            chunk = {0.0: 0, 0.5: (chunks - 1) // 2, 1.0: chunks - 1}[place]
            assert held >= 1
            assert document.held(document.evidence, [spans[chunk]]) == 1
            assert held == 1 or within is not Within.MIDDLE


@given(st.integers(4, 30), st.integers(0, 15), st.integers(2, 15), st.integers(2, 7))
def test_as_many_chunks_hold_evidence_at_ends_as_at_starts(size: int, overlap: int, evidence: int, chunks: int) -> None:
    overlap, evidence = min(overlap, size // 2), min(evidence, size // 2)
    window = Window(size, overlap)
    length = size + (chunks - 1) * window.step
    circle, piece = Circle([in_words("a")] * length, length), in_words(" ".join(["X"] * evidence))
    held: Counter[tuple[Within, float]] = Counter()
    for within in (Within.START, Within.MIDDLE, Within.END):
        for place in (0.0, 0.5, 1.0):
            if (start := window.start_of(within, place, length, evidence)) is None:
                continue
            before = circle.before(piece, *start)
            assert before is not None
            document = circle.document(piece, before)
            held[within, place] = document.held(document.evidence, window.spans(document.starts))
    assert sum(held[Within.START, place] for place in (0.0, 0.5, 1.0)) == sum(
        held[Within.END, place] for place in (0.0, 0.5, 1.0)
    )
    first, last = (sum(held[within, place] for within in Within) for place in (0.0, 1.0))
    assert first == last


def test_what_is_read_up_to_the_evidence() -> None:
    document = Document("a b c X Y d e".split(), np.arange(8), (3, 5))
    assert document.read_to([(0, 4), (2, 6), (4, 7)]) == ["a b c X", "c X"]


@pytest.mark.parametrize(
    ("span", "words"), [((0, 2), (0, 1)), ((9, 17), (2, 3)), ((3, 17), (1, 3)), ((19, 24), (3, 5)), ((24, 24), (4, 5))]
)
def test_words_that_a_span_of_characters_touches(span: tuple[int, int], words: tuple[int, int]) -> None:
    assert words_within("In 1066 (Hastings) he won", span) == words

"""What unbiased looks like: by hand, and by rotating every way there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.positions.expectation import (
    FIFTH,
    MEAN,
    TENTH,
    Spans,
    expected_moments,
    moments,
)


def spans(*rows: tuple[int, int, int]) -> Spans:
    """Rows of (first, length, words); each in a passage of its own."""
    return Spans(*np.array(rows, dtype=np.int64).T, np.arange(len(rows)))


def starts_after_every_cut(first: int, length: int, words: int) -> list[int]:
    """Rotate a list of words before each of its words; where the answer starts, wherever it was
    left whole.
    """
    passage = [
        f"answer{i - first}" if first <= i < first + length else "other" for i in range(words)
    ]
    answer = [f"answer{i}" for i in range(length)]
    found = []
    for cut in range(words):
        rotated = passage[cut:] + passage[:cut]
        found += [at for at in range(words - length + 1) if rotated[at : at + length] == answer]
    return found


def test_expected_density_by_hand() -> None:
    # 5 words, an answer of 2: starts 0, 1, 2, 3 are possible, a quarter each; the last fifth is out
    # of reach
    table = expected_moments(spans((0, 2, 5)), 5)[0]
    assert table[:5].tolist() == [0.25, 0.25, 0.25, 0.25, 0]
    assert table[MEAN] == pytest.approx((0 + 1 + 2 + 3) / 4 / 5)
    assert table[TENTH] == 0.25  # 0/5 < 0.1; 1/5 is not
    assert table[FIFTH] == 0.25  # 1/5 is not below 1/5


def test_an_answer_as_long_as_its_passage_can_only_start_in_front() -> None:
    table = expected_moments(spans((0, 4, 4)), 4)[0]
    assert table[:4].tolist() == [1, 0, 0, 0]
    assert table[MEAN] == 0


lengths = st.integers(1, 14).flatmap(
    lambda words: st.integers(1, words).flatmap(
        lambda length: st.tuples(st.integers(0, words - length), st.just(length), st.just(words))
    )
)


@given(lengths)
def test_a_rotated_answer_that_was_not_cut_starts_anywhere_with_equal_chance(
    row: tuple[int, int, int],
) -> None:
    """The claim that makes one curve serve original and rotated collections."""
    _, length, words = row
    assert sorted(starts_after_every_cut(*row)) == list(range(words - length + 1))


@given(lengths, st.integers(1, 25))
def test_expected_moments_are_the_mean_over_all_starts(
    row: tuple[int, int, int], bins: int
) -> None:
    _, length, words = row
    every = np.arange(words - length + 1)
    listed = moments(every, np.full_like(every, words), bins)
    np.testing.assert_allclose(
        expected_moments(spans(row), bins)[0], listed.mean(axis=0), atol=1e-12
    )


def test_bins_are_found_in_whole_numbers() -> None:
    # 0.15 · 20 is 2.9999… in floating point; 3 of 20 words is bin 3
    assert moments(np.array([3]), np.array([20]), 20)[0].nonzero()[0][0] == 3

"""What unbiased looks like: by hand, and by rotating every way there is."""

from __future__ import annotations

from collections import Counter
from typing import Any

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
    select,
)


def spans(
    *rows: tuple[int, int, int], groups: list[int] | None = None, passages: list[int] | None = None
) -> Spans:
    """Rows of (first, length, words); each a group and a passage of its own unless said
    otherwise.
    """
    first, length, words = np.array(rows, dtype=np.int64).T
    own = list(range(len(rows)))
    return Spans(first, length, words, np.array(groups or own), np.array(passages or own))


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
    table = expected_moments(spans((0, 2, 5)), 5, False, "all")[0]
    assert table[:5].tolist() == [0.25, 0.25, 0.25, 0.25, 0]
    assert table[MEAN] == pytest.approx((0 + 1 + 2 + 3) / 4 / 5)
    assert table[TENTH] == 0.25  # 0/5 < 0.1; 1/5 is not
    assert table[FIFTH] == 0.25  # 1/5 is not below 1/5


def test_expected_midpoints_by_hand() -> None:
    # the same answer's middle: 1/5, 2/5, 3/5, 4/5, so the second to the fifth bin
    table = expected_moments(spans((0, 2, 5)), 5, True, "all")[0]
    assert table[:5].tolist() == [0, 0.25, 0.25, 0.25, 0.25]
    assert table[MEAN] == pytest.approx(0.5)
    assert table[TENTH] == table[FIFTH] == 0


def test_an_answer_as_long_as_its_passage_can_only_start_in_front() -> None:
    table = expected_moments(spans((0, 4, 4)), 4, False, "all")[0]
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


@given(lengths, st.integers(1, 25), st.booleans())
def test_expected_moments_are_the_mean_over_all_starts(
    row: tuple[int, int, int], bins: int, midpoint: bool
) -> None:
    _, length, words = row
    every = np.arange(words - length + 1)
    listed = moments(every, np.full_like(every, length), np.full_like(every, words), bins, midpoint)
    np.testing.assert_allclose(
        expected_moments(spans(row), bins, midpoint, "all")[0], listed.mean(axis=0), atol=1e-12
    )


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=2))
    ),
    st.booleans(),
)
def test_the_first_of_several_matches_is_expected_early(
    drawn: tuple[int, set[int]], last: bool
) -> None:
    words, firsts = drawn
    group = spans(
        *((first, 1, words) for first in sorted(firsts)),
        groups=[0] * len(firsts),
        passages=[0] * len(firsts),
    )
    rotated = [[(first - cut) % words for first in firsts] for cut in range(words)]
    chosen = Counter(max(starts) if last else min(starts) for starts in rotated)
    table = expected_moments(group, words, False, "last" if last else "first")[0]
    np.testing.assert_allclose(table[:words], [chosen[start] / words for start in range(words)])


def test_bins_are_found_in_whole_numbers() -> None:
    # 0.15 · 20 is 2.9999… in floating point; 3 of 20 words is bin 3
    assert moments(np.array([3]), np.array([1]), np.array([20]), 20, False)[0].nonzero()[0][0] == 3


@pytest.mark.parametrize(("matches", "chosen"), [("first", [1, 2]), ("last", [0, 2])])
def test_one_match_of_each_group_is_selected(matches: Any, chosen: list[int]) -> None:
    table = spans((7, 1, 9), (2, 1, 9), (4, 1, 9), groups=[0, 0, 1])
    assert select(table, np.ones(3, bool), matches).tolist() == chosen

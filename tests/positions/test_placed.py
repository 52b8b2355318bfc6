"""Weights that match distances; worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.positions.placed import PlacedQuestions, weights_by_distance


def questions(sentence_counts: list[int], before: list[int], after: list[int]) -> PlacedQuestions:
    ids = [f"{number}" for number in range(len(before))]
    return PlacedQuestions(
        ids, ids, *(np.array(column) for column in (sentence_counts, before, after))
    )


def test_weights_by_hand() -> None:
    # passages of three sentences; evidence in the first (twice) and the middle one (twice)
    placed = questions([3] * 4, [0, 0, 1, 1], [0, 1, 0, 2])
    # uniform placing moves by 0: 4 · ⅓; by 1: 2 · ⅓ + 2 · ⅔ = 2; by 2: 2 · ⅓. Here: 1, 3 and 0 of
    # them.
    weights = weights_by_distance(placed)
    assert weights == pytest.approx([4 / 3, 2 / 3, 2 / 3, 2 / 3])

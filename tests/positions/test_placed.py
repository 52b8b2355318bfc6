"""Whether places fit a density, and weights that match distances; worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from positionbias.positions.density import Density
from positionbias.positions.placed import (
    PlacedQuestions,
    moves_of,
    place_histogram,
    weights_by_distance,
)

FIRST = Density("histogram", 0.0, (0.0, 0.05, 1.0), (1.0, 0.0))


def questions(sentence_counts: list[int], before: list[int], after: list[int]) -> PlacedQuestions:
    ids = [f"{number}" for number in range(len(before))]
    return PlacedQuestions(
        ids, ids, *(np.array(column) for column in (sentence_counts, before, after))
    )


def test_the_fit_by_hand() -> None:
    # 12 passages of three sentences, uniform: 4 are expected at each place, so that the first two
    # places are joined, and the third joins them
    alone = place_histogram(questions([3] * 12, [0] * 12, [0] * 12), Density())
    assert (alone.chi_square, alone.freedom, alone.p) == (None, 0, None)
    # 18: 6 each. (9 − 6)² / 6 + (6 − 6)² / 6 + (3 − 6)² / 6 = 3, on 2 degrees of freedom: p =
    # exp(−3 / 2)
    fit = place_histogram(questions([3] * 18, [1] * 18, [0] * 9 + [1] * 6 + [2] * 3), Density())
    assert fit.chi_square == pytest.approx(3.0)
    assert fit.freedom == 2
    assert fit.p == pytest.approx(np.exp(-1.5))
    assert fit.wanted == pytest.approx([1 / 3, 0, 1 / 3, 0, 1 / 3])
    assert (fit.reached, fit.before) == ([9, 0, 6, 0, 3], [0, 0, 18, 0, 0])
    # a sentence where the density has nothing
    impossible = place_histogram(questions([3] * 18, [1] * 18, [0] * 17 + [2]), FIRST)
    assert impossible.p == 0


def test_weights_by_hand() -> None:
    # passages of three sentences; evidence in the first (twice) and the middle one (twice)
    placed = questions([3] * 4, [0, 0, 1, 1], [0, 1, 0, 2])
    # uniform placing moves by 0: 4 · ⅓; by 1: 2 · ⅓ + 2 · ⅔ = 2; by 2: 2 · ⅓. Here: 1, 3 and 0 of
    # them.
    weights = weights_by_distance(placed)
    assert weights == pytest.approx([4 / 3, 2 / 3, 2 / 3, 2 / 3])
    moves = moves_of(replace(placed, weight=weights))
    assert moves.counts == [1, 3, 0]
    assert moves.uniform == pytest.approx([4 / 3, 2, 2 / 3])
    assert moves.weights == pytest.approx([4 / 3, 2 / 3, 0])
    assert moves.figures.to_rows() == {
        "mean_distance": 0.75,
        "mean_distance_of_uniform": pytest.approx((2 + 2 * 2 / 3) / 4),
        "share_unmoved": 0.25,
        "share_moved_forward": 0.25,
        "share_moved_backward": 0.5,
        "mean_distance_weighted": pytest.approx(2 / (10 / 3)),
        "share_unmatched": pytest.approx(1 / 6),
        "effective_questions": pytest.approx((10 / 3) ** 2 / (16 / 9 + 3 * 4 / 9)),
        "largest_weight": pytest.approx(4 / 3),
    }

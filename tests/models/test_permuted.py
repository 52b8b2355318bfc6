"""Permutation self-consistency: mean ranks by hand, a re-ranker that prefers the front of its list,
and what it refuses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from positionbias import permuted
from positionbias.core.errors import InputError, SettingError
from positionbias.models.permuted import _ranks

PASSAGES = ["gate", "stone", "lamp", "oil", "hall"]


def test_ranks_by_hand() -> None:
    assert _ranks(np.array([3.0, 5.0, 3.0, 1.0])).tolist() == [2.5, 1, 2.5, 4]


def test_a_scorer_that_ignores_the_order_keeps_its_ranking() -> None:
    def by_length(query: str, passages: Sequence[str]) -> list[int]:
        return [len(text) for text in passages]

    assert permuted(by_length, 2)("q", PASSAGES).tolist() == [5 - 3, 5 - 1, 5 - 3, 5 - 5, 5 - 3]


def test_the_order_given_does_not_matter_and_each_is_shown() -> None:
    shown: list[tuple[str, ...]] = []

    def front(query: str, passages: Sequence[str]) -> np.ndarray:
        shown.append(tuple(passages))
        return -np.arange(len(passages), dtype=np.float32)

    scores = permuted(front, 30)
    one, other = scores("q", PASSAGES), scores("q", PASSAGES[::-1])
    assert one.tolist() == other[::-1].tolist()
    assert len(set(shown[:30])) > 20
    assert shown[:30] == shown[30:]
    assert permuted(front, 30, seed=2)("q", PASSAGES).tolist() != one.tolist()
    # 30 orders: each passage's mean rank is near 3, with a deviation of √2 / √30
    assert np.abs(one - 2).max() < 4 * 2**0.5 / 30**0.5


def test_what_is_refused() -> None:
    with pytest.raises(SettingError, match="orders: wanted at least 2; found 1"):
        permuted(lambda query, passages: [0.0], 1)
    for wrong in ([1.0], [float("nan")] * 5, [[1.0] * 5]):
        with pytest.raises(InputError, match="score: wanted 5 finite numbers"):
            permuted(lambda query, passages, wrong=wrong: wrong)("q", PASSAGES)


def test_no_passages() -> None:
    assert permuted(lambda query, passages: [])("q", []).tolist() == []


def test_what_is_no_number_is_one_line() -> None:
    ragged = permuted(lambda _, texts: [[1], [1, 2]][: len(texts)], 2)
    with pytest.raises(InputError, match="wanted 2 finite numbers, one a passage"):
        ragged("q", ["a", "b"])

"""The effect of a move: by hand, damage that is the same read backwards, and what cannot be
estimated.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.moved_effect import moved_effect


def test_four_draws_by_hand() -> None:
    # two strata, x = 0 and x = 1; the original quality is the same everywhere, so the covariate
    # adds nothing. Within the first, moves are ±0.2 around their mean and changes ±0.1; within the
    # second ±0.2 and ±0.2. Slope (0.04 + 0.08) / (0.08 + 0.08) = 0.75. Without a draw its stratum
    # has no spread: 1 twice, 0.5 twice.
    found = moved_effect(
        np.array([0.0, 0, 1, 1]),
        np.array([0.2, 0.6, 0.4, 0.8]),
        np.full(4, 0.5),
        np.array([0.1, 0.3, -0.2, 0.2]),
        np.full(4, 0.5),
        list("abcd"),
    )
    assert found.value == pytest.approx(0.75)
    assert found.standard_error == pytest.approx(np.sqrt(3 / 4 * 4 * 0.25**2))
    assert found.freedom == 3
    assert found.interval is not None
    assert found.interval.high - 0.75 == pytest.approx(stats.t.ppf(0.975, 3) * np.sqrt(0.1875))
    assert found.count == 4


def test_a_linear_effect_is_found_exactly_beside_levels_and_the_original_quality() -> None:
    rng = generator(1, "moved effect")
    x, y, original = rng.random((3, 400))
    stratum = (x * 10).astype(int)
    change = 0.3 * (y - x) - 0.4 * original + 0.1 * stratum
    found = moved_effect(
        x, y, (x - y) % 1, change, original, [str(number) for number in range(400)]
    )
    assert found.value == pytest.approx(0.3)
    assert found.standard_error == pytest.approx(0, abs=1e-6)


def damaged(queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Answers in front, in passages that lose the more, the nearer their middle is cut; the place
    itself does nothing.
    """
    rng = generator(seed, "damage")
    x, y = np.minimum(rng.exponential(0.25, queries), 1), rng.random(queries)
    cut = (x - y) % 1
    return x, y, -np.minimum(cut, 1 - cut) + 0.05 * rng.normal(size=queries)


def test_damage_that_is_the_same_read_backwards_is_no_effect() -> None:
    found = [
        moved_effect(
            x, y, (x - y) % 1, change, np.zeros(len(x)), [str(number) for number in range(len(x))]
        )
        for x, y, change in (damaged(500, seed) for seed in range(1, 41))
    ]
    outside = sum(1 for one in found if one.p is not None and one.p < 0.05)
    assert outside <= 6  # 5 % of 40 are 2; more than 6 has a chance of 0.3 %
    assert abs(np.mean([one.value for one in found])) < 0.01


def test_queries_of_one_passage_count_once() -> None:
    rng = generator(3, "clusters")
    x, y = rng.random((2, 100))
    change = rng.normal(size=100)
    once = moved_effect(
        x, y, (x - y) % 1, change, np.zeros(100), [str(number) for number in range(100)]
    )
    x, y, change = (np.repeat(column, 5) for column in (x, y, change))
    again = moved_effect(
        x,
        y,
        (x - y) % 1,
        change,
        np.zeros(500),
        np.repeat([str(number) for number in range(100)], 5).tolist(),
    )
    assert again.value == pytest.approx(once.value)
    assert again.interval is not None
    assert once.interval is not None
    assert again.interval.low == pytest.approx(once.interval.low)


def test_what_nothing_changed_is_bounded_by_the_rule_of_three() -> None:
    x, y = generator(4, "nothing").random((2, 60))
    found = moved_effect(
        x,
        y,
        (x - y) % 1,
        np.zeros(60),
        np.zeros(60),
        [str(number) for number in range(60)],
        largest=2.0,
    )
    assert found.value == 0
    assert found.interval is not None
    assert found.interval.high == pytest.approx(3 * 2 / (found.freedom + 1), rel=0.05)
    assert "rule of three" in found.interval.method


def test_what_cannot_be_estimated_says_why() -> None:
    none = np.array([])
    assert (
        moved_effect(none, none, none, none, none, []).undefined
        == "fewer than two draws that move the evidence"
    )
    front = np.zeros(4)
    one_sided = moved_effect(
        front, np.array([0.1, 0.2, 0.3, 0.4]), front, np.ones(4), front, list("abcd")
    )
    assert one_sided.undefined == "all answers are on one side of their passages"
    both = np.array([0.0, 0, 1, 1])
    assert (
        moved_effect(both, np.full(4, 0.5), front, np.ones(4), front, list("abcd")).undefined
        == "all draws move the evidence equally"
    )
    assert moved_effect(
        both, np.array([0.1, 0.2, 0.3, 0.4]), front, front, front, list("aaaa")
    ).undefined.startswith("fewer than two")
    with pytest.raises(ValueError, match="other lengths"):
        moved_effect(both, front[:2], front, front, front, list("abcd"))
    with pytest.raises(ValueError, match="from 0 to 1"):
        moved_effect(both, front + 2, front, front, front, list("abcd"))

"""Permutation tests: p by hand where all arrangements are gone through, against scipy where they
are drawn, and their level.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.errors import SettingError
from positionbias.evaluation.permutation import sign_flip_p

values_of = st.lists(st.floats(-1, 1), min_size=2, max_size=9)


def test_sign_flips_by_hand() -> None:
    # sums of ±1 ±2 ±3 ±4, 16 of them: 10 (all), 8 (1 flipped), 6 (2 flipped), 4 (3; and 1 with 2),
    # …
    assert sign_flip_p(np.array([1.0, 2, 3, 4]), seed=1) == 1 / 16
    assert sign_flip_p(np.array([-1.0, 2, 3, 4]), seed=1) == 2 / 16
    assert sign_flip_p(np.array([-1.0, -2, 3, 4]), seed=1) == 5 / 16
    assert sign_flip_p(np.array([0.0, 0.0]), seed=1) == 1.0  # nothing differs
    assert sign_flip_p(np.array([]), seed=1) is None


def test_what_is_drawn_together_is_flipped_together() -> None:
    # a: 1 + 2 = 3, b: −1 + 3 = 2; of 3 + 2, 3 − 2, −3 + 2 and −3 − 2 the first is as large
    assert sign_flip_p(np.array([1.0, 2, -1, 3]), ["a", "a", "b", "b"], seed=1) == 1 / 4


def test_two_sided_by_hand() -> None:
    # of ±1 ±2 ±3 ±4 two reach ±10; of −1 + 2 + 3 + 4 = 8 four reach ±8: 10, 8 and their opposites
    assert sign_flip_p(np.array([1.0, 2, 3, 4]), seed=1, two_sided=True) == 2 / 16
    assert sign_flip_p(np.array([-1.0, 2, 3, 4]), seed=1, two_sided=True) == 4 / 16
    assert sign_flip_p(np.array([-1.0, -2, -3, -4]), seed=1, two_sided=True) == 2 / 16
    # a: 3, b: 2, c: 1 − 1 = 0, which has no sign; of 5, 1, −1 and −5 two are as far out
    values, clusters = np.array([1.0, 2, -1, 3, 1, -1]), ["a", "a", "b", "b", "c", "c"]
    assert sign_flip_p(values, clusters, seed=1, two_sided=True) == 2 / 4
    # one cluster: whatever its sign it is as far out
    assert sign_flip_p(np.array([1.0, 2, 3]), ["a"] * 3, seed=1, two_sided=True) == 1.0


def test_queries_that_do_not_differ_leave_the_rest_exact() -> None:
    # 200 queries of which 5 differ: 32 signs, all gone through
    differences = np.zeros(200)
    differences[::40] = [0.5, 0.25, 0.125, 1.0, 0.75]
    assert sign_flip_p(differences, seed=1, two_sided=True) == 2 / 32


@given(values_of)
def test_all_signs_are_those_of_scipy(values: list[float]) -> None:
    differences = np.round(values, 3)
    theirs = stats.permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert sign_flip_p(differences, seed=1) == pytest.approx(theirs.pvalue)


@given(values_of)
def test_both_sides_are_those_of_scipy(values: list[float]) -> None:
    differences = np.round(values, 3)
    theirs = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(differences, seed=1, two_sided=True) == pytest.approx(theirs.pvalue)


def test_drawn_arrangements_come_near_to_all() -> None:
    rng = np.random.default_rng(3)
    differences = rng.normal(0.2, 1, 13)
    every = sign_flip_p(differences, seed=1)  # 8,192
    drawn = sign_flip_p(differences, seed=1, permutations=5_000)
    assert every is not None
    assert drawn == pytest.approx(every, abs=4 * np.sqrt(every * (1 - every) / 5_000))
    both = sign_flip_p(differences, seed=1, two_sided=True)
    assert both is not None
    near = sign_flip_p(differences, seed=1, permutations=5_000, two_sided=True)
    assert near == pytest.approx(both, abs=4 * np.sqrt(both * (1 - both) / 5_000))


def test_p_is_never_nothing() -> None:
    assert sign_flip_p(np.ones(100), seed=1, permutations=99) == 1 / 100


@pytest.mark.parametrize("spread", [0.0, 2.0], ids=["alone", "in clusters"])
def test_under_the_null_five_in_a_hundred_are_rejected(spread: float) -> None:
    """600 trials each; 5 % ± 4 standard errors. Queries of one cluster share a part of their
    value.
    """
    rng, rejected = np.random.default_rng(11), 0
    clusters = [f"c{number // 2}" for number in range(40)]
    for trial in range(600):
        values = rng.normal(size=40) + spread * np.repeat(rng.normal(size=20), 2)
        p = sign_flip_p(values, clusters, seed=trial, permutations=199)
        assert p is not None
        rejected += p <= 0.05
    assert abs(rejected / 600 - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 600)


def test_no_permutation_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^--permutations: wanted at least 1; found 0"):
        sign_flip_p(np.ones(3), seed=1, permutations=0)

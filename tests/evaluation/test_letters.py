"""Significance letters: by hand, pair by pair against the sign flips, ties, clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.evaluation.answers import letter_of, significance_letters
from positionbias.evaluation.permutation import sign_flip_p


def by_query(values):
    return {f"q{number}": value for number, value in enumerate(values)}


def letters(systems, clusters=None):
    return significance_letters([{(1, None): values} for values in systems], clusters, seed=1)


def test_letters_by_hand():
    # six queries; b above a on all: two of the 64 sign patterns are as far out: p = 2 / 64 =
    # 0.03125 c above a on all as well; c − b = +.1 −.15 +.3 −.35 +.5 +.6 of 2 at most: the sum is 1
    # or more where what has a minus has the sum ½ at most: none, five alone (all but .6) and the
    # pairs .1 + .15, .1 + .3, .1 + .35, .15 + .3 and .15 + .35; 11 in all: p = 2 · 11 / 64
    a = np.zeros(6)
    b = np.array([1, 2, 3, 4, 5, 6]) / 10
    c = b + np.array([0.1, -0.15, 0.3, -0.35, 0.5, 0.6])
    found = letters([by_query(a), by_query(b), by_query(c)])
    assert found.p_values == {(0, 1): 0.03125, (0, 2): 0.03125, (1, 2): 0.34375}
    assert found.plain == ("", "a", "a")
    # Holm over three: 0.03125 · 3 for the first two, both above 0.05
    assert found.p_holm == {(0, 1): 0.09375, (0, 2): 0.09375, (1, 2): 0.34375}
    assert found.holm == ("", "", "")


def test_letters_of_two_rows_stand_together_as_in_table_5():
    random = np.random.default_rng(1)
    base = random.random(300)
    systems = [by_query(base + shift + random.normal(0, 0.01, 300)) for shift in (0.0, 0.05, 0.1)]
    found = letters(systems)
    assert found.plain == found.holm == ("", "a", "ab")
    # the order of rows is the order of letters
    assert letters(systems[::-1]).plain == ("bc", "c", "")


def test_only_queries_that_differ_count_and_no_letter_without_any():
    same = by_query([0.1, 0.5, 0.9])
    found = letters([same, same])
    assert found.p_values == {(0, 1): None}
    assert found.plain == found.holm == ("", "")
    # 0.1 + 0.2 − 0.3 is no difference: six ones against three zeros
    one = by_query([0.3] * 3 + [0.0] * 6)
    other = by_query([0.1 + 0.2] * 3 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert letters([one, other]).p_values == {(0, 1): 0.03125}


def test_queries_of_one_passage_count_once():
    # ten questions gain, of five passages: alone 2 / 1024, by passage 2 / 32
    systems = [by_query(np.zeros(10)), by_query(np.linspace(0.1, 0.2, 10))]
    assert letters(systems).p_values == {(0, 1): 2 / 1024}
    found = letters(systems, {f"q{place}": f"passage {place // 2}" for place in range(10)})
    assert found.p_values == {(0, 1): 2 / 32}
    assert letters(
        systems, {f"q{place}": f"passage {place // 5}" for place in range(10)}
    ).plain == ("", "")


def test_the_queries_that_both_have():
    found = letters(
        [by_query([0.0] * 6), {**by_query([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), "other": -9.0}]
    )
    assert found.plain == ("", "a")
    with pytest.raises(InputError, match="systems a and b: wanted queries that both have"):
        letters([{"q": 1.0}, {"r": 1.0}])


def test_trainings_are_paired_by_seed_and_draw():
    random = np.random.default_rng(2)
    base = random.random(30)
    one = {(seed, None): by_query(base + shift) for seed, shift in ((1, 0.0), (2, 0.3), (3, -0.2))}
    gains = {(1, 1): 0.05, (1, 2): 0.06, (2, 1): 0.04, (2, 2): 0.05, (3, 1): 0.06, (3, 2): 0.07}
    other = {
        key: by_query(np.array(list(one[key[0], None].values())) + gain)
        for key, gain in gains.items()
    }
    # gains of 0.055, 0.045 and 0.065 a seed: t = 0.055 / (0.01 / √3) with 2 degrees of freedom;
    # seeds apart differ by far more
    found = significance_letters([one, other], seed=1)
    assert found.p_values[0, 1] == pytest.approx(2 * stats.t.sf(0.055 / (0.01 / 3**0.5), 2))
    assert found.plain == ("", "a")
    two = significance_letters(
        [{key: of for key, of in each.items() if key[0] < 3} for each in (one, other)], seed=1
    )
    assert (two.p_values, two.plain) == ({(0, 1): None}, ("", ""))


def test_letters_run_out():
    assert (letter_of(0), letter_of(25)) == ("a", "z")
    with pytest.raises(InputError, match="at most 26 systems; found row 27"):
        letters([{"q": 1.0}] * 27)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.integers(2, 60), st.integers(0, 1000), st.sampled_from([2, 3, 12]))
def test_every_pair_has_its_p_and_the_higher_mean_its_letter(count, queries, seed, decimals):
    random = np.random.default_rng(seed)
    values = [np.round(random.random(queries) + 0.1 * row, decimals) for row in range(count)]
    clusters = [f"c{place:02d}" for place in random.integers(0, queries, queries)]
    names = sorted(by_query(values[0]))  # as text
    found = letters(
        [dict(zip(names, column, strict=True)) for column in values],
        dict(zip(names, clusters, strict=True)),
    )
    family = []
    for (one, other), p in found.p_values.items():
        differences = np.round(values[other] - values[one], 12)
        if not differences.any():
            assert p is None
            continue
        assert p == sign_flip_p(differences, clusters, seed=1, two_sided=True)
        family.append(((one, other), p))
        better, worse = (other, one) if differences.mean() > 0 else (one, other)
        assert (letter_of(worse) in found.plain[better]) == (p < 0.05)
        assert letter_of(better) not in found.plain[worse]
    # Holm by its definition: the i-th smallest of m times m − i, never below the one before
    least = 0.0
    for place, (pair, p) in enumerate(sorted(family, key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(family) - place)))
        assert found.p_holm[pair] == pytest.approx(least)
    assert all(
        set(strict) <= set(plain) for strict, plain in zip(found.holm, found.plain, strict=True)
    )

"""Significance letters: by hand, against scipy pair by pair, ties, and who is better where mean and ranks point apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.evaluation.letters import letter_of, significance_letters


def by_query(values):
    return {f"q{number}": value for number, value in enumerate(values)}


def test_letters_by_hand():
    # six queries; b above a on all: W- = 0, two of the 64 sign patterns are as extreme: p = 2 / 64 = 0.03125
    # c above a on all as well; c − b = +.1 −.15 +.3 −.35 +.5 +.6: W- = 2 + 4 = 6. Of the sets of ranks 1 … 6 those with sum 0 to 6
    # number 1 + 1 + 1 + 2 + 2 + 3 + 4 = 14: p = 2 · 14 / 64 = 0.4375
    a = np.zeros(6)
    b = np.array([1, 2, 3, 4, 5, 6]) / 10
    c = b + np.array([0.1, -0.15, 0.3, -0.35, 0.5, 0.6])
    found = significance_letters([by_query(a), by_query(b), by_query(c)])
    assert found.p_values == {(0, 1): 0.03125, (0, 2): 0.03125, (1, 2): 0.4375}
    assert found.plain == ("", "a", "a")
    # Holm over three: 0.03125 · 3 for the first two, both above 0.05
    assert found.p_holm == {(0, 1): 0.09375, (0, 2): 0.09375, (1, 2): 0.4375}
    assert found.holm == ("", "", "")


def test_letters_of_two_rows_stand_together_as_in_table_5():
    random = np.random.default_rng(1)
    base = random.random(300)
    systems = [by_query(base + shift + random.normal(0, 0.01, 300)) for shift in (0.0, 0.05, 0.1)]
    found = significance_letters(systems)
    assert found.plain == found.holm == ("", "a", "ab")
    # the order of rows is the order of letters
    assert significance_letters(systems[::-1]).plain == ("bc", "c", "")


def test_only_queries_that_differ_count_and_no_letter_without_any():
    same = by_query([0.1, 0.5, 0.9])
    found = significance_letters([same, same])
    assert found.p_values == {(0, 1): None}
    assert found.plain == found.holm == ("", "")
    # 0.1 + 0.2 − 0.3 is no difference: six ones against three zeros
    one = by_query([0.3] * 3 + [0.0] * 6)
    other = by_query([0.1 + 0.2] * 3 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert significance_letters([one, other]).p_values == {(0, 1): 0.03125}


def test_no_letter_where_mean_and_ranks_point_apart():
    # 40 small gains against 5 large losses: the ranks favour b, the mean favours a
    found = significance_letters([by_query(np.zeros(45)), by_query([0.001 * n for n in range(1, 41)] + [-0.9] * 5)])
    assert found.p_values[0, 1] < 0.05
    assert found.plain == ("", "")


def test_the_queries_that_both_have():
    found = significance_letters([by_query([0.0] * 6), {**by_query([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), "other": -9.0}])
    assert found.plain == ("", "a")
    with pytest.raises(InputError, match="systems a and b: wanted queries that both have"):
        significance_letters([{"q": 1.0}, {"r": 1.0}])


def test_letters_run_out():
    assert (letter_of(0), letter_of(25)) == ("a", "z")
    with pytest.raises(InputError, match="at most 26 systems; found row 27"):
        significance_letters([{"q": 1.0}] * 27)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(2, 60), st.integers(0, 1000), st.sampled_from([2, 3, 12]))
def test_every_pair_equals_scipy(count, queries, seed, decimals):
    random = np.random.default_rng(seed)
    values = [np.round(random.random(queries) + 0.1 * row, decimals) for row in range(count)]
    found = significance_letters([by_query(column) for column in values])
    family = []
    for (one, other), p in found.p_values.items():
        differences = np.round(values[other] - values[one], 12)
        if not differences.any():
            assert p is None
            continue
        expected = stats.wilcoxon(differences, zero_method="wilcox")
        family.append(((one, other), expected.pvalue))
        assert p == pytest.approx(expected.pvalue)
        positive = stats.wilcoxon(differences, zero_method="wilcox", alternative="greater").pvalue
        if letter_of(one) in found.plain[other]:
            assert expected.pvalue < 0.05
            assert positive < 0.025
            assert values[other].mean() > values[one].mean()
        elif letter_of(other) not in found.plain[one] and expected.pvalue < 0.05:
            assert (positive < 0.5) != (differences.mean() > 0)
    # Holm by its definition: the i-th smallest of m times m − i, never below the one before
    least = 0.0
    for place, (pair, p) in enumerate(sorted(family, key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(family) - place)))
        assert found.p_holm[pair] == pytest.approx(least)
    assert all(set(strict) <= set(plain) for strict, plain in zip(found.holm, found.plain, strict=True))

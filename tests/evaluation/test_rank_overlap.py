"""Rank-biased overlap: by hand, against its definition summed to a great depth, and its bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.evaluation.rank_overlap import rank_biased_overlap, rank_biased_overlaps

rankings = st.lists(st.integers(0, 12), max_size=9, unique=True)


def agreement_at(depth, short, long):
    """The share of ids in common at a depth: seen as far as the rankings go, beyond it at the rate
    that was seen (Webber, §4.4).
    """
    s, of_long = len(short), min(depth, len(long))
    seen = len(set(short[:depth]) & set(long[:of_long]))
    rate = len(set(short) & set(long[:s])) / s
    return (seen + max(0, of_long - s) * rate) / of_long


def summed(first, second, p):
    """(1 − p) Σ p^(d−1) A_d, a thousand ranks deep."""
    short, long = sorted((first, second), key=len)
    return (1 - p) * sum(
        p ** (depth - 1) * agreement_at(depth, short, long) for depth in range(1, 1_001)
    )


def test_by_hand():
    # a b against b a, p = ½: A = 0, 1, 1 …: ½·(0 + ½ + ¼ + …) = ½
    assert rank_biased_overlap(list("ab"), list("ba"), 0.5) == pytest.approx(0.5)
    # a b c against a c b: A = 1, ½, 1, 1 …; what is missing of 1 is (1 − p)·p·½
    assert rank_biased_overlap(list("abc"), list("acb"), 0.9) == pytest.approx(1 - 0.1 * 0.9 * 0.5)


def test_uneven_lengths_by_hand():
    # a against a b: X_1 = 1 of 1, and what comes after a in the shorter one is taken to agree like
    # it did: 1
    assert rank_biased_overlap(["a"], ["a", "b"]) == pytest.approx(1)
    # b against a b: at depth 1 nothing agrees (rate 0), at depth 2 one of two: ½·p of the weight
    assert rank_biased_overlap(["b"], ["a", "b"], 0.9) == pytest.approx(0.5 * 0.9)


@given(rankings.filter(bool), rankings.filter(bool), st.sampled_from([0.5, 0.9, 0.95]))
def test_it_is_the_sum_that_defines_it(first, second, p):
    assert rank_biased_overlap(first, second, p) == pytest.approx(
        summed(first, second, p), abs=1e-9
    )


@given(rankings, rankings)
def test_it_is_symmetric_and_between_nothing_and_all(first, second):
    value = rank_biased_overlap(first, second)
    assert value == pytest.approx(rank_biased_overlap(second, first))
    assert -1e-12 <= value <= 1 + 1e-12
    assert rank_biased_overlap(first, first) == pytest.approx(1)


def test_nothing_in_common_and_nothing_at_all():
    assert rank_biased_overlap(list("abc"), list("def")) == 0
    assert rank_biased_overlap([], list("a")) == 0
    assert rank_biased_overlap([], []) == 1


def test_a_change_at_the_top_weighs_more():
    ids = list("abcdefghij")
    top, bottom = ["b", "a", *ids[2:]], [*ids[:8], "j", "i"]
    assert rank_biased_overlap(ids, top) < rank_biased_overlap(ids, bottom) < 1


def test_faults():
    with pytest.raises(ValueError, match="found one twice"):
        rank_biased_overlap(["a", "a"], ["b"])
    with pytest.raises(ValueError, match="found 1"):
        rank_biased_overlap(["a"], ["b"], 1)
    with pytest.raises(ValueError, match="shorter"):
        rank_biased_overlaps([["a"], ["b"]], [["a"]])


def test_many():
    assert rank_biased_overlaps(
        [list("ab"), list("ab")], [list("ab"), list("ba")], 0.5
    ) == pytest.approx([1, 0.5])

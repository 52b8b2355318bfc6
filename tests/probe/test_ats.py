"""ATS and MATS: numbers worked by hand, and a loop over every pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.errors import InputError, SettingError
from positionbias.probe import pair_sample, sums, unit_rows
from positionbias.probe.ats import AtsCurve, average_term_similarity, mats_of
from positionbias.probe.settings import ProbeSettings

from .words import Words, every_pair, random_words, words

A, B, UNKNOWN, PADDING = 2, 3, 1, 0

# Unit vectors, in order: a (1, 0), b (0, 1), a (0, 1) | a (.6, .8), a (1, 0) | b (.6, .8), unknown,
# a (0, −1), padding.
HAND = words(
    [[A, B, A], [A, A], [B, UNKNOWN, A, PADDING]],
    [(1, 0), (0, 2), (0, 1), (3, 4), (1, 0), (0.6, 0.8), (7, 7), (0, -5), (1, 1)],
)


def curve_of(found: Words, *, memory_bytes: int = 1 << 28, **given: Any) -> AtsCurve:
    return average_term_similarity(
        *found, ProbeSettings(**{"minimum_terms": 1, **given}), memory_bytes=memory_bytes
    )


def test_by_hand() -> None:
    curve = curve_of(HAND)
    # Δ = 0: a: .6 (first and second passage at 0), −1 (first and third at 2)            → a −.2
    # Δ = 1: a: 1, 0 (first and second), 0 (second and third) → 1/3; b: (0, 1)·(.6, .8) = .8
    # Δ = 2: a: 0 (first at 0, third at 2), .8 (first at 2, second at 0), −.8 (second, third) → 0
    assert len(curve.ats) == 3
    assert curve.ats == pytest.approx([-0.2, (1 / 3 + 0.8) / 2, 0.0])
    assert curve.terms == [1, 2, 1]
    assert curve.pairs == [2, 4, 3]
    assert curve.over_terms == pytest.approx([0, (0.8 - 1 / 3) / 2, 0])
    # over pairs: {.6, −1}; {1, 0, 0, .8}, mean .45, squares .3025 + 2 · .2025 + .1225; {0, .8, −.8}
    assert curve.over_pairs == pytest.approx([0.8, np.sqrt(0.83 / 4), np.sqrt(1.28 / 3)])
    # falls −.7667 and −.2: their sum by max Δ − 1 = 1, and by 2
    assert mats_of(curve.ats).printed == pytest.approx(-0.9666667)
    assert mats_of(curve.ats).plain == pytest.approx(-0.4833333)
    assert mats_of(curve.ats).deviation == pytest.approx(0.2833333)


def test_padding_and_unknown_change_nothing() -> None:
    without = words([[A, B, A], [A, A], [B]], [(1, 0), (0, 2), (0, 1), (3, 4), (1, 0), (0.6, 0.8)])
    # the third passage's last a, at position 2, without what stands around it
    joined = Words(
        np.append(without.terms, A).astype(np.int32),
        np.append(without.positions, 2).astype(np.int32),
        np.append(without.passages, 2),
        np.vstack([without.vectors, [0, -5]]).astype(np.float32),
    )
    assert curve_of(joined) == curve_of(HAND)


PASSAGES = st.lists(st.lists(st.integers(0, 5), max_size=7), max_size=6)


@given(
    PASSAGES,
    st.integers(0, 999),
    st.sampled_from(["different", "all"]),
    st.sampled_from([1, 400, 1 << 30]),
)
@settings(max_examples=25)
def test_equals_a_loop_over_every_pair(
    passages: list[list[int]], seed: int, pairs: str, memory_bytes: int
) -> None:
    count = sum(map(len, passages))
    vectors = np.random.default_rng(seed).standard_normal((count, 3))
    vectors[seed % 7 :: 7] = 0.0  # a zero vector has cosine 0 with all
    found = words(passages, vectors)
    expected = every_pair(found, pairs)
    curve = curve_of(found, term_pairs=pairs, memory_bytes=memory_bytes)
    assert len(curve.ats) == next(delta for delta in range(9) if delta not in expected)
    for delta in range(len(curve.ats)):
        means = [np.mean(values) for values in expected[delta].values()]
        everything = np.concatenate(list(expected[delta].values()))
        assert curve.ats[delta] == pytest.approx(np.mean(means), abs=1e-6)
        assert curve.over_terms[delta] == pytest.approx(np.std(means), abs=1e-6)
        assert curve.over_pairs[delta] == pytest.approx(np.std(everything), abs=1e-6)
        assert (curve.terms[delta], curve.pairs[delta]) == (len(means), len(everything))


@pytest.mark.parametrize("pairs", ["different", "all"])
@pytest.mark.parametrize("sample_pairs", [10, 100_000])
def test_blocks_and_ranges_change_nothing(
    monkeypatch: pytest.MonkeyPatch, pairs: str, sample_pairs: int
) -> None:
    found = random_words(5)
    whole = curve_of(found, term_pairs=pairs, sample_pairs=sample_pairs)
    assert len(whole.ats) > 15
    for module in (sums, unit_rows):
        monkeypatch.setattr(module, "BLOCK_ROWS", 3)
    monkeypatch.setattr(sums, "_CELLS_AT_ONCE", 7)
    monkeypatch.setattr(pair_sample, "_CELL_PAIRS_AT_ONCE", 5)
    for memory_bytes in (1, 2_000, 9_000):
        assert_alike(
            curve_of(found, term_pairs=pairs, memory_bytes=memory_bytes, sample_pairs=sample_pairs),
            whole,
        )


def assert_alike(curve: AtsCurve, other: AtsCurve) -> None:
    assert (curve.terms, curve.pairs) == (other.terms, other.pairs)
    for name in ("ats", "over_terms", "over_pairs"):
        assert getattr(curve, name) == pytest.approx(getattr(other, name), abs=1e-7)
    assert mats_of(curve.ats).printed == pytest.approx(mats_of(other.ats).printed)


def test_a_constant_vector_gives_one_and_zero() -> None:
    found = random_words(9)
    curve = curve_of(found._replace(vectors=np.full_like(found.vectors, 0.3)))
    assert curve.ats == pytest.approx([1.0] * len(curve.ats))
    assert curve.over_terms == pytest.approx([0.0] * len(curve.ats), abs=1e-9)
    assert curve.over_pairs == pytest.approx([0.0] * len(curve.ats), abs=1e-9)
    assert mats_of(curve.ats).printed == pytest.approx(0.0, abs=1e-12)


def test_a_vector_that_is_position_alone() -> None:
    found = random_words(10)
    curve = curve_of(found._replace(vectors=np.eye(25, dtype=np.float32)[found.positions]))
    assert curve.ats == pytest.approx([1.0] + [0.0] * (len(curve.ats) - 1))
    longest = len(curve.ats) - 1
    assert longest > 15
    # Eq. 9 divides a sum of max Δ ones
    assert mats_of(curve.ats).printed == pytest.approx(longest / (longest - 1))
    assert mats_of(curve.ats).plain == pytest.approx(1.0)
    assert mats_of(curve.ats).deviation == pytest.approx(0.0, abs=1e-12)


def test_the_curve_ends_before_the_first_delta_with_too_few_terms() -> None:
    # terms 2, 3, 4 at positions 0, 1, 3 of two passages: all three have a pair at Δ = 0; at Δ = 2
    # only a term at 1 and 3 would
    found = words([[A, 3, 0, 4], [A, 3, 0, 4], [3, A, A]], np.ones((11, 2)))
    # Δ = 0: 2 (passages 1, 2), 3, 4; Δ = 1: 2 (0 and 1), 3 (0 and 1); Δ = 2: 2 (0 and 2)
    every = curve_of(found)
    assert every.terms == [3, 2, 1]
    assert len(every.ats) == 3  # positions reach 3, but no term has a pair there
    assert every.terms_after == 0
    cut = curve_of(found, minimum_terms=2)
    assert len(cut.ats) == 2
    assert (cut.terms_after, cut.later) == (1, 0)


def test_later_deltas_are_left_out_with_the_first_and_counted() -> None:
    # terms 2 and 3 stand at 0 and 5: nothing at Δ = 1 … 4, two terms at Δ = 5
    found = words([[2, 0, 0, 0, 0, 3], [3, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]], np.ones((18, 2)))
    curve = curve_of(found, minimum_terms=2)
    assert len(curve.ats) == 1
    assert curve.later == 1
    assert mats_of(curve.ats).printed is None
    assert "largest Δ with enough terms is 0" in mats_of(curve.ats).undefined


@pytest.mark.parametrize(
    ("ats", "plain", "reason"),
    [([], None, "not even Δ = 0"), ([0.9, 0.7], 0.2, "is 1")],
)
def test_mats_is_undefined_below_two_deltas(
    ats: list[float], plain: float | None, reason: str
) -> None:
    mats = mats_of(ats)
    assert mats.printed is None
    assert mats.plain == pytest.approx(plain)
    assert reason in mats.undefined


@pytest.mark.parametrize("passages", [[], [[A]], [[A], [B]]])
def test_without_a_pair_all_is_undefined(passages: list[list[int]]) -> None:
    curve = curve_of(words(passages, np.ones((sum(map(len, passages)), 2))))
    assert len(curve.ats) == 0
    assert mats_of(curve.ats).printed is None
    assert "not even" in mats_of(curve.ats).undefined


def test_a_diverged_model_is_one_clear_line() -> None:
    vectors = HAND.vectors.copy()
    vectors[0, 0] = np.nan
    with pytest.raises(InputError, match="NaN or infinity"):
        curve_of(HAND._replace(vectors=vectors))


@pytest.mark.parametrize(
    ("setting", "flag"),
    [
        ({"term_pairs": "some"}, "--term-pairs"),
        ({"minimum_terms": 0}, "--minimum-terms"),
        ({"sample_pairs": -1}, "--sample-pairs"),
        ({"memory_bytes": 0}, "memory_bytes"),
    ],
)
def test_a_setting_out_of_range_names_the_flag(setting: dict, flag: str) -> None:
    with pytest.raises(SettingError, match=flag):
        curve_of(HAND, **setting)


def test_arrays_must_fit_together() -> None:
    with pytest.raises(ValueError, match="a vector for each of 9 terms, got 8"):
        curve_of(HAND._replace(vectors=HAND.vectors[:8]))
    with pytest.raises(ValueError, match=r"must be \(n,\)"):
        curve_of(HAND._replace(positions=HAND.positions[:8]))
    with pytest.raises(ValueError, match="0 or more"):
        curve_of(HAND._replace(positions=HAND.positions - 1))

"""Qualities by bucket of position: means and PSI against a plain second computation, and what is
left out, empty or undefined.
"""

import warnings
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.seeds import generator
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.sensitivity import BucketSettings, bucket_means

HALVES = Buckets("relative", (0, 0.5, 1))
QUARTERS = Buckets.relative(4)


def random_queries(seed, queries=120, clusters=40, lean=0.3):
    rng = generator(seed, "test")
    positions = np.round(rng.random(queries), 2)
    values = np.round(np.clip(0.6 - lean * positions + 0.2 * rng.normal(size=queries), 0, 1), 3)
    return values, positions, [f"p{rng.integers(clusters)}" for _ in range(queries)]


def figures_by_hand():
    # means 0.75 and 0.25: PSI = 1 − 1/3
    return bucket_means(
        np.array([1, 0.5, 0.5, 0]),
        np.array([0.1, 0.3, 0.7, 0.9]),
        HALVES,
        settings=BucketSettings(seed=1, minimum=2),
    )


def test_by_hand():
    payload = figures_by_hand()
    assert payload.counts == [2, 2]
    assert payload.means == pytest.approx([0.75, 0.25])
    assert payload.psi.value == pytest.approx(2 / 3)
    # the six ways to put two of the four in front: PSI 2/3 twice, 0 (1 with 0, ½ with ½) twice and,
    # ½ and 1 parted, 2/3 … as listed
    pairs = [(1, 0.5), (1, 0.5), (1, 0), (0.5, 0.5), (0.5, 0), (0.5, 0)]
    null = [1 - min(sum(pair), 2 - sum(pair)) / max(sum(pair), 2 - sum(pair)) for pair in pairs]
    assert payload.psi.null_mean == pytest.approx(np.mean(null), abs=0.05)
    assert payload.psi.p == pytest.approx(np.mean(np.array(null) >= 2 / 3 - 1e-9), abs=0.05)
    assert payload.psi.low <= payload.psi.debiased <= payload.psi.high


@given(st.integers(0, 10_000))
def test_means_and_figures_equal_plain_ones(seed):
    values, positions, clusters = random_queries(seed)
    payload = bucket_means(
        values,
        positions,
        QUARTERS,
        clusters,
        settings=BucketSettings(seed=3, minimum=5, permutations=40, resamples=60),
    )
    members = [
        [i for i, x in enumerate(positions) if b / 4 <= x < (b + 1) / 4 or (b == 3 and x == 1)]
        for b in range(4)
    ]
    means = [sum(values[i] for i in own) / len(own) for own in members]
    assert list(payload.counts) == [len(own) for own in members]
    assert payload.means == pytest.approx(means)
    assert payload.psi.value == pytest.approx(1 - min(means) / max(means))
    labels = sorted(set(clusters))
    draws = generator(3, "bootstrap").integers(0, len(labels), size=(60, len(labels)))
    rows = []
    for drawn in draws:
        chosen = [i for c in drawn for i in range(len(values)) if clusters[i] == labels[c]]
        rows.append(
            [np.mean([values[i] for i in chosen if i in set(own)] or [np.nan]) for own in members]
        )
    assert payload.lows == pytest.approx(np.quantile(rows, 0.025, axis=0))
    assert payload.highs == pytest.approx(np.quantile(rows, 0.975, axis=0))


def test_small_and_empty_buckets_have_no_mean_and_count_in_no_figure():
    positions = np.repeat([0.1, 0.3, 0.6], [30, 19, 30])
    values = np.repeat([0.8, 0.0, 0.6], [30, 19, 30]) + np.tile([0.01, -0.01], 40)[:79]
    payload = bucket_means(values, positions, QUARTERS, settings=BucketSettings(seed=1))
    assert list(payload.counts) == [30, 19, 30, 0]
    assert [mean is None for mean in payload.means] == [False, True, False, True]
    assert [low is None for low in payload.lows] == [False, True, False, True]
    assert payload.psi.value == pytest.approx(0.25, abs=0.01)


def test_a_bucket_of_one_passage_has_no_mean():
    # thirty questions about one passage are one draw of it
    positions = np.repeat([0.1, 0.9], 30)
    clusters = ["p0"] * 30 + [f"p{i}" for i in range(30)]
    payload = bucket_means(
        np.linspace(0.3, 0.8, 60), positions, HALVES, clusters, settings=BucketSettings(seed=1)
    )
    assert [mean is None for mean in payload.means] == [True, False]
    assert payload.psi.undefined == "fewer than two buckets with enough queries"


def test_positions_outside_and_missing_ones_are_in_no_bucket():
    positions = np.array([10.0, 50, 150, 250, 4_000, np.nan, 3_120])
    payload = bucket_means(
        np.ones(7),
        positions,
        Buckets("characters", (0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 3120.0)),
        settings=BucketSettings(seed=1, minimum=1),
    )
    assert list(payload.counts) == [2, 1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("values", "positions", "psi", "why"),
    [
        ([], [], None, "no bucket has 1 queries"),
        ([0.4], [0.3], None, "fewer than two buckets with enough queries"),
        ([0.4, 0.2], [0.3, 0.4], None, "fewer than two buckets with enough queries"),
        ([0.0, 0.0, 0.0], [0.1, 0.4, 0.9], None, "every bucket's mean is 0"),
        ([0.7, 0.7, 0.7], [0.1, 0.4, 0.9], 0.0, None),
    ],
    ids=["no query", "one query", "one bucket", "all zero", "all equal"],
)
def test_what_is_undefined_is_none_and_says_why(values, positions, psi, why):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        payload = bucket_means(
            np.array(values),
            np.array(positions),
            HALVES,
            settings=BucketSettings(seed=1, minimum=1),
        )
    psi_found = payload.psi
    assert psi_found.value == (None if psi is None else pytest.approx(psi, abs=1e-12))
    assert (psi_found.undefined or None) == why
    numbers = [value for value in astuple(psi_found) if isinstance(value, float)]
    assert not np.isnan(numbers).any()
    assert not any(isinstance(mean, float) and np.isnan(mean) for mean in payload.means)


def test_a_preference_is_found_and_a_lack_of_one_is_not():
    rng = generator(9, "test")
    positions = rng.random(4_000)
    noise = rng.normal(0, 0.2, 4_000)
    flat = bucket_means(
        0.6 + noise, positions, Buckets.relative(20), settings=BucketSettings(seed=1)
    )
    assert flat.psi.p > 0.05
    assert flat.psi.low < 0.02
    steep = bucket_means(
        0.6 - 0.2 * positions + noise,
        positions,
        Buckets.relative(20),
        settings=BucketSettings(seed=1),
    )
    assert steep.psi.p == pytest.approx(1 / 1_001)
    # the bucket's true means run from 0.595 to 0.405
    assert steep.psi.low < 1 - 0.405 / 0.595 < steep.psi.high
    assert steep.psi.low > 0.15


@pytest.mark.parametrize(
    ("values", "positions", "clusters", "message"),
    [
        ([1.0, 2.0], [0.1], None, "one value, position and cluster per query"),
        ([1.0], [0.1], ["a", "b"], "one value, position and cluster per query"),
        ([np.nan, 1.0], [0.1, 0.2], None, "found 1 NaN or infinite"),
    ],
)
def test_faults(values, positions, clusters, message):
    with pytest.raises(ValueError, match=message):
        bucket_means(
            np.array(values), np.array(positions), HALVES, clusters, settings=BucketSettings(seed=1)
        )

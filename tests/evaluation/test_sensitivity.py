"""Qualities by bucket of position: every figure against a plain second computation, and what is
left out, empty or undefined.
"""

import warnings
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.buckets import SQUAD_POSQ, Buckets, length_groups
from positionbias.evaluation.described import STANDARDISED, Correlation, Psi
from positionbias.evaluation.sensitivity import (
    BucketSettings,
    bucket_means,
    bucket_means_by_length,
    means_by_bucket,
)

HALVES = Buckets("relative", (0, 0.5, 1))
QUARTERS = Buckets.relative(4)


def flat(figures):
    """The numbers and texts of nested figures by their path."""
    return {
        " ".join((name, path)).strip(): value
        for name, figure in figures.items()
        for path, value in (flat(figure) if isinstance(figure, dict) else {"": figure}).items()
    }


def random_queries(seed, queries=120, clusters=40, lean=0.3):
    rng = generator(seed, "test")
    positions = np.round(rng.random(queries), 2)
    values = np.round(np.clip(0.6 - lean * positions + 0.2 * rng.normal(size=queries), 0, 1), 3)
    return values, positions, [f"p{rng.integers(clusters)}" for _ in range(queries)]


def figures_by_hand():
    # means 0.75 and 0.25: PSI = 1 − 1/3. Line through the four: x̄ = 0.5, Σ(x−x̄)(y−ȳ) =
    # −0.2·0.5−0.4·0… see the test
    return bucket_means(
        np.array([1, 0.5, 0.5, 0]),
        np.array([0.1, 0.3, 0.7, 0.9]),
        HALVES,
        settings=BucketSettings(seed=1, minimum=2, quality="RR"),
    )


def test_by_hand():
    payload = figures_by_hand()
    assert (payload.scale, payload.quality, payload.group) == ("relative", "RR", "")
    assert (list(payload.edges), list(payload.counts)) == ([0, 0.5, 1], [2, 2])
    assert payload.means == pytest.approx([0.75, 0.25])
    figures = payload.figures
    assert figures.psi.value == pytest.approx(2 / 3)
    # x − ½ = −0.4, −0.2, 0.2, 0.4 and y − ½ = ½, 0, 0, −½: −0.4 / 0.4
    assert figures.slope.value == pytest.approx(-1)
    assert (figures.spearman.value, figures.kendall.value) == (-1, -1)
    # the six ways to put two of the four in front: PSI 2/3 twice, 0 (1 with 0, ½ with ½) twice and,
    # ½ and 1 parted, 2/3 … as listed
    pairs = [(1, 0.5), (1, 0.5), (1, 0), (0.5, 0.5), (0.5, 0), (0.5, 0)]
    null = [1 - min(sum(pair), 2 - sum(pair)) / max(sum(pair), 2 - sum(pair)) for pair in pairs]
    assert figures.psi.null_mean == pytest.approx(np.mean(null), abs=0.05)
    assert figures.psi.p == pytest.approx(np.mean(np.array(null) >= 2 / 3 - 1e-9), abs=0.05)
    assert figures.psi.low <= figures.psi.debiased <= figures.psi.high


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
    figures = payload.figures
    assert figures.psi.value == pytest.approx(1 - min(means) / max(means))
    middles = [0.125, 0.375, 0.625, 0.875]
    assert figures.spearman.value == pytest.approx(stats.spearmanr(middles, means).statistic)
    assert figures.kendall.value == pytest.approx(stats.kendalltau(middles, means).statistic)
    assert figures.slope.value == pytest.approx(stats.linregress(positions, values).slope)
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
    taus = [stats.kendalltau(middles, row).statistic for row in rows]
    low = 2 * figures.kendall.value - np.quantile(taus, 0.975)
    assert figures.kendall.low == pytest.approx(max(-1, min(figures.kendall.value, low)))


@given(st.integers(0, 1_000), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_nothing(seed, clustered, random):
    values, positions, clusters = random_queries(seed)
    strata = np.arange(len(values)) % 3
    order = list(range(len(values)))
    random.shuffle(order)
    settings = BucketSettings(seed=1, minimum=5, permutations=30, resamples=30)
    one = bucket_means(
        values,
        positions,
        QUARTERS,
        clusters if clustered else None,
        strata=strata,
        settings=settings,
    )
    labels = [clusters[i] for i in order] if clustered else None
    other = bucket_means(
        values[order], positions[order], QUARTERS, labels, strata=strata[order], settings=settings
    )
    assert list(other.counts) == list(one.counts)
    assert other.means == pytest.approx(one.means)
    assert other.lows == pytest.approx(one.lows)
    figures, expected = (flat(asdict(found.figures)) for found in (other, one))
    assert figures.pop("too_small") == expected.pop("too_small")
    assert figures == pytest.approx(expected)


def test_small_and_empty_buckets_have_no_mean_and_count_in_no_figure():
    positions = np.repeat([0.1, 0.3, 0.6], [30, 19, 30])
    values = np.repeat([0.8, 0.0, 0.6], [30, 19, 30]) + np.tile([0.01, -0.01], 40)[:79]
    payload = bucket_means(values, positions, QUARTERS, settings=BucketSettings(seed=1))
    assert list(payload.counts) == [30, 19, 30, 0]
    assert [mean is None for mean in payload.means] == [False, True, False, True]
    assert [low is None for low in payload.lows] == [False, True, False, True]
    assert payload.figures.psi.value == pytest.approx(0.25, abs=0.01)
    assert payload.figures.too_small == ["0.25 to 0.5", "0.75 to 1"]
    assert (payload.figures.left_out, payload.figures.queries, payload.figures.minimum) == (
        2,
        79,
        20,
    )


def test_a_bucket_of_one_passage_has_no_mean():
    # thirty questions about one passage are one draw of it
    positions = np.repeat([0.1, 0.9], 30)
    clusters = ["p0"] * 30 + [f"p{i}" for i in range(30)]
    payload = bucket_means(
        np.linspace(0.3, 0.8, 60), positions, HALVES, clusters, settings=BucketSettings(seed=1)
    )
    assert [mean is None for mean in payload.means] == [True, False]
    assert payload.figures.psi.undefined == "fewer than two buckets with enough queries"


def test_positions_outside_and_missing_ones_are_counted():
    positions = np.array([10.0, 50, 150, 250, 4_000, np.nan, 3_120])
    payload = bucket_means(
        np.ones(7), positions, SQUAD_POSQ, settings=BucketSettings(seed=1, minimum=1)
    )
    assert list(payload.counts) == [2, 1, 1, 0, 0, 1]
    assert (payload.figures.outside, payload.figures.without_position, payload.figures.queries) == (
        2,
        1,
        5,
    )
    # slopes by the character would be lost in rounding: they are by the hundred
    rising = bucket_means(
        np.array([0.1, 0.2, 0.3]),
        np.array([0.0, 100, 200]),
        SQUAD_POSQ,
        settings=BucketSettings(seed=1),
    )
    assert (rising.figures.slope.value, rising.figures.slope_unit) == (
        pytest.approx(0.1),
        "100 characters",
    )


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
    figures = payload.figures
    assert figures.psi.value == (None if psi is None else pytest.approx(psi, abs=1e-12))
    assert (figures.psi.undefined or None) == why
    assert figures.kendall.value is None
    numbers = [v for v in flat(asdict(figures)).values() if isinstance(v, float)]
    assert not np.isnan(numbers).any()
    assert not any(isinstance(mean, float) and np.isnan(mean) for mean in payload.means)


def test_length_is_not_mistaken_for_position():
    # long passages score less, and their answers start later; within a length the place says
    # nothing
    rng = generator(5, "test")
    lengths = rng.choice([60, 120, 240], 3_000)
    positions = rng.random(3_000) * lengths * 6
    values = 0.9 - 0.002 * lengths + rng.normal(0, 0.05, 3_000)
    clusters = [f"p{i // 3}" for i in range(3_000)]
    groups = length_groups(lengths)
    plain = bucket_means(
        values,
        positions,
        SQUAD_POSQ,
        clusters,
        settings=BucketSettings(seed=1, permutations=200, resamples=200),
    )
    assert plain.figures.psi.p < 0.01
    assert plain.figures.psi.low > 0.1
    found = bucket_means_by_length(
        values,
        positions,
        SQUAD_POSQ,
        clusters,
        groups,
        settings=BucketSettings(seed=1, permutations=200, resamples=200),
    )
    assert [payload.group for payload in found] == [
        STANDARDISED,
        "60 words",
        "120 words",
        "240 words",
    ]
    assert sum(payload.figures.queries for payload in found[1:]) == found[0].figures.queries
    for payload in found:
        assert payload.figures.psi.p > 0.01
        assert payload.figures.psi.low < 0.02
        assert payload.figures.slope.low < 0 < payload.figures.slope.high
    # short passages have no late characters: their last buckets are empty, the standardised ones
    # are not
    assert found[1].figures.left_out == 2
    assert found[0].figures.left_out == 0


def test_groups_may_have_buckets_of_their_own():
    values, positions, clusters = random_queries(9)
    positions[:7] = np.nan
    groups = length_groups(np.repeat([10, 20], 60))
    found = bucket_means_by_length(
        values,
        positions,
        QUARTERS,
        clusters,
        groups,
        settings=BucketSettings(seed=1),
        within=lambda queries: Buckets.relative(2 + (queries == 60)),
    )
    # 53 and 60 queries with a position
    assert [len(payload.counts) for payload in found] == [4, 2, 3]
    assert [payload.figures.without_position for payload in found] == [7, 7, 0]


def test_lengths_that_share_no_bucket_cannot_be_compared():
    values, positions = np.linspace(0.2, 0.8, 80), np.repeat([0.1, 0.9], 40)
    payload = bucket_means(
        values, positions, HALVES, settings=BucketSettings(seed=1), strata=np.repeat([0, 1], 40)
    )
    assert payload.figures.psi.undefined == "buckets hold passages of different lengths only"
    assert list(payload.means) == [None, None]


def test_a_preference_is_found_and_a_lack_of_one_is_not():
    rng = generator(9, "test")
    positions = rng.random(4_000)
    noise = rng.normal(0, 0.2, 4_000)
    flat = bucket_means(
        0.6 + noise, positions, Buckets.relative(20), settings=BucketSettings(seed=1)
    ).figures
    assert flat.psi.p > 0.05
    assert flat.psi.low < 0.02
    steep = bucket_means(
        0.6 - 0.2 * positions + noise,
        positions,
        Buckets.relative(20),
        settings=BucketSettings(seed=1),
    ).figures
    assert steep.psi.p == pytest.approx(1 / 1_001)
    # the bucket's true means run from 0.595 to 0.405
    assert steep.psi.low < 1 - 0.405 / 0.595 < steep.psi.high
    assert steep.psi.low > 0.15
    assert steep.slope.low < -0.2 < steep.slope.high
    assert steep.kendall.p < 0.01


def test_changes_may_be_below_zero():
    payload = means_by_bucket(
        np.array([-0.5, 0.1, 0.3, 0.5]),
        np.array([0.1, 0.2, 0.6, 1]),
        HALVES,
        settings=BucketSettings(seed=1, minimum=2),
    )
    assert payload.means == pytest.approx([-0.2, 0.4])
    assert payload.figures.slope.value == pytest.approx(
        stats.linregress([0.1, 0.2, 0.6, 1], [-0.5, 0.1, 0.3, 0.5]).slope
    )
    assert (payload.figures.psi, payload.figures.kendall) == (Psi(), Correlation())
    assert list(
        means_by_bucket(
            np.array([0.5]), np.array([0.1]), HALVES, settings=BucketSettings(seed=1)
        ).means
    ) == [
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("values", "positions", "clusters", "message"),
    [
        ([1.0, 2.0], [0.1], None, "one value, position, stratum and cluster per query"),
        ([1.0], [0.1], ["a", "b"], "one value, position, stratum and cluster per query"),
        ([np.nan, 1.0], [0.1, 0.2], None, "found 1 NaN or infinite"),
    ],
)
def test_faults(values, positions, clusters, message):
    with pytest.raises(ValueError, match=message):
        bucket_means(
            np.array(values), np.array(positions), HALVES, clusters, settings=BucketSettings(seed=1)
        )

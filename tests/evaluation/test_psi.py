"""PSI, its null and its interval: by hand, against enumeration, least squares and a grid, and where
they are undefined.
"""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import cluster_queries
from positionbias.evaluation.psi import (
    Cells,
    _inverted,
    adjusted_means,
    dealt_means,
    psi_of,
    psi_with_null,
    resampled_bucket_means,
)


def cells_of(values, buckets, strata=None):
    strata = np.zeros(len(values), int) if strata is None else np.array(strata)
    buckets = np.array(buckets)
    return Cells(
        np.array(values, float), buckets, strata, int(buckets.max()) + 1, int(strata.max()) + 1
    )


def random_cells(seed, queries=80, buckets=4, strata=3):
    rng = generator(seed, "test")
    bucket = np.concatenate([np.arange(buckets), rng.integers(buckets, size=queries - buckets)])
    stratum = np.concatenate([np.arange(strata), rng.integers(strata, size=queries - strata)])
    return cells_of(0.2 + 0.2 * stratum + 0.1 * bucket + 0.3 * rng.random(queries), bucket, stratum)


def test_psi_by_hand():
    assert psi_of(np.array([0.5, 0.4, 0.45])) == pytest.approx(0.2)
    assert psi_of(np.array([[0.5, np.nan, 0.1], [0.3, 0.3, 0.3]])) == pytest.approx([0.8, 0])
    assert np.isnan(psi_of(np.array([0.0, 0.0])))


def test_adjusted_means_by_hand():
    # short passages score 1, long ones 0, wherever the answer is; the late bucket is mostly of long
    # ones. Plain: 3/4 and 1/4
    cells = cells_of([1, 1, 1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1])
    assert adjusted_means(
        cells.sums(cells.values).sum(axis=0, keepdims=True), cells.sums().sum(axis=0, keepdims=True)
    ) == (pytest.approx([0.75, 0.25]))
    assert adjusted_means(cells.sums(cells.values), cells.sums()) == pytest.approx([0.5, 0.5])


@given(st.integers(0, 10_000))
def test_adjusted_means_are_those_of_least_squares(seed):
    cells = random_cells(seed)
    columns = [np.where(cells.buckets == b, 1.0, 0) for b in range(4)] + [
        np.where(cells.strata == s, 1.0, 0) for s in range(3)
    ]
    fit = np.linalg.lstsq(np.column_stack(columns), cells.values, rcond=None)[0]
    weights = np.bincount(cells.strata) / len(cells.values)
    assert adjusted_means(cells.sums(cells.values), cells.sums()) == pytest.approx(
        fit[:4] + fit[4:] @ weights
    )


def test_buckets_that_share_no_stratum_cannot_be_compared():
    assert not cells_of([1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 1]).connected
    # 0 and 1 share a stratum, 1 and 2 another: so 0 and 2 can be compared
    assert cells_of([1, 2, 3, 4], [0, 1, 1, 2], [0, 0, 1, 1]).connected


def enumerated(values, buckets, clusters, strata):
    """Every way to hand the values of a cluster to another one as large, of the same stratum, in
    any order.
    """
    units = {}
    for index, (cluster, stratum) in enumerate(zip(clusters, strata, strict=True)):
        units.setdefault((cluster, stratum), []).append(index)
    kinds = {}
    for (_, stratum), own in units.items():
        kinds.setdefault((stratum, len(own)), []).append(own)
    choices = []
    for group in kinds.values():
        of_kind = []
        for order in permutations(group):
            for inner in product(*(permutations(own) for own in order)):
                of_kind.append(
                    [
                        pair
                        for to, own in zip(group, inner, strict=True)
                        for pair in zip(to, own, strict=True)
                    ]
                )
        choices.append(of_kind)
    for choice in product(*choices):
        dealt = np.empty(len(values))
        for to, source in (pair for part in choice for pair in part):
            dealt[to] = values[source]
        yield dealt


@pytest.mark.parametrize(
    ("clusters", "strata"),
    [
        ("abcdef", [0] * 6),
        ("abcdef", [0, 0, 0, 1, 1, 1]),
        ("aabbcd", [0] * 6),
        ("aabbcc", [0, 0, 0, 0, 1, 1]),
    ],
    ids=["alone", "in strata", "in clusters", "in both"],
)
def test_the_null_is_that_of_every_way_to_deal(clusters, strata):
    values, buckets = [0.1, 0.9, 0.4, 0.3, 0.8, 0.5], [0, 1, 0, 1, 0, 1]
    cells = cells_of(values, buckets, strata)
    expected = [
        adjusted_means(cells_of(v, buckets, strata).sums(v), cells.sums())
        for v in enumerated(values, buckets, clusters, strata)
    ]
    found = dealt_means(cells, cluster_queries(list(clusters), 6), seed=1, permutations=6_000)
    seen = {tuple(row) for row in np.round(found, 9)}
    assert seen == {tuple(row) for row in np.round(expected, 9)}
    # 6,000 draws: the mean PSI within four standard errors
    spread = psi_of(found).std() / 6_000**0.5
    assert psi_of(found).mean() == pytest.approx(
        psi_of(np.array(expected)).mean(), abs=4 * spread + 1e-12
    )


def test_resampled_means_are_those_of_drawn_clusters():
    cells = random_cells(3, queries=60, strata=1)
    labels = [f"p{i // 4:02d}" for i in range(60)]
    found = resampled_bucket_means(cells, cluster_queries(labels, 60), seed=7, resamples=50)
    draws = generator(7, "bootstrap").integers(0, 15, size=(50, 15))
    for row, drawn in zip(found, draws, strict=True):
        queries = np.concatenate([np.arange(4 * cluster, 4 * cluster + 4) for cluster in drawn])
        expected = [cells.values[queries][cells.buckets[queries] == b].mean() for b in range(4)]
        assert row == pytest.approx(expected)


def plain_inversion(cells, labels, means, resampled, steps=400):
    """The estimate and bounds by trying every θ on a grid: PSI of the truth where a share of draws
    first reaches the PSI seen.
    """
    count = len(means)
    clusters = [
        len({label for label, b in zip(labels, cells.buckets, strict=True) if b == bucket})
        for bucket in range(count)
    ]
    noise = (resampled - means) * np.sqrt([g / (g - 1) for g in clusters])
    sizes = np.bincount(cells.buckets)
    plain = np.array([cells.values[cells.buckets == b].mean() for b in range(count)])
    pooled = ((cells.values - plain[cells.buckets]) ** 2).sum() / (len(cells.values) - count)
    normal = generator(1, "pooled variance").normal(size=noise.shape)
    for b in range(count):
        noise[:, b] += max(0, pooled / sizes[b] - (noise[:, b] ** 2).mean()) ** 0.5 * normal[:, b]
    centre, seen = cells.values.mean(), 1 - min(means) / max(means)
    found = []
    for shape in ([m - centre for m in means], [1 if m >= centre else -1 for m in means]):
        grid = np.linspace(0, centre / -min(shape), steps + 1)
        truths = [1 - (centre + t * min(shape)) / (centre + t * max(shape)) for t in grid]
        drawn = [np.maximum(centre + t * np.array(shape) + noise, 0) for t in grid]
        psis = [1 - d.min(axis=1) / d.max(axis=1) for d in drawn]
        found.append(
            [
                truths[next(i for i, q in enumerate(psis) if (q >= seen - 1e-12).mean() >= at)]
                for at in (0.5, 0.01, 0.99)
            ]
        )
    (one, two), lows, highs = zip(*found, strict=True)
    return (one + two) / 2, min(lows), max(highs)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_estimate_and_bounds_are_those_of_every_truth_tried(seed):
    cells = random_cells(seed, strata=1)
    labels = [f"p{i // 2}" for i in range(len(cells.values))]
    clusters = cluster_queries(labels, len(labels))
    means = adjusted_means(cells.sums(cells.values), cells.sums())
    resampled = resampled_bucket_means(cells, clusters, seed=1, resamples=100)
    found = psi_with_null(
        cells,
        clusters,
        means,
        dealt_means(cells, clusters, seed=1, permutations=50),
        resampled,
        seed=1,
    )
    debiased, low, high = plain_inversion(cells, labels, means, resampled)
    # the grid's step is 1/400 of PSI's range or so, and its first θ that reaches lies up to a step
    # above
    assert found.debiased == pytest.approx(debiased, abs=0.006)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.006)
    assert 0 <= found.low <= found.debiased <= found.high <= 1


def test_the_debiased_psi_by_hand():
    # two buckets; noise of ±0.02 with even chance in the first alone; m = 0.6, 0.5, so PSI is 1/6;
    # the truth is 0.55 ± θ. The draws' PSI are 1 − (0.55 − θ)/(0.57 + θ) and, from θ = 0.01, 1 −
    # (0.55 − θ)/(0.53 + θ). The larger reaches 1/6 where
    # 0.55 − θ = 5/6·(0.57 + θ), θ = 0.075 / (11/6); the smaller where 0.55 − θ = 5/6·(0.53 + θ), θ
    # = (0.55 − 2.65/6) / (11/6)
    noise = np.tile([[0.02, 0.0], [-0.02, 0.0]], (50, 1))
    estimate, low, high = _inverted(np.array([0.6, 0.5]), 0.55, np.array([0.05, -0.05]), noise)
    first, last = 0.075 * 6 / 11, (0.55 - 2.65 / 6) * 6 / 11
    assert (low, high) == pytest.approx(
        (1 - (0.55 - first) / (0.55 + first), 1 - (0.55 - last) / (0.55 + last)), abs=5e-5
    )
    assert low == estimate < high  # half of the draws reach it where the first do


def test_without_noise_it_is_what_is_seen_and_with_much_it_is_nothing():
    means, still = np.array([0.6, 0.5, 0.3]), np.zeros((100, 3))
    centre = means.mean()
    assert _inverted(means, centre, means - centre, still) == pytest.approx(
        (0.5, 0.5, 0.5), abs=5e-5
    )
    loud = generator(1, "test").normal(0, 0.3, size=(400, 3))
    estimate, low, high = _inverted(means, centre, means - centre, loud)
    assert (estimate, low) == (0, 0)
    assert high > 0.5


def test_twenty_queries_that_agree_are_no_certainty():
    # 20 zeros beside 200 coins: of its own the bucket has no variance. Pooled 50/218, so its error
    # is 0.107: a mean of 0.25 (2.33 errors) gives 0 in one draw of a hundred, beside one of 0.48 or
    # so
    values = np.concatenate([np.zeros(20), np.tile([0.0, 1.0], 100)])
    cells = cells_of(values, [0] * 20 + [1] * 200)
    clusters = cluster_queries(None, 220)
    means = np.array([0, 0.5])
    found = psi_with_null(
        cells,
        clusters,
        means,
        dealt_means(cells, clusters, seed=1, permutations=200),
        resampled_bucket_means(cells, clusters, seed=1, resamples=500),
        seed=1,
    )
    assert found.value == 1
    assert found.low == pytest.approx(0.48, abs=0.06)


def test_p_counts_the_draws_that_reach_it():
    cells = cells_of([0.2, 0.4, 0.6], [0, 1, 1])
    dealt = np.array([[0.2, 0.5], [0.4, 0.4], [0.6, 0.3]])  # PSI 0.6, 0, 0.5
    found = psi_with_null(
        cells, cluster_queries(None, 3), np.array([0.2, 0.5]), dealt, None, seed=1
    )
    assert (found.value, found.p) == pytest.approx((0.6, 2 / 4))
    assert found.null_mean == pytest.approx(1.1 / 3)
    assert (found.debiased, found.low) == (None, None)
    assert found.undefined == "the debiased PSI: fewer than two clusters of queries"


@pytest.mark.parametrize(
    ("means", "why"),
    [
        ([0.3], "fewer than two buckets with enough queries"),
        ([0.0, 0.0], "every bucket's mean is 0"),
        ([0.3, -0.1], "a bucket's mean is below 0"),
    ],
)
def test_undefined_psi_says_why(means, why):
    cells = cells_of(means, list(range(len(means))))
    found = psi_with_null(
        cells, cluster_queries(None, len(means)), np.array(means), np.array([means]), None, seed=1
    )
    assert (found.value, found.p, found.debiased, found.low, found.undefined) == (
        None,
        None,
        None,
        None,
        why,
    )

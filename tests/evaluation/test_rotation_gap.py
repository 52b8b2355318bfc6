"""The rotation gap: by hand, against plain sums over queries and draws, and where it is
undefined.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.rotation_gap import change_by_movement, rotation_gap


def random_qualities(seed, queries=30, draws=3, clusters=8):
    rng = generator(seed, "test")
    labels = [f"p{rng.integers(clusters)}" for _ in range(queries)]
    return (
        rng.random(queries),
        rng.random((draws, queries)),
        rng.uniform(-1, 1, (draws, queries)),
        labels,
    )


def test_by_hand():
    original, rotated = np.tile([1.0, 0.5, 0.0], 2), np.tile([[0.5, 0.5, 0.2], [1.0, 0.1, 0.0]], 2)
    changed = np.tile([[True, False, True], [False, False, False]], 2)
    gap = rotation_gap(original, rotated, first_changed=changed)
    assert gap.per_query == pytest.approx([-0.25, -0.2, 0.1] * 2)
    test = stats.ttest_1samp([-0.25, -0.2, 0.1] * 2, 0)
    interval = test.confidence_interval(0.95)
    assert gap.change.value == pytest.approx(-0.35 / 3)
    assert (gap.change.interval.low, gap.change.interval.high, gap.change.p) == pytest.approx(
        (interval.low, interval.high, test.pvalue)
    )
    assert (gap.original_mean, gap.rotated_mean) == pytest.approx((0.5, 2.3 / 6))
    assert gap.first_changed.value == pytest.approx(1 / 3)
    assert gap.draws == 2


@given(st.integers(0, 10_000))
def test_it_equals_plain_sums_and_leaving_passages_out(seed):
    original, rotated, _, labels = random_qualities(seed)
    gap = rotation_gap(original, rotated, labels)
    changes = [sum(rotated[d][q] - original[q] for d in range(3)) / 3 for q in range(30)]
    value = sum(changes) / 30
    assert gap.change.value == pytest.approx(value)
    names = sorted(set(labels))
    without = [
        np.mean([c for c, label in zip(changes, labels, strict=True) if label != name])
        for name in names
    ]
    error = (sum((one - value) ** 2 for one in without) * (len(names) - 1) / len(names)) ** 0.5
    assert gap.change.standard_error == pytest.approx(error)


@given(st.integers(0, 1_000), st.randoms(use_true_random=False))
def test_neither_the_order_of_queries_nor_of_draws_changes_it(seed, random):
    original, rotated, moved, labels = random_qualities(seed)
    order, draws = list(range(30)), [2, 0, 1]
    random.shuffle(order)
    one = rotation_gap(original, rotated, labels)
    turned = rotated[draws][:, order], [labels[q] for q in order]
    other = rotation_gap(original[order], *turned)
    for name in ("value", "p", "detectable"):
        assert getattr(other.change, name) == pytest.approx(getattr(one.change, name))
    assert (other.original_mean, other.rotated_mean) == pytest.approx(
        (one.original_mean, one.rotated_mean)
    )
    by_movement = change_by_movement(original, rotated, moved, labels, seed=1, minimum=3)
    again = change_by_movement(
        original[order], turned[0], moved[draws][:, order], turned[1], seed=1, minimum=3
    )
    assert again.figures.too_small == by_movement.figures.too_small
    assert again.figures.slope.value == pytest.approx(by_movement.figures.slope.value)
    assert again.figures.slope.low == pytest.approx(by_movement.figures.slope.low)
    assert again.lows == pytest.approx(by_movement.lows)


def test_change_by_movement_counts_pairs_and_cuts():
    original = np.array([0.5, 0.5])
    rotated, moved = np.array([[0.9, 0.4], [0.3, 0.5]]), np.array([[-0.5, 0.25], [0.5, np.nan]])
    payload = change_by_movement(
        original,
        rotated,
        moved,
        seed=1,
        buckets=Buckets.moved(2),
        minimum=1,
        quality="change of RR",
    )
    assert (payload.scale, payload.quality, list(payload.edges)) == (
        "moved",
        "change of RR",
        [-1, 0, 1],
    )
    # of one query alone (to the front) there is no mean; to the back: 0.4 − 0.5 and 0.3 − 0.5
    assert list(payload.counts) == [1, 2]
    assert payload.means[0] is None
    assert payload.means[1] == pytest.approx(-0.15)
    assert payload.figures.outside == 1
    assert payload.figures.slope.value == pytest.approx(
        stats.linregress([-0.5, 0.25, 0.5], [0.4, -0.1, -0.2]).slope
    )


def test_a_preference_for_the_front_shows_against_the_movement():
    rng = generator(4, "test")
    moved = rng.uniform(-1, 1, (4, 500))
    original = rng.random(500)
    payload = change_by_movement(
        original, original - 0.2 * moved + rng.normal(0, 0.05, (4, 500)), moved, seed=1
    )
    assert payload.figures.slope.low < -0.2 < payload.figures.slope.high
    assert payload.means[0] > 0.15
    assert payload.means[-1] < -0.15


def test_a_blind_scorer_has_no_gap():
    gap = rotation_gap(np.linspace(0, 1, 10), np.tile(np.linspace(0, 1, 10), (4, 1)))
    # of ten queries that agree, at most 3 / 10 of all differ
    bounds = gap.change.interval
    assert (gap.change.value, bounds.low, bounds.high, gap.change.least) == (
        0,
        pytest.approx(-0.3),
        pytest.approx(0.3),
        0,
    )
    assert (gap.change.p, gap.change.undefined) == (None, "p: all clusters agree")


def test_one_query_has_no_interval():
    gap = rotation_gap(np.array([0.5]), np.array([[0.4], [0.5]]))
    assert gap.change.value == pytest.approx(-0.05)
    assert (gap.change.interval, gap.change.undefined) == (
        None,
        "the interval: fewer than 5 clusters of queries",
    )
    assert gap.first_changed.value is None
    assert gap.change.p is None


@pytest.mark.parametrize(
    ("original", "rotated", "more", "message"),
    [
        ([0.5], [0.5], {}, r"wanted original \(queries,\) and rotated \(draws, queries\)"),
        ([0.5, 0.5], [[0.5]], {}, "wanted original"),
        ([], [[]], {}, "wanted original"),
        ([0.5], np.empty((0, 1)), {}, "wanted original"),
        ([0.5], [[np.nan]], {}, "wanted finite qualities"),
        ([0.5], [[0.5]], {"first_changed": np.array([True])}, "first_changed: wanted"),
    ],
)
def test_faults(original, rotated, more, message):
    with pytest.raises(ValueError, match=message):
        rotation_gap(np.array(original), np.array(rotated), **more)

"""Means over seeds and draws: by hand, and how often the interval holds the truth."""

import numpy as np
import pytest
from scipy import stats

from positionbias.evaluation.repeats import crossed_interval, over_repeats


def test_one_measurement_has_no_interval():
    assert over_repeats({(1, None): 0.4}) == (0.4, None, 1, 1, 1)
    with pytest.raises(ValueError, match="at least one repeat"):
        over_repeats({})


def test_several_seeds_by_hand():
    # mean 0.42, deviation 0.02, t(0.975, 2) = 4.302653: half = 4.302653 · 0.02 / √3 = 0.049683
    found = over_repeats({(1, 5): 0.40, (2, 5): 0.42, (3, 5): 0.44})
    assert (found.seeds, found.draws, found.repeats) == (3, 1, 3)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.370317, 0.469683), abs=1e-6)
    assert found.interval.method == "t over 3 repeats of training and rotation"
    # one seed and three draws is the same arithmetic
    assert over_repeats({(1, 1): 0.40, (1, 2): 0.42, (1, 3): 0.44}).interval == found.interval


def test_seeds_crossed_with_draws_by_hand():
    # seed means 0.2 and 0.4, draw means 0.25 and 0.35: MS_seeds = 2 · 0.02 = 0.04, MS_draws = 2 · 0.005 = 0.01
    # var = 0.05 / 4 = 0.0125; df = 0.05² / (0.04² + 0.01²) = 1.470588
    found = over_repeats({(1, 1): 0.15, (1, 2): 0.25, (2, 1): 0.35, (2, 2): 0.45})
    half = stats.t.ppf(0.975, 0.0025 / 0.0017) * 0.0125**0.5
    assert found.mean == pytest.approx(0.3)
    assert found.interval.high - found.mean == pytest.approx(half)
    assert (found.seeds, found.draws, found.repeats) == (2, 2, 4)


def test_what_a_draw_cannot_change_counts_once():
    # the same two trainings seen under three draws: no narrower than the two alone
    alone = over_repeats({(1, 0): 0.2, (2, 0): 0.4})
    seen = over_repeats({(seed, draw): 0.2 * seed for seed in (1, 2) for draw in range(3)})
    assert (seen.interval.low, seen.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))
    # and one training under three draws has nothing to vary
    assert over_repeats({(1, draw): 0.2 for draw in range(3)}).interval is None


def test_seeds_that_have_not_every_draw_count_by_their_mean():
    found = over_repeats({(1, 1): 0.1, (1, 2): 0.3, (2, 1): 0.4})
    assert found.mean == pytest.approx((0.2 + 0.4) / 2)
    expected = over_repeats({(1, 0): 0.2, (2, 0): 0.4}).interval
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))


def test_the_interval_holds_the_truth_at_its_level():
    # 4 seeds × 3 draws with effects of both and noise: about 95 % of 400 intervals (standard error 1.1 points)
    random = np.random.default_rng(4)
    holds = 0
    for _ in range(400):
        effects = random.normal(0, 1, 4)[:, None] + random.normal(0, 1, 3)[None] + random.normal(0, 0.5, (4, 3))
        interval = over_repeats({(s, d): effects[s, d] for s in range(4) for d in range(3)}).interval
        holds += interval.low <= 0 <= interval.high
    assert holds / 400 == pytest.approx(0.955, abs=0.02)


def test_the_interval_of_a_crossed_grid_is_that_of_the_repeats():
    values = {
        (seed, draw): float(value)
        for (seed, draw), value in zip(((s, d) for s in range(3) for d in range(2)), [1, 2, 4, 4, 5, 9], strict=True)
    }
    grid = np.array([[1.0, 2], [4, 4], [5, 9]])
    found = crossed_interval(grid, "pools and queries")
    expected = over_repeats(values).interval
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.method == "pools and queries"

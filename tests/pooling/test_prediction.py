"""Calibration by hand, what to judge first by hand, and coverage where the truth is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.pooling.guesses import Guess, expected_reductions
from positionbias.pooling.open_runs import OpenRuns, open_runs
from positionbias.pooling.prediction import Errors, calibrated, errors_left_out, learn
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.unseen import NUMBERS, Unseen


def errors(*groups: list[float], deviation: float = 0.1) -> list[Errors]:
    return [Errors(np.array(group) * deviation, np.full(len(group), deviation)) for group in groups]


def test_a_calibration_by_hand() -> None:
    # two runs of one group count as one: means 0, 1, -1, 2 of groups; nothing of a group without
    # errors
    found = calibrated(errors([-1.0, 1.0], [1.0], [-1.0], [2.0], []))
    assert found is not None
    assert (found.freedom, found.runs) == (3, 5)
    # where all deviations are the same a floor changes what the others are of, and no interval
    sigma = np.hypot(0.1, found.floor)
    assert found.shift * sigma == pytest.approx(0.05)
    # about 0.5: (1.5² + 0.5²) / 2, 0.5², 1.5², 1.5² over 3 groups' freedom, and the error of the
    # mean of 4
    assert found.scale * sigma == pytest.approx(
        0.1 * np.sqrt((1.25 + 0.25 + 2.25 + 2.25) / 3 * 1.25)
    )
    interval = found.interval(0.4, 0.1)
    half = found.scale * sigma * stats.t.ppf(0.975, 3)
    assert (interval.low, interval.high) == pytest.approx((0.45 - half, 0.45 + half))
    assert found.covered == 1
    # where nothing is unjudged the sign is known, and equal scores are even
    assert found.above_zero(np.array([0.1, 0.0, -0.1]), np.zeros(3)).tolist() == [1, 0.5, 0]
    assert found.above_zero(np.array([-0.05]), np.array([0.1])).item() == pytest.approx(0.5)


def test_what_no_draw_tells_of_is_found_as_a_floor() -> None:
    floor = 0.001
    random = np.random.default_rng(3)
    given = []
    for _ in range(100):
        deviation = random.choice([0.0003, 0.003, 0.03], 5)
        given.append(Errors(random.standard_normal(5) * np.hypot(deviation, floor), deviation))
    found = calibrated(given)
    assert found is not None
    assert (found.floor, found.scale) == (floor, pytest.approx(1, abs=0.15))
    assert found.covered == pytest.approx(0.95, abs=0.03)


def test_three_groups_are_too_few() -> None:
    assert calibrated(errors([1.0], [2.0], [0.5])) is None


def guess(means: list[float], shared: float = 0.0) -> Guess:
    """Documents of one query that are relevant with these chances; ``shared``: what an even effect
    of the run adds or takes off.
    """
    count = len(means)
    numbers = np.arange(count)
    unseen = Unseen(
        np.zeros(count, int),
        numbers,
        numbers,
        np.zeros(count, int),
        np.zeros((count, NUMBERS)),
        np.ones(count),
    )
    by_effect = np.array([means, means]) + np.array([[-shared], [shared]])
    random = np.random.default_rng(1)
    drawn = random.random((4_000, count)) < by_effect[random.integers(2, size=4_000)]
    return Guess(
        unseen, drawn.astype(np.int16), by_effect, by_effect * (1 - by_effect), np.full(2, 0.5)
    )


def test_the_least_certain_document_that_weighs_most_is_judged_first() -> None:
    given = guess([0.5, 0.1, 0.5])
    # a sum in which the first weighs half of the second and the third, over two queries of which
    # one is all judged
    scores = np.stack([given.grades @ np.array([0.1, 0.2, 0.2]), np.full(4_000, 0.3)], axis=1)
    found = expected_reductions(given, scores)
    expected = [0.05**2 * 0.25, 0.1**2 * 0.09, 0.1**2 * 0.25]
    assert found.reduction == pytest.approx(expected)
    assert found.order.tolist() == [2, 1, 0]
    assert found.left == pytest.approx(
        np.array([sum(expected), expected[0] + expected[1], expected[0], 0]) / sum(expected)
    )
    assert [found.needed(share) for share in (1, 0.5, 0.3, 0)] == [0, 1, 2, 3]


def test_one_document_tells_of_the_others_through_the_run_s_effect() -> None:
    given = guess([0.5, 0.5], shared=0.3)
    found = expected_reductions(given, (given.grades @ np.array([1.0, 1.0]))[:, None])
    # cov(sum, one) = 0.25 + 0.09, var(one) = 0.25
    assert found.reduction == pytest.approx([0.34**2 / 0.25] * 2)


def pool(seed: int) -> OpenRuns:
    simulation = Simulation(rate=0.3, queries=10, groups=6, seed=seed)
    return open_runs(lambda: simulated_runs(simulation), simulated_qrels(simulation), 10)


def test_errors_of_left_out_runs_are_near_what_the_draws_say() -> None:
    [measure] = pool_measures(["nDCG@10"])
    runs = pool(1)
    learned = learn(runs)
    assert learned is not None
    made = errors_left_out(runs, learned, measure, 1)
    assert [len(of_group.error) for of_group in made] == [1] * 12
    found = calibrated(made)
    assert found is not None
    assert abs(found.shift) < 1.5
    assert 0.3 < found.scale < 3


def test_groups_without_documents_of_their_own_teach_nothing() -> None:
    from positionbias.core.records import Qrel
    from positionbias.pooling.systems import System

    from .worked import as_run

    listed = [
        (System(f"r{number}", f"g{number}", ""), as_run(f"r{number}", {"1": ["a", "b"]}))
        for number in range(6)
    ]
    runs = open_runs(lambda: listed, [Qrel("1", "a", 1), Qrel("1", "b", 0)], 10)
    assert learn(runs) is None

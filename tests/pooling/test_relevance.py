"""Chances of grades: a known truth found again, the fit's own optimum, and the spread over runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from positionbias.pooling.relevance import (
    WEIGHTS,
    chances,
    draw_grades,
    fit_relevance,
    spread_over_runs,
)
from positionbias.pooling.unseen import NUMBERS, Unseen

LEVELS = np.array([1, 3])


def documents(count: int, seed: int, queries: int = 10) -> tuple[Unseen, np.ndarray]:
    """Documents whose grades follow the first two features and their query's effect."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((count, NUMBERS + 1))
    query = random.integers(queries, size=count)
    odds = 1.0 * features[:, 0] - 0.5 * features[:, 1] + np.linspace(-1, 1, queries)[query]
    reached = (random.random(count)[:, None] < expit(odds[:, None] - np.array([0.5, 2.0]))).sum(
        axis=1
    )
    unseen = Unseen(query, query, np.arange(count), np.zeros(count, int), features, np.ones(count))
    return unseen, np.array([0, 1, 3])[reached]


def test_a_known_truth_is_found() -> None:
    unseen, grades = documents(20_000, 1)
    fit = fit_relevance(unseen, grades, LEVELS, 10)
    assert fit.slopes / fit.scale == pytest.approx([1, -0.5, *[0] * (NUMBERS - 1)], abs=0.08)
    # cuts and effects share a constant; features are centred
    assert np.diff(fit.cuts) == pytest.approx([1.5], abs=0.08)
    assert fit.queries - fit.queries.mean() == pytest.approx(np.linspace(-1, 1, 10), abs=0.2)
    odds = fit.log_odds(unseen)
    reach = chances(fit, odds, 0.0)[0]
    # calibrated as a whole, at each grade
    assert reach.mean(axis=0) == pytest.approx(
        [(grades >= level).mean() for level in LEVELS], abs=0.01
    )


def test_it_is_statsmodels_logistic_regression_where_the_penalty_is_small_beside_the_data() -> None:
    import statsmodels.api as sm

    unseen, grades = documents(20_000, 3, queries=1)
    fit = fit_relevance(unseen, (grades > 0).astype(int), np.array([1]), 1)
    x = sm.add_constant(unseen.features)
    theirs = sm.Logit(grades > 0, x).fit(disp=0).params
    assert fit.slopes / fit.scale == pytest.approx(theirs[1:], abs=0.01)


def test_nothing_relevant_gives_small_chances_and_no_error() -> None:
    unseen, _ = documents(200, 4)
    fit = fit_relevance(unseen, np.zeros(200, int), LEVELS, 10)
    assert chances(fit, fit.log_odds(unseen), 0.0).max() < 0.05


@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_the_spread_over_runs_is_found(sigma: float) -> None:
    random = np.random.default_rng(5)
    run = np.repeat(np.arange(100), 50)
    odds = random.standard_normal(len(run))
    relevant = random.random(len(run)) < expit(odds + sigma * random.standard_normal(100)[run])
    assert spread_over_runs(odds, relevant, run, np.ones(len(run))) == pytest.approx(sigma, abs=0.2)


def test_drawn_grades_have_the_chances() -> None:
    unseen, grades = documents(2_000, 6)
    fit = fit_relevance(unseen, grades, LEVELS, 10)
    odds = fit.log_odds(unseen)[:5]
    drawn = draw_grades(fit, odds, 0.7, 20_000, np.random.default_rng(7))
    expected = WEIGHTS @ chances(fit, odds, 0.7).transpose(1, 0, 2)
    found = np.stack([(drawn >= level).mean(axis=0) for level in LEVELS], axis=1)
    assert found == pytest.approx(expected, abs=0.02)

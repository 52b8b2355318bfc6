"""Grades by proportional odds: where the truth is drawn, and beside statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from pandas import DataFrame
from scipy.special import expit

from positionbias.evaluation.proportional_odds import (
    PLACES,
    Relevance,
    draw_grades,
    fit_relevance,
    spread_over_runs,
)

LEVELS = np.array([1, 3])


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def chances(fit: Relevance, odds: np.ndarray, spread: float) -> np.ndarray:
    """The probability that a document has at least each grade, ``(nodes, documents, levels)``."""
    return np.asarray(expit((odds + spread * NODES[:, None])[..., None] - fit.cuts))


def documents(count: int, seed: int, queries: int = 10) -> tuple[DataFrame, np.ndarray]:
    """Documents whose grades follow the first two of three features and their query's effect."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((count, 3))
    query = random.integers(queries, size=count)
    odds = 1.0 * features[:, 0] - 0.5 * features[:, 1] + np.linspace(-1, 1, queries)[query]
    reached = (random.random(count)[:, None] < expit(odds[:, None] - np.array([0.5, 2.0]))).sum(
        axis=1
    )
    unseen = DataFrame(features, columns=["one", "two", "mark: three"])
    places = dict.fromkeys(PLACES, 0) | {"query": query, "weight": 1.0}
    return unseen.assign(**places), np.array([0, 1, 3])[reached]


def test_a_known_truth_is_found() -> None:
    unseen, grades = documents(20_000, 1)
    fit = fit_relevance(unseen, grades, LEVELS, 10)
    assert fit.slopes / fit.scale == pytest.approx([1, -0.5, 0], abs=0.08)
    # cuts and effects share a constant; features are centred
    assert np.diff(fit.cuts) == pytest.approx([1.5], abs=0.08)
    assert fit.queries - fit.queries.mean() == pytest.approx(np.linspace(-1, 1, 10), abs=0.2)
    reach = chances(fit, fit.log_odds(unseen), 0.0)[0]
    # calibrated as a whole, at each grade
    assert reach.mean(axis=0) == pytest.approx(
        [(grades >= level).mean() for level in LEVELS], abs=0.01
    )
    # beyond what was fitted to a feature it has the effect of its end
    far, end = (unseen.assign(one=value) for value in (1e6, fit.most[0]))
    np.testing.assert_array_equal(fit.log_odds(far), fit.log_odds(end))


def test_it_is_statsmodels_logistic_regression_where_the_penalty_is_small_beside_the_data() -> None:
    import statsmodels.api as sm

    unseen, grades = documents(20_000, 3, queries=1)
    fit = fit_relevance(unseen, (grades > 0).astype(int), np.array([1]), 1)
    x = sm.add_constant(unseen[["one", "two", "mark: three"]].to_numpy())
    theirs = sm.Logit(grades > 0, x).fit(disp=0).params
    assert fit.slopes / fit.scale == pytest.approx(theirs[1:], abs=0.01)


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
    odds = fit.log_odds(unseen[:5])
    drawn = draw_grades(fit, unseen[:5], 0.7, 20_000, np.random.default_rng(7))
    expected = (WEIGHTS / WEIGHTS.sum()) @ chances(fit, odds, 0.7).transpose(1, 0, 2)
    found = np.stack([(drawn >= level).mean(axis=0) for level in LEVELS], axis=1)
    assert found == pytest.approx(expected, abs=0.02)

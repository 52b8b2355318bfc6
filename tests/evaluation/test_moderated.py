"""Moderated variances by hand, against the formulas of limma, and the level of the t test that uses
them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, polygamma

from positionbias.evaluation.moderated import moderated


def test_with_fewer_than_three_other_groups_it_is_its_own() -> None:
    found = moderated(np.array([2.0, 1.0, 1.0]), np.array([3, 40, 40]))
    assert (float(found.variance), float(found.freedom), float(found.prior_freedom)) == (
        2.0,
        3.0,
        0.0,
    )


def test_groups_that_differ_less_than_by_chance_are_pooled() -> None:
    # (2 · 1.1 + 4 · 1.0 + 4 · 0.9 + 10 · 1.0) / 20
    found = moderated(np.array([1.1, 1.0, 0.9, 1.0]), np.array([2, 4, 4, 10]))
    assert float(found.variance) == pytest.approx(19.8 / 20)
    assert float(found.freedom) == 20
    assert math.isinf(float(found.prior_freedom))


def test_groups_that_differ_follow_smyth() -> None:
    """With equal degrees of freedom: trigamma(d0 / 2) = var(e) − trigamma(d / 2), log s0² = mean(e)
    + digamma(d0 / 2) − log(d0 / 2).
    """
    variances, freedom = np.array([8.0, 1.0, 0.3, 3.0, 0.1]), 6
    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    found = moderated(variances, np.full(5, freedom))
    prior = float(found.prior_freedom)
    assert polygamma(1, prior / 2) == pytest.approx(logs.var(ddof=1) - polygamma(1, freedom / 2))
    scale = math.exp(logs.mean() + digamma(prior / 2) - math.log(prior / 2))
    assert float(found.prior_variance) == pytest.approx(scale)
    assert float(found.variance) == pytest.approx(
        (prior * scale + freedom * 8.0) / (prior + freedom)
    )
    assert float(found.freedom) == pytest.approx(prior + freedom)


def test_a_unit_changes_nothing_but_the_variance() -> None:
    variances, freedoms = np.array([5.0, 1.0, 0.2, 2.0]), np.array([2, 5, 9, 4])
    one, other = moderated(variances, freedoms), moderated(100 * variances, freedoms)
    assert float(other.variance) == pytest.approx(100 * float(one.variance))
    assert float(other.freedom) == pytest.approx(float(one.freedom))


@pytest.mark.parametrize("prior", [math.inf, 10.0], ids=["alike", "unlike"])
def test_a_clean_model_is_rejected_five_times_in_a_hundred(prior: float) -> None:
    """20,000 draws: three controls and ten groups of six trainings, whose true variances are alike
    or differ.
    """
    rng, freedoms, draws = np.random.default_rng(3), np.array([2, *[5] * 10]), 20_000
    true = np.ones((draws, 11)) if math.isinf(prior) else prior / rng.chisquare(prior, (draws, 11))
    found = moderated(true * rng.chisquare(freedoms, true.shape) / freedoms, freedoms)
    t = rng.normal(size=draws) * np.sqrt(true[:, 0]) / np.sqrt(found.variance)
    assert (stats.t.sf(t, found.freedom) <= 0.05).mean() == pytest.approx(0.05, abs=0.007)

"""Shrink the variance of one small group towards those of other groups: Smyth's moderated variance
(2004, "Linear models and empirical Bayes methods").

Variances of groups, s_g² with d_g degrees of freedom, are drawn around σ_g², and these around a
prior:

    s_g² ~ σ_g² · χ²(d_g) / d_g,      σ_g² ~ s0² · d0 / χ²(d0),
    s̃² = (d0 · s0² + d · s²) / (d0 + d)  with d0 + d degrees of freedom

t with s̃ holds its level however much the groups' variances differ. d0 follows from the variance of
log s_g² beyond chance, trigamma(d0 / 2), estimated as DerSimonian and Laird do, with weights 1 /
trigamma(d_g / 2) [decision: Smyth weighs groups equally; with equal d_g it is the same]. Without
such variance d0 is infinite and the variances are pooled. Degrees of freedom never exceed those of
all groups together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["LEAST_OTHERS", "Moderated", "moderated"]

LEAST_OTHERS = 3  # other groups: fewer do not show how much variances differ [decision]
_STEPS = 12  # of Newton's iteration, which converges after 5


class Moderated(NamedTuple):
    """Variance and degrees of freedom of the first group, and the prior; arrays with the shape of
    the leading axes.
    """

    variance: np.ndarray
    freedom: np.ndarray
    prior_variance: np.ndarray
    prior_freedom: np.ndarray


def moderated(variances: np.ndarray, freedoms: np.ndarray) -> Moderated:
    """Return the moderated variance of the first of ``variances (…, groups)``, all above 0, with
    ``freedoms (groups,)``.

    With fewer than ``LEAST_OTHERS`` other groups it is the first group's own, and prior_freedom
    is 0.
    """
    variances, freedoms = np.asarray(variances, np.float64), np.asarray(freedoms, np.float64)
    own, shape = variances[..., 0], variances.shape[:-1]
    if variances.shape[-1] <= LEAST_OTHERS:
        return Moderated(own, np.full(shape, freedoms[0]), own, np.zeros(shape))
    prior, prior_freedom = _prior(variances, freedoms)
    known = np.where(np.isinf(prior_freedom), 0.0, prior_freedom)
    mixed = (known * prior + freedoms[0] * own) / (known + freedoms[0])
    variance = np.where(np.isinf(prior_freedom), prior, mixed)
    return Moderated(
        variance, np.minimum(prior_freedom + freedoms[0], freedoms.sum()), prior, prior_freedom
    )


def _prior(variances: np.ndarray, freedoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return s0² and d0; if d0 is infinite, s0² is the pooled variance."""
    from scipy.special import digamma, polygamma

    chance = polygamma(1, freedoms / 2)
    logs = np.log(variances) - digamma(freedoms / 2) + np.log(freedoms / 2)
    weights = 1 / chance
    centre = (weights * logs).sum(-1, keepdims=True) / weights.sum()
    beyond = (weights * (logs - centre) ** 2).sum(-1) - (len(freedoms) - 1)
    beyond = np.maximum(beyond, 0) / (weights.sum() - (weights**2).sum() / weights.sum())
    differs = beyond > 0
    freedom = np.where(differs, 2 * _inverse_trigamma(np.where(differs, beyond, 1.0)), np.inf)
    weights = 1 / (chance + beyond[..., None])
    half = np.where(differs, freedom, 2.0) / 2
    scale = np.exp((weights * logs).sum(-1) / weights.sum(-1) + digamma(half) - np.log(half))
    pooled = (freedoms * variances).sum(-1) / freedoms.sum()
    return np.where(differs, scale, pooled), freedom


def _inverse_trigamma(values: np.ndarray) -> np.ndarray:
    """Return x with trigamma(x) = value, by Newton's iteration on 1 / trigamma (Smyth 2004,
    appendix).
    """
    from scipy.special import polygamma

    found = 0.5 + 1 / values
    for _ in range(_STEPS):
        at = polygamma(1, found)
        found = found + at * (1 - at / values) / polygamma(2, found)
    return found

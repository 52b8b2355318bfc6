"""Estimate the probability of each grade of an unjudged document: a ridge fit of proportional odds,
with an effect per query and a spread over runs.

P(grade ≥ g_j) = 1 / (1 + exp(c_j − x·b − t_q)), with cut c_j at each grade, slopes b and query
effects t ~ N(0, 1) (McCullagh 1980). A run's own effect is u ~ N(0, σ²), added for all its
documents; σ is estimated from runs that the fit has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from positionbias.pooling.unseen import NUMBERS, Unseen

__all__ = [
    "NODES",
    "WEIGHTS",
    "Relevance",
    "chances",
    "draw_grades",
    "fit_relevance",
    "spread_over_runs",
]

# [decision] chosen before looking at data: standardised slopes and log odds of queries are rarely
# beyond 2
_PRECISION, _CUT_PRECISION = 1.0, 0.04
_WIDEST = 3.0  # log odds
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """A fit: increasing ``grades (levels,)`` from the least relevant one, their ``cuts``, slopes
    and effects of queries.

    ``least`` and ``most`` are the ends of the fitted features, at which they are clipped
    [decision].
    """

    grades: np.ndarray
    cuts: np.ndarray
    slopes: np.ndarray
    queries: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def log_odds(self, unseen: Unseen) -> np.ndarray:
        """Return x·b + t of every document."""
        return (
            np.clip(unseen.features, self.least, self.most) - self.centre
        ) / self.scale @ self.slopes + self.queries[unseen.query]


def fit_relevance(
    unseen: Unseen,
    grades: np.ndarray,
    levels: np.ndarray,
    queries: int,
    start: Relevance | None = None,
) -> Relevance:
    """Fit to the known ``grades (documents,)``; ``levels`` are the relevant grades in increasing
    order. ``start`` is a fit to begin from.
    """
    from scipy.optimize import minimize

    centre, scale = _standard(unseen)
    x = (unseen.features - centre) / scale
    reached = np.searchsorted(levels, grades, side="right")
    width, steps = x.shape[1], len(levels)
    penalty = np.concatenate([np.full(steps, _CUT_PRECISION), np.full(width + queries, _PRECISION)])

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        steps_, slopes, effects = np.split(values, [steps, steps + width])
        cuts = _cuts(steps_)
        by_cut, by_odds, likelihood = _gradients(x @ slopes + effects[unseen.query], cuts, reached)
        odds = unseen.weight * by_odds
        # a cut is a sum of steps, exponentials except the first
        moved = (unseen.weight @ by_cut)[::-1].cumsum()[::-1] * np.concatenate(
            [[1.0], np.exp(steps_[1:])]
        )
        gradient = np.concatenate(
            [moved, x.T @ odds, np.bincount(unseen.query, odds, minlength=queries)]
        )
        value = -(unseen.weight @ likelihood) + (penalty * values**2).sum() / 2
        return float(value), penalty * values - gradient

    first = np.zeros(steps + width + queries)
    if start is not None:
        gaps = np.log(np.maximum(np.diff(start.cuts), 1e-6))
        first = np.concatenate([start.cuts[:1], gaps, start.slopes, start.queries])
    found = minimize(
        loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-8}
    ).x
    steps_, slopes, effects = np.split(found, [steps, steps + width])
    ends = unseen.features.min(axis=0), unseen.features.max(axis=0)
    return Relevance(levels, _cuts(steps_), slopes, effects, centre, scale, *ends)


def _standard(unseen: Unseen) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre and scale of each feature; 0 and 1 for binary ones."""
    centre, scale = unseen.features.mean(axis=0), unseen.features.std(axis=0)
    centre[NUMBERS:] = 0
    return centre, np.where((np.arange(len(scale)) < NUMBERS) & (scale > 1e-9), scale, 1.0)


def _cuts(steps: np.ndarray) -> np.ndarray:
    return np.concatenate([steps[:1], np.exp(np.minimum(steps[1:], 20))]).cumsum()


def _reach(odds: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the probability of reaching each of the levels 0, 1 … and one beyond,
    ``(…, levels + 2)``.
    """
    from scipy.special import expit

    found = np.zeros((*odds.shape, len(cuts) + 2))
    found[..., 0] = 1
    found[..., 1:-1] = expit(odds[..., None] - cuts)
    return found


def _gradients(
    odds: np.ndarray, cuts: np.ndarray, reached: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log likelihood's gradients by cut ``(documents, levels)`` and by log odds
    ``(documents,)``, and its value.
    """
    reach = _reach(odds, cuts)
    slope = reach * (1 - reach)
    row = np.arange(len(odds))
    chance = np.maximum(reach[row, reached] - reach[row, reached + 1], 1e-12)
    by_cut = np.zeros((len(odds), len(cuts) + 2))
    by_cut[row, reached] -= slope[row, reached] / chance
    by_cut[row, reached + 1] += slope[row, reached + 1] / chance
    return by_cut[:, 1:-1], -by_cut.sum(axis=1), np.log(chance)


def spread_over_runs(
    odds: np.ndarray, relevant: np.ndarray, run: np.ndarray, weight: np.ndarray
) -> float:
    """Return the maximum-likelihood σ, in log odds, of unseen runs: ``odds (documents,)`` are of a
    document being ``relevant``, by fits without its group.

    Each run's effect is integrated out with Gauss-Hermite nodes. ``weight (documents,)`` is the
    weight of a document's run: a group counts as one run.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_expit, logsumexp

    runs, place = np.unique(run, return_inverse=True)
    of_run = np.bincount(place, weight) / np.bincount(place)
    sign = np.where(relevant, 1.0, -1.0)

    def loss(sigma: float) -> float:
        each = log_expit(sign[:, None] * (odds[:, None] + sigma * NODES))
        summed = np.stack(
            [np.bincount(place, column, minlength=len(runs)) for column in each.T], axis=1
        )
        return -float(of_run @ logsumexp(summed + np.log(WEIGHTS), axis=1))

    return float(
        minimize_scalar(loss, bounds=(0.0, _WIDEST), method="bounded", options={"xatol": 0.01}).x
    )


def chances(
    relevance: Relevance, odds: np.ndarray, spread: float, nodes: np.ndarray = NODES
) -> np.ndarray:
    """Return the probability that a document has at least each grade, given a run's effect at each
    node, ``(nodes, documents, levels)``.
    """
    return _reach(odds + spread * nodes[:, None], relevance.cuts)[..., 1:-1]


def draw_grades(
    relevance: Relevance, odds: np.ndarray, spread: float, draws: int, random: np.random.Generator
) -> np.ndarray:
    """Draw grades of a run's documents, 0 if not relevant, ``(draws, documents)`` int16: first the
    run's effect, then each document.
    """
    reach = chances(relevance, odds, spread, random.standard_normal(draws))
    reached = (random.random((draws, len(odds)))[..., None] < reach).sum(axis=-1)
    grades: np.ndarray = np.concatenate([[0], relevance.grades]).astype(np.int16)[reached]
    return grades

"""Fit ordered grades of documents by proportional odds, with an effect of each query,

    P(grade ≥ g_j) = 1 / (1 + exp(c_j − x·b − t_q − u)),

with cut c_j at each grade, slopes b, query effects t ~ N(0, 1) (McCullagh 1980) and, of a run that
the fit has not seen, an effect u ~ N(0, σ²) on all its documents; and draw grades by the fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pandas import DataFrame
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, logsumexp

# [decision] chosen before looking at data: standardised slopes and log odds of queries are rarely
# beyond 2
_PRECISION, _CUT_PRECISION = 1.0, 0.04
_WIDEST = 3.0  # log odds
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
PLACES = ["query", "rank", "document", "run", "weight"]  # columns that are no features


class Relevance(NamedTuple):
    """A fit: increasing ``grades (levels,)`` from the least relevant one, their ``cuts``, slopes
    and effects of queries. Features are clipped at the ends of the fitted ones, ``least`` and
    ``most`` [decision].
    """

    grades: np.ndarray
    cuts: np.ndarray
    slopes: np.ndarray
    queries: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def log_odds(self, unseen: DataFrame) -> np.ndarray:
        """Return x·b + t of every document."""
        x = (np.clip(_features(unseen), self.least, self.most) - self.centre) / self.scale
        return np.asarray(x @ self.slopes + self.queries[unseen["query"]])


def _features(unseen: DataFrame) -> np.ndarray:
    return np.ascontiguousarray(unseen.drop(columns=PLACES), np.float64)


def fit_relevance(
    unseen: DataFrame,
    grades: np.ndarray,
    levels: np.ndarray,
    queries: int,
    start: Relevance | None = None,
) -> Relevance:
    """Fit to the known ``grades (documents,)``; ``levels`` are the relevant grades in increasing
    order. ``start`` is a fit to begin from.

    ``unseen`` has a row for each document: ``PLACES`` with its query's number and its weight, then
    features; those whose names begin with "mark" are 0 or 1, the others are standardised.
    """
    features, query = _features(unseen), unseen["query"].to_numpy()
    weight = unseen["weight"].to_numpy()
    is_mark = unseen.columns.drop(PLACES).str.startswith("mark")
    centre = np.where(is_mark, 0, features.mean(axis=0))
    scale = features.std(axis=0)
    scale = np.where(~is_mark & (scale > 1e-9), scale, 1.0)
    x = (features - centre) / scale
    reached = np.searchsorted(levels, grades, side="right")
    parts = np.cumsum([len(levels), x.shape[1]])
    penalty = np.full(parts[-1] + queries, _PRECISION)
    penalty[: len(levels)] = _CUT_PRECISION
    row = np.arange(len(x))

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        gaps, slopes, effects = np.split(values, parts)
        reach = _reach(x @ slopes + effects[query], _cuts(gaps))
        chance = np.maximum(reach[row, reached] - reach[row, reached + 1], 1e-12)
        slope = reach * (1 - reach)
        by_cut = np.zeros(reach.shape)
        by_cut[row, reached] -= slope[row, reached] / chance
        by_cut[row, reached + 1] += slope[row, reached + 1] / chance
        by_odds = weight * -by_cut.sum(axis=1)
        # a cut is a sum of gaps, exponentials except the first
        by_gap = (weight @ by_cut[:, 1:-1])[::-1].cumsum()[::-1]
        by_gap = by_gap * np.append(1, np.exp(gaps[1:]))
        gradient = [by_gap, x.T @ by_odds, np.bincount(query, by_odds, minlength=queries)]
        value = (penalty * values**2).sum() / 2 - weight @ np.log(chance)
        return float(value), penalty * values - np.concatenate(gradient)

    first = np.zeros(len(penalty))
    if start is not None:
        gaps = np.log(np.maximum(np.diff(start.cuts), 1e-6))
        first = np.concatenate([start.cuts[:1], gaps, start.slopes, start.queries])
    options = {"maxiter": 300, "ftol": 1e-8}
    fitted = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    gaps, slopes, effects = np.split(fitted, parts)
    ends = features.min(axis=0), features.max(axis=0)
    return Relevance(levels, _cuts(gaps), slopes, effects, centre, scale, *ends)


def _cuts(gaps: np.ndarray) -> np.ndarray:
    return np.append(gaps[:1], np.exp(np.minimum(gaps[1:], 20))).cumsum()


def _reach(odds: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the probability of reaching levels 0, 1 … and one beyond, ``(…, levels + 2)``."""
    return np.asarray(expit(odds[..., None] - np.concatenate([[-np.inf], cuts, [np.inf]])))


def spread_over_runs(
    odds: np.ndarray, relevant: np.ndarray, run: np.ndarray, weight: np.ndarray
) -> float:
    """Return the maximum-likelihood σ, in log odds, of unseen runs: ``odds (documents,)`` are of a
    document being ``relevant``, by fits without its group.

    Each run's effect is integrated out with Gauss-Hermite nodes. ``weight (documents,)`` is the
    weight of a document's run: a group counts as one run.
    """
    runs, place = np.unique(run, return_inverse=True)
    of_run = np.bincount(place, weight) / np.bincount(place)
    sign = np.where(relevant, 1.0, -1.0)

    def loss(sigma: float) -> float:
        each = log_expit(sign[:, None] * (odds[:, None] + sigma * _NODES))
        summed = np.stack([np.bincount(place, at, minlength=len(runs)) for at in each.T], axis=1)
        return -float(of_run @ logsumexp(summed + np.log(_WEIGHTS), axis=1))

    options = {"xatol": 0.01}
    return float(minimize_scalar(loss, bounds=(0, _WIDEST), method="bounded", options=options).x)


def draw_grades(
    relevance: Relevance, unseen: DataFrame, spread: float, draws: int, random: np.random.Generator
) -> np.ndarray:
    """Draw grades of a run's documents, 0 if not relevant, ``(draws, documents)`` int16: first the
    run's effect, then each document.
    """
    odds, effects = relevance.log_odds(unseen), random.standard_normal(draws)[:, None]
    reach = _reach(odds + spread * effects, relevance.cuts)[..., 1:-1]
    reached = (random.random((draws, len(odds)))[..., None] < reach).sum(axis=-1)
    return np.append(0, relevance.grades).astype(np.int16)[reached]

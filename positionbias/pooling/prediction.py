"""Predict a run's score if its group had taken part in the pool, learned and calibrated by leaving
out the pool's own groups.

The grades of unjudged documents are drawn from a fit of proportional odds
(``evaluation.proportional_odds``); the spread σ of runs is that of runs that the fit has not seen.
The draws give a score's mean μ and standard deviation d; errors outside the draws give s = √(d² +
f²). A pooled run's error z = (score − μ) / s is computed with its group left out of everything. The
interval of a run of a new group is μ + s·(m ± t·w): m is the mean of z over groups, w² its variance
over groups and runs including m's own error, and t is Student's with groups − 1 degrees of freedom;
f is the value, of a few, under which the pooled runs' errors are likeliest [decision].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas
from pandas import DataFrame
from scipy import stats

from positionbias.core.records import Interval
from positionbias.core.seeds import generator
from positionbias.evaluation.judged_runs import PoolMeasure, grades_in, score_grades
from positionbias.evaluation.proportional_odds import (
    Relevance,
    draw_grades,
    fit_relevance,
    spread_over_runs,
)
from positionbias.pooling.unjudged import OpenRuns, left_out_documents

FEWEST_GROUPS = 4  # with fewer, t is so wide that a prediction is useless [decision]
LEVEL = 0.95
_DRAWS = 100
_FLOORS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)  # f, in the unit of the measure
_NOTHING = 1e-12  # rounding error of a deviation


class Learned(NamedTuple):
    """A fit to a pool, the spread of runs, and each group's documents with a fit without it."""

    relevance: Relevance
    spread: float
    left_out: Sequence[tuple[DataFrame, Relevance]]

    def is_beyond(self, unseen: DataFrame) -> bool:
        """Return True if more of a run is unjudged than of any left-out run."""
        most = max(part["unjudged"].max() for part, _ in self.left_out if len(part))
        return bool((unseen["unjudged"] > most + _NOTHING).any())


def learn(pool: OpenRuns) -> Learned | None:
    """Fit to the documents that each left-out group would have unjudged, over all groups and
    without each; None if fewer than four groups would have any.
    """
    parts = [left_out_documents(pool, group) for group in range(len(pool.groups))]
    if sum(len(part) > 0 for part in parts) < FEWEST_GROUPS:
        return None
    levels, queries = np.unique(pool.grades[pool.grades > 0]), len(pool.runs.query_ids)

    def fit(documents: Sequence[DataFrame], start: Relevance | None = None) -> Relevance:
        unseen = pandas.concat(documents)
        return fit_relevance(unseen, pool.grades[unseen["document"]], levels, queries, start)

    whole, relevance = pandas.concat(parts), fit(parts)
    fits = [fit([*parts[:at], *parts[at + 1 :]], relevance) for at in range(len(parts))]
    left_out = list(zip(parts, fits, strict=True))
    odds = np.concatenate([own.log_odds(part) - own.cuts[0] for part, own in left_out])
    weight = 1 / np.bincount(pool.group_of)[pool.group_of[whole["run"]]]
    relevant = pool.grades[whole["document"]] > 0
    spread = spread_over_runs(odds, relevant, whole["run"].to_numpy(), weight)
    return Learned(relevance, spread, left_out)


def draw_scores(
    pool: OpenRuns,
    runs: Sequence[int],
    judged: np.ndarray,
    unseen: DataFrame,
    grades: np.ndarray,
    measure: PoolMeasure,
) -> np.ndarray:
    """Return the scores of ``runs``, ``(draws, queries, runs)``, with the grades of
    ``judged (documents,)`` and drawn grades of the unseen ones.
    """
    drawn = np.tile(grades_in(pool.runs, judged & pool.known), (len(grades), 1))
    drawn[:, unseen["document"]] = grades
    return score_grades(pool.runs.only(runs), drawn, measure)


def errors_left_out(
    pool: OpenRuns, learned: Learned, measure: PoolMeasure, seed: int
) -> list[np.ndarray]:
    """Return, by group, for runs that would have unjudged documents without it, the true minus the
    mean score, and the deviation of the draws, ``(2, runs)``."""
    true = score_grades(pool.runs, pool.grades[None], measure)[0].mean(axis=0)
    errors = []
    for group, (part, fit) in enumerate(learned.left_out):
        judged, of_group = pool.judged_without(group), []
        for run, own in part.groupby("run"):
            random = generator(seed, "grades of left-out documents", pool.runs.systems[run].run)
            grades = draw_grades(fit, own, learned.spread, _DRAWS, random)
            scores = draw_scores(pool, [run], judged, own, grades, measure).mean(axis=(1, 2))
            if scores.std() > _NOTHING:
                of_group.append((true[run] - scores.mean(), scores.std()))
        errors.append(np.array(of_group).reshape(-1, 2).T)
    return errors


class Calibration(NamedTuple):
    """The distribution of (score − μ) / s of runs of new groups: ``shift`` m, ``scale`` w and
    degrees of freedom; ``floor`` f, in the unit of the measure.

    ``covered`` is the share of the pool's own ``runs``, each group counted once, whose score is in
    the interval from the other groups.
    """

    shift: float
    scale: float
    floor: float
    freedom: int
    covered: float
    runs: int

    def interval(self, mean: float, deviation: float) -> Interval:
        """Return the 95 % prediction interval of a score with these draws. If nothing is unjudged,
        the floor remains: documents of others may still lower nDCG.
        """
        sigma = np.hypot(deviation, self.floor)
        middle, half = mean + sigma * self.shift, sigma * self.scale * _t(self.freedom)
        return Interval(float(middle - half), float(middle + half), LEVEL)

    def expected(self, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Return μ + s·m of values with these means and deviations of draws."""
        return mean + self._sigma(deviation) * self.shift

    def above_zero(self, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Return the probability that such values are above 0; 0.5 if one is 0."""
        sigma = self._sigma(deviation)
        width = np.where(sigma > 0, sigma * self.scale, 1)
        sure = np.where(np.abs(mean) > _NOTHING, (np.sign(mean) + 1) / 2, 0.5)
        t = self.expected(mean, deviation) / width
        return np.where(sigma > 0, stats.t.cdf(t, self.freedom), sure)

    def _sigma(self, deviation: np.ndarray) -> np.ndarray:
        """Return s; 0 for a deviation of 0, where nothing is unjudged."""
        return np.where(deviation > _NOTHING, np.hypot(deviation, self.floor), 0.0)


def calibrated(errors: Sequence[np.ndarray]) -> Calibration | None:
    """Calibrate by errors of left-out runs, ``(2, runs)`` by group; None below four groups."""
    there = [own for own in errors if own.shape[1]]
    if len(there) < FEWEST_GROUPS:
        return None
    covered = []
    for place, (error, deviation) in enumerate(there):
        shift, scale, floor = _likeliest(there[:place] + there[place + 1 :])
        z = error / np.hypot(deviation, floor)
        covered.append((np.abs(z - shift) <= scale * _t(len(there) - 2)).mean())
    runs, groups = sum(own.shape[1] for own in there), len(there)
    return Calibration(*_likeliest(there), groups - 1, float(np.mean(covered)), runs)


def _likeliest(errors: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Return the shift, scale and floor that make errors likeliest, each group counted once."""
    error, deviation = np.concatenate(errors, axis=1)
    sizes, groups = [own.shape[1] for own in errors], len(errors)
    weight = np.repeat(1 / np.array(sizes), sizes)
    fits = []
    for floor in _FLOORS:
        sigma = np.hypot(deviation, floor)
        shift = weight @ (error / sigma) / groups
        squares = weight @ (error / sigma - shift) ** 2 / (groups - 1) * (1 + 1 / groups)
        scale = max(float(np.sqrt(squares)), _NOTHING)
        z = (error / sigma - shift) / scale
        loss = weight @ (np.log(sigma * scale) + z**2 / 2)
        fits.append((float(loss), float(shift), scale, floor))
    return min(fits)[1:]


def _t(freedom: int) -> float:
    return float(stats.t.ppf((1 + LEVEL) / 2, freedom))

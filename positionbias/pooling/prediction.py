"""Predict a run's score if its group had taken part in the pool, learned and calibrated by leaving
out the pool's own groups.

Draws of the unjudged documents' grades (``relevance``) give a score's mean μ and standard deviation
d; errors outside the draws give σ = √(d² + f²). A pooled run's error z = (score − μ) / σ is
computed with its group left out of everything. The interval of a run of a new group is μ + σ·(m ±
t·s): m is the mean of z over groups, s² its variance over groups and runs including m's own error,
and t is Student's with groups − 1 degrees of freedom; f is the value, of a few, under which the
pooled runs' errors are likeliest [decision].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.core.interval import Interval
from positionbias.core.seeds import generator
from positionbias.pooling.open_runs import OpenRuns
from positionbias.pooling.relevance import Relevance, draw_grades, fit_relevance, spread_over_runs
from positionbias.pooling.scores import NO_GRADE, PoolMeasure, score_grades
from positionbias.pooling.unseen import OPEN_SHARE, Unseen, joined, left_out_documents

__all__ = [
    "FEWEST_GROUPS",
    "Calibration",
    "Errors",
    "Learned",
    "calibrated",
    "draw_scores",
    "errors_left_out",
    "learn",
]

FEWEST_GROUPS = 4  # with fewer, t is so wide that a prediction is useless [decision]
LEVEL = 0.95
_DRAWS = 100
_FLOORS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)  # f, in the unit of the measure
_NOTHING = 1e-12  # rounding error of a deviation


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A fit to a pool, the spread of runs around it, and for each left-out group its documents with
    a fit to all other groups.
    """

    relevance: Relevance
    spread: float
    left_out: Sequence[tuple[Unseen, Relevance]]

    @property
    def most_open(self) -> float:
        """Return the largest unjudged share of a run left out with its group."""
        from scipy.special import expit

        return float(expit(self.relevance.most[OPEN_SHARE]))

    def is_beyond(self, unseen: Unseen) -> bool:
        """Return True if more of a run is unjudged than of any left-out run; the error of a
        prediction is then unknown.
        """
        return bool(
            (unseen.features[:, OPEN_SHARE] > self.relevance.most[OPEN_SHARE] + _NOTHING).any()
        )


class Errors(NamedTuple):
    """Errors of a left-out group's runs: true minus mean score, and the ``deviation`` of the draws,
    each ``(runs,)``.
    """

    error: np.ndarray
    deviation: np.ndarray


@dataclass(frozen=True, slots=True)
class Calibration:
    """The distribution of (score − μ) / σ of runs of new groups: ``shift`` m, ``scale`` s and
    degrees of freedom; ``floor`` f, in the unit of the measure.

    ``covered`` is the share of the pool's own runs, each group counted once, whose score is in the
    interval from the other groups.
    """

    shift: float
    scale: float
    floor: float
    freedom: int
    covered: float
    runs: int

    def sigma(self, deviation: np.ndarray | float) -> np.ndarray:
        """Return σ for a deviation of the draws; 0 for a deviation of 0, where nothing is
        unjudged.
        """
        return np.where(np.asarray(deviation) > _NOTHING, np.hypot(deviation, self.floor), 0.0)

    def expected(self, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Return μ + σ·m."""
        return mean + self.sigma(deviation) * self.shift

    def interval(self, mean: float, deviation: float) -> Interval:
        """Return the 95 % prediction interval of a score, given the draws' mean and deviation.

        If nothing is unjudged, the floor remains: documents of others may still lower nDCG and AP,
        as the bounds show.
        """
        sigma = float(np.hypot(deviation, self.floor))
        middle, half = mean + sigma * self.shift, sigma * self.scale * _t(self.freedom)
        return Interval(
            middle - half,
            middle + half,
            LEVEL,
            f"prediction, calibrated by leaving out {self.freedom + 1} groups",
        )

    def above_zero(self, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Return the probability that a value with these means and deviations of draws is above
        0; 0.5 if it is 0.
        """
        from scipy import stats

        sigma = self.sigma(deviation)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (mean + sigma * self.shift) / (sigma * self.scale)
        sure = np.where(np.abs(mean) > _NOTHING, (np.sign(mean) + 1) / 2, 0.5)
        return np.where(sigma > 0, stats.t.cdf(t, self.freedom), sure)


def learn(pool: OpenRuns) -> Learned | None:
    """Fit to the documents that each left-out group would have unjudged, over all groups and
    without each group.

    Returns None if fewer than four groups would have any.
    """
    parts = [left_out_documents(pool, group) for group in range(len(pool.groups))]
    if sum(len(part.query) > 0 for part in parts) < FEWEST_GROUPS:
        return None
    levels = np.unique(pool.grades[pool.grades > 0])
    queries = len(pool.runs.query_ids)
    everything = joined(parts)
    whole = fit_relevance(everything, pool.grades[everything.document], levels, queries)
    odds, fits = [], []
    for group, part in enumerate(parts):
        rest = joined([other for place, other in enumerate(parts) if place != group])
        fit = fit_relevance(rest, pool.grades[rest.document], levels, queries, whole)
        fits.append((part, fit))
        odds.append(fit.log_odds(part) - fit.cuts[0])
    sizes = np.bincount(pool.group_of)
    weight = 1 / sizes[pool.group_of[everything.run]]
    spread = spread_over_runs(
        np.concatenate(odds), pool.grades[everything.document] > 0, everything.run, weight
    )
    return Learned(whole, spread, fits)


def draw_scores(
    pool: OpenRuns,
    runs: Sequence[int],
    judged: np.ndarray,
    unseen: Unseen,
    grades: np.ndarray,
    measure: PoolMeasure,
) -> np.ndarray:
    """Return the scores of ``runs``, ``(draws, queries, runs)``, with the grades of
    ``judged (documents,)`` and drawn grades of the unseen ones.
    """
    drawn = np.tile(np.where(judged, pool.grades, NO_GRADE).astype(np.int16), (len(grades), 1))
    drawn[:, unseen.document] = grades
    return score_grades(pool.runs.only(runs), drawn, measure)


def errors_left_out(
    pool: OpenRuns, learned: Learned, measure: PoolMeasure, seed: int
) -> list[Errors]:
    """Return the errors, by group, of runs that would have unjudged documents without it."""
    true = score_grades(pool.runs, pool.grades[None], measure)[0].mean(axis=0)
    found = []
    for group, (part, fit) in enumerate(learned.left_out):
        judged, odds = pool.judged_without(group), fit.log_odds(part)
        means = []
        runs = np.unique(part.run)
        for run in runs.tolist():
            own = part.run == run
            random = generator(seed, "grades of left-out documents", pool.runs.systems[run].run)
            grades = draw_grades(fit, odds[own], learned.spread, _DRAWS, random)
            means.append(
                draw_scores(pool, [run], judged, part.only(own), grades, measure).mean(axis=(1, 2))
            )
        drawn = np.stack(means) if means else np.zeros((0, _DRAWS))
        spread = drawn.std(axis=1)
        there = spread > _NOTHING
        found.append(Errors((true[runs] - drawn.mean(axis=1))[there], spread[there]))
    return found


def calibrated(errors: Sequence[Errors]) -> Calibration | None:
    """Calibrate by the errors of left-out runs, by group; None with errors of fewer than four
    groups.
    """
    there = [of_group for of_group in errors if len(of_group.error)]
    if len(there) < FEWEST_GROUPS:
        return None
    floor, shift, scale = _likeliest(there)
    covered = []
    for place, own in enumerate(there):
        other_floor, middle, wide = _likeliest(there[:place] + there[place + 1 :])
        z = own.error / np.hypot(own.deviation, other_floor)
        covered.append(float((np.abs(z - middle) <= wide * _t(len(there) - 2)).mean()))
    return Calibration(
        shift,
        scale,
        floor,
        len(there) - 1,
        float(np.mean(covered)),
        sum(len(own.error) for own in there),
    )


def _likeliest(errors: Sequence[Errors]) -> tuple[float, float, float]:
    """Return the floor, shift and scale under which normal errors are likeliest, with each group
    counted once.
    """
    best = (-np.inf, 0.0, 0.0, 0.0)
    for floor in _FLOORS:
        sigmas = [np.hypot(own.deviation, floor) for own in errors]
        scaled = [own.error / sigma for own, sigma in zip(errors, sigmas, strict=True)]
        shift, scale = _moments(scaled)
        likelihood = -sum(
            float((np.log(sigma * scale) + ((z - shift) / scale) ** 2 / 2).mean())
            for z, sigma in zip(scaled, sigmas, strict=True)
        )
        best = max(best, (likelihood, floor, shift, scale))
    return best[1:]


def _moments(errors: Sequence[np.ndarray]) -> tuple[float, float]:
    groups = len(errors)
    shift = float(np.mean([own.mean() for own in errors]))
    squares = sum(float(((own - shift) ** 2).mean()) for own in errors)
    return shift, max(float(np.sqrt(squares / (groups - 1) * (1 + 1 / groups))), _NOTHING)


def _t(freedom: int) -> float:
    from scipy import stats

    return float(stats.t.ppf((1 + LEVEL) / 2, freedom))

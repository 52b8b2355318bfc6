"""Judge one new run in an existing collection: its score with its uncertainty, its comparisons, and
the documents to judge next.

A *prediction* (``prediction``) is of the run's score if its group had taken part in the pool.
*Bounds* (``bounds``) hold for any grades of the unjudged documents. A run can be judged if its
prediction interval is at most half as wide as the interval of its score over queries: unjudged
documents then widen the two together by at most 12 % [decision].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.rank_biased_precision import (
    RankBiasedPrecision,
    judged_share,
    rank_biased_precision,
)
from positionbias.pooling.bounds import Bounds, difference_bounds, score_bounds
from positionbias.pooling.guesses import (
    Guess,
    Reductions,
    expected_reductions,
    guess_by_rank,
    guess_from_pool,
    new_documents,
)
from positionbias.pooling.open_runs import DEEPEST_OPEN, OpenRuns
from positionbias.pooling.prediction import (
    Calibration,
    calibrated,
    draw_scores,
    errors_left_out,
    learn,
)
from positionbias.pooling.scores import PoolMeasure, pool_measures
from positionbias.pooling.settings import VerdictSettings

__all__ = [
    "DEEP", "SURE", "MeasureVerdict", "Obstacle", "Orders", "RunAnswer", "RunVerdict", "open_depth",
    "verdict",
]  # fmt: skip

SURE = 0.95  # the least probability at which an order is decided [decision]
_SHARE = 0.5  # of the half-width over queries
# the least judged share of others' deeper documents at which leaving groups out keeps those too
DEEP = 0.5


class RunAnswer(StrEnum):
    """The answer to whether a collection can judge a run by a measure; ``UNKNOWN`` if no prediction
    could be calibrated.
    """

    YES = "can be judged"
    MORE = "cannot be judged yet"
    UNKNOWN = "cannot tell"


class Obstacle(StrEnum):
    """A reason why no prediction could be calibrated."""

    NO_RUNS = "no pooled runs"
    FEW_GROUPS = "few groups"  # with documents that only they contributed
    NO_ERRORS = "few groups' documents change the measure"
    BEYOND = "more is unjudged than of any left-out run"


@dataclass(frozen=True, slots=True, eq=False)
class Orders:
    """The new run against each pooled run, every array ``(pooled runs,)``.

    ``difference`` is the predicted new − pooled score, ``better`` the probability that it is
    above 0. ``new_queries`` are p-values, Holm-adjusted over the runs, of no difference over
    queries like these: a t-test whose error includes that of the unjudged documents.
    """

    difference: np.ndarray
    better: np.ndarray
    new_queries: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class MeasureVerdict:
    """The verdict by one measure. ``bounds`` and ``differences`` are of all runs,
    ``(queries, runs)``, the new one last.

    ``expected`` is the score by ``guess``; ``interval`` its prediction interval, with
    ``calibration`` and ``orders``; None if it could not be calibrated, for the reason ``obstacle``.
    ``query_half`` is half the width of the score's interval over queries.
    ``needed`` is the number of documents to judge, in the order of ``reductions``, until half
    the interval is at most half of that.
    """

    measure: PoolMeasure
    answer: RunAnswer
    bounds: Bounds
    differences: Bounds
    guess: Guess
    expected: float
    reductions: Reductions
    query_half: float | None
    interval: Interval | None = None
    calibration: Calibration | None = None
    orders: Orders | None = None
    needed: int | None = None
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RunVerdict:
    """The verdict on the last of ``runs``. ``judged (queries, runs)`` is Judged@k, NaN if a run has
    no documents; ``precision`` is RBP with its residual.

    ``grouped``: several runs share a group; otherwise coverage is overstated. ``most_open`` is the
    largest unjudged share of a run whose group is left out of the pool, None without a fit.
    """

    runs: OpenRuns
    depth: int
    judged: np.ndarray
    precision: RankBiasedPrecision
    measures: Sequence[MeasureVerdict]
    grouped: bool
    most_open: float | None = None


def open_depth(measures: Sequence[PoolMeasure], depth: int) -> int:
    """Return the depth to which unjudged documents need numbers: the deepest cutoff; 100 for a
    measure without one.
    """
    return max([depth, *(measure.cutoff or DEEPEST_OPEN for measure in measures)])


def verdict(new: OpenRuns, settings: VerdictSettings) -> RunVerdict:
    """Judge the last of ``new``'s runs by a fit to the others, or by its judged depth if there are
    fewer than four groups to learn from, or if it has a larger unjudged share than any left-out
    run.

    Raises:
        SettingError: a measure without known bounds.
    """
    runs, run, depth, seed = new.runs, len(new.runs.systems) - 1, settings.depth, settings.seed
    pool = new.without([run], new.known, deep=new.judged_below(run) >= DEEP)
    learned = learn(pool)
    unseen = new_documents(new, run)
    beyond = learned is not None and learned.is_beyond(unseen)
    predicted = (
        guess_from_pool(unseen, runs.systems[run].run, learned, seed)
        if learned and not beyond
        else None
    )
    found = []
    for measure in pool_measures(settings.measures, settings.relevant_from):
        calibration = (
            calibrated(errors_left_out(pool, learned, measure, seed))
            if learned and predicted
            else None
        )
        guess = predicted if predicted and calibration else guess_by_rank(new, run, unseen, seed)
        obstacle = None if calibration else _obstacle(run, known=learned is not None, beyond=beyond)
        found.append(replace(_by_measure(new, run, guess, measure, calibration), obstacle=obstacle))
    top, known = runs.places[:, :, :depth], new.known_places
    relevant = np.concatenate([new.grades >= settings.relevant_from, [False, False]])
    return RunVerdict(
        new,
        depth,
        judged_share(known[:, :, :depth], top != runs.nothing),
        # a rank beyond the end of a ranking is open, like an unjudged document
        rank_biased_precision(relevant[runs.places].astype(np.float64), known),
        found,
        len(pool.groups) < len(pool.runs.systems),
        learned.most_open if learned else None,
    )


def _obstacle(pooled: int, *, known: bool, beyond: bool) -> Obstacle:
    if beyond:
        return Obstacle.BEYOND
    if known:
        return Obstacle.NO_ERRORS
    return Obstacle.FEW_GROUPS if pooled else Obstacle.NO_RUNS


def _by_measure(
    new: OpenRuns, run: int, guess: Guess, measure: PoolMeasure, calibration: Calibration | None
) -> MeasureVerdict:
    bounds = score_bounds(new, measure)
    differences = difference_bounds(new, run, measure, bounds)
    drawn = draw_scores(
        new,
        range(run + 1) if calibration else [run],
        new.known,
        guess.unseen,
        guess.grades,
        measure,
    )
    own = drawn[:, :, -1]
    reductions = expected_reductions(guess, own)
    over_queries = clustered_mean(own.mean(axis=0), None, span_of(own)).interval
    query_half = (over_queries.high - over_queries.low) / 2 if over_queries else None
    plain = MeasureVerdict(
        measure,
        RunAnswer.UNKNOWN,
        bounds,
        differences,
        guess,
        float(own.mean()),
        reductions,
        query_half,
    )
    if calibration is None:
        return plain
    low, high = bounds.low[:, run].mean(), bounds.high[:, run].mean()
    means = own.mean(axis=1)
    free = calibration.interval(means.mean(), means.std())
    interval = Interval(
        float(np.clip(free.low, low, high)),
        float(np.clip(free.high, low, high)),
        free.level,
        free.method,
    )
    expected = float(
        np.clip(calibration.expected(means.mean(), means.std()), interval.low, interval.high)
    )
    half, limit = (interval.high - interval.low) / 2, _SHARE * (query_half or 0)
    needed = reductions.needed((limit / half) ** 2) if half > limit else 0
    answer = RunAnswer.MORE if needed else RunAnswer.YES
    orders = _orders(drawn, calibration)
    return replace(
        plain,
        answer=answer,
        expected=expected,
        interval=interval,
        calibration=calibration,
        orders=orders,
        needed=needed,
    )


def _orders(scores: np.ndarray, calibration: Calibration) -> Orders:
    """Compare runs by drawn scores ``(draws, queries, runs)``, the new run last."""
    from scipy import stats

    from positionbias.evaluation.significance import corrected

    differences = scores[:, :, -1:] - scores[:, :, :-1]
    means = differences.mean(axis=1)
    middle, spread = means.mean(axis=0), means.std(axis=0)
    expected, better = calibration.expected(middle, spread), calibration.above_zero(middle, spread)
    by_query = differences.mean(axis=0)
    queries = len(by_query)
    if queries < 2:
        return Orders(expected, better, np.ones(len(middle)))
    error = np.sqrt(
        by_query.var(axis=0, ddof=1) / queries
        + (calibration.scale * calibration.sigma(spread)) ** 2
    )
    t = np.abs(expected) / np.where(error > 0, error, np.inf)
    p = 2 * stats.t.sf(t, min(queries - 1, calibration.freedom))
    return Orders(expected, better, np.array(corrected(p.tolist(), "holm")))

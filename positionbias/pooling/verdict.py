"""Judge one new run in an existing collection: its score with its uncertainty, and its lead over
each pooled run.

A *prediction* (``prediction``) is of the run's score if its group had taken part in the pool. The
*bounds* hold for any grades of the unjudged documents. A run can be judged if its prediction
interval is at most half as wide as the interval of its score over queries: unjudged documents then
widen the two together by at most 12 % [decision].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial

import numpy as np
from pandas import DataFrame

from positionbias.core.rows import Collected
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.depth import rank_discounts
from positionbias.evaluation.judged_runs import PoolMeasure, kinds_of, score_grades
from positionbias.evaluation.proportional_odds import draw_grades
from positionbias.pooling.pools import Cells
from positionbias.pooling.prediction import (
    FEWEST_GROUPS,
    Calibration,
    Learned,
    calibrated,
    draw_scores,
    errors_left_out,
    learn,
)
from positionbias.pooling.settings import VerdictSettings
from positionbias.pooling.unjudged import OpenRuns, unseen_documents

SURE = 0.95  # the least probability at which an order is decided [decision]
_SHARE = 0.5  # of the half-width over queries
# the least judged share of others' deeper documents at which leaving groups out keeps those too
DEEP = 0.5
DEEPEST_OPEN = 100  # ranks to number for a measure without cutoff; few pools are deeper [decision]
_DRAWS = 400


class RunAnswer(StrEnum):
    """The answer to whether a collection can judge a run by a measure."""

    YES = "can be judged"
    MORE = "cannot be judged yet"
    UNKNOWN = "cannot tell"


class Obstacle(StrEnum):
    """A reason why no prediction could be calibrated."""

    NO_RUNS = "no pooled runs are given"
    FEW_GROUPS = f"fewer than {FEWEST_GROUPS} groups of pooled runs have unique documents"
    NO_ERRORS = f"fewer than {FEWEST_GROUPS} groups have unique documents that change scores"
    BEYOND = "a larger share is unjudged than of any left-out pooled run"


def new_documents(new: OpenRuns, run: int) -> DataFrame:
    """Return the unjudged documents of a new run, with features from the other groups."""
    pooled = [system for place, system in enumerate(new.runs.systems) if place != run]
    return unseen_documents(new, run, new.known, kinds_of(pooled))


def draws_of_new(unseen: DataFrame, name: str, learned: Learned, seed: int) -> np.ndarray:
    """Draw the grades of a run's unjudged documents, ``(draws, documents)``, keyed by its name."""
    random = generator(seed, "grades of unjudged documents", name)
    return draw_grades(learned.relevance, unseen, learned.spread, _DRAWS, random)


def add_verdict(
    made: Collected, new: OpenRuns, measures: Sequence[PoolMeasure], settings: VerdictSettings
) -> None:
    """Judge the last of ``new``'s runs by a fit to the others, and add by each measure its unjudged
    share, its score and its lead over each pooled run.
    """
    run = len(new.runs.systems) - 1
    name = new.runs.systems[run].run
    pool = new.without([run], new.known, deep=new.judged_below(run) >= DEEP)
    learned = learn(pool) if run else None
    unseen = new_documents(new, run)
    obstacle = Obstacle.FEW_GROUPS if run else Obstacle.NO_RUNS
    if learned and learned.is_beyond(unseen):
        learned, obstacle = None, Obstacle.BEYOND
    masks = (new.runs.there, new.known_places)
    top, judged = (mask[:, run, : settings.depth].sum(axis=-1) for mask in masks)
    share = 1 - np.nanmean(judged / np.where(top, top, np.nan))  # of queries with documents
    for measure in measures:
        add = partial(made.add, measure.name, run=name)
        scores = score_grades(new.runs, new.grades[None], measure)[0]
        for system, score in zip(new.runs.systems, scores.mean(axis=0), strict=True):
            made.add(measure.name, "score", score, run=system.run, kind=system.kind)
        low, high = (ends.mean() for ends in score_bounds(new, run, scores[:, run], measure))
        add("unjudged", share, axis="depth", label=str(settings.depth))
        add("unjudged documents", len(unseen))
        add("least", low)
        add("most", high)
        errors = errors_left_out(pool, learned, measure, settings.seed) if learned else []
        calibration = calibrated(errors)
        if learned is None or calibration is None:
            reason = Obstacle.NO_ERRORS if learned else obstacle
            add("predicted", None, answer=RunAnswer.UNKNOWN.value, reason=reason.value)
            continue
        grades = draws_of_new(unseen, name, learned, settings.seed)
        drawn = draw_scores(new, range(run + 1), new.known, unseen, grades, measure)
        _add_prediction(add, drawn[:, :, run], calibration, (low, high))
        leads = drawn[:, :, -1:].mean(axis=1) - drawn[:, :, :-1].mean(axis=1)
        draws = leads.mean(axis=0), leads.std(axis=0)
        expected, chances = calibration.expected(*draws), calibration.above_zero(*draws).tolist()
        for system, ahead, better in zip(new.runs.systems[:run], expected, chances, strict=True):
            answer = "better" if better >= SURE else "worse" if 1 - better >= SURE else "open"
            cells: Cells = {"run": system.run, "kind": system.kind}
            made.add(measure.name, "predicted lead", ahead, **cells)
            made.add(measure.name, "probability", better, answer=answer, **cells)


def _add_prediction(
    add: Callable[..., None], drawn: np.ndarray, calibration: Calibration, ends: tuple[float, float]
) -> None:
    """Add the prediction of the new run's score, of its ``drawn (draws, queries)`` scores."""
    mean, deviation = drawn.mean(axis=1).mean(), drawn.mean(axis=1).std()
    interval = calibration.interval(mean, deviation)
    low, high = np.clip([interval.low, interval.high], *ends).tolist()
    expected = np.clip(calibration.expected(mean, deviation), low, high)
    over_queries = clustered_mean(drawn.mean(axis=0), None, span_of(drawn)).interval
    query_half = (over_queries.high - over_queries.low) / 2 if over_queries else None
    close = (high - low) / 2 <= _SHARE * (query_half or 0)
    answer = RunAnswer.YES if close else RunAnswer.MORE
    bounds = replace(interval, low=low, high=high)
    add("predicted", expected, bounds, interval="prediction", answer=answer.value)
    add("half over queries", query_half)
    counts: Cells = {"count": calibration.runs, "counted": "runs"}
    add("covered", calibration.covered, clusters=calibration.freedom + 1, **counts)


def score_bounds(
    new: OpenRuns, run: int, score: np.ndarray, measure: PoolMeasure
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest score of a run on every query, ``(queries,)``, over all
    grades of unjudged documents, its own, other runs' and those of no run: each is not relevant or
    has the collection's highest grade [decision]. ``score`` is its score by the judged ones.

    nDCG is divided by the possible gain, which unseen relevant documents of others raise, at most
    to the cutoff's best order of the highest grade; RR and P depend on its own documents only.
    """
    cutoff = measure.cutoff or new.runs.places.shape[2]
    is_open = (~new.known_places & new.runs.there)[:, run, :cutoff]
    if measure.kind == "P":
        return score, score + is_open.sum(axis=-1) / cutoff
    if measure.kind == "RR":
        # judged relevant documents stay relevant, so only an earlier open rank can raise the score
        first = np.where(is_open.any(axis=-1), 1 / (1 + is_open.argmax(axis=-1)), 0)
        return score, np.maximum(score, first)
    weights, highest = rank_discounts(cutoff), max(1, int(new.grades.max()))
    least, most = np.zeros(len(score)), score.copy()
    for query, ranks in enumerate(is_open):
        start, end = new.runs.starts[query : query + 2]
        best = np.sort(np.maximum(new.grades[start:end], 0))[::-1]
        # with n of its own documents relevant, its gain is highest if they are the first n, and the
        # best order depends only on n
        added = np.append(0, (weights[: len(ranks)][ranks] * highest).cumsum())
        orders = [np.append(np.full(n, highest), best)[:cutoff] for n in range(len(added))]
        ideal = np.array([order @ weights[: len(order)] for order in orders])
        gain = score[query] * ideal[0]
        least[query] = gain / (highest * weights.sum())
        possible = (gain + added) / np.where(ideal > 0, ideal, 1)
        most[query] = max(score[query], possible.max())
    return least, most

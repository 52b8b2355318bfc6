"""Guess the grades of a new run's unjudged documents, and choose the order in which to judge them.

With pooled runs, the probabilities are learned from them (``relevance``). Without, an unjudged
document is assumed to be like the run's judged documents at the same rank: a weaker guess, as
documents outside a pool are relevant less often [decision].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from positionbias.core.seeds import generator
from positionbias.pooling.open_runs import OpenRuns
from positionbias.pooling.prediction import Learned
from positionbias.pooling.relevance import WEIGHTS, chances, draw_grades
from positionbias.pooling.systems import kinds_of
from positionbias.pooling.unseen import Unseen, unseen_documents

__all__ = [
    "Guess",
    "Reductions",
    "expected_reductions",
    "guess_by_rank",
    "guess_from_pool",
    "new_documents",
]

_DRAWS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A run's unjudged documents with drawn ``grades (draws, documents)``, and their ``mean`` and
    ``variance (nodes, documents)`` given the run's effect.

    ``weights (nodes,)`` are the probabilities of these effects.
    """

    unseen: Unseen
    grades: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Reductions:
    """The ``order`` in which to judge a guess's documents (indices), the expected reduction of the
    variance of the run's score by each judgement alone, ``reduction (documents,)``, and the share
    of the variance left after the first n, ``left (documents + 1,)``."""

    order: np.ndarray
    reduction: np.ndarray
    left: np.ndarray

    def needed(self, share: float) -> int:
        """Return the number of documents to judge until at most this share of the variance is
        left.
        """
        return int(np.argmax(self.left <= share))


def new_documents(new: OpenRuns, run: int) -> Unseen:
    """Return the unjudged documents of a new run, with features from the other groups."""
    others = np.arange(len(new.groups)) != new.group_of[run]
    pooled = [system for place, system in enumerate(new.runs.systems) if place != run]
    return unseen_documents(new, run, new.known, others, kinds_of(pooled))


def guess_from_pool(unseen: Unseen, name: str, learned: Learned, seed: int) -> Guess:
    """Guess from the pooled runs; draws are keyed by the run's ``name``."""
    relevance = learned.relevance
    odds = relevance.log_odds(unseen)
    random = generator(seed, "grades of unjudged documents", name)
    grades = draw_grades(relevance, odds, learned.spread, _DRAWS, random)
    reach = chances(relevance, odds, learned.spread)
    first, second = (
        np.diff(relevance.grades.astype(np.float64) ** power, prepend=0) for power in (1, 2)
    )
    mean = reach @ first
    return Guess(unseen, grades, mean, reach @ second - mean**2, WEIGHTS)


def guess_by_rank(new: OpenRuns, run: int, unseen: Unseen, seed: int) -> Guess:
    """Guess from the run's judged documents at the same rank, over all queries; without any, at all
    ranks.
    """
    grades = np.concatenate([np.maximum(new.grades, 0), [0, 0]])[
        new.runs.places[:, run, : new.depth]
    ]
    known = new.known_places[:, run, : new.depth]
    drawn = np.zeros((_DRAWS, len(unseen.rank)), np.int16)
    mean, variance = np.zeros((1, len(unseen.rank))), np.zeros((1, len(unseen.rank)))
    for rank in np.unique(unseen.rank).tolist():
        own = unseen.rank == rank
        like = grades[:, rank][known[:, rank]] if known[:, rank].any() else grades[known]
        if len(like):
            random = generator(seed, "grades by rank", new.runs.systems[run].run, rank)
            drawn[:, own] = random.choice(like, (_DRAWS, int(own.sum())))
            mean[:, own], variance[:, own] = like.mean(), like.var()
    return Guess(unseen, drawn, mean, variance, np.ones(1))


def expected_reductions(guess: Guess, scores: np.ndarray) -> Reductions:
    """Estimate how much judging each document lowers the variance of the mean of
    ``scores (draws, queries)``, the run's scores under the guess's draws.

    A query's score is approximated by a sum over its documents, fitted to the draws. The reduction
    is cov(score, grade)² / var(grade), which includes a document's information about the others
    through the run's effect.
    """
    unseen, queries = guess.unseen, scores.shape[1]
    slope = np.zeros(len(unseen.query))
    for query in np.unique(unseen.query).tolist():
        own = unseen.query == query
        grades = guess.grades[:, own] - guess.grades[:, own].mean(axis=0)
        slope[own] = (
            np.linalg.lstsq(grades, scores[:, query] - scores[:, query].mean(), rcond=None)[0]
            / queries
        )
    alone = guess.weights @ guess.variance
    moved = slope * guess.mean
    shared = guess.weights @ (
        (guess.mean - guess.weights @ guess.mean)
        * (moved.sum(axis=1) - guess.weights @ moved.sum(axis=1))[:, None]
    )
    variance = alone + guess.weights @ (guess.mean - guess.weights @ guess.mean) ** 2
    covariance = slope * alone + shared
    reduction = np.where(variance > 0, covariance**2 / np.where(variance > 0, variance, 1), 0)
    # equal reductions: the higher rank first
    order = np.lexsort((unseen.document, unseen.rank, -reduction))
    left = _left((slope**2 * alone)[order], moved[:, order], guess.weights)
    return Reductions(order, reduction, left)


def _left(alone: np.ndarray, moved: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share of the variance left after each document in turn, ``(documents + 1,)``,
    without their information about the run's effect.
    """
    own = np.append(alone[::-1].cumsum()[::-1], 0.0)
    rest = np.concatenate(
        [moved[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((len(moved), 1))], axis=1
    )
    left = own + weights @ (rest - weights @ rest) ** 2
    return left / left[0] if left[0] > 0 else np.zeros(len(left))

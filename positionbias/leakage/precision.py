"""Compute the precision of labelled pairs at or above a score, with its interval and lower bound,
clustered by test query.

    precision(t) = Σ_{s_i ≥ t} w_i·y_i / Σ_{s_i ≥ t} w_i

with y_i = 1 if pair i is a leak, else 0, and w_i the number of pairs that it represents (1 without
sampling). Intervals and (one-sided) bounds [decision] are Wilson's, at the effective number of
independent pairs,

    n* = min(n, p(1 − p) / v),   v = G/(G−1) · (n−1)/n · Σ_g (Σ_{i in g} w_i (y_i − p))² / (Σ w_i)²

over the G test queries g (Dean, Pagano 2015, with Kish's (Σ w)²/Σ w² for n). If v is 0, as when all
pairs leak, n* is at most G. With one pair per test query and no weights it is plain Wilson.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import LEVEL, Clusters, cluster_queries, resampled_sums
from positionbias.results.leakage_pairs import ThresholdCurve

__all__ = [
    "ROUNDING",
    "Labelled",
    "Share",
    "Sums",
    "Tally",
    "at_threshold",
    "drawn",
    "precision_curve",
    "wilson",
]

ROUNDING = 1e-12


class Labelled:
    """Labelled pairs as arrays: ``scores (n,)``, ``leaks (n,)`` bool, ``weights (n,)`` above 0, and
    the test query of each.

    Raises:
        ValueError: arrays of different lengths, a score that is not a number, or a weight that is
            not above 0.
    """

    def __init__(
        self,
        scores: Sequence[float] | np.ndarray,
        leaks: Sequence[bool] | np.ndarray,
        test_ids: Sequence[str] | None = None,
        weights: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        self.scores, self.leaks = np.asarray(scores, np.float64), np.asarray(leaks, bool)
        self.weights = (
            np.ones(len(self.scores)) if weights is None else np.asarray(weights, np.float64)
        )
        self.test_ids = (
            [str(number) for number in range(len(self.scores))]
            if test_ids is None
            else list(test_ids)
        )
        if len({len(self.scores), len(self.leaks), len(self.weights), len(self.test_ids)}) > 1:
            raise ValueError("scores, leaks, weights and test_ids: wanted one of each per pair")
        if not np.isfinite(self.scores).all() or not (self.weights > 0).all():
            raise ValueError("wanted finite scores and weights above 0")

    def __len__(self) -> int:
        return len(self.scores)

    def kept(self, mask: np.ndarray) -> Labelled:
        """Return the pairs where ``mask (n,)`` is true."""
        places = np.flatnonzero(mask)
        return Labelled(
            self.scores[places],
            self.leaks[places],
            [self.test_ids[i] for i in places],
            self.weights[places],
        )


@dataclass(frozen=True, slots=True)
class Share:
    """A share of leaks among pairs, with its interval; None without pairs, or with only one test
    query.
    """

    value: float | None
    interval: Interval | None
    pairs: int
    leaks: int


class Sums(NamedTuple):
    """Sums at each distinct score, descending, each ``(draws, k)``: weights, weights of leaks,
    squared weights, pairs; over test queries, the products of a query's sums (for v), and the
    number of queries."""

    weights: np.ndarray
    leaks: np.ndarray
    squares: np.ndarray
    pairs: np.ndarray
    leaks_leaks: np.ndarray
    leaks_weights: np.ndarray
    weights_weights: np.ndarray
    queries: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """Return the precision of the pairs at or above each score; NaN without any."""
        with np.errstate(invalid="ignore"):
            return self.leaks / self.weights

    @property
    def worth(self) -> np.ndarray:
        """Return n*, the effective number of independent pairs at or above each score; NaN with one
        test query.
        """
        share = self.precision
        with np.errstate(invalid="ignore", divide="ignore"):
            kish = self.weights**2 / self.squares
            squared = (
                self.leaks_leaks - 2 * share * self.leaks_weights + share**2 * self.weights_weights
            )
            variance = (
                squared
                / self.weights**2
                * self.queries
                / (self.queries - 1)
                * (self.pairs - 1)
                / self.pairs
            )
            spread = np.where(variance > ROUNDING, share * (1 - share) / variance, self.queries)
        return np.where(self.queries > 1, np.minimum(kish, spread), np.nan)

    @property
    def lower(self) -> np.ndarray:
        """Return Wilson's lower bound of the precision, one-sided at 95 %; 0 with fewer than two
        test queries.
        """
        return np.nan_to_num(_wilson(self.precision, self.worth, _normal(LEVEL))[0])


class Tally:
    """Labelled pairs by distinct score and test query."""

    def __init__(self, labelled: Labelled) -> None:
        self.scores = np.unique(labelled.scores)[::-1]
        self.clusters = cluster_queries(labelled.test_ids, len(labelled))
        self._steps = _steps(
            labelled,
            self.clusters,
            np.searchsorted(-self.scores, -labelled.scores),
            len(self.scores),
        )

    def all(self) -> Sums:
        """Return the sums of all test queries, ``(1, k)``."""
        return self._cumulated(np.asarray(self._steps.sum(axis=0)).reshape(1, -1))

    def of(self, times: np.ndarray) -> Sums:
        """Return the sums with each test query weighted by ``times (draws, clusters)``."""
        return self._cumulated(np.asarray((self._steps.T @ times.T).T))

    def resampled(self, seed: int, resamples: int) -> tuple[Sums, np.ndarray]:
        """Return the sums of test queries drawn with replacement, and the mask of drawn scores,
        each ``(resamples, k)``.
        """
        steps = resampled_sums(self._steps, seed=seed, resamples=resamples)
        return self._cumulated(steps), steps[:, : len(self.scores)] > 0

    def _cumulated(self, steps: np.ndarray) -> Sums:
        return Sums(
            *np.moveaxis(steps.reshape(len(steps), len(Sums._fields), -1).cumsum(axis=2), 1, 0)
        )


def _steps(labelled: Labelled, clusters: Clusters, score: np.ndarray, scores: int) -> Any:
    """Return the increase of each test query's part of ``Sums`` at each score: sparse,
    ``(clusters, 8 · scores)``.
    """
    from scipy import sparse

    order = np.lexsort((score, clusters.codes))
    weights, leaks = labelled.weights[order], (labelled.weights * labelled.leaks)[order]
    codes, first = clusters.codes[order], np.diff(clusters.codes[order], prepend=-1) > 0
    kept, true = (_within(values, first) for values in (weights, leaks))
    before, true_before = kept - weights, true - leaks
    grown = [weights, leaks, weights**2, np.ones(len(order))]
    grown += [
        true**2 - true_before**2,
        true * kept - true_before * before,
        kept**2 - before**2,
        first,
    ]
    columns = np.concatenate([score[order] + scores * place for place in range(len(grown))])
    entries = (np.concatenate(grown).astype(np.float64), (np.tile(codes, len(grown)), columns))
    return sparse.csr_array(entries, shape=(clusters.count, scores * len(grown)))


def _within(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return cumulative sums that restart at each ``first``."""
    total = np.cumsum(values)
    return total - (total - values)[np.flatnonzero(first)][np.cumsum(first) - 1]


def precision_curve(labelled: Labelled) -> ThresholdCurve:
    """Return the precision at every occurring score; pairs with equal scores stay together."""
    tally = Tally(labelled)
    sums = tally.all()
    leaks = sums.leaks[0]
    found = (leaks / leaks[-1]).tolist() if leaks.any() else [None] * len(leaks)
    pairs = sums.pairs[0].astype(np.int64).tolist()
    return ThresholdCurve(
        tally.scores.tolist(), pairs, sums.precision[0].tolist(), sums.lower[0].tolist(), found
    )


def at_threshold(labelled: Labelled, threshold: float) -> Share:
    """Return the precision of the pairs at or above a threshold; −∞ gives the prevalence, the share
    of leaks among all labelled pairs.
    """
    part = labelled.kept(labelled.scores >= threshold)
    if not len(part):
        return Share(None, None, 0, 0)
    tally = Tally(part)
    sums = tally.all()
    share, worth, leaks = (
        float(sums.precision[0, -1]),
        float(sums.worth[0, -1]),
        int(part.leaks.sum()),
    )
    if tally.clusters.count < 2:
        return Share(share, None, len(part), leaks)
    method = (
        f"Wilson at {worth:,.0f} pairs, which {len(part):,} of {drawn(tally.clusters.count)} are "
        "worth"
    )
    return Share(share, wilson(share, worth, method), len(part), leaks)


def drawn(count: int) -> str:
    """Return a description of the resampled unit."""
    return f"{count:,} test queries"


def wilson(share: float, count: float, method: str = "Wilson") -> Interval:
    """Return Wilson's 95 % interval of a share of ``count``: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) /
    (1 + z²/n).
    """
    low, high = _wilson(np.float64(share), np.float64(count), _normal((1 + LEVEL) / 2))
    return Interval(max(0.0, float(low)), min(1.0, float(high)), LEVEL, method)


def _wilson(share: Any, count: Any, z: float) -> tuple[Any, Any]:
    centre = share + z**2 / (2 * count)
    half = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (centre - half) / (1 + z**2 / count), (centre + half) / (1 + z**2 / count)


def _normal(level: float) -> float:
    # the normal distribution's quantile, without the seconds that all of scipy.stats takes
    from scipy.special import ndtri

    return float(ndtri(level))

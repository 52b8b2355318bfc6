"""From which score on a pair is a leak: the lowest threshold that keeps a precision, from pairs that people have labelled.

The rule of the leakage paper (section 3: "the lowest that yields a 0.9 precision"), made exact: of the scores that occur, the lowest t for
which the pairs with score ≥ t are leaks to a share of 0.9 or more,

    precision(t) = Σ_{s_i ≥ t} w_i·y_i / Σ_{s_i ≥ t} w_i

with w_i the pairs that pair i stands for (1 where nothing was drawn). Precision does not rise steadily with t, so that a higher
threshold may fall below again; how many do is counted. Labelled pairs were preselected by a score, so nothing here is a recall: what lies
below the lowest of them nobody has looked at.

Intervals [decision]. Of shares: Wilson's, at the number of pairs that the sample is worth,

    n* = min(n, p(1 − p) / v),   v = G/(G−1) · (n−1)/n · Σ_g (Σ_{i in g} w_i (y_i − p))² / (Σ w_i)²

over the G test queries g, whose pairs are alike (Dean, Pagano 2015, with Kish's (Σ w)²/Σ w² for n, where v is 0 too); with one pair a test
query and no weights it is Wilson's own. Of the threshold: percentiles of the same rule over test queries drawn with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.core.payloads import Interval
from positionbias.evaluation.bootstrap import LEVEL, RESAMPLES, cluster_queries, resampled_sums

__all__ = [
    "NO_RECALL",
    "PRECISION",
    "Calibration",
    "Curve",
    "Labelled",
    "Share",
    "at_threshold",
    "calibrate",
    "precision_curve",
]

PRECISION = 0.9
NO_RECALL = (
    "The labelled pairs were preselected by a score, so they say nothing about recall: leaks that score below the lowest of them "
    "were never looked at."
)
_ROUNDING = 1e-12


class Labelled:
    """Labelled pairs as arrays: ``scores (n,)``, ``leaks (n,)`` bool, ``weights (n,)`` above 0, and the test query of each.

    Raises:
        ValueError: arrays of different lengths, a score that is no number, or a weight that is not above 0.
    """

    def __init__(
        self,
        scores: Sequence[float] | np.ndarray,
        leaks: Sequence[bool] | np.ndarray,
        test_ids: Sequence[str] | None = None,
        weights: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        self.scores, self.leaks = np.asarray(scores, np.float64), np.asarray(leaks, bool)
        self.weights = np.ones(len(self.scores)) if weights is None else np.asarray(weights, np.float64)
        self.test_ids = [str(number) for number in range(len(self.scores))] if test_ids is None else list(test_ids)
        if len({len(self.scores), len(self.leaks), len(self.weights), len(self.test_ids)}) > 1:
            raise ValueError("scores, leaks, weights and test_ids: wanted one of each a pair")
        if not np.isfinite(self.scores).all() or not (self.weights > 0).all():
            raise ValueError("wanted scores that are numbers and weights above 0")

    def __len__(self) -> int:
        return len(self.scores)

    def kept(self, mask: np.ndarray) -> Labelled:
        """The pairs where ``mask (n,)`` is true."""
        places = np.flatnonzero(mask)
        return Labelled(self.scores[places], self.leaks[places], [self.test_ids[i] for i in places], self.weights[places])


class Curve(NamedTuple):
    """At each score that occurs, falling, all ``(k,)``: pairs at or above, their precision, the share of labelled leaks among them.

    ``found`` is weighted as precision is, and no recall (``NO_RECALL``).
    """

    thresholds: np.ndarray
    pairs: np.ndarray
    precision: np.ndarray
    found: np.ndarray


@dataclass(frozen=True, slots=True)
class Share:
    """A share of pairs that are leaks, with its interval; None where there is no pair, or one test query alone."""

    value: float | None
    interval: Interval | None
    pairs: int
    leaks: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The lowest threshold, None where none keeps the precision, and what it rests on.

    ``unreached`` is the share of resamples in which no threshold keeps it; from 2.5 % on the threshold has no interval. ``below_above`` counts the
    higher thresholds whose precision is below. ``found`` as in ``Curve``.
    """

    threshold: float | None
    interval: Interval | None
    unreached: float
    below_above: int
    precision: Share
    found: float | None
    prevalence: Share
    curve: Curve


def precision_curve(labelled: Labelled) -> Curve:
    """Precision at every score that occurs; pairs of one score stand or fall together."""
    order, last = _cuts(labelled.scores)
    weights, leaking = labelled.weights[order], (labelled.weights * labelled.leaks)[order]
    kept, true = np.cumsum(weights)[last], np.cumsum(leaking)[last]
    with np.errstate(invalid="ignore"):
        found = true / true[-1] if len(true) and true[-1] else np.full(len(true), np.nan)
    return Curve(labelled.scores[order][last], last + 1, true / kept, found)


def _cuts(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of falling scores, and in it the place of the last pair of each score."""
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    return order, np.flatnonzero(np.append(falling[1:] != falling[:-1], True)) if len(falling) else np.empty(0, np.int64)


def calibrate(labelled: Labelled, *, precision: float = PRECISION, seed: int = 1, resamples: int = RESAMPLES) -> Calibration:
    """The lowest score at and above which pairs are leaks to a share of ``precision``; memory is resamples × distinct scores.

    Raises:
        SettingError: a precision that is not above 0 and at most 1.
    """
    if not 0 < precision <= 1:
        raise SettingError(f"--least-precision: wanted a share above 0 and at most 1; found {precision:g}; 0.9 is the paper's")
    curve = precision_curve(labelled)
    enough = curve.precision >= precision - _ROUNDING
    place = int(np.flatnonzero(enough)[-1]) if enough.any() else None
    interval, unreached = _threshold_interval(labelled, precision, seed, resamples)
    threshold = None if place is None else float(curve.thresholds[place])
    return Calibration(
        threshold,
        interval,
        unreached,
        0 if place is None else int((~enough[:place]).sum()),
        at_threshold(labelled, math.inf if threshold is None else threshold),
        None if place is None else _number(curve.found[place]),
        at_threshold(labelled, -math.inf),
        curve,
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _threshold_interval(labelled: Labelled, precision: float, seed: int, resamples: int) -> tuple[Interval | None, float]:
    """The interval of the lowest threshold over resampled test queries, and the share of resamples that have none."""
    clusters = cluster_queries(labelled.test_ids, len(labelled))
    if clusters.count < 2:
        return None, 0.0
    from scipy import sparse

    order, last = _cuts(labelled.scores)
    score_of = np.empty(len(order), np.int64)  # which of the distinct scores, falling, each pair has
    score_of[order] = np.searchsorted(last, np.arange(len(order)))
    size, columns = len(last), np.concatenate([score_of, score_of + len(last)])
    values = np.concatenate([labelled.weights, labelled.weights * labelled.leaks])
    sums = sparse.csr_array((values, (np.tile(clusters.codes, 2), columns)), shape=(clusters.count, 2 * size))
    totals = resampled_sums(sums, seed=seed, resamples=resamples)
    kept, true = np.cumsum(totals[:, :size], axis=1), np.cumsum(totals[:, size:], axis=1)
    # a score is a threshold of a resample only where one of its pairs was drawn
    enough = (true >= (precision - _ROUNDING) * kept) & (totals[:, :size] > 0)
    some = enough.any(axis=1)
    lowest = size - 1 - np.argmax(enough[:, ::-1], axis=1)
    thresholds = np.where(some, labelled.scores[order][last][lowest], np.inf)
    unreached = float(1 - some.mean())
    tail = (1 - LEVEL) / 2
    if unreached >= tail:
        return None, unreached
    low, high = np.quantile(thresholds, [tail, 1 - tail], method="inverted_cdf")
    return Interval(
        float(low), float(high), LEVEL, f"percentile bootstrap, {resamples:,} resamples of {_drawn(clusters.count)}"
    ), unreached


def _drawn(count: int) -> str:
    return f"{count:,} test queries"


def at_threshold(labelled: Labelled, threshold: float) -> Share:
    """The precision of the pairs at or above a threshold; −∞ gives the prevalence, the share of leaks among all labelled pairs."""
    part = labelled.kept(labelled.scores >= threshold)
    if not len(part):
        return Share(None, None, 0, 0)
    weights, leaks = part.weights, part.leaks
    share = float((weights * leaks).sum() / weights.sum())
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    clusters = cluster_queries(part.test_ids, len(part))
    if clusters.count < 2:
        return Share(share, None, len(part), int(leaks.sum()))
    apart = np.bincount(clusters.codes, weights=weights * (leaks - share), minlength=clusters.count)
    variance = (
        float((apart**2).sum() / weights.sum() ** 2) * clusters.count / (clusters.count - 1) * (len(part) - 1) / len(part)
    )
    if variance > _ROUNDING**2:
        worth = min(worth, share * (1 - share) / variance)
    method = f"Wilson at {worth:,.0f} pairs, which {len(part):,} of {_drawn(clusters.count)} are worth"
    return Share(share, wilson(share, worth, method), len(part), int(leaks.sum()))


def wilson(share: float, count: float, method: str = "Wilson") -> Interval:
    """Wilson's 95 % interval of a share of ``count``: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n)."""
    from scipy import stats

    z2 = float(stats.norm.ppf((1 + LEVEL) / 2)) ** 2
    centre = share + z2 / (2 * count)
    half = math.sqrt(z2 * (share * (1 - share) / count + z2 / (4 * count**2)))
    scale = 1 + z2 / count
    return Interval(max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale), LEVEL, method)

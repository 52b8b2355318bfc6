"""The precision of labelled pairs at or above a score, and the lowest threshold at which it is
surely high enough.

    precision(t) = Σ_{s_i ≥ t} w_i·y_i / Σ_{s_i ≥ t} w_i

with y_i = 1 if pair i is a leak, else 0, and w_i the number of pairs that it represents (1 without
sampling). Intervals and (one-sided) bounds [decision] are Wilson's, at the effective number of
independent pairs,

    n* = min(n, p(1 − p) / v),   v = G/(G−1) · (n−1)/n · Σ_g (Σ_{i in g} w_i (y_i − p))² / (Σ w_i)²

over the G test queries g (Dean, Pagano 2015, with Kish's (Σ w)²/Σ w² for n). If v is 0, as when all
pairs leak, n* is at most G. With one pair per test query and no weights it is plain Wilson.

The threshold is the lowest occurring score at which the lower 95 % bound is at least 0.9. The
leakage paper's rule (section 3: "the lowest that yields a 0.9 precision") uses the precision
itself, which new pairs then reach only about half of the time. The bound is computed at each score
separately; choosing the lowest costs almost nothing (``benchmarks/leakage_thresholds.py``).

Labelled pairs were preselected by a score, so they give no recall: no pair below the lowest score
is labelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.evaluation.bootstrap import LEVEL
from positionbias.leakage.pairs import Pair

__all__ = [
    "PRECISION",
    "Labelled",
    "Rule",
    "Share",
    "calibrate",
    "calibration_rows",
    "precision_from",
    "wilson",
]

PRECISION = 0.9
ROUNDING = 1e-12


class Rule(StrEnum):
    """The figure that must reach the wanted precision: its lower bound, or, as in the paper, its
    value.
    """

    BOUND = "bound"
    PAPER = "paper"


@dataclass(frozen=True)
class Labelled:
    """Labelled pairs as arrays ``(n,)``: scores, leaks (bool), weights, and the number of the test
    query of each.
    """

    scores: np.ndarray
    leaks: np.ndarray
    weights: np.ndarray
    tests: np.ndarray

    @staticmethod
    def of(pairs: Sequence[Pair], score: str = "") -> Labelled:
        """Return the arrays of labelled pairs that have this score; without one scores are 0."""
        return Labelled(
            np.array([pair.scores[score] if score else 0.0 for pair in pairs]),
            np.array([bool(pair.label and pair.label.leaks) for pair in pairs]),
            np.array([pair.weight for pair in pairs]),
            np.unique([pair.test_id for pair in pairs], return_inverse=True)[1],
        )


@dataclass(frozen=True, slots=True)
class Share:
    """A share of leaks among ``pairs``, with its interval and its one-sided lower bound; NaN
    without pairs, no interval and 0 as the bound with one test query.
    """

    value: float
    interval: Interval | None
    bound: float
    pairs: int
    leaks: int


def precision_from(labelled: Labelled, threshold: float = -math.inf) -> Share:
    """Return the precision of the pairs at or above a threshold; by default the prevalence, the
    share of leaks among all labelled pairs.
    """
    kept = labelled.scores >= threshold
    leaks, weights, tests = (
        side[kept] for side in (labelled.leaks, labelled.weights, labelled.tests)
    )
    pairs, queries = len(leaks), len(np.unique(tests))
    if not pairs:
        return Share(math.nan, None, 0.0, 0, 0)
    total = weights.sum()
    share = float((weights * leaks).sum() / total)
    if queries < 2:
        return Share(share, None, 0.0, pairs, int(leaks.sum()))
    residuals = np.bincount(tests, weights * (leaks - share))
    clustered = queries / (queries - 1) * (pairs - 1) / pairs
    variance = clustered * float((residuals**2).sum() / total**2)
    kish = float(total**2 / (weights**2).sum())
    worth = min(kish, share * (1 - share) / variance if variance > ROUNDING else queries)
    bound, _ = _wilson(share, worth, LEVEL)
    return Share(share, wilson(share, worth), bound, pairs, int(leaks.sum()))


def wilson(share: float, count: float) -> Interval:
    """Return Wilson's 95 % interval of a share of ``count``: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) /
    (1 + z²/n).
    """
    low, high = _wilson(share, count, (1 + LEVEL) / 2)
    return Interval(max(0.0, low), min(1.0, high), LEVEL, "Wilson")


def _wilson(share: float, count: float, level: float) -> tuple[float, float]:
    # without the seconds that all of scipy.stats takes
    from scipy.special import ndtri

    z = float(ndtri(level))
    centre, scale = share + z**2 / (2 * count), 1 + z**2 / count
    half = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (centre - half) / scale, (centre + half) / scale


def calibrate(
    labelled: Labelled, *, precision: float = PRECISION, rule: Rule = Rule.BOUND
) -> tuple[float, float]:
    """Return the lowest score at or above which the precision is surely high enough, NaN if there
    is none; and the highest lower bound at any score.
    """
    scores = np.unique(labelled.scores)
    shares = [precision_from(labelled, score) for score in scores]
    reached = [
        (share.bound if rule is Rule.BOUND else share.value) >= precision - ROUNDING
        for share in shares
    ]
    threshold = float(scores[reached.index(True)]) if any(reached) else math.nan
    return threshold, max(share.bound for share in shares)


def calibration_rows(
    made: Collected,
    pairs: Sequence[Pair],
    score: str,
    *,
    precision: float,
    rule: Rule,
    given: float | None,
) -> None:
    """Add the threshold of a score, and the precision of all pairs (the prevalence), at the
    threshold, and at a ``given`` one.
    """
    labelled = Labelled.of(pairs, score)
    threshold, best = calibrate(labelled, precision=precision, rule=rule)
    cells: dict[str, Any] = {"variant": score, "label": rule.value}
    reason = "" if threshold == threshold else f"no threshold has a precision of {precision:g}"
    made.add("threshold", "lowest", threshold, expected=precision, reason=reason, **cells)
    made.add("lower bound of precision", "best", best, **cells)
    leaks = labelled.weights * labelled.leaks
    for subset, at in {"labelled": -math.inf, "calibrated": threshold, "given": given}.items():
        if at is not None:
            own = {**cells, "subset": subset}
            share = precision_from(labelled, at)
            counts: dict[str, Any] = {"count": share.pairs, "counted": "pairs"}
            made.add("precision", "share", share.value, share.interval, **counts, **own)
            made.add("leaks", "number", share.leaks, **own)
            kept = leaks[labelled.scores >= at].sum() / leaks.sum() if leaks.any() else None
            made.add("leaks", "share kept", kept, **own)
            if math.isfinite(at):
                made.add("threshold", "applied", at, **own)

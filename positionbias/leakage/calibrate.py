"""Calibrate the score threshold for leaks: the lowest threshold of sufficient precision, from
labelled pairs.

It is the lowest occurring score at which the lower 95 % bound of the precision (``precision``) is
at least 0.9. The leakage paper's rule (section 3: "the lowest that yields a 0.9 precision") uses
the precision itself, which new pairs then reach only about half of the time. The bound is computed
at each score separately; choosing the lowest costs almost nothing
(``benchmarks/leakage_thresholds.py``).

Labelled pairs were preselected by a score, so they give no recall: no pair below the lowest score
is labelled. The interval of a threshold is the percentile interval of the same rule over test
queries drawn with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import LEVEL, RESAMPLES
from positionbias.evaluation.cross_validation import FOLDS, query_folds
from positionbias.leakage.pairs import Pair
from positionbias.leakage.precision import (
    ROUNDING,
    Labelled,
    Share,
    Sums,
    Tally,
    at_threshold,
    drawn,
    precision_curve,
)
from positionbias.results.leakage_pairs import (
    GIVEN_PRECISION,
    PRECISION_AT,
    PREVALENCE,
    THRESHOLD,
    HeldOut,
    LeakShare,
    ThresholdFigures,
)
from positionbias.results.result import Result

__all__ = [
    "NO_RECALL",
    "PRECISION",
    "Calibration",
    "Rule",
    "calibrate",
    "calibration_results",
    "enough",
    "held_out",
    "lowest",
]

PRECISION = 0.9
REPEATS = 20  # cross-validations, each with its own folds
NO_RECALL = (
    "The labelled pairs were preselected by a score, so they give no recall: leaks with a lower "
    "score were never labelled. Nor do they say anything about pairs found by words alone."
)


class Rule(StrEnum):
    """The figure that must reach the wanted precision: its lower bound, or, as in the paper, its
    value.
    """

    BOUND = "bound"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The lowest threshold (None if there is none), the precision there, the share of leaks among
    all labelled pairs, and the sample.
    """

    threshold: float | None
    interval: Interval | None
    precision: Share
    prevalence: Share
    figures: ThresholdFigures


def calibrate(
    labelled: Labelled,
    *,
    precision: float = PRECISION,
    rule: Rule = Rule.BOUND,
    seed: int = 1,
    resamples: int = RESAMPLES,
) -> Calibration:
    """Find the lowest score at or above which the share of leaks is ``precision``; memory is
    resamples × distinct scores.

    Raises:
        SettingError: a precision outside (0, 1].
    """
    if not 0 < precision <= 1:
        raise SettingError(
            f"--least-precision: wanted a share above 0 and at most 1; found {precision:g}; the "
            "paper uses 0.9"
        )
    tally, curve = Tally(labelled), precision_curve(labelled)
    will_do = enough(tally.all(), rule, precision)[0]
    place = int(lowest(will_do[None])[0]) if len(will_do) else -1
    interval, unreached = _threshold_interval(tally, precision, rule, seed, resamples)
    threshold = curve.thresholds[place] if place >= 0 else None
    figures = ThresholdFigures(
        rule=rule.value,
        precision_wanted=precision,
        lower_bound=curve.lower[place] if place >= 0 else None,
        best_lower_bound=max([0.0, *curve.lower]),
        held_out=held_out(labelled, precision=precision, rule=rule, seed=seed),
        share_of_labelled_leaks=curve.found[place] if place >= 0 else None,
        higher_thresholds_below=int((~will_do[: max(place, 0)]).sum()),
        resamples_without_threshold=unreached,
        note=NO_RECALL,
        curve=curve,
    )
    there = at_threshold(labelled, math.inf if threshold is None else threshold)
    return Calibration(threshold, interval, there, at_threshold(labelled, -math.inf), figures)


def calibration_results(
    pairs: Sequence[Pair],
    score: str,
    *,
    name: str,
    precision: float = PRECISION,
    rule: Rule = Rule.BOUND,
    given: float | None = None,
    seed: int = 1,
) -> list[Result]:
    """Return the results of labelled pairs: the prevalence, the threshold with its curve and
    precision, and the precision at a ``given`` threshold.

    Raises:
        SettingError: as ``calibrate``.
    """
    labelled = Labelled(
        [pair.scores[score] for pair in pairs],
        [bool(pair.label and pair.label.leaks) for pair in pairs],
        [pair.test_id for pair in pairs],
        [pair.weight for pair in pairs],
    )
    found = calibrate(labelled, precision=precision, rule=rule, seed=seed)

    def share(measure: str, threshold: float | None, item: Share) -> Result:
        figures = LeakShare(threshold=threshold, pairs=item.pairs, leaks=item.leaks)
        return Result(
            measure, name, "", score, seed, item.value, item.interval, item.pairs, figures
        )

    results = [
        share(PREVALENCE, None, found.prevalence),
        Result(
            THRESHOLD,
            name,
            "",
            score,
            seed,
            found.threshold,
            found.interval,
            len(labelled),
            found.figures,
        ),
        share(PRECISION_AT, found.threshold, found.precision),
    ]
    return (
        results
        if given is None
        else [*results, share(GIVEN_PRECISION, given, at_threshold(labelled, given))]
    )


def _threshold_interval(
    tally: Tally, precision: float, rule: Rule, seed: int, resamples: int
) -> tuple[Interval | None, float]:
    """Return the interval of the lowest threshold over resampled test queries, and the share of
    resamples without one.
    """
    if tally.clusters.count < 2:
        return None, 0.0
    sums, present = tally.resampled(seed, resamples)
    # a resample's threshold is a score of one of its drawn pairs
    places = lowest(enough(sums, rule, precision) & present)
    unreached = float((places < 0).mean())
    tail = (1 - LEVEL) / 2
    if unreached >= tail:
        return None, unreached
    thresholds = np.where(places < 0, np.inf, tally.scores[places])
    low, high = np.quantile(thresholds, [tail, 1 - tail], method="inverted_cdf")
    method = f"percentile bootstrap, {resamples:,} resamples of {drawn(tally.clusters.count)}"
    return Interval(float(low), float(high), LEVEL, method), unreached


def enough(sums: Sums, rule: Rule, precision: float) -> np.ndarray:
    """Return the mask of scores that suffice as a threshold, ``(draws, k)``."""
    reached = sums.lower if rule is Rule.BOUND else np.nan_to_num(sums.precision)
    return reached >= precision - ROUNDING


def lowest(will_do: np.ndarray) -> np.ndarray:
    """Return the index of the last true value in each row of ``will_do (draws, k)``, −1 without
    one.
    """
    return np.where(
        will_do.any(axis=1), will_do.shape[1] - 1 - np.argmax(will_do[:, ::-1], axis=1), -1
    )


def held_out(
    labelled: Labelled,
    *,
    precision: float = PRECISION,
    rule: Rule = Rule.BOUND,
    seed: int = 1,
    folds: int = FOLDS,
    repeats: int = REPEATS,
) -> HeldOut | None:
    """Cross-validate over test queries: the other folds' threshold filters each fold's pairs; None
    with fewer test queries than folds.
    """
    tally = Tally(labelled)
    if tally.clusters.count < folds:
        return None
    ids = sorted(set(labelled.test_ids))  # the order of the clusters' codes
    # (repeats, clusters)
    fold = np.array([_folds(ids, folds, seed * repeats + turn) for turn in range(repeats)])
    others = (fold[:, None] != np.arange(folds)[:, None]).reshape(-1, len(ids))
    places = lowest(enough(tally.of(others.astype(np.float64)), rule, precision))
    thresholds = np.where(places < 0, np.inf, tally.scores[places]).reshape(repeats, folds)
    mine = np.take_along_axis(thresholds, fold, axis=1)[:, tally.clusters.codes]  # (repeats, pairs)
    kept = (labelled.scores >= mine) * labelled.weights
    leaks = labelled.weights * labelled.leaks
    with np.errstate(invalid="ignore", divide="ignore"):
        shares, found = (
            kept @ labelled.leaks / kept.sum(axis=1),
            (kept @ labelled.leaks) / leaks.sum(),
        )
    whole = not np.isnan(shares).any()
    return HeldOut(
        float(shares.mean()) if whole else None,
        float(shares.min()) if whole else None,
        float((shares >= precision - ROUNDING).mean()),
        float(np.nan_to_num(found).mean()),
        float((kept > 0).sum(axis=1).mean()),
        repeats,
        folds,
    )


def _folds(ids: Sequence[str], folds: int, seed: int) -> list[int]:
    """Return the fold of each test query."""
    of = {
        test_id: number
        for number, held in enumerate(query_folds(ids, folds=folds, seed=seed))
        for test_id in held
    }
    return [of[test_id] for test_id in ids]

"""Pairs that people label: a sample for a threshold, a review of the most similar pairs, and the
lowest threshold at which the precision is surely high enough.

The sample is the leakage paper's: stratified, 100 pairs from 0.8 up. [decision] The paper names no
strata; ours are 10 of equal width between 0.8 and 1 (scores above 1 by rounding are in the
highest). Each gives the same number of pairs; if one is too small, the others make up for it,
highest first. In a stratum the pairs with the smallest keys by (seed, both ids) are drawn. A pair's
weight is its stratum's number of pairs divided by its number of drawn pairs.

Table 2a of the paper counts pairs and test queries that are leaks ("true") or not ("false"); a test
query may be in both. Table 2b counts the labels.

    precision(t) = Σ_{s_i ≥ t} w_i·y_i / Σ_{s_i ≥ t} w_i

with y_i = 1 if pair i is a leak, else 0, and w_i the number of pairs that it represents (1 without
sampling). Intervals and (one-sided) bounds [decision] are Wilson's, at the effective number of
independent pairs,

    n* = min(n, p(1 − p) / v),   v = G/(G−1) · (n−1)/n · Σ_g (Σ_{i in g} w_i (y_i − p))² / (Σ w_i)²

over the G test queries g (Dean, Pagano 2015, with Kish's (Σ w)²/Σ w² for n). If v is 0, as when all
pairs leak, n* is at most G. With one pair per test query and no weights it is plain Wilson.

The threshold is the lowest occurring score at which the lower 95 % bound is at least 0.9. The
paper's rule (section 3: "the lowest that yields a 0.9 precision") uses the precision itself, which
new pairs then reach only about half of the time. The bound is computed at each score separately;
choosing the lowest costs almost nothing (``benchmarks/leakage_thresholds.py``). Labelled pairs were
preselected by a score, so they give no recall: no pair below the lowest score is labelled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from scipy.special import ndtri

from positionbias.core.errors import InputError, bad_input
from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.core.seeds import key64
from positionbias.evaluation.bootstrap import LEVEL
from positionbias.leakage.pairs import LABELS, Ids, Pair, best_by_pair, read_pairs
from positionbias.leakage.settings import SampleSettings

PRECISION = 0.9
PER_TEST = 5  # pairs of a test query that are reviewed, as in the paper
ROUNDING = 1e-12
# what must reach the wanted precision: its lower bound, or, as in the paper, its value
Rule = Literal["bound", "paper"]


class Stratum(NamedTuple):
    """A range of scores [``low``, ``high``), with its number of pairs and of drawn pairs."""

    low: float
    high: float
    pairs: int
    drawn: int


def stratified_sample(
    pairs: Iterable[Pair], settings: SampleSettings
) -> tuple[list[Pair], list[Stratum]]:
    """Draw weighted pairs in the order of their keys, which reveals no score; also return the
    strata in increasing order.

    Raises:
        InputError: a pair without the score, or none at or above ``above``.
    """
    found = best_by_pair(pairs, settings.score)
    width = (1 - settings.above) / settings.strata
    strata: list[list[Pair]] = [[] for _ in range(settings.strata)]
    found.sort(key=lambda pair: (key64(settings.seed, "leakage sample", *pair.ids), pair.ids))
    for pair in found:
        above = pair.scores[settings.score] - settings.above
        if above >= 0:
            strata[min(int(above / width + 1e-9), settings.strata - 1)].append(pair)
    if not any(strata):
        raise InputError(
            f"wanted pairs with a {settings.score} from {settings.above:g} up; found none of "
            f"{len(found):,}; lower --above"
        )
    counts = _shared_out([len(part) for part in strata], settings.sample_size)
    weights = {
        pair.ids: len(part) / count
        for part, count in zip(strata, counts, strict=True)
        for pair in part[:count]
    }
    drawn = [
        msgspec.structs.replace(pair, weight=weights[pair.ids])
        for pair in found
        if pair.ids in weights
    ]
    edges = [round(settings.above + width * n, 12) for n in range(settings.strata)] + [1.0]
    return drawn, [
        Stratum(low, high, len(part), count)
        for low, high, part, count in zip(edges, edges[1:], strata, counts, strict=False)
    ]


def _shared_out(there: Sequence[int], wanted: int) -> list[int]:
    """Allot ``wanted`` to the parts, one per round from the last part on, until all are allotted or
    exhausted.
    """
    counts = [0] * len(there)
    while sum(counts) < min(wanted, sum(there)):
        for part in reversed(range(len(there))):
            if counts[part] < there[part] and sum(counts) < wanted:
                counts[part] += 1
    return counts


def sample_rows(made: Collected, strata: Sequence[Stratum], score: str) -> None:
    """Add the numbers of pairs and of drawn pairs in each stratum."""
    for part in strata:
        where: dict[str, Any] = {
            "axis": score,
            "at": part.low,
            "label": f"{part.low:.3f} to {part.high:.3f}",
        }
        made.add("sample", "pairs", part.pairs, **where)
        made.add("sample", "drawn", part.drawn, **where)


def most_similar(
    pairs: Iterable[Pair],
    *,
    score: str = "cosine",
    per_test: int = PER_TEST,
    threshold: float | None = None,
) -> list[Pair]:
    """Return each test query's ``per_test`` pairs with the highest scores (at or above
    ``threshold``), ties by training id; test queries are in order of first occurrence in ``pairs``.

    Raises:
        InputError: a pair without that score (with its line).
    """
    by_test: dict[str, list[Pair]] = {}
    for pair in best_by_pair(pairs, score):
        by_test.setdefault(pair.test_id, []).append(pair)
    return [
        pair
        for own in by_test.values()
        for pair in sorted(own, key=lambda pair: (-pair.scores[score], pair.train_id))[:per_test]
        if threshold is None or pair.scores[score] >= threshold
    ]


def read_labels(paths: Iterable[Path]) -> dict[Ids, Pair]:
    """Read pairs with and without a label, by ids; a pair that stands twice counts with its label.

    Raises:
        InputError: as ``read_pairs``; or a pair with two labels (with its line).
    """
    pairs: dict[Ids, Pair] = {}
    for path in paths:
        for pair in read_pairs(path):
            known = pairs.get(pair.ids)
            if known is None or not known.label:
                pairs[pair.ids] = pair
            elif pair.label and known.label != pair.label:
                raise bad_input(
                    path,
                    line=pair.line,
                    wanted="one label per pair",
                    found=f"{pair.label!r}, and {known.label!r} at line {known.line}",
                    do="drop one",
                )
    return pairs


def review_rows(made: Collected, said: Mapping[Ids, Pair]) -> None:
    """Add Tables 2a and 2b: the pairs and test queries that are leaks or not, and the labels."""
    labels = {ids: pair for ids, pair in said.items() if pair.label}
    for subset, leaks in (("true", True), ("false", False)):
        chosen = [ids for ids, pair in labels.items() if pair.leaks == leaks]
        made.add("reviewed pairs", "pairs", len(chosen), subset=subset)
        topics = {ids.test_id for ids in chosen}
        made.add("reviewed pairs", "test queries", len(topics), subset=subset)
    made.add("reviewed pairs", "pairs", len(said) - len(labels), subset="without label")
    counts = Counter(pair.label for pair in labels.values())
    for name in LABELS:
        made.add("reformulation types", "pairs", counts[name], axis="type", label=name)


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
    def of(pairs: Sequence[Pair], score: str) -> Labelled:
        """Return the arrays of labelled pairs that have this score."""
        return Labelled(
            np.array([pair.scores[score] for pair in pairs]),
            np.array([pair.leaks for pair in pairs]),
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
    z = float(ndtri(level))
    centre, scale = share + z**2 / (2 * count), 1 + z**2 / count
    half = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (centre - half) / scale, (centre + half) / scale


def calibrate(
    labelled: Labelled, *, precision: float = PRECISION, rule: Rule = "bound"
) -> tuple[float, float]:
    """Return the lowest score at or above which the precision is surely high enough, NaN if there
    is none; and the highest lower bound at any score.
    """
    scores = np.unique(labelled.scores)
    shares = [precision_from(labelled, score) for score in scores]
    reached = [
        (share.bound if rule == "bound" else share.value) >= precision - ROUNDING
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
    cells: dict[str, Any] = {"variant": score, "label": rule}
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

"""Estimate the deviation of cosines over pairs, at each Δ, from a seeded sample of pairs (the band
of Figure 2).

The sums of ``positionbias.probe.sums`` give exact means but no deviation over pairs. Here all pairs
at a Δ are numbered by term, then position, then passage. Numbers are drawn, keyed by (seed, Δ), and
only those pairs are read, so the sample does not depend on the order of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from positionbias.core.seeds import generator
from positionbias.probe.settings import PairMode
from positionbias.probe.sums import Occurrences, starts_of_runs
from positionbias.probe.unit_rows import UnitRows

_CELL_PAIRS_AT_ONCE = 1 << 22


class PairDeviation(NamedTuple):
    """At each Δ, ``(deltas,)``: the deviation over the sampled pairs (NaN without any), and their
    number.
    """

    deviation: np.ndarray
    pairs: np.ndarray


def deviation_over_pairs(
    occurrences: Occurrences,
    units: UnitRows,
    totals: np.ndarray,
    kept: np.ndarray,
    *,
    pairs: PairMode,
    sample: int,
    seed: int,
) -> PairDeviation:
    """Estimate the standard deviation (divided by the number of pairs) of cosines from about
    ``sample`` pairs at each Δ.

    ``totals (deltas,)`` all pairs at each Δ, ``kept`` those that count (of different passages).
    With at most ``sample`` pairs, all are read and the deviation is exact.
    """
    first, second = draw_pairs(occurrences, totals, kept, sample=sample, seed=seed)
    if pairs == "different":
        different = occurrences.passages[first] != occurrences.passages[second]
        first, second = first[different], second[different]
    by_row = np.argsort(occurrences.rows[first], kind="stable")  # read in stored order
    first, second = first[by_row], second[by_row]
    deltas = np.abs(occurrences.positions[second] - occurrences.positions[first])
    cosines = units.cosines(occurrences.rows[first], occurrences.rows[second])
    count = np.bincount(deltas, minlength=len(totals))
    with np.errstate(invalid="ignore"):
        mean = np.bincount(deltas, cosines, minlength=len(totals)) / count
        variance = np.bincount(deltas, (cosines - mean[deltas]) ** 2, minlength=len(totals)) / count
    return PairDeviation(np.sqrt(variance), count)


def draw_pairs(
    occurrences: Occurrences, totals: np.ndarray, kept: np.ndarray, *, sample: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of occurrences (as indices), uniform at each Δ with replacement; all of them where
    ``sample`` suffices.

    More than ``sample`` are drawn, to make up for pairs that do not count.
    """
    numbers = [
        _numbers(delta, int(totals[delta]), int(kept[delta]), sample, seed)
        for delta in range(len(totals))
    ]
    order = np.lexsort((occurrences.passages, occurrences.positions, occurrences.terms))
    starts = starts_of_runs(occurrences.terms[order], occurrences.positions[order])
    counts = np.diff(starts, append=len(order))
    passed = np.zeros(len(totals), np.int64)  # pairs at each Δ of the terms before
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for deltas, left, right in _cell_pairs(
        occurrences.terms[order[starts]], occurrences.positions[order[starts]]
    ):
        weights = np.where(
            deltas == 0, counts[left] * (counts[left] - 1) // 2, counts[left] * counts[right]
        )
        ends = np.cumsum(weights)
        runs = np.append(starts_of_runs(deltas), len(deltas))
        for begin, end in pairwise(runs.tolist()):
            delta, before = int(deltas[begin]), ends[begin] - weights[begin]
            of_term = numbers[delta]
            low, high = np.searchsorted(
                of_term, [passed[delta], passed[delta] + ends[end - 1] - before]
            )
            number = of_term[low:high] - passed[delta] + before
            cell = begin + np.searchsorted(ends[begin:end], number, side="right")
            i, j = _unrank(number - (ends[cell] - weights[cell]), counts[right[cell]], delta == 0)
            first.append(order[starts[left[cell]] + i])
            second.append(order[starts[right[cell]] + j])
            passed[delta] += ends[end - 1] - before
    return np.concatenate(first), np.concatenate(second)


def _numbers(delta: int, total: int, kept: int, sample: int, seed: int) -> np.ndarray:
    """Return the sorted numbers of the sampled pairs, of ``total``."""
    if not kept or not sample:
        return np.empty(0, np.int64)
    wanted = -(-sample * total // kept)
    if total <= wanted:
        return np.arange(total)
    return np.sort(generator(seed, "ats pairs", delta).integers(total, size=wanted))


def _cell_pairs(
    terms: np.ndarray, positions: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (Δ, cell, later cell of the same term) for some whole terms at a time, sorted by Δ and
    cell, ``(cell pairs,)`` each.
    """
    starts = starts_of_runs(terms)
    lengths = np.diff(starts, append=len(terms))
    ends = np.cumsum(lengths * (lengths + 1) // 2)
    group = ends // _CELL_PAIRS_AT_ONCE
    groups = np.append(starts_of_runs(group), len(starts))
    for begin, end in pairwise(groups.tolist()):
        cells = np.arange(starts[begin], starts[end - 1] + lengths[end - 1])
        stop = np.repeat(starts[begin:end] + lengths[begin:end], lengths[begin:end])
        left = np.repeat(cells, stop - cells)
        right = (
            left
            + np.arange(len(left))
            - np.repeat(np.cumsum(stop - cells) - (stop - cells), stop - cells)
        )
        deltas = positions[right] - positions[left]
        order = np.lexsort((left, deltas))
        yield deltas[order], left[order], right[order]


def _unrank(
    number: np.ndarray, right: np.ndarray, same_cell: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pair (i, j) with this number: i < j within one cell, or two cells of which the
    second has ``right`` members.
    """
    if not same_cell:
        return number // right, number % right
    j = np.floor((1 + np.sqrt(1 + 8.0 * number)) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > number  # correct the rounding of the square root
    j += j * (j + 1) // 2 <= number
    return number - j * (j - 1) // 2, j

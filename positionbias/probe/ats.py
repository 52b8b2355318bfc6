"""Average term similarity by distance in position (ATS), and its summary MATS (position-bias paper,
Eqs. 8 and 9).

No code was published with the paper. Terms are vocabulary entries other than padding and unknown;
stop words count; pairs are of different passages, as in Figure 2's caption [our decisions].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.probe.pair_sample import PairDeviation, deviation_over_pairs
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.sums import (
    Occurrences,
    TermPositionSums,
    position_sums,
    read_occurrences,
    starts_of_runs,
    term_pairs,
)
from positionbias.probe.unit_rows import UnitRows


@dataclass(frozen=True, slots=True)
class Mats:
    """MATS of a curve: as ``printed`` (Eq. 9), as the ``plain`` mean over Δ, its ``deviation`` over
    Δ; None where it is ``undefined``, for that reason.
    """

    printed: float | None = None
    plain: float | None = None
    deviation: float | None = None
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class AtsCurve:
    """Average term similarity by distance Δ (Eq. 8): one entry per Δ, from 0.

    ``terms`` and ``pairs`` are the counts behind each point; ``over_terms`` is the exact deviation
    over terms, ``over_pairs`` the deviation over a seeded sample of pairs (Figure 2's band; None:
    not estimated). ``terms_after`` is the number of terms with a pair at the first Δ left out
    (None: the curve has every Δ), ``later`` the number of later Δ with enough terms.
    """

    ats: Sequence[float]
    terms: Sequence[int]
    pairs: Sequence[int]
    over_terms: Sequence[float]
    over_pairs: Sequence[float | None]
    terms_after: int | None = None
    later: int = 0


def average_term_similarity(
    terms: np.ndarray,
    positions: np.ndarray,
    passages: np.ndarray,
    vectors: np.ndarray,
    settings: ProbeSettings = ProbeSettings(),
    *,
    memory_bytes: int = 1 << 28,
) -> AtsCurve:
    """Return ATS(Δ) over all pairs of occurrences of one term at distance Δ, exactly (position-bias
    paper, Eq. 8).

        ATS(Δ) = mean over the terms with a pair at Δ of the mean cosine of that term's pairs

    ``terms``, ``positions``, ``passages`` ``(n,)``: vocabulary number (0 padding and 1 unknown are
    skipped), position in the passage, passage. ``vectors (n, dim)`` may be memory-mapped; they need
    not be normalised, and a zero vector has cosine 0 with all others. The curve ends before the
    first Δ with fewer than ``minimum_terms`` terms, even where later ones have more [our decision:
    MATS then sums every Δ of the curve]. ``memory_bytes`` bounds the sums held at once.

    Raises:
        SettingError: a setting out of range.
        ValueError: arrays whose shapes do not fit together.
        InputError: a vector is not finite.
    """
    if memory_bytes < 1:
        raise SettingError(f"memory_bytes: wanted 1 or more; found {memory_bytes}; raise it")
    if len(vectors) != len(terms):
        raise ValueError(f"wanted a vector for each of {len(terms)} terms, got {len(vectors)}")
    occurrences, units = read_occurrences(terms, positions, passages).repeated(), UnitRows(vectors)
    width = int(occurrences.positions.max(initial=0)) + 1
    tally = _Tally(width)
    for part in _by_terms(occurrences, cells=memory_bytes // (2 * 8 * units.dimension)):
        tally.add(position_sums(part, units, settings.term_pairs))
    kept = np.where(np.arange(width) < tally.cut(settings.minimum_terms), tally.pairs, 0)
    deviation = None
    if settings.sample_pairs:
        totals = tally.pairs + tally.same_passage
        deviation = deviation_over_pairs(
            occurrences,
            units,
            totals,
            kept,
            pairs=settings.term_pairs,
            sample=settings.sample_pairs,
            seed=settings.seed,
        )
    return tally.curve(settings, deviation)


def mats_of(ats: Sequence[float]) -> Mats:
    """Return MATS of a curve (position-bias paper, Eq. 9) and related figures.

    ``printed`` = Σ_{i = 1 … max Δ} (ATS(0) − ATS(i)) / (max Δ − 1), as the paper prints it; None,
    with the reason, for max Δ ≤ 1. ``plain`` is the same sum divided by max Δ; ``deviation`` that
    of ATS(0) − ATS(i) over i = 1 … max Δ, divided by their number [our reading of Table 2].
    """
    longest = len(ats) - 1
    if longest < 0:
        return Mats(undefined="no Δ has enough terms, not even Δ = 0")
    falls = ats[0] - np.asarray(ats[1:], np.float64)
    plain, deviation = (float(falls.mean()), float(falls.std())) if longest else (None, None)
    if longest <= 1:
        why = f"Eq. 9 divides by max Δ − 1, and the largest Δ with enough terms is {longest}"
        return Mats(None, plain, deviation, why)
    return Mats(float(falls.sum() / (longest - 1)), plain, deviation)


def _by_terms(occurrences: Occurrences, *, cells: int) -> Iterator[Occurrences]:
    """Yield occurrences of whole terms, in stored order, with at most ``cells`` distinct (term,
    position) or of a single term.
    """
    order = np.lexsort((occurrences.positions, occurrences.terms))
    sorted_terms = occurrences.terms[order]
    begins_cell = np.zeros(len(order), np.int64)
    begins_cell[starts_of_runs(sorted_terms, occurrences.positions[order])] = 1
    starts = starts_of_runs(sorted_terms)
    ends = np.append(starts[1:], len(order))
    cells_up_to = np.cumsum(begins_cell)[ends - 1] if len(order) else starts
    first, passed = 0, 0
    while first < len(starts):
        last = max(first + 1, int(np.searchsorted(cells_up_to, passed + cells, side="right")))
        yield occurrences.at(np.sort(order[starts[first] : ends[last - 1]]))
        first, passed = last, int(cells_up_to[last - 1])


class _Tally:
    """Running totals of the terms added so far, ``(deltas,)`` each: terms, pairs (and excluded ones
    within a passage), and mean and spread of the terms' mean cosines.
    """

    def __init__(self, width: int) -> None:
        self.terms, self.pairs, self.same_passage = (np.zeros(width, np.int64) for _ in range(3))
        # Σ (value − mean)², merged by Chan's formula
        self._mean, self._squares = np.zeros(width), np.zeros(width)

    def add(self, sums: TermPositionSums) -> None:
        """Add further terms."""
        for cosines, counts in term_pairs(sums, len(self.terms)):
            present = counts > 0
            found = present.sum(axis=0)
            values = np.divide(cosines, counts, out=np.zeros_like(cosines), where=present)
            mean = values.sum(axis=0) / np.maximum(found, 1)
            squares = np.where(present, (values - mean) ** 2, 0.0).sum(axis=0)
            together = np.maximum(self.terms + found, 1)
            shift = np.where(found > 0, mean - self._mean, 0.0)
            self._squares += squares + shift**2 * self.terms * found / together
            self._mean += shift * found / together
            self.terms += found
            self.pairs += counts.sum(axis=0)
        np.add.at(self.same_passage, sums.same_deltas, sums.same_counts)

    def cut(self, minimum_terms: int) -> int:
        """Return the first Δ with fewer than ``minimum_terms`` terms, else the number of Δ."""
        few = np.flatnonzero(self.terms < minimum_terms)
        return int(few[0]) if len(few) else len(self.terms)

    def curve(self, settings: ProbeSettings, deviation: PairDeviation | None) -> AtsCurve:
        """Return the curve up to the first Δ with too few terms."""
        cut = self.cut(settings.minimum_terms)
        over_pairs = deviation.deviation[:cut] if deviation else np.full(cut, np.nan)
        was_cut = cut < len(self.terms)
        return AtsCurve(
            ats=self._mean[:cut].tolist(),
            terms=self.terms[:cut].tolist(),
            pairs=self.pairs[:cut].tolist(),
            over_terms=np.sqrt(self._squares[:cut] / np.maximum(self.terms[:cut], 1)).tolist(),
            over_pairs=[None if np.isnan(value) else float(value) for value in over_pairs],
            terms_after=int(self.terms[cut]) if was_cut else None,
            later=int((self.terms[cut:] >= settings.minimum_terms).sum()),
        )

"""Sums over term occurrences that cover every pair, to compute ATS without a loop over pairs.

With u the unit vectors, S[t, p] = Σ u over the occurrences of term t at position p, and n[t, p]
their number, the cosines of all pairs of t at distance Δ > 0 add up to Σ_p S[t, p] · S[t, p + Δ],
and at Δ = 0 to Σ_p (|S[t, p]|² − Σ |u|²) / 2. Pairs within one passage are few; they are added up
one by one and subtracted. All sums are additive over shards of whole passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from positionbias.probe.settings import PairMode
from positionbias.probe.unit_rows import BLOCK_ROWS, UnitRows
from positionbias.text.vocabulary import UNKNOWN

_CELLS_AT_ONCE = 1 << 21


class Occurrences(NamedTuple):
    """Occurrences of terms, in stored order: ``rows`` of the vectors, vocabulary numbers,
    positions, passages, ``(n,)`` each.
    """

    rows: np.ndarray
    terms: np.ndarray
    positions: np.ndarray
    passages: np.ndarray

    def at(self, indices: np.ndarray) -> Occurrences:
        """Return the occurrences at ``indices`` (or where a mask is true)."""
        return Occurrences(*(column[indices] for column in self))

    def repeated(self) -> Occurrences:
        """Return the occurrences of terms that occur at least twice; others form no pair."""
        return self.at(np.bincount(self.terms)[self.terms] > 1) if len(self.terms) else self


class TermPositionSums(NamedTuple):
    """The sums of a set of whole passages for ATS.

    One entry per distinct (term, position), sorted: ``counts`` n, ``sums (cells, dim)`` S,
    ``squares`` Σ|u|². One entry per distinct (term, Δ) of pairs within one passage:
    ``same_counts``, ``same_cosines`` (empty if these pairs count as well).
    """

    pairs: PairMode
    terms: np.ndarray
    positions: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    same_terms: np.ndarray
    same_deltas: np.ndarray
    same_counts: np.ndarray
    same_cosines: np.ndarray


def read_occurrences(terms: np.ndarray, positions: np.ndarray, passages: np.ndarray) -> Occurrences:
    """Return all occurrences except those of padding and unknown words.

    Raises:
        ValueError: arrays of different lengths, or a negative position.
    """
    if not terms.shape == positions.shape == passages.shape or terms.ndim != 1:
        raise ValueError(
            f"terms, positions, passages must be (n,), got {terms.shape}, {positions.shape}, "
            f"{passages.shape}"
        )
    if len(positions) and positions.min() < 0:
        raise ValueError("positions must be 0 or more")
    rows = np.flatnonzero(terms > UNKNOWN)
    return Occurrences(
        rows,
        terms[rows].astype(np.int64),
        positions[rows].astype(np.int64),
        passages[rows].astype(np.int64),
    )


def starts_of_runs(*columns: np.ndarray) -> np.ndarray:
    """Return the starts of runs of equal entries, for columns sorted together."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    changed = np.zeros(len(columns[0]) - 1, bool)
    for column in columns:
        changed |= column[1:] != column[:-1]
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def position_sums(
    occurrences: Occurrences, units: UnitRows, pairs: PairMode = "different"
) -> TermPositionSums:
    """Add up the unit vectors of every (term, position); each vector is read once, by blocks."""
    order = np.lexsort((occurrences.rows, occurrences.positions, occurrences.terms))
    terms, positions, rows = (
        occurrences.terms[order],
        occurrences.positions[order],
        occurrences.rows[order],
    )
    starts = starts_of_runs(terms, positions)
    cells = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    sums, squares = np.zeros((len(starts), units.dimension)), np.zeros(len(starts))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        vectors = units.take(rows[block])
        runs = starts_of_runs(cells[block])
        found = slice(cells[start], cells[start] + len(runs))  # a block's cells are consecutive
        sums[found] += np.add.reduceat(vectors, runs, axis=0)
        squares[found] += np.add.reduceat(np.einsum("ij,ij->i", vectors, vectors), runs)
    counts = np.diff(starts, append=len(order))
    same = _same_passage_sums(occurrences, units) if pairs == "different" else _NO_PAIRS
    return TermPositionSums(pairs, terms[starts], positions[starts], counts, sums, squares, *same)


_NO_PAIRS = (
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.float64),
)


def same_passage_pairs(occurrences: Occurrences) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of occurrences of one term in one passage, as indices ``(pairs,)`` of the
    first and the second.
    """
    order = np.lexsort((occurrences.positions, occurrences.passages, occurrences.terms))
    starts = starts_of_runs(occurrences.terms[order], occurrences.passages[order])
    lengths = np.diff(starts, append=len(order))
    # the number that follow in the same run
    left = np.repeat(starts + lengths, lengths) - np.arange(len(order)) - 1
    first = np.repeat(np.arange(len(order)), left)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(left) - left, left)
    return order[first], order[second]


def _same_passage_sums(occurrences: Occurrences, units: UnitRows) -> tuple[np.ndarray, ...]:
    first, second = same_passage_pairs(occurrences)
    by_row = np.argsort(first, kind="stable")  # read in stored order
    first, second = first[by_row], second[by_row]
    cosines = units.cosines(occurrences.rows[first], occurrences.rows[second])
    terms, deltas = (
        occurrences.terms[first],
        np.abs(occurrences.positions[second] - occurrences.positions[first]),
    )
    return _add_up((terms, deltas), (np.ones(len(first), np.int64), cosines))


def _add_up(
    keys: tuple[np.ndarray, np.ndarray], values: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Sort by two keys and add up the values of equal keys."""
    if not len(keys[0]):
        return (*keys, *values)
    order = np.lexsort((keys[1], keys[0]))
    first, second = keys[0][order], keys[1][order]
    runs = starts_of_runs(first, second)
    return (
        first[runs],
        second[runs],
        *(np.add.reduceat(value[order], runs, axis=0) for value in values),
    )


def term_pairs(sums: TermPositionSums, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the sum of cosines and the number of pairs at each Δ < ``width``, ``(terms, width)``
    each, some terms at a time.
    """
    starts = starts_of_runs(sums.terms)
    ends = np.append(starts[1:], len(sums.terms))
    size = max(1, _CELLS_AT_ONCE // width)
    for begin in range(0, len(starts), size):
        chunk = range(begin, min(begin + size, len(starts)))
        cosines, counts = np.zeros((len(chunk), width)), np.zeros((len(chunk), width))
        for row, index in enumerate(chunk):
            cells = slice(starts[index], ends[index])
            _pairs_of_term(
                sums.positions[cells],
                sums.counts[cells],
                sums.sums[cells],
                cosines[row],
                counts[row],
            )
            cosines[row, 0] = (cosines[row, 0] - sums.squares[cells].sum()) / 2
            counts[row, 0] = (counts[row, 0] - sums.counts[cells].sum()) / 2
        names = sums.terms[starts[chunk.start : chunk.stop]]
        same = slice(*np.searchsorted(sums.same_terms, [names[0], names[-1] + 1]))
        where = (np.searchsorted(names, sums.same_terms[same]), sums.same_deltas[same])
        cosines[where] -= sums.same_cosines[same]
        counts[where] -= sums.same_counts[same]
        yield cosines, counts.astype(np.int64)  # integers until here: exact below 2^53


def _pairs_of_term(
    positions: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    cosines_out: np.ndarray,
    counts_out: np.ndarray,
) -> None:
    """Add up S · S and n · n over the unordered pairs of one term's positions, by distance; at Δ =
    0 the squares.
    """
    step = max(1, _CELLS_AT_ONCE // len(positions))
    weights = counts.astype(np.float64)
    for start in range(0, len(positions), step):
        rows = slice(start, start + step)
        rest = slice(start, None)
        gram = sums[rows] @ sums[rest].T  # (rows, positions from the first row on)
        deltas = positions[rest] - positions[rows, None]
        later = deltas >= 0
        found = deltas[later]
        for values, out in (
            (gram, cosines_out),
            (np.outer(weights[rows], weights[rest]), counts_out),
        ):
            totals = np.bincount(found, values[later])
            out[: len(totals)] += totals

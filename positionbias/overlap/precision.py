"""Compute the precision of each detector, from labelled random samples of the pairs that it found.

A sheet (``posbias leakage sample``) stands for all pairs of a detector where the weights of its rows add up to their number: those of all rows to the number of all pairs, or
those of the detector's rows to the number of its pairs. Any other sheet is no sample of them, and their precision is unknown. So is that of a sheet with an empty label, as nobody
knows whether empty rows are like the others [decision]. Estimate and one-sided 95 % bound are those of ``leakage.precision``, clustered by test text.

The pairs are those kept: of a test text with more pairs than are kept, the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from positionbias.core.errors import bad_input
from positionbias.leakage.pairs import Ids, Pair
from positionbias.leakage.precision import Labelled, Tally

__all__ = ["UNKNOWN", "Precision", "Sheet", "precision_by_detector"]

_HAIR = 1e-6  # of a sum of weights, relative


@dataclass(frozen=True, slots=True)
class Precision:
    """The share of a detector's pairs that leak: the estimate and its lower bound, both None where unknown (``why`` says the reason), and the labelled pairs and their test texts."""

    value: float | None
    lower: float | None
    labelled: int = 0
    tests: int = 0
    why: str = ""


UNKNOWN = Precision(None, None, why="no labelled sample")


class Sheet:
    """The rows of a labelled sheet, and what they stand for."""

    def __init__(self, rows: Sequence[Pair]) -> None:
        self.rows = rows
        self.all = sum(row.weight for row in rows)

    def of(self, detector: str) -> list[Pair]:
        """Return the rows that the detector found."""
        return [row for row in self.rows if detector in row.found_by]

    def stands_for(self, detector: str, pairs: int, found: int) -> bool:
        """Return True if the rows are a sample of all ``pairs``, or of all ``found`` by the detector."""
        own = sum(row.weight for row in self.of(detector))
        return _equal(self.all, pairs) or _equal(own, found)


def _equal(weights: float, count: int) -> bool:
    return abs(weights - count) <= _HAIR * max(count, 1)


def precision_by_detector(found: Iterable[Pair], sheets: Sequence[Sheet]) -> Mapping[str, Precision]:
    """Return the precision of each detector that found a pair, from the sheet with most of its pairs among those that stand for them.

    Raises:
        InputError: a row of a sheet that is not among the pairs found, or was found by other detectors.
    """
    known: dict[Ids, tuple[str, ...]] = {pair.ids: pair.found_by for pair in found}
    counts = Counter(name for names in known.values() for name in names)
    for sheet in sheets:
        _check(sheet, known)
    return {name: _best(name, len(known), count, sheets) for name, count in counts.items()}


def _check(sheet: Sheet, known: Mapping[Ids, tuple[str, ...]]) -> None:
    for row in sheet.rows:
        names = known.get(row.ids)
        if names is None or set(names) != set(row.found_by):
            pair = f"the pair {row.train_id} and {row.test_id}"
            state = (
                f"{pair}, which is not among them" if names is None else f"{pair}, found by {' '.join(row.found_by) or 'none'}"
            )
            raise bad_input(
                row.place,
                line=row.line,
                wanted="labelled pairs of those that this search found"
                + ("" if names is None else f" (here by {' '.join(names)})"),
                found=state,
                do="draw the sample from these pairs again: posbias leakage sample",
            )


def _best(detector: str, pairs: int, found: int, sheets: Sequence[Sheet]) -> Precision:
    there = [sheet.of(detector) for sheet in sheets if sheet.stands_for(detector, pairs, found)]
    there = [rows for rows in there if rows]
    if not there:
        some = any(sheet.of(detector) for sheet in sheets)
        return Precision(None, None, why="no sheet is a sample of all its pairs") if some else UNKNOWN
    whole = [rows for rows in there if all(row.label is not None for row in rows)]
    if not whole:
        rows = max(there, key=len)
        empty = sum(row.label is None for row in rows)
        return Precision(None, None, why=f"{empty:,} of {len(rows):,} rows have no label")
    return _measured(max(whole, key=len))


def _measured(rows: Sequence[Pair]) -> Precision:
    labelled = Labelled(
        [0.0] * len(rows),
        [bool(row.label and row.label.leaks) for row in rows],
        [row.test_id for row in rows],
        [row.weight for row in rows],
    )
    tally = Tally(labelled)
    sums = tally.all()
    return Precision(float(sums.precision[0, -1]), float(sums.lower[0, -1]), len(rows), tally.clusters.count)

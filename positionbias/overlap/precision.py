"""Compute the precision of each detector, from labelled random samples of the pairs that it found.

A sheet (``posbias leakage sample``) stands for a file of pairs where the weights of its rows add up
to their number, or for a detector's pairs where the weights of the detector's rows add up to
theirs. Any other sheet is no sample of them, and their precision is unknown. So is that of a sheet
with an empty label, as nobody knows whether empty rows are like the others [decision]. Estimate and
one-sided 95 % bound are those of ``leakage.precision``, clustered by test text.

The pairs are those kept: of a test text with more pairs than are kept, the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from positionbias.core.errors import bad_input
from positionbias.core.places import Place, input_place
from positionbias.leakage.pairs import Ids, Pair, read_pairs
from positionbias.leakage.precision import Labelled, Tally
from positionbias.overlap.lines import file_of
from positionbias.overlap.settings import counted
from positionbias.results.overlap import ALL_SETS, OverlapFigures
from positionbias.results.result import Result

__all__ = ["KnownPairs", "Precision", "Sheet", "read_sheets", "with_precision"]

_HAIR = 1e-6  # of a sum of weights, relative


class Precision(NamedTuple):
    """The share of pairs that leak, with its lower bound; both None where unknown, and then
    ``why``.
    """

    value: float | None = None
    lower: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Sheet:
    """The rows of a sheet."""

    rows: Sequence[Pair]

    def of(self, detectors: Set[str], source: str = ALL_SETS) -> list[Pair]:
        """Return the rows of the pairs that one of the detectors found with a training set."""
        return [
            row
            for row in self.rows
            if not detectors.isdisjoint(row.found_by) and source in (ALL_SETS, row.source)
        ]


def read_sheets(places: Sequence[Place]) -> list[Sheet]:
    """Read filled sheets.

    Raises:
        InputError: a sheet without rows, or a row that is no pair.
    """
    sheets = []
    for place in places:
        path = input_place(place)
        sheets.append(Sheet(list(read_pairs(path))))
        if not sheets[-1].rows:
            do = "draw and label a sample: posbias leakage sample"
            raise bad_input(path, wanted="labelled pairs", found="none", do=do)
    return sheets


class KnownPairs:
    """The pairs of one test set and unit, with the detectors that found each."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.found_by: dict[Ids, tuple[str, ...]] = {pair.ids: pair.found_by for pair in pairs}

    def misfit(self, sheet: Sheet) -> Pair | None:
        """Return the first row of a sheet that is none of these pairs; None if all are."""
        return next(
            (
                row
                for row in sheet.rows
                if set(self.found_by.get(row.ids, ("",))) != set(row.found_by)
            ),
            None,
        )

    def precision(self, detectors: Set[str], source: str, sheets: Sequence[Sheet]) -> Precision:
        """Return the precision of detectors' pairs with a training set, from the sheet with most of
        them among those that stand for them.
        """
        there = [rows for sheet in sheets if (rows := sheet.of(detectors, source))]
        sampled = [
            sheet.of(detectors, source) for sheet in sheets if self._stands_for(sheet, detectors)
        ]
        whole = [rows for rows in sampled if rows and all(row.label is not None for row in rows)]
        if whole:
            return _measured(max(whole, key=len))
        if not there:
            return Precision(why="no labelled sample")
        return Precision(
            why="rows without a label" if any(sampled) else "no sheet is a sample of all pairs"
        )

    def _stands_for(self, sheet: Sheet, detectors: Set[str]) -> bool:
        found = sum(not detectors.isdisjoint(names) for names in self.found_by.values())
        return _equal(sheet.rows, len(self.found_by)) or _equal(sheet.of(detectors), found)


def _equal(rows: Sequence[Pair], count: int) -> bool:
    return abs(sum(row.weight for row in rows) - count) <= _HAIR * max(count, 1)


def _measured(rows: Sequence[Pair]) -> Precision:
    leaks = [bool(row.label and row.label.leaks) for row in rows]
    labelled = Labelled(
        [0.0] * len(rows), leaks, [row.test_id for row in rows], [row.weight for row in rows]
    )
    sums = Tally(labelled).all()
    return Precision(float(sums.precision[0, -1]), float(sums.lower[0, -1]))


def with_precision(
    results: Sequence[Result], folder: Path, sheets: Sequence[Sheet]
) -> list[Result]:
    """Return results of overlap with the precision that sheets give, from the pairs in ``folder``.

    Raises:
        InputError: a sheet with a row that is not among the pairs of any test set and unit, or was
            found by other detectors.
    """
    if not sheets:
        return list(results)
    files = {
        (one.collection, one.payload.unit): 0
        for one in results
        if isinstance(one.payload, OverlapFigures)
    }
    known = {key: KnownPairs(read_pairs(folder / file_of(*key))) for key in files}
    for sheet in sheets:
        misfits = [pairs.misfit(sheet) for pairs in known.values()]
        if all(misfits):
            raise _refused(max((row for row in misfits if row), key=lambda row: row.line))
    return [_with(one, known, sheets) for one in results]


def _with(
    one: Result, known: Mapping[tuple[str, str], KnownPairs], sheets: Sequence[Sheet]
) -> Result:
    if not isinstance(one.payload, OverlapFigures):
        return one
    pairs = known[one.collection, one.payload.unit]
    fitting = [sheet for sheet in sheets if pairs.misfit(sheet) is None]
    found = pairs.precision(counted(one.payload.detector), one.system, fitting)
    return replace(
        one,
        payload=msgspec.structs.replace(
            one.payload, precision=found.value, precision_low=found.lower
        ),
    )


def _refused(row: Pair) -> Exception:
    return bad_input(
        row.place,
        line=row.line,
        wanted="pairs that this search found, by the same detectors",
        found=f"{row.train_id} and {row.test_id}, by {' and '.join(row.found_by) or 'none'}",
        do="draw the sample from these pairs again: posbias leakage sample",
    )

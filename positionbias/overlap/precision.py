"""Compute the precision of each detector, from labelled random samples of the pairs that it found.

A sheet (``posbias leakage sample``) stands for a file of pairs where the weights of its rows add up
to their number, or for a detector's pairs where the weights of the detector's rows add up to
theirs. Any other sheet is no sample of them, and their precision is unknown. So is that of a sheet
with an empty label, as nobody knows whether empty rows are like the others [decision]. Estimate and
one-sided 95 % bound are those of ``leakage.calibrate``, clustered by test text.

The pairs are those kept: of a test text with more pairs than are kept, the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from positionbias.core.places import Place, input_place
from positionbias.leakage.calibrate import Labelled, precision_from
from positionbias.leakage.pairs import Pair, read_pairs

__all__ = ["KnownPairs", "Precision", "read_sheets"]

_HAIR = 1e-6  # of a sum of weights, relative


class Precision(NamedTuple):
    """The share of pairs that leak, with its lower bound."""

    value: float
    lower: float


def read_sheets(places: Sequence[Place]) -> dict[Path, list[Pair]]:
    """Read filled sheets.

    Raises:
        InputError: a row that is no pair.
    """
    return {place: list(read_pairs(place)) for place in map(input_place, places)}


class KnownPairs:
    """The pairs of one test set and unit, with the detectors that found each, and the ``sheets``
    whose rows are all among them.
    """

    def __init__(self, pairs: Iterable[Pair], sheets: Mapping[Path, Sequence[Pair]]) -> None:
        self.found_by = {pair.ids: set(pair.found_by) for pair in pairs}
        self.sheets = {
            path: rows
            for path, rows in sheets.items()
            if rows and all(self.found_by.get(row.ids) == set(row.found_by) for row in rows)
        }

    def precision(self, detectors: Set[str], source: str = "") -> Precision | None:
        """Return the precision of detectors' pairs with a training set (by default all), from the
        sheet with most of them among those that stand for them; None: unknown.
        """
        count = sum(not detectors.isdisjoint(names) for names in self.found_by.values())
        samples = []
        for rows in self.sheets.values():
            own = [row for row in rows if not detectors.isdisjoint(row.found_by)]
            if _stand_for(rows, len(self.found_by)) or _stand_for(own, count):
                samples.append([row for row in own if source in ("", row.source)])
        whole = [rows for rows in samples if rows and all(row.label is not None for row in rows)]
        return _measured(max(whole, key=len)) if whole else None


def _stand_for(rows: Sequence[Pair], count: int) -> bool:
    return abs(sum(row.weight for row in rows) - count) <= _HAIR * max(count, 1)


def _measured(rows: Sequence[Pair]) -> Precision:
    share = precision_from(Labelled.of(rows))
    return Precision(share.value, share.bound)

"""Overlap as rows: by test set, unit, training set and detector.

The collection is the test set, the subset the unit, the training the training set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from positionbias.core.rows import Collected
from positionbias.leakage.calibrate import wilson
from positionbias.overlap.precision import KnownPairs
from positionbias.overlap.settings import DETECTORS

__all__ = ["ALL_SETS", "ANY", "KEYS", "STUDY", "Items", "overlap_rows"]

STUDY, KEYS = "leakage overlap", ("detector",)
ALL_SETS = "all training sets"
ANY = "any"  # detector
EXACT, NGRAM = DETECTORS


class Items(NamedTuple):
    """The test items of a unit in one test set: which have words ``(i,)``, and runs of words that
    are not common ``(i,)``; and ``links`` to queries (item, query_id).
    """

    test_set: str
    unit: str
    words: np.ndarray
    runs: np.ndarray
    links: DataFrame

    def queries(self, items: np.ndarray) -> int:
        """Return the number of queries that items ``(i,)`` belong to."""
        return int(self.links["query_id"][items[self.links["item"]]].nunique())


def overlap_rows(
    made: Collected, items: Items, hits: DataFrame, sources: Sequence[str], known: KnownPairs
) -> None:
    """Add the share of leaked test queries with the counts behind it, for each detector and for
    any, by training set and for all together.

    The share is of the queries that can be compared; of items where the test set names no queries.
    """
    counted = "queries" if len(items.links) else items.unit
    for detector in (*DETECTORS, ANY) if len(items.words) else ():
        compared = items.runs if detector == NGRAM else items.words
        behind = [detector] if detector != ANY else [*DETECTORS]
        by = hits[hits[behind].any(axis=1)]
        for name in (*sources, ALL_SETS) if len(sources) > 1 else sources:
            own = by if name == ALL_SETS else by[by["source"] == name]
            pairs = own[~own["shared"]]
            found = np.isin(np.arange(len(items.words)), pairs["item"])
            queries = items.queries(found)
            leaked, count = int(found.sum()), int(compared.sum())
            if len(items.links):
                leaked, count = queries, items.queries(compared)
            cells: dict[str, Any] = {"collection": items.test_set, "subset": items.unit} | {
                "training": name,
                "detector": detector,
            }
            share = leaked / count if count else None
            bounds = None if share is None else wilson(share, count)
            made.add("overlap", "share", share, bounds, count=count, counted=counted, **cells)
            numbers = {
                "found": found.sum(),
                "of": len(items.words),
                "not compared": (~compared).sum(),
                "queries": queries,
                "pairs": len(pairs),
            }
            if len(own) > len(pairs):
                numbers["same passage"] = len(own) - len(pairs)
            for statistic, number in numbers.items():
                made.add("overlap", statistic, number, unit="count", **cells)
            precision = known.precision({*behind}, "" if name == ALL_SETS else name)
            if precision is not None:
                made.add("overlap", "precision", precision.value, **cells)
                made.add("overlap", "least precision", precision.lower, level=0.95, **cells)

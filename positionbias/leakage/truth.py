"""Found pairs against a known truth: which of the true pairs were found, and which of the found ones are true.

    precision = |found ∩ true| / |found|        recall = |found ∩ true| / |true|

over pairs of a training and a test query, each once whatever its field and source. Where the truth has types, the recall of each. Only a
collection whose leakage was planted knows all its true pairs; labelled samples know no recall (``calibrate``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from positionbias.core.errors import InputError
from positionbias.leakage.labels import LABELS
from positionbias.leakage.pairs import Pair
from positionbias.results.payloads import Statistics
from positionbias.results.result import Result

__all__ = ["ALL_TYPES", "TRUTH", "against_truth", "truth_result"]

ALL_TYPES = "all"
TRUTH = "found pairs against the truth"


def against_truth(found: Iterable[tuple[str, str]], truth: Iterable[Pair]) -> dict[str, dict[str, Any]]:
    """By type of the true pairs, and for all: ``true``, ``found`` of them, ``recall``; for all also ``pairs_found`` and ``precision``
    (None where nothing was found). ``found`` are pairs of a training and a test query's ids; true pairs labelled as of different topics are none.

    Raises:
        InputError: no true pair.
    """
    types = {
        (pair.train_id, pair.test_id): pair.label.name if pair.label else ""
        for pair in truth
        if not pair.label or pair.label.leaks
    }
    if not types:
        raise InputError("wanted true pairs of a training and a test query; found none; check --truth")
    distinct = set(found)
    right = distinct & types.keys()
    rows = {ALL_TYPES: _row(len(types), len(right))}
    rows[ALL_TYPES] |= {"pairs_found": len(distinct), "precision": len(right) / len(distinct) if distinct else None}
    for name in LABELS:
        if mine := [ids for ids, label in types.items() if label == name]:
            rows[name] = _row(len(mine), len(right.intersection(mine)))
    return rows


def _row(true: int, found: int) -> dict[str, Any]:
    return {"true": true, "found": found, "recall": found / true}


def truth_result(rows: dict[str, dict[str, Any]], *, test_name: str, sources: str) -> Result:
    """These counts as a result; its value is the recall over all types."""
    everything = rows[ALL_TYPES]
    return Result(TRUTH, test_name, "", sources, None, everything["recall"], None, everything["true"], Statistics(rows))

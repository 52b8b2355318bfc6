"""Compute precision and recall of found pairs against a known truth.

    precision = |found ∩ true| / |found|        recall = |found ∩ true| / |true|

over pairs of a training and a test query, each once over fields and sources. If the truth has
types, recall is also by type. Only a collection with planted leakage has all its true pairs;
labelled samples give no recall (``calibrate``).
"""

from __future__ import annotations

from collections.abc import Iterable

from positionbias.core.errors import InputError
from positionbias.leakage.labels import LABELS
from positionbias.leakage.pairs import Pair
from positionbias.results.leakage_pairs import TRUTH, FoundOfTrue, TruthFigures
from positionbias.results.result import Result

__all__ = ["ALL_TYPES", "against_truth", "truth_result"]

ALL_TYPES = "all"


def against_truth(found: Iterable[tuple[str, str]], truth: Iterable[Pair]) -> TruthFigures:
    """Count the true pairs that were found, for all types and by type.

    ``found`` are pairs of a training and a test query's ids; true pairs labelled "different topic"
    do not count.

    Raises:
        InputError: no true pair.
    """
    types = {
        (pair.train_id, pair.test_id): pair.label.name if pair.label else ""
        for pair in truth
        if not pair.label or pair.label.leaks
    }
    if not types:
        raise InputError(
            "wanted true pairs of a training and a test query; found none; check --truth"
        )
    distinct = set(found)
    right = distinct & types.keys()
    precision = len(right) / len(distinct) if distinct else None
    rows = {
        ALL_TYPES: FoundOfTrue(
            len(types), len(right), len(right) / len(types), len(distinct), precision
        )
    }
    for name in LABELS:
        if mine := [ids for ids, label in types.items() if label == name]:
            hits = len(right.intersection(mine))
            rows[name] = FoundOfTrue(len(mine), hits, hits / len(mine))
    return TruthFigures(rows=rows)


def truth_result(figures: TruthFigures, *, test_name: str, sources: str) -> Result:
    """Return the counts as a result; its value is the recall over all types."""
    everything = figures.rows[ALL_TYPES]
    return Result(
        TRUTH, test_name, "", sources, None, everything.recall, None, everything.true, figures
    )

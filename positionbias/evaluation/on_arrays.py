"""Compute measures on arrays, for all queries of a run at once: nDCG, RR, AP, P, R, RBP and Judged,
as ir_measures defines them.

A measure is prepared once on judgements and then takes what any number of runs retrieve of them.
Values are ``(queries,)`` float64, 0 for a query without candidates or relevant passages. ``rank``
counts from 1 and goes down to the measure's cutoff, or to the end of the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from positionbias.evaluation.judgements import Judgements, Retrieved

if TYPE_CHECKING:
    import ir_measures

Prepared = Callable[[Retrieved], np.ndarray]
PERSISTENCE = 0.8  # of a reader of RBP


def has_arrays(measure: ir_measures.Measure) -> bool:
    """Return whether a measure is computed here; without unjudged passages, and RBP with graded
    gains, it is not.
    """
    if measure.NAME == "RBP" and "rel" not in measure.params:
        return False
    return measure.NAME in _PREPARED and not measure.params.get("judged_only")


def prepared(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """Return the function from what a run retrieves to the measure's values."""
    return _PREPARED[str(measure.NAME)](measure, judgements)


def _cut(found: Retrieved, cutoff: int | None) -> Retrieved:
    return found if cutoff is None else _where(found, found.rank <= cutoff)


def _where(found: Retrieved, which: np.ndarray) -> Retrieved:
    return Retrieved(found.query[which], found.rank[which], found.judgement[which], found.lengths)


def _sums(found: Retrieved, values: np.ndarray | None = None) -> np.ndarray:
    """Return sums of values, or counts, by query."""
    return np.bincount(found.query, weights=values, minlength=len(found.lengths))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return ``part / whole``; 0 where the whole is 0."""
    return part / np.where(whole == 0, 1, whole)


def _ndcg(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """nDCG = Σ g / log2(rank + 1), over the same sum for the best order of all judged passages.

    g is the grade, or what ``gains`` has for it, if positive; with ``dcg='exp-log2'`` 2^g − 1
    (Burges et al. 2005), which ir_measures rounds to five decimals.
    """
    cutoff = measure.params.get("cutoff")
    gains = _gains(measure, judgements)
    order = np.lexsort((-gains, judgements.query))
    starts = np.searchsorted(judgements.query, np.arange(len(judgements.query_ids)))
    query = judgements.query  # sorted, so ``order`` keeps it
    best = Retrieved(query, np.arange(len(query)) - starts[query] + 1, order, starts)

    def gained(found: Retrieved) -> np.ndarray:
        found = _cut(found, cutoff)
        return _sums(found, gains[found.judgement] / np.log2(found.rank + 1))

    ideal = gained(best)
    return lambda found: _share(gained(found), ideal)


def _gains(measure: ir_measures.Measure, judgements: Judgements) -> np.ndarray:
    grades = judgements.grades
    for grade, gain in measure.params.get("gains", {}).items():
        grades = np.where(judgements.grades == grade, gain, grades)
    gains = np.maximum(grades, 0).astype(np.float64)
    if measure.params.get("dcg") != "exp-log2":
        return gains
    # a query's gains over 2 to its highest grade: their ratio is the same, and none overflows
    highest = np.zeros(len(judgements.query_ids))
    np.maximum.at(highest, judgements.query, gains)
    highest = highest[judgements.query]
    return np.exp2(gains - highest) - np.exp2(-highest)


def _relevant(
    measure: ir_measures.Measure, judgements: Judgements
) -> tuple[Callable[[Retrieved], Retrieved], np.ndarray]:
    """Return what keeps the relevant passages down to the cutoff, and the number of relevant
    passages by query.
    """
    level, cutoff = measure.params.get("rel", 1), measure.params.get("cutoff")
    is_relevant = judgements.grades >= level

    def kept(found: Retrieved) -> Retrieved:
        found = _cut(found, cutoff)
        return _where(found, is_relevant[found.judgement])

    return kept, judgements.relevant(level)


def _reciprocal_rank(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """1 / rank of the first relevant passage."""
    kept, _ = _relevant(measure, judgements)

    def values(found: Retrieved) -> np.ndarray:
        found = kept(found)
        first = np.flatnonzero(np.diff(found.query, prepend=-1))
        value = np.zeros(len(found.lengths))
        value[found.query[first]] = 1 / found.rank[first]
        return value

    return values


def _average_precision(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """The sum of the precisions at ranks with a relevant passage, over the number of relevant
    passages.
    """
    kept, relevant = _relevant(measure, judgements)

    def values(found: Retrieved) -> np.ndarray:
        found = kept(found)
        counts = _sums(found)
        nth = np.arange(len(found.query)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        return _share(_sums(found, nth / found.rank), relevant)

    return values


def _precision(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """The number of relevant passages among the first c, over c."""
    kept, _ = _relevant(measure, judgements)
    return lambda found: _sums(kept(found)) / measure.params["cutoff"]


def _recall(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """The number of relevant passages among the first c, over the number of relevant passages."""
    kept, relevant = _relevant(measure, judgements)
    return lambda found: _share(_sums(kept(found)), relevant)


def _rank_biased(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """(1 − p) · Σ p^(rank − 1) over ranks with a relevant passage, of the whole ranking (cwl_eval
    stops at 1,000) [decision].
    """
    kept, _ = _relevant(measure, judgements)
    persistence = measure.params.get("p", PERSISTENCE)

    def values(found: Retrieved) -> np.ndarray:
        found = kept(found)
        return _sums(found, (1 - persistence) * np.power(persistence, found.rank - 1.0))

    return values


def _judged(measure: ir_measures.Measure, judgements: Judgements) -> Prepared:
    """The number of judged passages, of any grade, among the first c, over c or the length of a
    shorter ranking.
    """
    cutoff = measure.params.get("cutoff")

    def values(found: Retrieved) -> np.ndarray:
        lengths = found.lengths if cutoff is None else np.minimum(found.lengths, cutoff)
        return _share(_sums(_cut(found, cutoff)), lengths)

    return values


_PREPARED: Mapping[str, Callable[[ir_measures.Measure, Judgements], Prepared]] = {
    "nDCG": _ndcg,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "P": _precision,
    "R": _recall,
    "RBP": _rank_biased,
    "Judged": _judged,
}

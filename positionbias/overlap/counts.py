"""Count overlap: by test set, unit, detector and training set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.leakage.precision import wilson
from positionbias.overlap.search import BlockFacts
from positionbias.overlap.settings import DETECTORS, NGRAM, PAIRS, OverlapSettings
from positionbias.results.overlap import ALL_SETS, ANY, OVERLAP, OverlapFigures
from positionbias.results.result import Result

__all__ = ["Items", "Pairs", "overlap_results", "summed"]


@dataclass(frozen=True, slots=True)
class Items:
    """The test items of a unit in one test set: the words of each ``(i,)``, its runs of words that
    are not common ``(i,)``, and of links to queries the item and the query ``(l,)`` each."""

    test_set: str
    unit: str
    words: np.ndarray
    runs: np.ndarray
    item_of: np.ndarray
    query_of: np.ndarray

    def queries(self, items: np.ndarray | None = None) -> int:
        """Return the number of queries that items belong to, by default all."""
        kept = slice(None) if items is None else np.isin(self.item_of, items)
        return len(np.unique(self.query_of[kept]))

    def compared(self, detector: str, settings: OverlapSettings) -> np.ndarray:
        """Return which items a detector can compare: those with words enough; of pairs all."""
        if self.unit == PAIRS:
            return np.arange(len(self.words))
        least = settings.n if detector == NGRAM else 1
        return np.flatnonzero((self.words >= least) & ((self.runs > 0) | (detector != NGRAM)))


@dataclass(frozen=True, slots=True)
class Pairs:
    """The kept pairs of one test set and unit: the training set and the item of each ``(p,)``, and
    which detectors found it ``(p, d)`` bool.
    """

    sources: np.ndarray
    items: np.ndarray
    found_by: np.ndarray


def overlap_results(
    items: Items,
    pairs: Pairs,
    counted: Mapping[str, np.ndarray],
    shared: Mapping[str, np.ndarray],
    cut: np.ndarray,
    sources: Sequence[str],
    settings: OverlapSettings,
) -> Iterator[Result]:
    """Yield a result for each detector, and for any, by training set and for all together.

    ``counted`` and ``shared`` are all pairs of a detector by training set ``(s,)``; ``cut (s, d)``
    is true where only the best were kept of a text.
    """
    count = len(items.words)
    for place, detector in enumerate((*DETECTORS, ANY) if count else ()):
        compared = items.compared(detector, settings)
        columns = slice(None) if detector == ANY else [place]
        by = pairs.found_by[:, columns].any(axis=1)
        for number, name in enumerate((*sources, ALL_SETS)):
            if name == ALL_SETS and len(sources) == 1:
                continue
            own = slice(None) if name == ALL_SETS else [number]
            kept = by if name == ALL_SETS else by & (pairs.sources == number)
            leaked = np.unique(pairs.items[kept])
            figures = OverlapFigures(
                unit=items.unit,
                detector=detector,
                items=count,
                too_short=count - len(compared),
                leaked=len(leaked),
                queries=items.queries(compared),
                leaked_queries=items.queries(leaked),
                pairs=int(counted[detector][own].sum()),
                kept=int(kept.sum()),
                shared_corpus=int(shared[detector][own].sum()),
                cut=bool(cut[:, columns][own].any()),
            )
            yield _result(items.test_set, name, figures)


def _result(test_set: str, name: str, of: OverlapFigures) -> Result:
    """Return a result whose value is the share of leaked test queries among those that can be
    compared; of items where the test set names no queries.

    It is None where none can be compared.
    """
    leaked, count = (
        (of.leaked_queries, of.queries) if of.queries else (of.leaked, of.items - of.too_short)
    )
    share = leaked / count if count else None
    interval = None if share is None else wilson(share, count)
    return Result(f"{OVERLAP}{of.unit}", test_set, "", name, None, share, interval, count, of)


def summed(
    facts: Sequence[BlockFacts], sources: Sequence[int], test_set: int, of: str, count: int
) -> dict[str, np.ndarray]:
    """Return the blocks' counts ``of`` pairs for one test set, by detector and training set."""
    total = {name: np.zeros(count, np.int64) for name in (*DETECTORS, ANY)}
    for one, source in zip(facts, sources, strict=True):
        for name, counts in getattr(one, of).items():
            total[name][source] += counts[test_set]
    return total

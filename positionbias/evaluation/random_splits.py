"""Compare leaked with clean queries, and with random splits of the same queries into parts of these sizes.

Two parts of a test set order systems differently by chance alone, more so the smaller a part is. The effect of leakage is the excess. So the
marks "leaked" and "clean" are permuted, and every figure is compared with the same figure under permuted marks. Under the null, marks
are random among queries of equal difficulty; given the systems' values, p is then exact for any distribution of values.

Difficulty [decision]: leaked queries tend to be popular and easy, and the order of systems on easy queries may differ without leakage. So marks
are permuted within classes of difficulty. A query's difficulty is the median of its values over systems, which hardly changes if a minority gains. 5 classes
remove about 90 % of the effect of a continuous difficulty (Cochran 1968); there are fewer if a class would have fewer than 6 units. Equal difficulties share a class.

Units are clusters of queries; a cluster with queries on both sides counts as two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import cluster_queries
from positionbias.evaluation.rank_correlation import agreement

__all__ = ["GAINS", "Marked", "Parts", "mark_queries", "planted_power", "random_parts", "swap_p", "swapped_pairs"]

STRATA = 5
SMALLEST = 6  # units of a class of difficulty
DRAWS = 200  # planted changes for each gain
AGAINST = 5  # random splits per planted change; all changes are compared with all splits
GAINS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)  # of the measure, on each leaked query
_BLOCK = 4_000_000  # numbers held at a time
_NOTHING = 1e-12  # rounding error of a difference of means


class Parts(NamedTuple):
    """Systems' means on leaked and on clean queries, each ``(rows, systems)``."""

    leaked: np.ndarray
    clean: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Systems' values ``(systems, queries)`` and the marked units: each query's unit ``codes (queries,)``; each unit's ``sizes`` in queries,
    ``leaked`` mark and class of difficulty ``strata``, each ``(units,)``."""

    values: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    leaked: np.ndarray
    strata: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum ``values (systems, queries)`` over each unit's queries, ``(units, systems)``."""
        found = np.zeros((len(self.sizes), len(values)))
        np.add.at(found, self.codes, values.T)
        return found

    def parts(self, masks: np.ndarray) -> Parts:
        """Return the means with the units of ``masks (rows, units)`` as the leaked ones."""
        sums, of_leaked = self.sums(self.values), masks.astype(np.float64)
        return self.means(of_leaked, of_leaked @ sums, sums.sum(axis=0))

    def means(self, of_leaked: np.ndarray, leaked: np.ndarray, total: np.ndarray) -> Parts:
        """Return the means from the leaked part's sums and the ``total`` of all queries."""
        queries = (of_leaked @ self.sizes)[:, None]
        return Parts(leaked / queries, (total - leaked) / (self.sizes.sum() - queries))

    def splits(self, count: int, *, seed: int, purpose: str) -> Iterator[np.ndarray]:
        """Yield random marks ``(rows, units)`` bool, ``count`` rows in all; each class of difficulty keeps its number of leaked units."""
        rng, block = generator(seed, purpose), max(1, _BLOCK // len(self.leaked))
        for start in range(0, count, block):
            masks = np.tile(self.leaked, (min(block, count - start), 1))
            for stratum in np.unique(self.strata):
                own = np.flatnonzero(self.strata == stratum)
                masks[:, own] = rng.permuted(masks[:, own], axis=1)
            yield masks


def mark_queries(values: np.ndarray, leaked: np.ndarray, labels: list[str] | None = None) -> Marked:
    """Make units of ``values (systems, queries)`` with ``leaked (queries,)`` bool; ``labels`` name each query's cluster (None: each alone)."""
    sides = [f"{'leaked' if is_leaked else 'clean'} {label}" for is_leaked, label in zip(leaked, labels or [], strict=False)]
    found = cluster_queries(sides or None, values.shape[1])
    sizes = np.bincount(found.codes, minlength=found.count)
    difficulty = np.bincount(found.codes, weights=np.median(values, axis=0), minlength=found.count) / sizes
    is_leaked = np.zeros(found.count, bool)
    is_leaked[found.codes] = leaked
    return Marked(values, found.codes, sizes, is_leaked, _classes(np.round(difficulty, 12)))


def _classes(difficulty: np.ndarray) -> np.ndarray:
    """Return each unit's class of difficulty, ``(units,)``, cut at quantiles."""
    count = max(1, min(STRATA, len(difficulty) // SMALLEST))
    edges = np.quantile(difficulty, np.arange(1, count) / count, method="inverted_cdf")
    return np.searchsorted(edges, difficulty)


def random_parts(marked: Marked, count: int, *, seed: int) -> Parts:
    """Return the means of both parts under ``count`` random splits."""
    drawn = [marked.parts(masks) for masks in marked.splits(count, seed=seed, purpose="random splits")]
    return Parts(*(np.concatenate(side) for side in zip(*drawn, strict=True)))


def swapped_pairs(parts: Parts) -> np.ndarray:
    """Return the swapped pairs of systems, ``(pairs, 2)``: the first is ahead on clean queries and behind on leaked ones. ``parts`` has one row."""
    ahead, behind = (np.round(side[0][:, None] - side[0][None, :], 12) for side in (parts.clean, parts.leaked))
    return np.argwhere((ahead > 0) & (behind < 0))


def swap_p(marked: Marked, pairs: np.ndarray, count: int, *, seed: int) -> np.ndarray:
    """Return the p of each swapped pair of ``pairs (pairs, 2)``: the share of random splits that swap the two, either way, by at least as much, ``(pairs,)``.

    The size of a swap is the difference of the leads on clean and on leaked queries. The p of a pair that is not swapped is 1.
    """
    found, reached = _sizes(marked.parts(marked.leaked[None]), pairs)[0], np.zeros(len(pairs), np.int64)
    least = found * (1 - 1e-9)  # a split below the observed only by rounding counts as equal
    rows = max(1, _BLOCK // max(1, len(pairs)))
    for masks in marked.splits(count, seed=seed, purpose="swaps"):
        parts = marked.parts(masks)
        for start in range(0, len(masks), rows):
            some = Parts(*(side[start : start + rows] for side in parts))
            reached += np.count_nonzero(_sizes(some, pairs) >= least, axis=0)
    return (1 + reached) / (1 + count)


def _sizes(parts: Parts, pairs: np.ndarray) -> np.ndarray:
    """Return the size of each pair's swap, ``(rows, pairs)``; 0 without one."""
    leaked, clean = (side[:, pairs[:, 0]] - side[:, pairs[:, 1]] for side in parts)
    return np.where(leaked * clean < -_NOTHING, np.abs(leaked - clean), 0.0)


def planted_power(marked: Marked, gain: float, gaining: int, *, level: float, seed: int) -> float:
    """Return the power to find a changed order if ``gaining`` of the systems gain ``gain`` of the measure's range on every leaked query.

    ``DRAWS`` times, marks are permuted, which removes real leakage, and the gaining systems are drawn; values are capped at the measure's
    maximum. Each planted order is tested, at one-sided ``level``, against random splits of planted data (of all draws together).
    """
    masks = np.concatenate(list(marked.splits(DRAWS, seed=seed, purpose="planted")))
    top = max(1.0, float(marked.values.max()))
    gains = marked.sums(np.minimum(marked.values + gain * top, top) - marked.values)
    sums, who = marked.sums(marked.values), _gaining(len(marked.values), gaining, seed)

    def taus(of_leaked: np.ndarray) -> np.ndarray:
        leaked = of_leaked @ sums + (of_leaked * masks) @ gains * who
        found = agreement(*marked.means(of_leaked, leaked, sums.sum(axis=0) + masks @ gains * who)).tau
        return np.where(np.isnan(found), 1.0, found)  # an undefined order counts as unchanged

    null = np.sort(np.concatenate([taus(np.roll(masks, turn, axis=0).astype(np.float64)) for turn in range(1, AGAINST + 1)]))
    reached = np.searchsorted(null, taus(masks.astype(np.float64)), side="right")
    return float(((1 + reached) / (1 + len(null)) <= level).mean())


def _gaining(systems: int, gaining: int, seed: int) -> np.ndarray:
    """Draw the systems that gain in each planted draw, ``(DRAWS, systems)`` bool."""
    rows = np.tile(np.arange(systems) < gaining, (DRAWS, 1))
    return generator(seed, "who gains").permuted(rows, axis=1)

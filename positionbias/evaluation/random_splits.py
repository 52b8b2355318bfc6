"""Compare leaked with clean queries, and with random splits of the same queries into parts of these
sizes.

Two parts of a test set order systems differently by chance alone, more so the smaller a part is.
The effect of leakage is the excess. So the marks "leaked" and "clean" are permuted, and every
figure is compared with the same figure under permuted marks. Under the null, marks are random among
queries of equal difficulty; given the systems' values, p is then exact for any distribution of
values.

Difficulty [decision]: leaked queries tend to be popular and easy, and the order of systems on easy
queries may differ without leakage. So marks are permuted within classes of difficulty. A query's
difficulty is the median of its values over systems, which hardly changes if a minority gains. 5
classes remove about 90 % of the effect of a continuous difficulty (Cochran 1968); there are fewer
if a class would have fewer than 6 units. Equal difficulties share a class.

Units are clusters of queries; a cluster with queries on both sides counts as two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import cluster_queries

STRATA = 5
SMALLEST = 6  # units of a class of difficulty
_BLOCK = 4_000_000  # numbers held at a time


class Parts(NamedTuple):
    """Systems' means on leaked and on clean queries, each ``(rows, systems)``."""

    leaked: np.ndarray
    clean: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Systems' values ``(systems, queries)`` and the marked units: each query's unit
    ``codes (queries,)``; each unit's ``sizes`` in queries, ``leaked`` mark and class of difficulty
    ``strata``, each ``(units,)``."""

    values: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    leaked: np.ndarray
    strata: np.ndarray

    def parts(self, masks: np.ndarray) -> Parts:
        """Return the means with the units of ``masks (rows, units)`` as the leaked ones."""
        sums, of_leaked = np.zeros((len(self.sizes), len(self.values))), masks.astype(np.float64)
        np.add.at(sums, self.codes, self.values.T)
        leaked, queries = of_leaked @ sums, (of_leaked @ self.sizes)[:, None]
        return Parts(leaked / queries, (sums.sum(axis=0) - leaked) / (self.sizes.sum() - queries))

    def splits(self, count: int, *, seed: int) -> Iterator[np.ndarray]:
        """Yield random marks ``(rows, units)`` bool, ``count`` rows in all; each class of
        difficulty keeps its number of leaked units.
        """
        rng, block = generator(seed, "random splits"), max(1, _BLOCK // len(self.leaked))
        for start in range(0, count, block):
            masks = np.tile(self.leaked, (min(block, count - start), 1))
            for stratum in np.unique(self.strata):
                own = np.flatnonzero(self.strata == stratum)
                masks[:, own] = rng.permuted(masks[:, own], axis=1)
            yield masks


def mark_queries(values: np.ndarray, leaked: np.ndarray, labels: list[str] | None = None) -> Marked:
    """Make units of ``values (systems, queries)`` with ``leaked (queries,)`` bool; ``labels`` name
    each query's cluster (None: each alone).
    """
    sides = [
        f"{'leaked' if is_leaked else 'clean'} {label}"
        for is_leaked, label in zip(leaked, labels or [], strict=False)
    ]
    found = cluster_queries(sides or None, values.shape[1])
    sizes = np.bincount(found.codes, minlength=found.count)
    difficulty = (
        np.bincount(found.codes, weights=np.median(values, axis=0), minlength=found.count) / sizes
    )
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
    drawn = [marked.parts(masks) for masks in marked.splits(count, seed=seed)]
    return Parts(*(np.concatenate(side) for side in zip(*drawn, strict=True)))

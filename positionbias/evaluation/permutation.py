"""Test by permutation whether a mean of differences differs from 0, or exceeds it.

p = (1 + permutations at least as large as the observed) / (1 + permutations), so p is never 0 and
the test is valid (Phipson and Smyth 2010). If there are no more arrangements than requested
permutations, all are enumerated, and p is their share. Units are clusters of queries, which are
flipped together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import cluster_queries

PERMUTATIONS = 10_000
_BLOCK_DRAWS = 2_000_000
# of the largest sum: an arrangement below the observed only by rounding counts as equal
_ROUNDING = 1e-9
_NOTHING = 1e-12  # a cluster's sum that is rounding error
_SIGNS = 1 - 2 * (np.arange(256)[:, None] >> np.arange(8) & 1)  # of 8 clusters, by byte


def sign_flip_p(
    differences: np.ndarray,
    clusters: Sequence[str] | None = None,
    *,
    seed: int,
    permutations: int = PERMUTATIONS,
    two_sided: bool = False,
) -> float | None:
    """Return the p of "the mean is above 0": the share of draws with Σ s_c · D_c ≥ Σ D_c, with D_c
    the sum of ``differences (queries,)`` in cluster c and s_c = ±1 a fair coin.

    Two-sided, it is the share with |Σ s_c · D_c| ≥ |Σ D_c|: the p of "the mean is not 0". It is
    exact if under the null each cluster's sum is equally likely with the other sign. Clusters whose
    sum is 0 change nothing and are left out. None without a query.

    Raises:
        SettingError: fewer than one permutation.
    """
    _check(permutations)
    if not len(differences):
        return None
    found = cluster_queries(clusters, len(differences))
    sums = np.bincount(found.codes, weights=differences, minlength=found.count)
    sums = sums[np.abs(sums) > _NOTHING]
    size = np.abs if two_sided else np.positive
    least = size(sums.sum()) - _ROUNDING * max(1.0, float(np.abs(sums).sum()))
    if len(sums) < 63 and 1 << len(sums) <= permutations:
        signs = 1 - 2 * (np.arange(1 << len(sums))[:, None] >> np.arange(len(sums)) & 1)
        return float((size(signs @ sums) >= least).mean())
    # a byte holds the signs of 8 clusters, and their 256 sums are looked up: (groups, 256)
    by_byte = np.pad(sums, (0, -len(sums) % 8)).reshape(-1, 8) @ _SIGNS.T
    rng, reached, groups = generator(seed, "sign flips"), 0, np.arange(len(by_byte))
    for rows in _blocks(permutations, len(groups)):
        totals = by_byte[
            groups, rng.integers(0, 256, size=(rows, len(groups)), dtype=np.uint8)
        ].sum(axis=1)
        reached += int((size(totals) >= least).sum())
    return (1 + reached) / (1 + permutations)


def _check(permutations: int) -> None:
    if permutations < 1:
        raise SettingError(f"--permutations: wanted at least 1; found {permutations}; raise it")


def _blocks(permutations: int, units: int) -> Iterator[int]:
    """Yield numbers of permutations that fit in memory together."""
    block = max(1, _BLOCK_DRAWS // units)
    for start in range(0, permutations, block):
        yield min(block, permutations - start)

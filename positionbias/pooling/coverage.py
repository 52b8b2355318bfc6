"""Count coverage by kind of system: relevant documents in its depth-k pool, for every k, in all and
unique (Yilmaz et al. 2020, Figure 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.systems import kinds_of

__all__ = ["Coverage", "coverage"]


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Counts by kind, ``(queries, depths)``, at ``depths``: ``found`` in its pool, and ``unique``,
    in no other kind's pool of that depth.
    """

    depths: tuple[int, ...]
    found: dict[str, np.ndarray]
    unique: dict[str, np.ndarray]


def coverage(runs: JudgedRuns, depths: Sequence[int], *, level: int = 1) -> Coverage:
    """Count documents judged ``level`` or more within rank k of each kind's runs; unjudged
    documents are missing, so deep pools are understated.

    Kinds have different numbers of runs, and more runs find more; ``curves.groups_curve`` counts by
    number of groups.
    """
    relevant = runs.grades >= level
    kinds = kinds_of(runs.systems)
    best = {kind: runs.ranks[runs.of_kind(kind)].min(axis=0) for kind in kinds}
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in kinds}
    unique: dict[str, list[np.ndarray]] = {kind: [] for kind in kinds}
    for depth in depths:
        pools = {kind: (best[kind] < depth) & relevant for kind in kinds}
        for kind in kinds:
            others = np.any([pools[other] for other in kinds if other != kind], axis=0)
            found[kind].append(runs.by_query(pools[kind]))
            unique[kind].append(runs.by_query(pools[kind] & ~others))
    return Coverage(
        tuple(depths),
        {kind: np.stack(counts, axis=-1) for kind, counts in found.items()},
        {kind: np.stack(counts, axis=-1) for kind, counts in unique.items()},
    )

"""Count coverage by kind of system: relevant documents in its depth-k pool, for every k, in all and
unique (Yilmaz et al. 2020, Figure 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.reliability_results import task_figures
from positionbias.pooling.settings import CoverageSettings
from positionbias.pooling.systems import kinds_of
from positionbias.results.payloads import PerQuery
from positionbias.results.pools import COVERAGE, FOUND, FOUND_ALONE, TASK, CoverageFigures
from positionbias.results.result import Result

__all__ = ["BY_QUERY", "Coverage", "coverage", "coverage_results"]

BY_QUERY = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)  # depths with counts by query


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


def coverage_results(
    runs: JudgedRuns, settings: CoverageSettings, *, collection: str
) -> list[Result]:
    """Return the results of the collection, each kind's curve to ``deepest`` (value: found at
    ``depth``), and counts by query at ``depth``.
    """
    depth, level = settings.depth, settings.relevant_from
    last = min(settings.deepest, runs.places.shape[2])
    counted = coverage(runs, range(1, max(last, depth) + 1), level=level)
    place = depth - 1
    kept = [at for at in BY_QUERY if at in counted.depths]

    def by_query(counts: np.ndarray) -> dict[str, list[int]]:
        return dict(zip(runs.query_ids, counts[:, [at - 1 for at in kept]].tolist(), strict=True))

    task = task_figures(runs, level)
    results = [
        Result(TASK, collection, "", "all systems", None, None, None, len(runs.query_ids), task)
    ]
    for kind, found in counted.found.items():
        unique = counted.unique[kind]
        figures = CoverageFigures(
            kind=kind, systems=task.kinds[kind].systems, groups=task.kinds[kind].groups,
            relevant_from=level,
            depth=depth, relevant=int(found[:, place].sum()), unique=int(unique[:, place].sum()),
            depths=list(counted.depths), found_by_depth=found.sum(axis=0).tolist(),
            unique_by_depth=unique.sum(axis=0).tolist(), depths_by_query=kept,
            found_by_query=by_query(found),
            unique_by_query=by_query(unique),
        )  # fmt: skip
        results.append(
            Result(
                COVERAGE,
                collection,
                "",
                kind,
                None,
                float(figures.relevant),
                None,
                len(found),
                figures,
            )
        )
        for name, counts in ((FOUND, found), (FOUND_ALONE, unique)):
            payload = PerQuery(
                runs.query_ids,
                counts[:, place].astype(float).tolist(),
                {"depth": depth, "kind": kind},
            )
            mean = float(counts[:, place].mean())
            results.append(
                Result(name, collection, "", kind, None, mean, None, len(counts), payload)
            )
    return results

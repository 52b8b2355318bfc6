"""What a ranking is worth by where the evidence stands: the buckets, PSI and direction, of any run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from positionbias.audit.evidence import FoundEvidence
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.payloads import PositionBuckets
from positionbias.core.result import Result
from positionbias.evaluation.buckets import Buckets, length_groups
from positionbias.evaluation.sensitivity import bucket_means, bucket_means_by_length, means_by_bucket

__all__ = ["GAIN", "PSI", "gain_result", "position_results"]

PSI = "PSI"
GAIN = "gain by position"
_COLUMNS = {"relative": "relative", "characters": "start"}


def position_results(system: System, task: Task, values: Mapping[str, np.ndarray], settings: AuditSettings) -> list[Result]:
    """A Result for each measure and scale, over all passages; of the first measure also within groups of passage length.

    ``values`` has each measure's value of every audited query, ``(queries,)``. The Result's value is PSI; its payload the buckets.
    """
    results = []
    for number, (measure, of_queries) in enumerate(values.items()):
        for buckets in settings.buckets:
            for payload in _payloads(task, measure, of_queries, buckets, settings, by_length=number == 0):
                count = len(of_queries) if not payload.group else sum(payload.counts)
                value = payload.figures.get("psi")
                results.append(system.result(task, PSI, payload, value=value, count=count, seed=settings.seed))
    return results


def gain_result(
    system: System, task: Task, values: np.ndarray, first: System, before: np.ndarray, settings: AuditSettings
) -> Result:
    """What the system gains over the first stage, query by query, by where the evidence stands.

    Questions differ in difficulty, and difficulty may go with position; what two rankings of the same questions make of them differs by
    less of it [decision]. ``values`` and ``before (queries,)`` are the first measure's; the Result's value is the slope of the gain.
    """
    measure, buckets = settings.measures[0], settings.buckets[0]
    payload = means_by_bucket(
        values - before,
        positions_of(task.evidence, buckets),
        buckets,
        task.clusters,
        seed=settings.seed,
        minimum=settings.minimum,
        quality=f"gain in {measure} over {first.name}",
    )
    slope = payload.figures.get("slope")
    return system.result(task, GAIN, payload, value=slope, count=len(values), seed=settings.seed)


def positions_of(evidence: FoundEvidence, buckets: Buckets) -> np.ndarray:
    """The position of each query's evidence on the buckets' scale, ``(queries,)``."""
    return evidence.column(_COLUMNS[buckets.scale])


def _payloads(
    task: Task, measure: str, values: np.ndarray, buckets: Buckets, settings: AuditSettings, *, by_length: bool
) -> list[PositionBuckets]:
    positions = positions_of(task.evidence, buckets)
    options: dict[str, Any] = {
        "seed": settings.seed,
        "minimum": settings.minimum,
        "quality": measure,
        "permutations": settings.permutations,
    }
    found = [bucket_means(values, positions, buckets, task.clusters, **options)]
    if by_length and settings.length_groups > 1:
        lengths = length_groups(task.evidence.column("words"), settings.length_groups)
        found += bucket_means_by_length(values, positions, buckets, task.clusters, lengths, **options)
    return found

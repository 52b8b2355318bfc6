"""Measure a ranking's quality by the position of the evidence: buckets, PSI and direction.

These figures mix a model's preference with the difficulty of questions, so no verdict rests on
them. Passage length correlates with both; the first description is therefore standardised over
passage length, and the one over all passages follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from positionbias.audit.evidence import FoundEvidence
from positionbias.audit.settings import AuditSettings
from positionbias.evaluation.buckets import Buckets, length_groups
from positionbias.evaluation.described import GAIN, PSI, QueryBuckets
from positionbias.evaluation.sensitivity import (
    BucketSettings,
    bucket_means,
    bucket_means_by_length,
    means_by_bucket,
    standardised,
)

if TYPE_CHECKING:
    from positionbias.audit.systems import Measurement, System, Task

__all__ = ["gain_result", "position_results", "positions_of"]

_COLUMNS = {"relative": "relative", "characters": "start"}


def position_results(
    system: System,
    task: Task,
    values: Mapping[str, np.ndarray],
    settings: AuditSettings,
    *,
    by_length: bool = True,
) -> list[Measurement]:
    """Return figures by measure and scale, standardised over passage length and over all passages.

    The first measure is also described within each length group, unless ``by_length`` is false.
    ``values`` has each measure's value of every audited query, ``(queries,)``. Answers that fill
    their passage have no position and count in ``figures.without_position``.
    """
    results = []
    for number, (measure, of_queries) in enumerate(values.items()):
        for buckets in settings.buckets_for(task.evidence.positioned):
            for payload in _payloads(
                task, measure, of_queries, buckets, settings, grouped=by_length and number == 0
            ):
                results.append(system.measured(PSI, payload))
    return results


def gain_result(
    system: System,
    task: Task,
    values: np.ndarray,
    first: System,
    before: np.ndarray,
    settings: AuditSettings,
) -> Measurement:
    """Measure the system's gain over the first stage, by query and position of the evidence.

    Difficulty may correlate with position; the difference of two rankings of the same questions
    contains less of it [decision]. ``values`` and ``before (queries,)`` are the first measure's.
    """
    measure, buckets = settings.measures[0], settings.buckets_for(task.evidence.positioned)[0]
    payload = means_by_bucket(
        values - before,
        positions_of(task.evidence, buckets),
        buckets,
        task.clusters,
        settings=BucketSettings(
            settings.seed, f"gain in {measure} over {first.name}", settings.minimum, changes=True
        ),
    )
    return system.measured(GAIN, payload)


def positions_of(evidence: FoundEvidence, buckets: Buckets) -> np.ndarray:
    """Return the position of each query's evidence on the buckets' scale, ``(queries,)``; NaN if it
    fills its passage.
    """
    return np.where(
        np.isnan(evidence.column("relative")), np.nan, evidence.column(_COLUMNS[buckets.scale])
    )


def _payloads(
    task: Task,
    measure: str,
    values: np.ndarray,
    buckets: Buckets,
    settings: AuditSettings,
    *,
    grouped: bool,
) -> list[QueryBuckets]:
    positions = positions_of(task.evidence, buckets)
    how = BucketSettings(settings.seed, measure, settings.minimum, settings.permutations)
    whole = bucket_means(values, positions, buckets, task.clusters, settings=how)
    if settings.length_groups < 2:
        return [whole]
    lengths = length_groups(task.evidence.column("words"), settings.length_groups)
    if not grouped:
        return [
            standardised(values, positions, buckets, task.clusters, lengths, settings=how),
            whole,
        ]
    # the default number of equal shares depends on the group's queries
    within = (
        Buckets.relative_for if settings.buckets is None and buckets.scale == "relative" else None
    )
    first, *groups = bucket_means_by_length(
        values, positions, buckets, task.clusters, lengths, settings=how, within=within
    )
    return [first, whole, *groups]

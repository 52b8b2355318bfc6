"""Each query's figures of one audited system, for a reader who looks at queries one by one: ids and
numbers, no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from positionbias.audit.manipulate import Measured, mean_unit
from positionbias.audit.rotations import Rotated
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.run import Run
from positionbias.results.payloads import Contrast
from positionbias.results.query_effects import BY_QUERY, QueryEffects
from positionbias.results.result import Result

__all__ = ["effects_of_model", "effects_of_runs", "in_units", "rank_of"]

Columns = Mapping[str, Any]
DECIMALS = 6  # of places and effects


def effects_of_model(
    system: System,
    task: Task,
    ranked: Run,
    values: np.ndarray,
    rotated: Rotated | None,
    moved: Mapping[str, Mapping[str, float]],
    settings: AuditSettings,
) -> Result | None:
    """Return a model's figures by query: the first measure and ranks before and after the first
    rotation, and what was moved; None where neither was done.
    """
    if rotated is None and not moved:
        return None
    ids, nothing = task.query_ids, [None] * len(task.query_ids)
    after: Columns = {"after": nothing, "ranks_after": nothing}
    if rotated is not None:
        after = {
            "after": rotated.values[settings.measures[0]][0].tolist(),
            "ranks_after": _ranks(task, rotated.first_run),
        }
    columns = {name: [_number(of.get(query_id)) for query_id in ids] for name, of in moved.items()}
    before = {"before": values.tolist(), "ranks_before": _ranks(task, ranked)}
    return _result(system, task, {**before, **after, "moved": columns}, settings)


def effects_of_runs(
    system: System, task: Task, runs: Sequence[Run], values: np.ndarray, settings: AuditSettings
) -> Result:
    """Return the figures by query of a run and the first one over a rotated collection;
    ``values (runs, queries)`` of the first measure.
    """
    before, after = runs[:2]
    columns = {
        "before": values[0].tolist(),
        "after": values[1].tolist(),
        "ranks_before": _ranks(task, before),
        "ranks_after": _ranks(task, after),
    }
    return _result(system, task, columns, settings)


def in_units(measured: Measured, contrasts: Sequence[Contrast]) -> dict[str, dict[str, float]]:
    """Return each contrast of each query by its name, as shares of the evidence's mean worth
    (without it: in mean deviations), so that their mean is the verdict's effect over all texts."""
    scores = measured.by_unit["score"]
    unit = mean_unit(
        scores[:, contrasts.index(Contrast.WORTH)]
        if Contrast.WORTH in contrasts
        else measured.units
    )
    if not unit > 0:
        return {}
    columns = (
        (contrast, scores[:, place] / unit)
        for place, contrast in enumerate(contrasts)
        if contrast != Contrast.WORTH
    )
    return {
        contrast.value: dict(zip(measured.query_ids, column.tolist(), strict=True))
        for contrast, column in columns
        if not np.isnan(column).all()
    }


def rank_of(run: Run, query_id: str, passage_id: str) -> int | None:
    """Return the rank of a passage; None where it is not ranked."""
    ids = run[query_id].passage_ids if query_id in run else []
    return ids.index(passage_id) + 1 if passage_id in ids else None


def _ranks(task: Task, run: Run) -> list[int | None]:
    return [
        rank_of(run, item.query_id, item.passage_id) for item in task.evidence.by_query.values()
    ]


def _result(system: System, task: Task, columns: Columns, settings: AuditSettings) -> Result:
    items, whole = list(task.evidence.by_query.values()), task.evidence.whole
    payload = QueryEffects(
        quality=settings.measures[0],
        query_ids=[item.query_id for item in items],
        passage_ids=[item.passage_id for item in items],
        places=[None if whole else _number(item.relative) for item in items],
        words=[item.words for item in items],
        **columns,
    )
    return system.result(task, BY_QUERY, payload, value=None, count=len(items))


def _number(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else round(float(value), DECIMALS)

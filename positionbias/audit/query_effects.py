"""Each query's figures of one audited system, for a reader who looks at queries one by one: ids and
numbers, no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from positionbias.audit.answers import Contrast
from positionbias.audit.rotations import Rotated
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task
from positionbias.core.run import Run

__all__ = ["BY_QUERY", "Moved", "QueryEffects", "effects_of_model", "effects_of_runs", "rank_of"]

BY_QUERY = "effects by query"

# by contrast and subset of the queries: the effect in scores by query; and, where no evidence is
# known, the deviation of the candidates' scores under the name of that unit
Moved = Mapping[tuple[Contrast | str, str], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class QueryEffects:
    """Effects of a change of passages on every query, ``(queries,)`` each; NaN: not measured.

    ``places`` is the answer's relative position in the passage as it is, in [0, 1], ``words`` the
    passage's length. ``before`` and ``after`` are values of ``quality``, ``ranks_before`` and
    ``ranks_after`` the ranks of the passage, with all passages as they are and rotated once.
    """

    quality: str
    places: np.ndarray
    words: np.ndarray
    before: np.ndarray
    ranks_before: np.ndarray
    after: np.ndarray | None = None
    ranks_after: np.ndarray | None = None
    moved: Moved = field(default_factory=dict)


def effects_of_model(
    system: System,
    task: Task,
    ranked: Run,
    values: np.ndarray,
    rotated: Rotated | None,
    moved: Moved,
    settings: AuditSettings,
) -> Measurement | None:
    """Return a model's figures by query: the first measure and ranks before and after the first
    rotation, and what was moved; None where neither was done.
    """
    if rotated is None and not moved:
        return None
    after = ranks_after = None
    if rotated is not None:
        after = rotated.values[settings.measures[0]][0]
        ranks_after = _ranks(task, rotated.first_run)
    effects = QueryEffects(
        settings.measures[0],
        *_evidence(task),
        values,
        _ranks(task, ranked),
        after,
        ranks_after,
        moved,
    )
    return system.measured(BY_QUERY, effects)


def effects_of_runs(
    system: System, task: Task, runs: Sequence[Run], values: np.ndarray, settings: AuditSettings
) -> Measurement:
    """Return the figures by query of a run and the first one over a rotated collection;
    ``values (runs, queries)`` of the first measure.
    """
    before, after = (_ranks(task, run) for run in runs[:2])
    effects = QueryEffects(
        settings.measures[0], *_evidence(task), values[0], before, values[1], after
    )
    return system.measured(BY_QUERY, effects)


def rank_of(run: Run, query_id: str, passage_id: str) -> int | None:
    """Return the rank of a passage; None where it is not ranked."""
    ids = run[query_id].passage_ids if query_id in run else []
    return ids.index(passage_id) + 1 if passage_id in ids else None


def _ranks(task: Task, run: Run) -> np.ndarray:
    ranks = [
        rank_of(run, item.query_id, item.passage_id) for item in task.evidence.by_query.values()
    ]
    return np.array([np.nan if rank is None else rank for rank in ranks], np.float64)


def _evidence(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return the place and the passage's words of each query's evidence."""
    places, words = task.evidence.column("relative"), task.evidence.column("words")
    return (np.full_like(places, np.nan) if task.evidence.whole else places), words

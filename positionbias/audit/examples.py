"""Collect the queries that rotation harms most, with their passages, for inspection."""

from __future__ import annotations

import numpy as np

from positionbias.audit.query_effects import rank_of
from positionbias.audit.rotations import Rotated
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.run import Run
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.results.payloads import Example, Examples
from positionbias.results.result import Result

__all__ = ["EXAMPLES", "worst_queries"]

EXAMPLES = "examples"


def worst_queries(
    system: System, task: Task, ranked: Run, values: np.ndarray, rotated: Rotated, settings: AuditSettings
) -> Result:
    """Return the queries with the largest losses of the first measure in the first draw, ties by id."""
    measure = settings.measures[0]
    change = rotated.values[measure][0] - values
    order = [index for index in np.argsort(change, kind="stable")[: settings.examples].tolist() if change[index] < 0]
    queries = {query.query_id: query.text for query in task.queries}
    texts = RotatedTexts(task.collection, settings.rotations()[0])
    examples = []
    for index in order:
        item = task.evidence.by_query[task.query_ids[index]]
        end = -1 if rotated.movement is None else int(rotated.movement.ends[0, index])
        examples.append(
            Example(
                query_id=item.query_id,
                query=queries[item.query_id],
                passage_id=item.passage_id,
                original=task.collection.texts([item.passage_id])[0],
                original_spans=[] if task.evidence.whole else [[item.start, item.end]],
                rotated=texts.texts([item.passage_id])[0],
                rotated_spans=[[end - (item.end - item.start), end]] if end >= 0 else [],
                before=float(values[index]),
                after=float(rotated.values[measure][0][index]),
                rank_before=rank_of(ranked, item.query_id, item.passage_id),
                rank_after=rank_of(rotated.first_run, item.query_id, item.passage_id),
            )
        )
    return system.result(task, EXAMPLES, Examples(examples, measure), value=None, count=len(examples))

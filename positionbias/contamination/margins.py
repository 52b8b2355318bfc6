"""Compute score margins: the distance of a query's judged relevant passages from its other
candidates in a system's scores.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from positionbias.core.records import Qrel
from positionbias.core.run import Run

__all__ = ["score_margins"]


def score_margins(run: Run, qrels: Iterable[Qrel]) -> dict[str, float]:
    """Return each judged query's (mean score of relevant candidates − mean of the others) /
    deviation of all candidates' scores, relevant from grade 1.

    0 if there are no relevant or no other candidates, or if all scores are equal.
    """
    relevant: dict[str, set[str]] = {}
    for qrel in qrels:
        passages = relevant.setdefault(qrel.query_id, set())
        if qrel.grade > 0:
            passages.add(qrel.passage_id)
    return {query_id: _margin(run, query_id, passages) for query_id, passages in relevant.items()}


def _margin(run: Run, query_id: str, relevant: set[str]) -> float:
    if query_id not in run:
        return 0.0
    ranking = run[query_id]
    scores = np.asarray(ranking.scores, np.float64)
    judged = np.array([passage_id in relevant for passage_id in ranking.passage_ids])
    if not judged.any() or judged.all() or not scores.std():
        return 0.0
    return float((scores[judged].mean() - scores[~judged].mean()) / scores.std())

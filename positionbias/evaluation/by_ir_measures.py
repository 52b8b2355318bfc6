"""Compute measures by ir_measures, on exactly our ranks.

The evaluators read scores as float32 and break ties by their own rules, so they get n, n − 1, …, 1
as scores of n passages: exact, strictly decreasing, and above 0, which Compat takes for a passage
that was not retrieved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import ir_measures
import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.run import Run
from positionbias.evaluation.judgements import Judgements

if TYPE_CHECKING:
    import ir_measures

_LOWEST = -1  # not relevant; pytrec_eval writes outside its tables for a lower grade
_Grades = dict[str, dict[str, int]]
_Scores = dict[str, dict[str, float]]


def by_ir_measures(
    measures: Sequence[ir_measures.Measure], judgements: Judgements, run: Run
) -> dict[str, np.ndarray]:
    """Return each measure's values, ``(queries,)``, by its name; 0 for a judged query without
    candidates.

    Raises:
        InputError: ir_measures divides by zero, as in Accuracy of a ranking that holds relevant
            passages alone.
    """
    grades: _Grades = {}
    for qrel in judgements.qrels:
        grades.setdefault(qrel.query_id, {})[qrel.passage_id] = max(qrel.grade, _LOWEST)
    # without a grade from 0 up pytrec_eval reads memory outside its tables
    for query_id, judged in grades.items():
        if max(judged.values()) < 0:
            grades[query_id] = dict.fromkeys(judged, 0)
    scores = {
        query_id: falling_scores(run[query_id].passage_ids)
        for query_id in judgements.query_ids
        if query_id in run and run[query_id].passage_ids
    }
    place = {query_id: number for number, query_id in enumerate(judgements.query_ids)}
    if any(measure.NAME == "ERR" for measure in measures):
        grades, scores, place = _numbered(grades, scores, place)
    values = {str(measure): np.zeros(len(judgements.query_ids)) for measure in measures}
    try:
        for found in ir_measures.iter_calc(measures, grades, scores):
            if found.query_id in place:  # Perl adds a mean over all queries
                values[str(found.measure)][place[found.query_id]] = float(found.value)
    except ZeroDivisionError as error:
        names = ", ".join(map(str, measures))
        raise InputError(
            f"run {run.name!r}: {names} cannot be computed: ir_measures divides by zero; leave it "
            "out"
        ) from error
    return values


def falling_scores(passage_ids: Sequence[str]) -> dict[str, float]:
    """Return scores for passages in the order of their ranks.

    >>> falling_scores(["b", "a"])
    {'b': 2.0, 'a': 1.0}
    """
    return dict(zip(passage_ids, map(float, range(len(passage_ids), 0, -1)), strict=True))


def _numbered(
    grades: _Grades, scores: _Scores, place: Mapping[str, int]
) -> tuple[_Grades, _Scores, dict[str, int]]:
    """Return all three with numbers for ids, as Perl gets ids as lines of text."""
    numbered_grades, numbered_scores = {}, {}
    for query_id, number in place.items():
        found = scores.get(query_id, {})
        names = {
            passage_id: str(n) for n, passage_id in enumerate({**grades[query_id], **found}, 1)
        }
        numbered_grades[str(number)] = {
            names[passage_id]: grade for passage_id, grade in grades[query_id].items()
        }
        if found:
            numbered_scores[str(number)] = {
                names[passage_id]: score for passage_id, score in found.items()
            }
    return numbered_grades, numbered_scores, {str(number): number for number in place.values()}

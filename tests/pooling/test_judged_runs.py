"""Runs as numbers of their judgements, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.pooling.judged_runs import NOT_RETRIEVED, judge_runs

from .worked import QRELS, RUNS, as_run, worked


def test_places_and_ranks_by_hand() -> None:
    runs = worked()
    assert runs.query_ids == ("1", "2")
    assert (runs.unjudged, runs.nothing) == (6, 7)
    assert runs.grades.tolist() == [2, 1, 0, 2, 1, 0]
    assert runs.starts.tolist() == [0, 3, 6]
    assert runs.query_of.tolist() == [0, 0, 0, 1, 1, 1]
    assert runs.places.tolist() == [
        [[2, 0, 6], [6, 2, 0], [0, 1, 2], [1, 6, 0]],
        [[4, 5, 6], [5, 4, 7], [3, 6, 4], [7, 7, 7]],
    ]
    no = NOT_RETRIEVED
    assert runs.ranks.tolist() == [
        [1, no, 0, no, 0, 1],
        [2, no, 1, no, 1, 0],
        [0, 1, 2, 0, 2, no],
        [2, 0, no, no, no, no],
    ]
    assert runs.skipped == {
        "queries without judgements": 1, "judged queries that a run lacks": 1,
        "runs cut at the deepest rank": 0,
    }  # fmt: skip


def test_a_pool_is_what_stands_within_its_depth() -> None:
    runs = worked()
    # depth 1: t1 has a and d, n1 has b and f
    assert np.flatnonzero(runs.pooled(np.array([0, 2]), 1)).tolist() == [0, 2, 3, 4]
    assert np.flatnonzero(runs.pooled(runs.of_kind("neural"), 2)).tolist() == [0, 1, 3]
    assert not runs.pooled(np.zeros(4, bool), 3).any()
    assert runs.by_query(
        np.array([[True, False, True, False, True, False], [True] * 6])
    ).tolist() == [[2, 1], [3, 3]]


def test_a_cut_leaves_what_stands_deeper() -> None:
    runs = judge_runs([(RUNS[0][0], as_run("t1", RUNS[0][1]))], QRELS, deepest=1)
    assert runs.places.tolist() == [[[2]], [[4]]]
    assert runs.skipped["runs cut at the deepest rank"] == 1
    assert runs.ranks.tolist() == [
        [NOT_RETRIEVED, NOT_RETRIEVED, 0, NOT_RETRIEVED, 0, NOT_RETRIEVED]
    ]


def test_a_run_of_other_queries_is_refused() -> None:
    with pytest.raises(
        InputError, match="run 't1': wanted at least one of 1 judged queries; found none"
    ):
        judge_runs([(RUNS[0][0], as_run("t1", RUNS[0][1]))], [Qrel("7", "a", 1)])


def test_no_judgement_is_refused() -> None:
    with pytest.raises(InputError, match="judgements: wanted at least one; found none"):
        judge_runs([(RUNS[0][0], as_run("t1", RUNS[0][1]))], [])

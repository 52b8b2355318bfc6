"""One new run on one collection: its bounds by hand and by trying every choice, and the answer with
and without pooled runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.evaluation.judged_runs import System, pool_measures, score_grades
from positionbias.papers.pooling.shown import SHOWN
from positionbias.pooling.pools import pool_rows
from positionbias.pooling.settings import VerdictSettings
from positionbias.pooling.unjudged import OpenRuns, open_runs
from positionbias.pooling.verdict import (
    Obstacle,
    RunAnswer,
    add_verdict,
    score_bounds,
)

from .simulated import Simulation, simulated_qrels, simulated_runs
from .worked import as_run, row

SIMULATION = Simulation(rate=0.5, queries=10, groups=6)
SECOND = 1 / np.log2(3)


def opened(rankings: dict[str, list[str]], grades: dict[str, int], depth: int = 10) -> OpenRuns:
    listed = [(System(name, name, "k"), as_run(name, {"1": ids})) for name, ids in rankings.items()]
    return open_runs(
        lambda: listed, [Qrel("1", passage, grade) for passage, grade in grades.items()], depth
    )


def bounds_of(runs: OpenRuns, run: int, name: str) -> tuple[float, float, float]:
    [measure] = pool_measures([name])
    score = score_grades(runs.runs, runs.grades[None], measure)[0, :, run]
    low, high = score_bounds(runs, run, score, measure)
    return low.item(), score.item(), high.item()


@pytest.mark.parametrize(
    ("measure", "bounds"),
    [
        ("P@4", (0.25, 0.25, 0.75)),  # one of four is relevant, two more could be
        ("P@8", (0.125, 0.125, 0.375)),  # no rank of these is empty and relevant
        ("RR", (0.5, 0.5, 1.0)),  # x, at rank 1, could be the first relevant one
        # with x both ranks are relevant, as is the best order; with one that no run has the best
        # order has two as well
        ("nDCG@2", (SECOND / (1 + SECOND), SECOND, 1.0)),
    ],
)
def test_bounds_by_hand(measure: str, bounds: tuple[float, float, float]) -> None:
    runs = opened({"r": ["x", "a", "y", "b"]}, {"a": 1, "b": 0})
    assert bounds_of(runs, 0, measure) == pytest.approx(bounds)


@pytest.mark.parametrize("name", ["nDCG@2", "nDCG@3", "P@3", "RR", "RR@2"])
@pytest.mark.parametrize("seed", range(2))
def test_no_choice_leaves_the_bounds(name: str, seed: int) -> None:
    """Documents of both runs, and two that neither has, may be relevant."""
    random, ids = np.random.default_rng(seed), [f"d{number}" for number in range(6)]
    grades = {"d0": 1, **dict(zip(random.permutation(ids)[:2], (2, -1), strict=True))}
    rankings = {run: random.permutation(ids)[: 4 - seed % 3].tolist() for run in ("old", "new")}
    # numbered at once or, where the depth is 1, hardly
    low, _, high = bounds_of(opened(rankings, grades, [1, 10][seed % 2]), 1, name)
    unknown = [*sorted({*rankings["old"], *rankings["new"]} - set(grades)), "u1", "u2"]
    choices = product([0, max(grades.values())], repeat=len(unknown))
    reached = [
        bounds_of(opened(rankings, grades | dict(zip(unknown, choice, strict=True))), 1, name)[1]
        for choice in choices
    ]
    assert low <= min(reached) + 1e-9
    assert high == pytest.approx(max(reached))


def judged(
    pooled: Sequence[tuple[System, Run]], new: Run, qrels: Sequence[Qrel], name: str
) -> Collected:
    everything = [*pooled, (System("new", "new", ""), new)]
    made = pool_rows("c")
    opened_runs = open_runs(lambda: everything, qrels, 10)
    add_verdict(made, opened_runs, pool_measures([name]), VerdictSettings())
    return made


def simulated(measure: str = "nDCG@10", kinds: Sequence[str] = ("traditional",)) -> Collected:
    """A new neural run on the pool of these kinds' runs, which knows only what they have."""
    pooled = [item for item in simulated_runs(SIMULATION) if item[0].kind in kinds]
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    seen = {
        (ranking.query_id, passage)
        for _, run in pooled
        for ranking in run.rankings()
        for passage in ranking.passage_ids
    }
    qrels = simulated_qrels(SIMULATION)
    return judged(pooled, new, [q for q in qrels if q[:2] in seen or len(kinds) > 1], measure)


def of_new(made: Collected, *statistics: str) -> list[Any]:
    return [row(made, statistic, run="new").value for statistic in statistics]


def told(rows: Collected) -> str:
    (finding,) = SHOWN.findings(rows.rows)
    return finding.text


@pytest.mark.parametrize("name", ["nDCG@10", "RR"])
def test_a_prediction_lies_within_the_bounds(name: str) -> None:
    made = simulated(name)
    predicted = row(made, "predicted")
    low, high = of_new(made, "least", "most")
    assert low <= predicted.low <= predicted.value <= predicted.high <= high
    better = made.rows.query("statistic == 'probability'")
    assert len(better) == 6
    for one in better.itertuples():
        sure = "better" if one.value >= 0.95 else "worse" if one.value <= 0.05 else "open"
        assert one.answer == sure


def test_a_run_whose_documents_are_all_judged_can_be_judged() -> None:
    complete = simulated("P@10", ("traditional", "neural"))
    predicted = row(complete, "predicted")
    assert predicted.answer == RunAnswer.YES
    assert predicted.low == predicted.high == predicted.value
    better = complete.rows.query("statistic == 'probability'")["value"]
    assert set(better) <= {0.0, 0.5, 1.0}
    assert told(complete).startswith("new can be judged by P@10.\n0.0\u00a0% of its first 10")


@pytest.mark.parametrize(("groups", "reason"), [(0, Obstacle.NO_RUNS), (3, Obstacle.FEW_GROUPS)])
def test_without_enough_groups_there_are_bounds_alone(groups: int, reason: Obstacle) -> None:
    new = as_run("new", {"1": ["a", "x"], "2": ["b", "y"], "3": ["c", "d"]})
    old = as_run("p", {"1": ["a"], "2": ["b"], "3": ["d"]})
    pooled = [(System(f"p{n}", f"p{n}", ""), old) for n in range(groups)]
    qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1), Qrel("3", "c", 1), Qrel("3", "d", 1)]
    short = judged(pooled, new, qrels, "P@2")
    predicted = row(short, "predicted")
    assert (predicted.answer, predicted.reason) == (RunAnswer.UNKNOWN.value, reason.value)
    assert np.isnan(predicted.value)
    assert of_new(short, "score", "least", "most") == pytest.approx([2 / 3, 2 / 3, 1])
    text = told(short)
    assert text.startswith(f"Cannot tell whether new can be judged by P@2: {reason}.")
    assert "0.667 by the judged documents, 0.667 to 1.000 possible" in text


def test_of_more_unjudged_than_of_any_left_out_run_nothing_is_predicted() -> None:
    qrels = simulated_qrels(SIMULATION)
    unknown = {query: [f"unknown {rank}" for rank in range(10)] for query, *_ in qrels}
    strange = judged(list(simulated_runs(SIMULATION)), as_run("new", unknown), qrels, "nDCG@10")
    assert row(strange, "predicted").reason == Obstacle.BEYOND.value
    assert "100.0\u00a0% of its first 10 are unjudged" in told(strange)


def test_a_run_with_nothing_for_a_query_has_no_unjudged_share_there() -> None:
    pooled = [(System("pooled", "p", "k"), as_run("pooled", {"1": ["a"], "2": ["b"]}))]
    qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1)]
    made = judged(pooled, as_run("new", {"1": ["a"]}), qrels, "nDCG@10")
    assert of_new(made, "unjudged", "score") == [0, 0.5]

"""Bounds of scores and of differences: by hand, and by trying every choice of relevant documents,
seen or not.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from positionbias.core.errors import SettingError
from positionbias.core.records import Qrel
from positionbias.pooling.bounds import difference_bounds, score_bounds
from positionbias.pooling.open_runs import OpenRuns, open_runs
from positionbias.pooling.scores import PoolMeasure, pool_measures, score_grades
from positionbias.pooling.systems import System

from .worked import as_run


def opened(rankings: dict[str, list[str]], grades: dict[str, int], depth: int = 10) -> OpenRuns:
    listed = [(System(name, name, "k"), as_run(name, {"1": ids})) for name, ids in rankings.items()]
    return open_runs(
        lambda: listed, [Qrel("1", passage, grade) for passage, grade in grades.items()], depth
    )


SECOND = 1 / np.log2(3)


@pytest.mark.parametrize(
    ("measure", "low", "score", "high"),
    [
        ("P@4", 0.25, 0.25, 0.75),  # one of four is relevant, two more could be
        ("RR", 0.5, 0.5, 1.0),  # x, at rank 1, could be the first relevant one
        # with x both ranks are relevant, as is the best order; with one that no run has the best
        # order has two as well
        ("nDCG@2", SECOND / (1 + SECOND), SECOND, 1.0),
        # x, a and y relevant is 1; no number of unseen ones is too large
        ("AP", 0.0, 0.5, 1.0),
        # p = 0.8: a at rank 2; ranks 1 and 3 and all from 5 are open
        ("RBP", 0.16, 0.16, 0.16 + 0.2 + 0.128 + 0.8**4),
    ],
)
def test_bounds_by_hand(measure: str, low: float, score: float, high: float) -> None:
    runs = opened({"r": ["x", "a", "y", "b"]}, {"a": 1, "b": 0})
    bounds = score_bounds(runs, pool_measures([measure])[0])
    values = (bounds.low.item(), bounds.score.item(), bounds.high.item())
    assert values == pytest.approx((low, score, high))


def test_one_more_relevant_document_can_lower_average_precision() -> None:
    runs = opened({"r": ["a", "b", "c", "x"]}, {"a": 1, "b": 0, "c": 0})
    # with x: (1 + 2 / 4) / 2
    assert score_bounds(runs, pool_measures(["AP"])[0]).high.item() == 1.0


@pytest.mark.parametrize("name", ["nDCG@2", "nDCG@3", "P@3", "RR", "RR@2", "AP", "RBP@3"])
@pytest.mark.parametrize("seed", range(4))
def test_no_choice_leaves_the_bounds(name: str, seed: int) -> None:
    """Documents of both runs, and two that neither has, may be relevant."""
    random, ids = np.random.default_rng(seed), [f"d{number}" for number in range(6)]
    grades = {"d0": 1, **dict(zip(random.permutation(ids)[:2], (2, -1), strict=True))}
    rankings = {run: random.permutation(ids)[: 4 - seed % 3].tolist() for run in ("old", "new")}
    # numbered at once or, where the depth is 1, hardly
    runs, [measure] = opened(rankings, grades, [1, 10][seed % 2]), pool_measures([name])
    bounds = score_bounds(runs, measure)
    apart = difference_bounds(runs, 1, measure, bounds)
    unknown = [*sorted({*rankings["old"], *rankings["new"]} - set(grades)), "u1", "u2"]
    chosen = [
        opened(rankings, grades | dict(zip(unknown, choice, strict=True)))
        for choice in product([0, max(grades.values())], repeat=len(unknown))
    ]
    reached = np.array([score_grades(one.runs, one.grades[None], measure)[0, 0] for one in chosen])
    assert (bounds.low - 1e-9 <= reached).all()
    assert (reached <= bounds.high + 1e-9).all()
    ahead = reached[:, 1] - reached[:, 0]
    assert apart.low[0, 0] - 1e-9 <= ahead.min() <= ahead.max() <= apart.high[0, 0] + 1e-9
    if name != "RBP@3":  # whose bounds also hold what a ranking could have had behind its end
        assert bounds.high[0] == pytest.approx(reached.max(axis=0))


def test_a_shared_unjudged_document_is_one_for_both() -> None:
    # both have x at rank 1: it changes no difference of P, though each alone may gain by it
    runs = opened({"old": ["x", "b"], "new": ["x", "a"]}, {"a": 1, "b": 0})
    [measure] = pool_measures(["P@2"])
    apart = difference_bounds(runs, 1, measure, score_bounds(runs, measure))
    assert (apart.low[0].tolist(), apart.high[0].tolist()) == ([0.5, 0.0], [0.5, 0.0])


@pytest.mark.parametrize(
    "measure", [PoolMeasure("Bpref", "", None, 1), PoolMeasure("nDCG", "nDCG", None, 1)], ids=str
)
def test_a_measure_without_known_bounds_is_refused(measure: PoolMeasure) -> None:
    with pytest.raises(SettingError, match="-m: wanted a measure with known bounds"):
        score_bounds(opened({"r": ["a"]}, {"a": 1}), measure)

"""The benchmark of permuted kinds in small: planted copies change no score by gold, and take from other kinds' pools what they are meant to."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from positionbias.pooling.judged_runs import judge_runs
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("pool_groups")


def test_copies_are_found_by_runs_of_one_kind_alone(script: ModuleType) -> None:
    simulation = Simulation(rate=0.0, queries=8, groups=4)
    runs = judge_runs(simulated_runs(simulation), simulated_qrels(simulation))
    copied = script.with_copies(runs, "neural", 0.3, 1)
    measure = pool_measures(["P@10"])[0]
    gold = [score_pools(of, np.ones((1, of.unjudged), bool), measure)[0] for of in (runs, copied)]
    assert np.array_equal(*gold)
    assert (np.diff(copied.starts) >= np.diff(runs.starts)).all()
    neural = runs.of_kind("neural")
    pools = [score_pools(of, of.pooled(~neural, 10)[None], measure)[0] for of in (runs, copied)]
    assert np.array_equal(pools[0][:, ~neural], pools[1][:, ~neural])
    assert pools[1][:, neural].mean() < 0.9 * pools[0][:, neural].mean()
    for query, run, rank in ((0, 0, 0), (3, 5, 2), (7, 7, 9)):  # both arrays tell the same
        judgement = copied.places[query, run, rank]
        assert copied.ranks[run, judgement] == rank


def test_the_rule_of_before_finds_a_large_bias(script: ModuleType) -> None:
    simulation = Simulation(rate=0.6, queries=12, groups=4)
    runs = judge_runs(simulated_runs(simulation), simulated_qrels(simulation))
    found = script.before(runs, pool_measures(["P@10"]), PoolSettings(gold="all"))
    assert found["traditional P@10"]["answer"] == "worse"
    assert 0 < found["traditional P@10"]["held"] < 1

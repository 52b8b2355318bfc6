"""The reliability of drawn pools: a case by hand, what must hold of any, and a simulated truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from positionbias.core.errors import SettingError
from positionbias.core.seeds import generator
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.pools import draw_pools, gold_pool
from positionbias.pooling.reliability import FIGURES, Reliability, TestSet, reliability
from positionbias.pooling.reliability_results import reliability_results
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System
from positionbias.results.pools import (
    ALL,
    ChangeFigures,
    OnePoolFigures,
    OrderFigures,
    SystemCounts,
    TaskFigures,
)
from positionbias.results.result import Result
from positionbias.results.select import of_type

from .worked import as_run, worked

TestSet.__test__ = False  # a set of systems, no test of pytest's
SMALL = Simulation(queries=12, groups=4)


def simulated(simulation: Simulation) -> JudgedRuns:
    return judge_runs(simulated_runs(simulation), simulated_qrels(simulation))


def set_of(found: Reliability, pool: str, test: str, measure: str) -> TestSet:
    return next(
        item for item in found.sets if (item.pool, item.test, item.measure) == (pool, test, measure)
    )


def test_one_pool_by_hand() -> None:
    runs = worked()
    found = reliability(runs, pool_measures(["P@2"]), PoolSettings(depth=1, pools=12, gold="all"))
    # P@2 by all judgements: t1 (½ + ½) / 2, t2 (0 + ½) / 2, n1 (1 + ½) / 2, n2 (½ + 0) / 2
    gold = {"t1": 0.5, "t2": 0.25, "n1": 0.75, "n2": 0.25}
    one = set_of(found, "traditional", "neural", "P@2")
    drawn = draw_pools(runs, "traditional", range(12), found.settings).groups
    # group one puts a, grade 0, and d into the pool: P@2 is t1 ¼, t2 ¼, n1 0 (d is at rank 3), n2
    # 0. Group two, which takes n2 along, has e, grade 0, alone: nothing is relevant
    for groups, systems, gold_mean, estimated, change, tau in zip(
        drawn,
        one.systems,
        one.figures["gold"],
        one.figures["estimated"],
        one.change,
        one.figures["tau_b"],
        strict=True,
    ):
        if groups == ("one",):
            assert (systems, gold_mean, estimated) == (2, (gold["n1"] + gold["n2"]) / 2, 0)
            assert change.tolist() == [-(1 + 0.5) / 2, -(0.5 + 0) / 2]
        else:
            assert (systems, gold_mean, estimated) == (1, gold["n1"], 0)
            assert change.tolist() == [-1, -0.5]
        assert np.isnan(tau)  # the scores are constant, or there is one system
    everybody = set_of(found, "traditional", ALL, "P@2")
    for groups, tau in zip(drawn, everybody.figures["tau_b"], strict=True):
        if groups == ("one",):
            # t2, n1, n2: gold ¼, ¾, ¼, estimated ¼, 0, 0: of three pairs t2–n1 disagrees, t2–n2 is
            # tied in gold, n1–n2 in the estimate
            assert tau == pytest.approx(-1 / 2)


def test_each_figure_is_that_of_a_plain_loop() -> None:
    runs = simulated(SMALL)
    measures = pool_measures(["nDCG@10", "RR"])
    options = PoolSettings(pools=3, depth=5)
    found = reliability(runs, measures, options)
    gold = gold_pool(runs, options)
    for measure in measures:
        truth = score_pools(runs, gold[None], measure)[0]
        for kind in ("traditional", "neural"):
            pools = draw_pools(runs, kind, range(3), options)
            for number in range(3):
                values = score_pools(runs, pools.judged[number][None], measure)[0]
                for test in ("traditional", "neural", ALL):
                    own = pools.test[number] & (runs.of_kind(test) if test != ALL else True)
                    item = set_of(found, kind, test, measure.name)
                    tau = stats.kendalltau(
                        truth[:, own].mean(axis=0).round(12), values[:, own].mean(axis=0).round(12)
                    ).statistic
                    assert item.figures["tau_b"][number] == pytest.approx(tau, nan_ok=True)
                    assert item.change[number] == pytest.approx(
                        (values - truth)[:, own].mean(axis=1)
                    )
                    top = runs.places[:, own, :5]
                    judged = np.isin(top, np.flatnonzero(pools.judged[number])).mean()
                    assert item.figures["judged"][number] == pytest.approx(judged)
                    assert item.systems[number] == own.sum()
                    others = [
                        system.group for system in runs.systems if system.kind != kind
                    ]  # a group has one run, so one kind
                    by_group = dict(zip(sorted(others), item.group_change[number], strict=True))
                    for run, system in enumerate(runs.systems):
                        if own[run] and system.kind != kind:
                            assert by_group[system.group] == pytest.approx(
                                (values - truth)[:, run].mean()
                            )
                    assert (item.feeding, item.fed, item.group_systems[number].sum()) == (
                        4,
                        2,
                        (own & ~runs.of_kind(kind)).sum(),
                    )


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = simulated(SMALL)
    whole = reliability(runs, pool_measures(["RR"]), PoolSettings(pools=5))
    monkeypatch.setattr("positionbias.pooling.reliability._BLOCK", 5_000)
    parts = reliability(runs, pool_measures(["RR"]), PoolSettings(pools=5))
    for one, other in zip(whole.sets, parts.sets, strict=True):
        assert one.change.tolist() == other.change.tolist()
        assert all(
            np.array_equal(one.figures[name], other.figures[name], equal_nan=True)
            for name in FIGURES
        )
    assert {kind: counts.tolist() for kind, counts in whole.judged.items()} == {
        kind: counts.tolist() for kind, counts in parts.judged.items()
    }


@settings(max_examples=10)
@given(seed=st.integers(0, 1_000), rate=st.floats(0, 1), depth=st.integers(1, 10))
def test_a_pool_that_is_the_gold_changes_nothing(seed: int, rate: float, depth: int) -> None:
    # every group has the same ranking twice: whichever half is drawn holds all that all have
    simulation = Simulation(rate=rate, queries=4, groups=3, seed=seed)
    runs = simulated(simulation)
    first = runs.places[:, :1]
    twice = JudgedRuns(
        tuple(System(f"{kind}{n}", f"{kind}{n}", kind) for kind in ("a", "b") for n in range(2)),
        runs.query_ids, np.repeat(first, 4, axis=1), np.repeat(runs.ranks[:1], 4, axis=0),
        runs.grades, runs.starts, {},
    )  # fmt: skip
    found = reliability(twice, pool_measures(["nDCG@10", "RR"]), PoolSettings(depth=depth, pools=2))
    for item in found.sets:
        assert not item.change.any()
        assert (found.judged[item.pool] == found.judged["gold"]).all()


def test_equal_judgements_give_tau_1_and_no_bias() -> None:
    # a depth that holds every rank, and every judged document in every group's run: the drawn pool
    # is the gold, the orders differ
    random = generator(1, "a test")
    qrels = simulated_qrels(Simulation(queries=3, common=10, others=10))
    ids = [qrel.passage_id for qrel in qrels if qrel.query_id == "0"]
    systems = [System(f"{kind}{n}", f"{kind}{n}", kind) for kind in ("a", "b") for n in range(4)]
    listed = [
        (s, as_run(s.run, {q: [ids[i] for i in random.permutation(len(ids))] for q in "012"}))
        for s in systems
    ]
    runs = judge_runs(listed, qrels)
    found = reliability(
        runs, pool_measures(["nDCG@10", "AP"]), PoolSettings(depth=len(ids), pools=4)
    )
    for item in found.sets:
        assert not item.change.any()
        assert item.figures["tau_b"] == pytest.approx(np.ones(4))
        assert item.figures["tau_ap"] == pytest.approx(np.ones(4))
        assert np.nan_to_num(item.figures["kept"], nan=1.0) == pytest.approx(np.ones(4))
        assert (item.figures["judged"] == 1).all()


def test_results_hold_what_tables_and_figures_need(tmp_path) -> None:
    runs = simulated(replace(SMALL, rate=0.5))
    found = reliability(runs, pool_measures(["RR", "nDCG@10"]), PoolSettings(pools=4))
    results = reliability_results(found, runs, collection="simulated")
    [(_, task)], panels = of_type(results, TaskFigures), of_type(results, OnePoolFigures)
    orders, changes = of_type(results, OrderFigures), of_type(results, ChangeFigures)
    # 2 pool kinds × 2 measures × (2 kinds and all); one pool: 2 kinds × 2 measures
    assert (len(orders), len(changes), len(panels)) == (12, 12, 4)
    assert task.kinds == {kind: SystemCounts(4, 4) for kind in ("traditional", "neural")}
    order, own = orders[0]
    taus = set_of(found, "traditional", "traditional", "RR").figures["tau_b"]
    assert order.value == pytest.approx(np.nanmean(taus))
    assert own.undefined == np.isnan(taus).sum()
    panel = panels[0][1]
    assert len(panel.points) == 6
    assert panel.tau_b["all"] == pytest.approx(
        set_of(found, "traditional", ALL, "RR").figures["tau_b"][0]
    )
    change, of_change = changes[0]
    item = set_of(found, "traditional", "traditional", "RR")
    assert change.value == pytest.approx(item.change.mean())
    assert of_change.relative == pytest.approx(item.change.mean() / item.figures["gold"].mean())
    for result in results:
        assert Result.from_json(result.to_json()) == Result.from_json(
            Result.from_json(result.to_json()).to_json()
        )


def test_constant_scores_are_counted_as_undefined() -> None:
    runs = worked()
    found = reliability(runs, pool_measures(["P@2"]), PoolSettings(depth=1, pools=12, gold="all"))
    results = reliability_results(found, runs, collection="worked")
    orders = of_type(results, OrderFigures)
    order, own = next(
        item for item in orders if (item[1].pool, item[1].test) == ("traditional", "neural")
    )
    assert (order.value, order.interval, own.undefined) == (None, None, 12)


@pytest.mark.parametrize(("rate", "common"), [(1.5, 15), (0.5, 3)])
def test_a_simulation_that_cannot_be_is_refused(rate: float, common: int) -> None:
    with pytest.raises(SettingError):
        Simulation(rate=rate, common=common)

"""The reliability of drawn pools: a case by hand, a plain loop, and its rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.errors import SettingError
from positionbias.pooling.measured import pool_rows, reliability_rows, task_rows
from positionbias.pooling.pools import draw_pools, gold_pool
from positionbias.pooling.reliability import ALL, Reliability, TestSet, reliability
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.simulated import Simulation

from .worked import row, simulated, worked

TestSet.__test__ = False  # a set of systems, no test of pytest's
SMALL = {"queries": 12, "groups": 4}


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
    made = pool_rows("worked")
    reliability_rows(made, found, runs)
    order = row(made, "tau_b", pool="traditional", kind="neural", variant="")
    assert (order.count, order.reason) == (0, "equal scores, or fewer than two systems")
    assert np.isnan([order.value, order.low]).all()


@pytest.mark.parametrize("block", [1, 1_000_000])  # one pool at a time, or all
def test_each_figure_is_that_of_a_plain_loop(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("positionbias.pooling.reliability._BLOCK", block)
    runs, measures = simulated(**SMALL), pool_measures(["nDCG@10", "RR"])
    options = PoolSettings(pools=3, depth=5)
    gold = gold_pool(runs, options)
    for item in reliability(runs, measures, options).sets:
        measure = next(one for one in measures if one.name == item.measure)
        truth = score_pools(runs, gold[None], measure)[0]
        pools = draw_pools(runs, item.pool, range(3), options)
        others = ~runs.of_kind(item.pool)  # a group has one run, so one kind
        assert (item.feeding, item.fed) == (4, 2)
        for number, judged in enumerate(pools.judged):
            values = score_pools(runs, judged[None], measure)[0]
            own = pools.test[number] & (runs.of_kind(item.test) if item.test != ALL else True)
            means = (scores[:, own].mean(axis=0).round(12) for scores in (truth, values))
            tau = stats.kendalltau(*means).statistic
            assert item.figures["tau_b"][number] == pytest.approx(tau, nan_ok=True)
            top = np.isin(runs.places[:, own, :5], np.flatnonzero(judged)).mean()
            assert item.figures["judged"][number] == pytest.approx(top)
            change = values - truth
            assert item.change[number] == pytest.approx(change[:, own].mean(axis=1))
            assert item.systems[number] == own.sum()
            tested = own[others]
            assert item.group_systems[number].tolist() == tested.tolist()
            by_group = item.group_change[number][tested]
            assert by_group == pytest.approx(change.mean(axis=0)[others][tested])


def test_rows_hold_what_tables_and_figures_need() -> None:
    runs = simulated(rate=0.5, **SMALL)
    found = reliability(runs, pool_measures(["RR", "nDCG@10"]), PoolSettings(pools=4))
    made = pool_rows("simulated")
    task_rows(made, runs, 1)
    reliability_rows(made, found, runs)
    assert row(made, "systems", kind="neural", measure="collection").value == 4
    item = set_of(found, "traditional", ALL, "RR")
    own = {"measure": "RR", "pool": "traditional", "kind": ALL, "run": ""}
    taus = item.figures["tau_b"]
    tau = row(made, "tau_b", variant="", **own)
    half = stats.t.ppf(0.975, 3) * taus.std(ddof=1) / 2  # √4
    assert (tau.value - half, tau.value + half) == pytest.approx((tau.low, tau.high))
    assert made.values.query(f"row == {tau.row}")["value"].tolist() == taus.tolist()
    assert row(made, "tau_b", variant="pool 0", **own).value == taus[0]
    assert row(made, "change", **own).value == pytest.approx(item.change.mean())
    share = item.change.mean() / item.figures["gold"].mean()
    assert row(made, "relative change", **own).value == pytest.approx(share)
    # pool 0 is fed by two of four groups: the scores of six runs
    points = made.rows.query("statistic == 'by the pool' and pool == 'neural' and run != ''")
    assert points["measure"].value_counts().to_dict() == {"RR": 6, "nDCG@10": 6}


@pytest.mark.parametrize(("rate", "common"), [(1.5, 15), (0.5, 3)])
def test_a_simulation_that_cannot_be_is_refused(rate: float, common: int) -> None:
    with pytest.raises(SettingError):
        Simulation(rate=rate, common=common)

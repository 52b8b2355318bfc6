"""Drawn pools, what they cover, and how they judge systems: by hand, and by a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.evaluation.judged_runs import System, pool_measures, score_pools
from positionbias.pooling.pools import (
    ALL,
    add_counts,
    add_coverage,
    add_reliability,
    draw_pools,
    gold_pool,
    pool_kinds,
    pool_rows,
)
from positionbias.pooling.settings import PoolSettings

from .worked import row, simulated, worked

SYSTEMS = [
    System(f"{kind}{n}", f"g{n}", kind)
    for kind, size in (("old", 5), ("new", 3))
    for n in range(size)
]


def test_half_of_the_groups_of_the_kind_are_drawn_rounded_down() -> None:
    runs = simulated(groups=5, queries=1)
    drawn = draw_pools(runs, "neural", range(60), PoolSettings())
    assert set(drawn.test.sum(axis=1)) == {8}  # of ten groups with a run each, two are drawn
    assert len(np.unique(drawn.test, axis=0)) == 10  # every pair of five
    # a draw's key is its kind, number and seed
    order = np.random.default_rng(1).permutation(10)
    shuffled = draw_pools(runs.only(order), "neural", range(60), PoolSettings())
    assert (shuffled.test == drawn.test[:, order]).all()
    other = draw_pools(runs, "neural", range(60), PoolSettings(seed=2))
    assert (other.test != drawn.test).any()


def test_a_drawn_groups_runs_of_its_kind_feed_the_pool_and_all_its_runs_leave_the_test() -> None:
    runs = worked()  # groups of traditional runs: one (t1) and two (t2; n2 is neural)
    pools = draw_pools(runs, "traditional", range(12), PoolSettings(depth=1))
    # t1 puts a (number 2) and d (4) first; t2 has x, which nobody judged, and e (5), and takes n2
    # out with it
    one, two = ([2, 4], [False, True, True, True]), ([5], [True, False, True, False])
    drawn = [
        (np.flatnonzero(own).tolist(), test.tolist()) for own, test in zip(*pools, strict=True)
    ]
    assert one in drawn
    assert two in drawn
    assert drawn.count(one) + drawn.count(two) == 12


def test_the_gold_is_the_pool_of_all_runs_or_every_judgement() -> None:
    # at depth 1: a, x, b, c | d, e, f, nothing: all six. With t2 and n2 alone c and e
    assert gold_pool(worked(), PoolSettings(depth=1)).all()
    fewer = worked().only([1, 3])
    assert np.flatnonzero(gold_pool(fewer, PoolSettings(depth=1))).tolist() == [1, 5]
    assert np.flatnonzero(gold_pool(fewer, PoolSettings(depth=2))).tolist() == [1, 2, 4, 5]
    assert gold_pool(fewer, PoolSettings(gold="all")).all()


def test_a_kind_of_one_group_feeds_no_pool() -> None:
    assert pool_kinds([*SYSTEMS, System("m", "g9", "manual")]) == ["old", "new"]
    for systems in (SYSTEMS[:5], [SYSTEMS[0], SYSTEMS[-1]], [*SYSTEMS, System("m", "g9", "all")]):
        with pytest.raises(InputError, match="systems: wanted at least 2 kinds, one with at least"):
            pool_kinds(systems)


@pytest.mark.parametrize("level", [1, 2])
def test_coverage_by_hand(level: int) -> None:
    made = pool_rows("worked")
    add_coverage(made, worked(), 2, level)
    # grade 1 or more: b, c of query 1; f, d of query 2; no run is deeper than 3
    # traditional: depth 1 d; depth 2 b (t1), d; depth 3 the same. neural: depth 1 b, c, f; 2 the
    # same; 3 and d. Grade 2: b and f
    for kind, statistic, counts in (
        ("traditional", "found", [[1, 2, 2], [0, 1, 1]]),
        ("neural", "found", [[3, 3, 4], [2, 2, 2]]),
        ("traditional", "alone", [[1, 1, 0], [0, 0, 0]]),
        ("neural", "alone", [[3, 2, 2], [2, 1, 1]]),
    ):
        own = made.rows.query(f"kind == '{kind}' and statistic == '{statistic}'")
        assert own["value"].tolist() == counts[level - 1]
        assert own["at"].tolist() == [1, 2, 3]


def test_one_pool_by_hand() -> None:
    runs, measures = worked(), pool_measures(["P@2"])
    made, settings = pool_rows("worked"), PoolSettings(depth=1, pools=12, gold="all")
    add_reliability(made, runs, measures, settings)
    # P@2 by all judgements: t1 (½ + ½) / 2, t2 (0 + ½) / 2, n1 (1 + ½) / 2, n2 (½ + 0) / 2.
    # Group one puts a, grade 0, and d into the pool: P@2 is t1 ¼, t2 ¼, n1 0 (d is at rank 3), n2
    # 0. Group two, which takes n2 along, has e, grade 0, alone: nothing is relevant
    by_one = int((~draw_pools(runs, "traditional", range(12), settings).test[:, 0]).sum())
    share = by_one / 12
    own = {"pool": "traditional", "kind": "neural", "run": ""}
    gold = share * (0.75 + 0.25) / 2 + (1 - share) * 0.75
    assert row(made, "gold", **own).value == pytest.approx(gold)
    assert row(made, "by the pool", **own).value == 0
    assert row(made, "change", **own).value == pytest.approx(-gold)
    tau = row(made, "tau_b", variant="", **own)
    assert (np.isnan(tau.value), tau.count) == (True, 0)  # scores are constant, or of one system
    everybody = row(made, "tau_b", variant="", **own | {"kind": ALL})
    # t2, n1, n2: gold ¼, ¾, ¼, estimated ¼, 0, 0: of three pairs t2–n1 disagrees, t2–n2 is tied in
    # gold, n1–n2 in the estimate; under pools of two nothing is relevant
    assert (everybody.value, everybody.count) == (pytest.approx(-1 / 2), by_one)


def test_each_figure_is_that_of_a_plain_loop() -> None:
    runs, measures = simulated(queries=12, groups=4), pool_measures(["nDCG@10", "RR"])
    options = PoolSettings(pools=3, depth=5)
    made, gold = pool_rows("simulated"), gold_pool(runs, options)
    add_counts(made, runs, 1)
    add_reliability(made, runs, measures, options)
    assert row(made, "systems", kind="neural", measure="collection").value == 4
    for pool in ("traditional", "neural"):
        pools = draw_pools(runs, pool, range(3), options)
        for measure in measures:
            truth = score_pools(runs, gold[None], measure)[0].mean(axis=0)
            means = score_pools(runs, pools.judged, measure).mean(axis=1)
            for kind in ("traditional", "neural", ALL):
                taus, changes = [], []
                for test, values in zip(pools.test, means, strict=True):
                    own = test & ((runs.kinds == kind) if kind != ALL else True)
                    taus.append(stats.kendalltau(truth[own].round(12), values[own].round(12))[0])
                    changes.append((values - truth)[own].mean())
                cells = {"measure": measure.name, "pool": pool, "kind": kind, "run": ""}
                tau = row(made, "tau_b", variant="", **cells)
                half = stats.t.ppf(0.975, 2) * np.std(taus, ddof=1) / 3**0.5
                assert tau.value == pytest.approx(np.mean(taus))
                if half:
                    assert tau.low == pytest.approx(max(np.mean(taus) - half, -1))
                assert row(made, "tau_b", variant="pool 0", **cells).value == taus[0]
                assert row(made, "change", **cells).value == pytest.approx(np.mean(changes))
            # pool 0 is fed by two of four groups: the scores of six runs
            points = made.rows.query(f"pool == '{pool}' and run != '' and measure == @measure.name")
            assert points["statistic"].value_counts().to_dict() == {"gold": 6, "by the pool": 6}

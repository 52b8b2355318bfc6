"""What each kind finds by depth, each group left out, curves and wrong labels: by hand, and what
must hold of any runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.errors import SettingError
from positionbias.core.records import Qrel
from positionbias.pooling.coverage import coverage, coverage_results
from positionbias.pooling.curves import curve_results, depth_curve, groups_curve
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.leave_out import leave_out, leave_out_results, ranks_of
from positionbias.pooling.relabelled import relabel, relabelled, relabelled_results
from positionbias.pooling.reliability import reliability
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.settings import CoverageSettings, PoolSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System
from positionbias.results.payloads import PerQuery
from positionbias.results.pools import (
    CoverageFigures,
    CurveFigures,
    LeftOutByKind,
    LeftOutRun,
    Moved,
    RelabelledFigures,
)
from positionbias.results.select import of_type

from .worked import as_run, worked


def simulated(**options: float) -> JudgedRuns:
    simulation = Simulation(**{"queries": 8, "groups": 4, **options})  # type: ignore[arg-type]
    return judge_runs(simulated_runs(simulation), simulated_qrels(simulation))


def test_coverage_by_hand() -> None:
    # grade 1 or more: b, c of query 1; f, d of query 2
    found = coverage(worked(), [1, 2, 3])
    # traditional: depth 1 d; depth 2 b (t1), d; depth 3 the same. neural: depth 1 b, c, f; 2 the
    # same; 3 and d
    assert found.found["traditional"].tolist() == [[0, 1, 1], [1, 1, 1]]
    assert found.found["neural"].tolist() == [[2, 2, 2], [1, 1, 2]]
    assert found.unique["traditional"].tolist() == [[0, 0, 0], [1, 1, 0]]
    assert found.unique["neural"].tolist() == [[2, 1, 1], [1, 1, 1]]
    # grade 2: b and f
    assert coverage(worked(), [1], level=2).found["neural"].tolist() == [[1], [1]]


def test_coverage_results_by_hand() -> None:
    results = coverage_results(worked(), CoverageSettings(depth=2, deepest=50), collection="worked")
    [(curve, own)] = [
        item for item in of_type(results, CoverageFigures) if item[0].system == "neural"
    ]
    assert (curve.value, own.unique) == (3, 2)
    assert own.depths == [1, 2, 3]  # no run is deeper
    assert own.found_by_depth == [3, 3, 4]
    assert own.depths_by_query == [1, 2, 3]
    assert own.found_by_query == {"1": [2, 2, 2], "2": [1, 1, 2]}
    assert own.unique_by_query == {"1": [2, 1, 1], "2": [1, 1, 1]}
    by_query = [(result.system, payload.values) for result, payload in of_type(results, PerQuery)]
    assert by_query == [
        ("traditional", [1, 1]),
        ("traditional", [0, 1]),
        ("neural", [2, 1]),
        ("neural", [1, 1]),
    ]


@settings(max_examples=15)
@given(seed=st.integers(0, 1_000), rate=st.floats(0, 1))
def test_more_depth_never_loses_a_relevant_document(seed: int, rate: float) -> None:
    runs = simulated(seed=seed, rate=rate)
    found = coverage(runs, range(1, 12))
    together = runs.by_query(runs.pooled(np.ones(len(runs.systems), bool), 11) & (runs.grades > 0))
    for kind in ("traditional", "neural"):
        assert (np.diff(found.found[kind], axis=1) >= 0).all()
        assert (found.unique[kind] <= found.found[kind]).all()
    # what both find is what either finds alone and what is shared
    shared = found.found["neural"] - found.unique["neural"]
    assert (shared == found.found["traditional"] - found.unique["traditional"]).all()
    assert ((found.found["traditional"] + found.unique["neural"])[:, -1] == together).all()
    depths = depth_curve(runs, pool_measures(["P@10"]), PoolSettings(pools=3), [1, 3, 10])
    for kind in ("traditional", "neural"):
        sizes = np.array([depths[depth].relevant[kind] for depth in (1, 3, 10)])
        assert (np.diff(sizes, axis=0) >= 0).all()


def test_ranks_share_the_best_of_ties() -> None:
    assert ranks_of(np.array([0.3, 0.5, 0.3 + 1e-15, 0.1])).tolist() == [2, 1, 2, 4]


def test_a_group_left_out_by_hand() -> None:
    runs = worked()
    left = {
        item.group: item for item in leave_out(runs, pool_measures(["P@2"]), PoolSettings(depth=1))
    }
    # depth 1: one has a, d; two has x, e (t2) and c (n2); three has b, f: each document is one
    # group's alone
    assert {group: (item.unique, item.relevant) for group, item in left.items()} == {
        "one": (2, 1), "two": (2, 1), "three": (2, 2),
    }  # fmt: skip
    # gold: P@2 t1 ½, t2 ¼, n1 ¾, n2 ¼. Without b and f: t1 (d) ¼, t2 (d) ¼, n1 (c) ¼, n2 (c) ¼
    assert left["three"].runs == [LeftOutRun("n1", "neural", {"P@2": Moved(0.75, 0.25, 1, 1)})]
    # without a and d: t1 (b) ¼, t2 0, n1 ¾, n2 ¼
    assert left["one"].runs == [LeftOutRun("t1", "traditional", {"P@2": Moved(0.5, 0.25, 2, 2)})]
    results = leave_out_results(
        list(left.values()), runs, pool_measures(["P@2"]), collection="worked"
    )
    [(neural, own)] = [
        item for item in of_type(results, LeftOutByKind) if item[0].system == "neural"
    ]
    # neural: n1 loses ½; n2, without e and c, has b at rank 3 and d nowhere: ¼ → 0
    assert neural.value == pytest.approx((-0.5 - 0.25) / 2)
    assert own.largest_fall == -0.5


def test_curves_are_the_reliability_at_each_point() -> None:
    runs = simulated(rate=0.4)
    measures, options = pool_measures(["P@10"]), PoolSettings(pools=3)
    deep = depth_curve(runs, measures, options, [2, 10])
    same = reliability(runs, measures, options)
    for one, other in zip(deep[10].sets, same.sets, strict=True):
        assert one.change.tolist() == other.change.tolist()
    # at depth 2 the gold is still the pool of depth 10
    assert deep[2].judged["gold"].tolist() == same.judged["gold"].tolist()
    wide = groups_curve(runs, measures, options)
    assert list(wide) == [1, 2, 3]
    assert (wide[1].judged["neural"] <= wide[2].judged["neural"]).all()
    results = curve_results("groups", wide, runs, collection="simulated")
    curves = {(own.pool, own.test): own for _, own in of_type(results, CurveFigures)}
    assert [own.at for own in curves.values()] == [[1, 2, 3]] * 6
    middle = next(item for item in same.sets if (item.pool, item.test) == ("neural", "traditional"))
    # half of four groups
    assert curves["neural", "traditional"].change[1] == pytest.approx(middle.change.mean())


def test_relabelling_changes_the_share_that_was_asked_for() -> None:
    systems = [System(f"r{n}", f"g{n}", kind) for n, kind in enumerate("aaaaabbbcc" * 2)]
    for share, expected in ((0.0, 0), (0.1, 2), (0.5, 10), (1.0, 20)):
        changed = relabel(systems, share, 0, 1)
        assert (
            sum(one.kind != other.kind for one, other in zip(systems, changed, strict=True))
            == expected
        )
        assert [one[:2] for one in changed] == [other[:2] for other in systems]
    assert relabel(systems, 0.3, 0, 1) == relabel(systems, 0.3, 0, 1) != relabel(systems, 0.3, 1, 1)
    with pytest.raises(SettingError, match="--relabel: wanted at least 2 kinds; found a"):
        relabel(systems[:5], 0.1, 0, 1)


def test_relabelled_results_have_the_labels_as_given_beside_the_repeats() -> None:
    runs = simulated(rate=0.6)
    measures, options = pool_measures(["P@10"]), PoolSettings(pools=3)
    given_labels = reliability(runs, measures, options)
    again = relabelled(runs, measures, options, share=0.25, repeats=3)
    results = relabelled_results(given_labels, again, collection="simulated", share=0.25, drawn=3)
    assert len(results) == 6
    [own] = [
        own
        for _, own in of_type(results, RelabelledFigures)
        if (own.pool, own.test) == ("traditional", "neural")
    ]
    item = next(
        item for item in given_labels.sets if (item.pool, item.test) == ("traditional", "neural")
    )
    assert own.change.given == pytest.approx(item.change.mean())
    assert own.repeats == 3
    assert own.change.low <= own.change.mean <= own.change.high
    # no label changed: the same again
    unchanged = relabelled_results(
        given_labels,
        relabelled(runs, measures, options, share=0, repeats=1),
        collection="x",
        share=0,
        drawn=1,
    )
    assert unchanged[0].payload.tau_b.given == unchanged[0].payload.tau_b.mean


def test_labels_that_leave_one_kind_are_skipped_and_counted() -> None:
    old = [
        (System(f"old{n}", f"old{n}", "old"), as_run(f"old{n}", {"1": ["a", "b"]}))
        for n in range(4)
    ]
    runs = judge_runs(
        [*old, (System("new", "new", "new"), as_run("new", {"1": ["b", "a"]}))], [Qrel("1", "a", 1)]
    )
    measures, options = pool_measures(["RR"]), PoolSettings(pools=2)
    # one of five labels changes; where it is that of the only new run, all are old
    lost = sum(relabel(runs.systems, 0.2, number, 1)[-1].kind == "old" for number in range(10))
    assert 0 < lost < 10
    again = relabelled(runs, measures, options, share=0.2, repeats=10)
    assert len(again) == 10 - lost
    results = relabelled_results(
        reliability(runs, measures, options), again, collection="x", share=0.2, drawn=10
    )
    assert (results[0].payload.drawn, results[0].payload.repeats) == (10, 10 - lost)

"""What each kind finds by depth, each group left out, curves and wrong labels: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.errors import SettingError
from positionbias.core.records import Qrel
from positionbias.pooling.coverage import coverage
from positionbias.pooling.curves import depth_curve, groups_curve
from positionbias.pooling.judged_runs import judge_runs
from positionbias.pooling.leave_out import Moved, leave_out, ranks_of
from positionbias.pooling.measured import (
    coverage_rows,
    curve_rows,
    left_out_rows,
    pool_rows,
    relabelled_rows,
)
from positionbias.pooling.relabelled import relabel, relabelled
from positionbias.pooling.reliability import reliability
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.settings import CoverageSettings, PoolSettings
from positionbias.pooling.systems import System

from .worked import as_run, row, simulated, worked

SIZES = {"queries": 8, "groups": 4}


def test_coverage_by_hand() -> None:
    made = pool_rows("worked")
    coverage_rows(made, worked(), CoverageSettings(depth=2, deepest=50))
    every = made.rows.merge(made.values.rename(columns={"value": "own"}), on="row")
    by_query = every.pivot(index=["kind", "statistic", "item"], columns="at", values="own")
    # grade 1 or more: b, c of query 1; f, d of query 2; no run is deeper than 3
    # traditional: depth 1 d; depth 2 b (t1), d; depth 3 the same. neural: depth 1 b, c, f; 2 the
    # same; 3 and d
    for kind, statistic, counts in (
        ("traditional", "found", [[0, 1, 1], [1, 1, 1]]),
        ("neural", "found", [[2, 2, 2], [1, 1, 2]]),
        ("traditional", "alone", [[0, 0, 0], [1, 1, 0]]),
        ("neural", "alone", [[2, 1, 1], [1, 1, 1]]),
    ):
        assert by_query.loc[kind, statistic].to_numpy().tolist() == counts
        totals = every[(every["kind"] == kind) & (every["statistic"] == statistic)]
        assert totals["value"].unique().tolist() == list(dict.fromkeys(np.sum(counts, axis=0)))
    # grade 2: b and f
    assert coverage(worked(), [1], level=2).found["neural"].tolist() == [[1], [1]]


def test_a_group_left_out_by_hand() -> None:
    assert ranks_of(np.array([0.3, 0.5, 0.3 + 1e-15, 0.1])).tolist() == [2, 1, 2, 4]
    left = leave_out(worked(), pool_measures(["P@2"]), PoolSettings(depth=1))
    # depth 1: one has a, d; two has x, e (t2) and c (n2); three has b, f: each document is one
    # group's alone
    assert {item.group: item[1:3] for item in left} == {
        "one": (2, 1), "two": (2, 1), "three": (2, 2),
    }  # fmt: skip
    moved = {item.group: item.moved["P@2"] for item in left}
    # gold: P@2 t1 ½, t2 ¼, n1 ¾, n2 ¼. Without b and f: t1 (d) ¼, t2 (d) ¼, n1 (c) ¼, n2 (c) ¼
    assert moved["three"] == [Moved(0.75, 0.25, 1, 1)]
    # without a and d: t1 (b) ¼, t2 0, n1 ¾, n2 ¼
    assert moved["one"] == [Moved(0.5, 0.25, 2, 2)]
    made = pool_rows("worked")
    left_out_rows(made, left)
    # neural: n1 loses ½; n2, without e and c, has b at rank 3 and d nowhere: ¼ → 0, rank 3 → 4
    own = {"kind": "neural", "variant": "own group left out"}
    assert row(made, "change", **own).value == pytest.approx((-0.5 - 0.25) / 2)
    assert (row(made, "largest fall", **own).value, row(made, "ranks lost", **own).value) == (
        -0.5, 0.5,
    )  # fmt: skip
    assert row(made, "rank without", run="n2").value == 4


def test_curves_are_the_reliability_at_each_point() -> None:
    runs = simulated(0.4, **SIZES)
    measures, options = pool_measures(["P@10"]), PoolSettings(pools=3)
    same = reliability(runs, measures, options)
    for depth, deep in depth_curve(runs, measures, options, [2, 10]).items():
        # at depth 2 the gold is still the pool of depth 10
        assert deep.judged["gold"].tolist() == same.judged["gold"].tolist()
        changes = [[item.change.tolist() for item in found.sets] for found in (deep, same)]
        assert (changes[0] == changes[1]) == (depth == 10)
    made = pool_rows("simulated")
    curve_rows(made, "groups", groups_curve(runs, measures, options), runs)
    for item in same.sets:  # half of four groups
        point = row(made, "change", at=2.0, pool=item.pool, kind=item.test)
        assert point.value == pytest.approx(item.change.mean())


def test_relabelling_changes_the_share_that_was_asked_for() -> None:
    systems = [System(f"r{n}", f"g{n}", kind) for n, kind in enumerate("aaaaabbbcc" * 2)]
    for share, expected in ((0.0, 0), (0.1, 2), (1.0, 20)):
        pairs = list(zip(systems, relabel(systems, share, 0, 1), strict=True))
        assert sum(old.kind != new.kind for old, new in pairs) == expected
        assert all(old[:2] == new[:2] for old, new in pairs)
    assert relabel(systems, 0.3, 0, 1) != relabel(systems, 0.3, 1, 1)
    with pytest.raises(SettingError, match="--relabel: wanted at least 2 kinds; found a"):
        relabel(systems[:5], 0.1, 0, 1)


def test_wrong_labels_that_leave_one_kind_are_skipped_and_not_counted() -> None:
    rankings = {f"old{n}": ["a", "b"] for n in range(4)} | {"new": ["b", "a"]}
    runs = judge_runs(
        [
            (System(name, name, name[:3]), as_run(name, {"1": ids}))
            for name, ids in rankings.items()
        ],
        [Qrel("1", "a", 1)],
    )
    measures, options = pool_measures(["RR"]), PoolSettings(pools=2)
    # one of five labels changes; where it is that of the only new run, all are old
    lost = sum(relabel(runs.systems, 0.2, number, 1)[-1].kind == "old" for number in range(10))
    assert 0 < lost < 10
    labelled = reliability(runs, measures, options)
    for share, repeats, count in ((0.2, 10, 10 - lost), (0.0, 2, 2)):
        again = relabelled(runs, measures, options, share=share, repeats=repeats)
        made = pool_rows("x")
        relabelled_rows(made, labelled, again, share=share, drawn=repeats)
        change = row(made, "change", pool="old", kind="new")
        assert (len(again), change.count) == (count, count)
        (without,) = made.rows.query("statistic == 'relabellings lost'")["value"].unique()
        assert without == repeats - count
    # no label changed: the same again. By a pool of old runs a, at the new one's second rank, is
    # judged
    assert (change.low, change.value, change.high) == (0, 0, 0)

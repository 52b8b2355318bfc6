"""Figures of pools, as they are measured, go round through a folder of results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.manifest import Manifest
from positionbias.core.records import Qrel
from positionbias.papers.pooling import RECOGNISED, PublishedTask
from positionbias.pooling.coverage import coverage_results
from positionbias.pooling.curves import curve_results, depth_curve, groups_curve
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.kind_effects import kind_effects
from positionbias.pooling.kind_results import kind_results
from positionbias.pooling.leave_out import leave_out, leave_out_results
from positionbias.pooling.open_runs import open_runs
from positionbias.pooling.relabelled import relabelled, relabelled_results
from positionbias.pooling.reliability import reliability
from positionbias.pooling.reliability_results import reliability_results
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.settings import CoverageSettings, PoolSettings, VerdictSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System
from positionbias.pooling.verdict import verdict
from positionbias.pooling.verdict_results import verdict_results
from positionbias.results.pools import KindFigures, PoolFigures, UnderPools, by_contrast, task_of
from positionbias.results.result import Result, load_results, save_results
from positionbias.results.select import of_type

SIMULATION = Simulation(rate=0.5, queries=6, groups=6)
MEASURES = pool_measures(["P@5"])


def simulated(simulation: Simulation) -> JudgedRuns:
    return judge_runs(simulated_runs(simulation), simulated_qrels(simulation))


def of_runs(simulation: Simulation, settings: PoolSettings) -> Iterator[Result]:
    """All that is measured of runs; with three groups of a kind nobody can tell whether kind
    matters.
    """
    runs, few = simulated(simulation), simulated(replace(simulation, groups=3))
    found = reliability(runs, MEASURES, settings)
    again = relabelled(runs, MEASURES, settings, share=0.1, repeats=2)
    yield from coverage_results(runs, CoverageSettings(depth=5), collection="c")
    yield from reliability_results(found, runs, collection="c")
    yield from leave_out_results(
        leave_out(runs, MEASURES, settings), runs, MEASURES, collection="c"
    )
    yield from curve_results(
        "depth", depth_curve(runs, MEASURES, settings, [1, 5]), runs, collection="c"
    )
    yield from curve_results(
        "groups", groups_curve(runs, MEASURES, settings, [1, 9]), runs, collection="c"
    )
    yield from curve_results(
        "groups", groups_curve(runs, MEASURES, settings, [9]), runs, collection="c"
    )
    yield from relabelled_results(found, again, collection="c", share=0.1, drawn=2)
    yield from relabelled_results(found, [], collection="c", share=0.1, drawn=2)
    for judged in (runs, few):
        yield from kind_results(
            kind_effects(judged, MEASURES, settings, permutations=160),
            judged,
            collection="c",
            seed=1,
        )


def of_one_run(simulation: Simulation) -> Iterator[Result]:
    """One new run with pooled runs that allow a prediction, and without any."""
    pooled = [item for item in simulated_runs(simulation) if item[0].kind == "traditional"]
    seen = {
        (ranking.query_id, passage)
        for _, run in pooled
        for ranking in run.rankings()
        for passage in ranking.passage_ids
    }
    qrels: list[Qrel] = [qrel for qrel in simulated_qrels(simulation) if qrel[:2] in seen]
    *_, (_, run) = simulated_runs(replace(simulation, seed=9))
    new = (System("new", "new", ""), run)
    for items in ([*pooled, new], [new]):
        opened = open_runs(lambda: items, qrels, 10)  # noqa: B023
        yield from verdict_results(
            verdict(opened, VerdictSettings(measures=["P@5"])), collection="c"
        )


def below(kind: type[PoolFigures]) -> set[type[PoolFigures]]:
    return {kind}.union(*map(below, kind.__subclasses__()))


@pytest.fixture(scope="module")
def measured() -> list[Result]:
    settings = PoolSettings(pools=2)
    published = Result(
        RECOGNISED,
        "c",
        "",
        "all systems",
        None,
        None,
        None,
        6,
        PublishedTask(task="TREC DL 2019 passages"),
    )
    return [*of_runs(SIMULATION, settings), *of_one_run(SIMULATION), published]


def test_what_is_measured_goes_round(measured: list[Result], tmp_path: Path) -> None:
    given = [result for result, _ in of_type(measured, PoolFigures)]
    save_results(tmp_path / "r", given, Manifest(kind="results", name="r", command="a test"))
    assert load_results(tmp_path / "r") == given
    kinds = {type(figures) for _, figures in of_type(measured, PoolFigures)}
    assert kinds == below(PoolFigures) - {PoolFigures, UnderPools}


def test_a_run_that_is_left_out_has_its_measures_beside_its_name(measured: list[Result]) -> None:
    left = next(result for result in measured if result.measure == "left out")
    first = left.to_json()["payload"]["rows"]["runs"][0]
    assert list(first) == ["run", "kind", "P@5"]
    assert list(first["P@5"]) == ["before", "after", "rank before", "rank after"]


def test_a_task_is_told_with_its_pools(measured: list[Result]) -> None:
    task = task_of(measured)
    assert task
    assert list(task.sizes) == ["gold", "traditional", "neural"]
    assert task_of([]) is None


def test_effects_by_contrast(measured: list[Result]) -> None:
    effects = by_contrast(measured)
    assert {contrast for contrast, *_ in effects} == {"beside unseen", "beyond mixed pools"}
    assert {own.contrast for _, own in of_type(measured, KindFigures)} == {
        contrast for contrast, *_ in effects
    }

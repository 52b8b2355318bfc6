"""The study of pools on simulated runs: a rerun makes what changed alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pandas import DataFrame

from positionbias.core.errors import InputError
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load
from positionbias.experiments.step import Steps
from positionbias.papers.pooling.settings import PoolingSettings, PoolingTask
from positionbias.papers.pooling.study import run_study
from positionbias.pooling.settings import PoolSettings
from tests.pooling.simulated import Simulation
from tests.pooling.simulated_files import write_pool

SIMULATION = Simulation(rate=0.5, queries=5, groups=3)


def task(folder: Path, name: str, simulation: Simulation = SIMULATION) -> PoolingTask:
    """Six runs, their table and judgements."""
    runs, qrels, systems = (folder / name / part for part in ("runs", "qrels.txt", "systems.tsv"))
    write_pool(runs, systems, qrels, simulation)
    return PoolingTask(name, runs, qrels, systems)


def settings(*tasks: PoolingTask, pools: int = 3) -> PoolingSettings:
    return PoolingSettings(tasks=tasks, pools=PoolSettings(pools=pools, measures=["P@5"]))


def run(asked: PoolingSettings, folder: Path) -> tuple[DataFrame, bool]:
    """The rows, and whether they were measured again."""
    told: list[str] = []
    rows = load(run_study(asked, Steps(folder, told.append)))
    (line,) = told
    return rows, not line.endswith("done before")


def test_two_tasks_and_what_a_rerun_makes(tmp_path: Path) -> None:
    one, two = task(tmp_path, "one"), task(tmp_path, "two", replace(SIMULATION, seed=2))
    rows, made = run(settings(one, two), tmp_path / "study")
    counted = rows.query("statistic == 'judgements'")["collection"]
    assert (counted.tolist(), made) == (["one", "two"], True)  # once a task
    again, made = run(settings(one, two), tmp_path / "study")
    assert (made, again.equals(rows)) == (False, True)
    changed = (two.runs / "neural-0.run").read_text().splitlines()
    (two.runs / "neural-0.run").write_text("\n".join(changed[:-1]) + "\n")
    assert run(settings(one, two), tmp_path / "study")[1]
    roles = [item.role for item in read_manifest(tmp_path / "study" / "results").inputs]
    assert roles == [
        f"{name}/{role}" for name in ("one", "two") for role in ("runs", "qrels", "systems")
    ]


def test_a_dry_run_writes_nothing_and_needs_no_runs_read(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "study", dry_run=True)
    given = task(tmp_path, "one")
    (given.runs / "neural-0.run").write_text("not a run\n")
    run_study(settings(given), steps)
    assert [(step.name, step.done) for step in steps.planned] == [("measure", False)]
    assert not (tmp_path / "study").exists()


def test_bad_files(tmp_path: Path) -> None:
    given = task(tmp_path, "one")
    # the second task's table is looked at before the first task is measured
    broken = task(tmp_path, "two")
    broken.systems.write_text("run\tgroup\tkind\nneural-0\tg\tneural\n")
    with pytest.raises(InputError, match="found none for neural-1, neural-2, traditional-0"):
        run(settings(given, broken), tmp_path / "study")
    assert not (tmp_path / "study").exists()

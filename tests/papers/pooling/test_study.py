"""The study of pools on simulated runs: a rerun makes what changed alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pandas import DataFrame

import positionbias
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load, load_values
from positionbias.experiments.step import Steps
from positionbias.papers.pooling.settings import Level, PoolingSettings, PoolingTask
from positionbias.papers.pooling.study import run_study
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.simulated import Simulation
from tests.pooling.simulated_files import write_pool

SIMULATION = Simulation(rate=0.5, queries=5, groups=3)
PARTS = ("coverage", "reliability", "kinds", "left-out", "curves", "relabelled")


def task(folder: Path, name: str, simulation: Simulation = SIMULATION) -> PoolingTask:
    """Six runs, their table and judgements."""
    runs, qrels, systems = (folder / name / part for part in ("runs", "qrels.txt", "systems.tsv"))
    write_pool(runs, systems, qrels, simulation)
    return PoolingTask(name, runs, qrels, systems)


def settings(*tasks: PoolingTask, pools: int = 3) -> PoolingSettings:
    return PoolingSettings(
        tasks=tasks,
        pools=PoolSettings(pools=pools),
        measures=("P@5",),
        deepest=5,
        repeats=2,
        relabel=0.2,
    )


def run(asked: PoolingSettings, folder: Path) -> tuple[DataFrame, list[str]]:
    """The rows, and the steps that were made."""
    told: list[str] = []
    rows = load(run_study(asked, Steps(folder, told.append)))
    return rows, [line.partition(":")[0] for line in told if not line.endswith("done before")]


def test_two_tasks_and_what_a_rerun_makes(tmp_path: Path) -> None:
    one, two = task(tmp_path, "one"), task(tmp_path, "two", replace(SIMULATION, seed=2))
    rows, made = run(settings(one, two), tmp_path / "study")
    assert made == [
        *(f"one/{part}" for part in PARTS),
        *(f"two/{part}" for part in PARTS),
        "measure",
    ]
    counted = rows.query("statistic == 'judgements'")["collection"]
    assert counted.tolist() == ["one", "two"]  # once a task
    again, made = run(settings(one, two), tmp_path / "study")
    assert (made, again.equals(rows)) == ([], True)
    values = load_values(tmp_path / "study" / "results").merge(rows, on="row")
    # the counts by query of both tasks stay with their rows
    totals = values.query("statistic == 'found'").groupby("row")[["value_x", "value_y"]]
    assert (totals.sum()["value_x"] == totals.first()["value_y"]).all()
    _, made = run(replace(settings(one, two), repeats=3), tmp_path / "study")
    assert made == ["one/relabelled", "two/relabelled", "measure"]
    changed = (two.runs / "neural-0.run").read_text().splitlines()
    (two.runs / "neural-0.run").write_text("\n".join(changed[:-1]) + "\n")
    _, made = run(replace(settings(one, two), repeats=3), tmp_path / "study")
    assert made == [*(f"two/{part}" for part in PARTS), "measure"]
    roles = [item.role for item in read_manifest(tmp_path / "study" / "results").inputs]
    assert roles == [
        f"{name}/{role}" for name in ("one", "two") for role in ("runs", "qrels", "systems")
    ]


def test_a_dry_run_writes_nothing_and_needs_no_runs_read(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "study", dry_run=True)
    given = task(tmp_path, "one")
    (given.runs / "neural-0.run").write_text("not a run\n")
    run_study(replace(settings(given), relabel=0.0), steps)
    assert [(step.name, step.done) for step in steps.planned] == [
        *((f"one/{part}", False) for part in PARTS[:-1]),
        ("measure", False),
    ]
    assert not (tmp_path / "study").exists()


def test_bad_settings_and_files(tmp_path: Path) -> None:
    given = task(tmp_path, "one")
    for name in ("", "a/b", ".hidden", "results"):
        with pytest.raises(SettingError, match="--task: wanted a name without slashes"):
            settings(given._replace(name=name))
    with pytest.raises(SettingError, match="--relabel: wanted a number from 0 to 1"):
        replace(settings(given), relabel=2.0)
    levels = replace(settings(given), relevant_from=(Level("one", 3), Level("", 2)))
    assert (levels.level("one"), levels.level("two"), settings(given).level("one")) == (3, 2, 1)
    # the second task's table is looked at before the first task is measured
    broken = task(tmp_path, "two")
    broken.systems.write_text("run\tgroup\tkind\nneural-0\tg\tneural\n")
    with pytest.raises(InputError, match="5 of 6 runs without one"):
        run(settings(given, broken), tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_the_study_from_python(tmp_path: Path) -> None:
    asked = settings(task(tmp_path, "one"))
    found = positionbias.study("pooling", settings=asked, out=tmp_path / "study")
    assert set(found.to_frame()["collection"]) == {"one"}
    told = str(found).split("What was found")[1]
    assert "No published figures for one: it is not a task of On the Reliability" in " ".join(
        told.split()
    )
    with pytest.raises(SettingError, match="study pooling: wanted no collection; found 1"):
        positionbias.study("pooling", "squad", settings=asked, out=tmp_path / "study")
    with pytest.raises(SettingError, match="settings: wanted PoolingSettings; found PoolSettings"):
        positionbias.study("pooling", settings=PoolSettings(), out=tmp_path / "study")
    with pytest.raises(SettingError, match="study: wanted one of .*; found 'pools'"):
        positionbias.study("pools", settings=asked, out=tmp_path / "study")

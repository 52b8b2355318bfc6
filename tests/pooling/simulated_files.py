"""Files of a small simulated pool: runs of traditional and neural systems, the table of these, and
judgements; and all that is measured of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from positionbias.core.manifest import Manifest
from positionbias.core.qrels import write_qrels
from positionbias.core.rows import save
from positionbias.core.run import Run, write_run
from positionbias.pooling import measured
from positionbias.pooling.curves import depth_curve, groups_curve
from positionbias.pooling.judged_runs import judge_runs
from positionbias.pooling.kind_effects import kind_effects
from positionbias.pooling.leave_out import leave_out
from positionbias.pooling.open_runs import open_runs
from positionbias.pooling.relabelled import relabelled
from positionbias.pooling.reliability import reliability
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.settings import CoverageSettings, PoolSettings, VerdictSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System
from positionbias.pooling.verdict import verdict

SIMULATION = Simulation(rate=0.5, queries=6, groups=3)


def write_pool(
    runs: Path, systems: Path, qrels: Path, simulation: Simulation = SIMULATION
) -> list[tuple[System, Run]]:
    """Write each run to the folder ``runs``, and return them with their systems."""
    made = list(simulated_runs(simulation))
    for system, run in made:
        write_run(runs / f"{system.run}.run", run)
    systems.write_text(
        "\n".join(["run\tgroup\tkind", *("\t".join(system) for system, _ in made)]) + "\n"
    )
    write_qrels(qrels, simulated_qrels(simulation))
    return made


def save_measured(folder: Path, *collections: str) -> Path:
    """Save the rows of all that can be measured of the pool, of each collection the same, and of
    a new run on "one-run".
    """
    pooled, qrels = list(simulated_runs(SIMULATION)), simulated_qrels(SIMULATION)
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    runs, measures, drawn = judge_runs(pooled, qrels), pool_measures(["P@5"]), PoolSettings(pools=2)
    found = reliability(runs, measures, drawn)
    opened = open_runs(lambda: [*pooled, (System("new", "new", ""), new)], qrels, 10)
    made = measured.pool_rows("")
    for name in collections:
        made.common = {**made.common, "collection": name}
        measured.task_rows(made, runs, 1)
        measured.coverage_rows(made, runs, CoverageSettings())
        measured.reliability_rows(made, found, runs)
        measured.kind_rows(made, kind_effects(runs, pool_measures(["P@5", "RR"]), drawn))
        measured.left_out_rows(made, leave_out(runs, measures, drawn))
        measured.curve_rows(made, "depth", depth_curve(runs, measures, drawn, [1, 10]), runs)
        measured.curve_rows(made, "groups", groups_curve(runs, measures, drawn), runs)
        again = relabelled(runs, measures, drawn, share=0.2, repeats=2)
        measured.relabelled_rows(made, found, again, 0.2)
    made.common = {**made.common, "collection": "one-run"}
    measured.verdict_rows(made, verdict(opened, VerdictSettings(measures=["P@10"])))
    manifest = Manifest("results", "Pools", "study pooling", seed=1)
    save(folder, made.rows, manifest, made.values)
    return folder

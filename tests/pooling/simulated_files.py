"""Files of a small simulated pool: runs of traditional and neural systems, the table of these, and
judgements; and all that is measured of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import positionbias
from positionbias.core.qrels import Qrels
from positionbias.core.run import Run
from positionbias.evaluation.judged_runs import System
from positionbias.pooling.settings import PoolSettings, VerdictSettings

from .simulated import Simulation, simulated_qrels, simulated_runs

SIMULATION = Simulation(rate=0.5, queries=6, groups=3)


def write_pool(
    runs: Path, systems: Path, qrels: Path, simulation: Simulation = SIMULATION
) -> list[tuple[System, Run]]:
    """Write each run to the folder ``runs``, and return them with their systems."""
    made = list(simulated_runs(simulation))
    for system, run in made:
        run.save(runs / f"{system.run}.run")
    systems.write_text(
        "\n".join(["run\tgroup\tkind", *("\t".join(system) for system, _ in made)]) + "\n"
    )
    Qrels(simulated_qrels(simulation)).save(qrels)
    return made


def measured_pool(folder: Path) -> list[Path]:
    """Measure all that can be of the pool; return the folders of coverage, reliability, verdict."""
    pool = {name: folder / name for name in ("runs", "systems", "qrels")}
    write_pool(**pool)
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    new.save(folder / "new.run")
    drawn = PoolSettings(pools=2, measures=["P@5", "RR"])
    verdict = {"pool_runs": pool["runs"], "settings": VerdictSettings(measures=["P@10"])}
    qrels = pool["qrels"]
    made = (
        positionbias.pool_coverage(pool["runs"], qrels, systems=pool["systems"]),
        positionbias.pool_reliability(pool["runs"], qrels, systems=pool["systems"], settings=drawn),
        positionbias.pool_verdict(folder / "new.run", qrels, **verdict),
    )
    return [found.save(folder / found.command) for found in made]

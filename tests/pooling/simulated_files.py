"""Files of a small simulated pool: runs of traditional and neural systems, the table of these, and
judgements.
"""

from __future__ import annotations

from pathlib import Path

from positionbias.core.qrels import write_qrels
from positionbias.core.run import Run, write_run
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System

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

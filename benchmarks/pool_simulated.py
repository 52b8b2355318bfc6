"""What is measured of a pool bias that is known: simulated systems, of which the neural ones find what others cannot at a rate that is set.

    python benchmarks/pool_simulated.py        # writes benchmarks/results/pool_simulated_HARDWARE_DATE.md

Each evaluation draws runs anew (``positionbias.pooling.simulated``), pools of traditional groups from them, and measures the change of neural
runs beside that of unseen traditional ones, with its interval. The truth of P@10 is −rate · c · the mean chance of a relevant document.
"""

from __future__ import annotations

import argparse
import platform
import time
from datetime import date
from importlib.metadata import version

import numpy as np
from measuring import hardware, result_place

from positionbias.pooling.judged_runs import judge_runs
from positionbias.pooling.pools import PoolSettings
from positionbias.pooling.reliability import reliability
from positionbias.pooling.reliability_results import change_of
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs

RATES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
MEASURES = ("P@10", "nDCG@10")
HEADS = (
    "rate", "P@10, truth", "P@10, measured, mean", "P@10, measured, middle 95 %", "intervals that hold the truth", "intervals below 0",
    "nDCG@10, measured, mean", "nDCG@10, measured, middle 95 %", "intervals of nDCG@10 below 0",
)  # fmt: skip


def evaluated(rate: float, seed: int, pools: int) -> tuple[float, dict[str, tuple[float, float, float]]]:
    """The truth of P@10, and by measure the value and the interval's ends."""
    simulation = Simulation(rate=rate, seed=seed)
    runs = judge_runs(simulated_runs(simulation), simulated_qrels(simulation))
    found = reliability(runs, pool_measures(list(MEASURES)), PoolSettings(pools=pools, gold="all", seed=seed))
    sets = {(item.test, item.measure): item for item in found.sets if item.pool == "traditional"}
    unseen = sets["traditional", "P@10"].figures
    held = float(unseen["estimated"].mean() / unseen["gold"].mean())
    measured = {}
    for measure in MEASURES:
        value, interval = change_of(sets["neural", measure].beside)
        assert value is not None
        assert interval is not None
        measured[measure] = (value, interval.low, interval.high)
    return -rate * held * (simulation.weakest + simulation.best) / 2, measured


def row(rate: float, evaluations: int, pools: int) -> str:
    found = [evaluated(rate, seed, pools) for seed in range(1, evaluations + 1)]
    truth = np.array([own for own, _ in found])
    values = {measure: np.array([own[measure] for _, own in found]) for measure in MEASURES}
    shares = {measure: (own[:, 2] < 0).mean() for measure, own in values.items()}
    held = ((values["P@10"][:, 1] <= truth) & (truth <= values["P@10"][:, 2])).mean()
    cells = [f"{rate:.2f}", f"{truth.mean():+.3f}", *_spread(values["P@10"]), f"{held:.1%}", f"{shares['P@10']:.1%}"]
    return "| " + " | ".join([*cells, *_spread(values["nDCG@10"]), f"{shares['nDCG@10']:.1%}"]) + " |"


def _spread(values: np.ndarray) -> list[str]:
    low, high = np.quantile(values[:, 0], [0.025, 0.975])
    return [f"{values[:, 0].mean():+.3f}", f"{low:+.3f} to {high:+.3f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=200, help="of each rate")
    parser.add_argument("--pools", type=int, default=10, help="of each evaluation")
    given = parser.parse_args()
    began = time.process_time()
    rows = [row(rate, given.evaluations, given.pools) for rate in RATES]
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "positionbias"))
    size = Simulation()
    text = [
        "# Simulated pool bias: measured, and true",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; seeds 1 to {given.evaluations}; "
        f"{(time.process_time() - began) / 60:.1f} processor minutes.",
        "",
        f"    python benchmarks/pool_simulated.py --evaluations {given.evaluations} --pools {given.pools}",
        "",
        f"{given.evaluations} evaluations of each rate, all drawn anew: {size.queries} queries, {size.groups} groups of each kind with a run each, {given.pools} depth-10 pools of "
        "half of the traditional groups; gold is every judgement. The change of neural runs beside that of unseen traditional runs; intervals are 95 % over pools and queries.",
        "",
        "| " + " | ".join(HEADS) + " |",
        "|" + "---:|" * len(HEADS),
        *rows,
    ]
    result_place("pool_simulated").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()

"""Do intervals over trainings and queries hold the truth, how often is a difference claimed of a method that has none, and which ones are found?

    python benchmarks/training_intervals.py           # writes benchmarks/results/training_intervals_HARDWARE_DATE.md

A study is drawn anew each time: two trainings a seed, and the difference of their values query by query. Five queries a passage share a part of it, each training has a part of its own
on each query, half of the differences are 0 and few are near 1, as those of nDCG are. To that comes what a training changes everywhere, normal over seeds, with a deviation in units of the
*query error*: the standard deviation of the mean difference where trainings change nothing of the kind. Rotations within a seed have half of that deviation. *Uneven*: a tenth of queries is cut by each draw, and
one seed has one draw less. *Shared*: a draw changes all trainings alike, which the model does not have.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from importlib.metadata import version

import numpy as np
from measuring import hardware, result_place
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.crossed import crossed, mean_by_query
from positionbias.evaluation.significance import corrected

LEVEL = 0.05
PER_PASSAGE = 5
SAME = 0.5  # share of queries whose difference is 0
PASSAGE, QUERY, TRAINING, ROTATION = (math.sqrt(share) for share in (0.25, 0.25, 0.35, 0.15))  # of a difference's latent number
RESAMPLES = 400
METHODS = ("crossed", "t over seeds", "queries alone", "percentiles")


@dataclass(frozen=True, slots=True)
class Cell:
    """What studies are drawn with; ``deviation`` and ``shared`` are in query errors, and so is ``effect``, the true difference."""

    seeds: int = 3
    rotations: int = 1
    passages: int = 100
    deviation: float = 0.0
    uneven: bool = False
    shared: float = 0.0
    effect: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """Of ``draws`` studies, how many intervals held the truth by method, their mean length in query errors, and findings of the method."""

    cell: Cell
    draws: int
    held: dict[str, int]
    length: dict[str, float]
    found: int

    @property
    def missed(self) -> int:
        """Intervals of ``crossed`` that do not hold the truth."""
        return self.draws - self.held["crossed"]


def differences(rng: np.random.Generator, cell: Cell) -> np.ndarray:
    """What is of single queries in the differences, ``(seeds, rotations, queries)``; 0 in the mean of many studies."""
    shape = (cell.seeds, cell.rotations, cell.passages * PER_PASSAGE)
    latent = PASSAGE * np.repeat(rng.normal(size=cell.passages), PER_PASSAGE) + QUERY * rng.normal(size=shape[2])
    latent = latent + TRAINING * rng.normal(size=(shape[0], 1, shape[2])) + ROTATION * rng.normal(size=shape)
    beyond = np.maximum(2 * stats.norm.cdf(np.abs(latent)) - 1 - SAME, 0) / (1 - SAME)
    return np.sign(latent) * beyond**3


@lru_cache
def query_error(cell: Cell, *, draws: int = 4_000) -> float:
    """The standard deviation of the mean difference where no training changes all queries alike."""
    return float(np.std([differences(generator(1, "query error", draw), cell).mean() for draw in range(draws)]))


def study(cell: Cell, draw: int) -> tuple[np.ndarray, float]:
    """The differences of one study, NaN where there are none, and the true one."""
    plain = replace(cell, deviation=0.0, uneven=False, shared=0.0, effect=0.0)
    unit = query_error(plain)
    rng = generator(1, "study", repr(cell), draw)
    values = differences(rng, cell)
    values = values + unit * cell.deviation * rng.normal(size=(cell.seeds, 1, 1))
    if cell.rotations > 1:
        values = values + unit * cell.deviation / 2 * rng.normal(size=(cell.seeds, cell.rotations, 1))
    values = values + unit * (cell.shared * rng.normal(size=(1, cell.rotations, 1)) + cell.effect)
    if cell.uneven:
        cut = rng.random((cell.rotations, values.shape[2])) < 0.1
        values = np.where(cut[None], np.nan, values)
        values[0, 1:] = np.nan
    return values, unit * cell.effect


def percentiles(values: np.ndarray, seed: int) -> tuple[float, float]:
    """Trainings and passages resampled: the interval that is not used."""
    rng = generator(seed, "percentiles")
    cells = values.mean(axis=1).reshape(values.shape[0], -1, PER_PASSAGE).mean(axis=2)  # (seeds, passages)
    weights = [rng.multinomial(size, np.full(size, 1 / size), size=RESAMPLES) / size for size in cells.shape]
    low, high = np.quantile(((weights[0] @ cells) * weights[1]).sum(axis=1), [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def run(cell: Cell, draws: int, *, others: bool) -> Found:
    """``draws`` studies of a cell; ``others``: by the methods that are not used too."""
    labels = [f"passage {place // PER_PASSAGE:04d}" for place in range(cell.passages * PER_PASSAGE)]
    methods = METHODS if others else METHODS[:1]
    held, length, findings = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0.0), 0
    for draw in range(draws):
        values, truth = study(cell, draw)
        found = crossed(values, labels)
        assert found.interval is not None
        findings += found.of_method and bool(found.least)
        bounds = {"crossed": (found.interval.low, found.interval.high)}
        if others:
            seeds = np.array(found.by_seed)
            half = float(stats.t.ppf(1 - LEVEL / 2, cell.seeds - 1) * seeds.std(ddof=1)) / math.sqrt(cell.seeds)
            bounds["t over seeds"] = (float(seeds.mean()) - half, float(seeds.mean()) + half)
            alone = clustered_mean(mean_by_query(values), labels).interval
            assert alone is not None
            bounds["queries alone"] = (alone.low, alone.high)
            bounds["percentiles"] = percentiles(values, draw)
        for name, (low, high) in bounds.items():
            held[name] += bool(low <= truth <= high)
            length[name] += (high - low) / draws
    unit = query_error(replace(cell, deviation=0.0, uneven=False, shared=0.0, effect=0.0))
    return Found(cell, draws, held, {name: value / unit for name, value in length.items()}, findings)


def exact(count: int, draws: int) -> str:
    """A share with Clopper and Pearson's 95 % interval."""
    bounds = stats.binomtest(count, draws).proportion_ci()
    return f"{100 * count / draws:.1f} % [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"


def coverage_table(found: Sequence[Found]) -> list[str]:
    """A row a cell: coverage and length of each method, findings of the method where there is nothing to find; all cells against 5 %."""
    lines = [
        "| seeds | rotations | passages | layout | training deviation | studies | crossed holds the truth | findings of the method | length | t over seeds | queries alone | percentiles |",
        "|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for of in found:
        cell = of.cell
        others = [f"{100 * of.held[name] / of.draws:.1f} %" if name in of.held else "" for name in METHODS[1:]]
        row = [cell.seeds, cell.rotations, cell.passages, "uneven" if cell.uneven else "even", f"{cell.deviation:g}"]
        row += [f"{of.draws:,}", exact(of.held["crossed"], of.draws), exact(of.found, of.draws), f"{of.length['crossed']:.1f}"]
        lines.append("| " + " | ".join(map(str, [*row, *others])) + " |")
    missed, draws = sum(of.missed for of in found), sum(of.draws for of in found)
    p = corrected([float(stats.binomtest(of.found, of.draws, LEVEL, alternative="greater").pvalue) for of in found], "holm")
    least = min(of.held["crossed"] / of.draws for of in found)
    lines += [
        "",
        f"All cells: missed {exact(missed, draws)}; least coverage of a cell {100 * least:.1f} %; findings of the method {exact(sum(of.found for of in found), draws)}; "
        f"smallest p of a cell for more than 5 %, Holm over cells: {min(p):.3f}.",
    ]
    return lines


def power_table(found: Sequence[Found]) -> list[str]:
    """A row a true difference: how often it is found of the method."""
    lines = ["| seeds | training deviation | true difference | studies | found |", "|---:|---:|---:|---:|---:|"]
    for of in found:
        cell = of.cell
        lines.append(f"| {cell.seeds} | {cell.deviation:g} | {cell.effect:g} | {of.draws:,} | {exact(of.found, of.draws)} |")
    return lines


def shared_table(found: Sequence[Found]) -> list[str]:
    """A row a deviation of what a draw changes in all trainings alike."""
    lines = ["| seeds | training deviation | shared deviation | studies | holds the truth |", "|---:|---:|---:|---:|---:|"]
    for of in found:
        cell = of.cell
        lines.append(
            f"| {cell.seeds} | {cell.deviation:g} | {cell.shared:g} | {of.draws:,} | {exact(of.held['crossed'], of.draws)} |"
        )
    return lines


def cells() -> tuple[list[Cell], list[Cell], list[Cell]]:
    """Those of coverage, of power, and of draws that change all trainings alike."""
    layouts = [(1, False), (2, False), (2, True)]
    of_coverage = [
        Cell(seeds, rotations, passages, deviation, uneven)
        for seeds in (3, 5)
        for rotations, uneven in layouts
        for passages in (20, 200)
        for deviation in (0.0, 0.3, 1.0, 3.0)
    ]
    of_power = [
        Cell(seeds, 2, 200, deviation, effect=effect)
        for seeds in (3, 5)
        for deviation in (0.3, 1.0, 3.0)
        for effect in (2.0, 4.0, 8.0)
    ]
    of_draws = [
        Cell(seeds, 2, 200, deviation, shared=part * deviation)
        for seeds in (3, 5)
        for deviation in (1.0, 3.0)
        for part in (0.3, 1.0)
    ]
    return of_coverage, of_power, of_draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2_000, help="studies a cell of coverage")
    parser.add_argument("--fewer", type=int, default=1_000, help="studies a cell of power and of shared draws")
    given = parser.parse_args()
    started, load = time.process_time(), os.getloadavg()[0]
    of_coverage, of_power, of_draws = cells()
    covered = [run(cell, given.draws, others=not cell.uneven) for cell in of_coverage]
    powers, draws = ([run(cell, given.fewer, others=False) for cell in some] for some in (of_power, of_draws))
    seconds = time.process_time() - started
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    lines = [
        "# Intervals over trainings and queries",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; {seconds / 60:.1f} processor minutes (load average {load:.1f} at the start).",
        "",
        f"    {' '.join(['python', 'benchmarks/training_intervals.py', *sys.argv[1:]])}",
        "",
        "Deviations, lengths and differences are in query errors: the standard error that queries alone leave. Shares have Clopper and Pearson's 95 % interval. A finding of the method "
        "is an interval off zero over three trainings or more.",
        "",
        "## No true difference",
        "",
        f"Beside `crossed`: Student's t over the seeds' means, the cluster jackknife of each query's mean over seeds, and percentiles of {RESAMPLES} resamples of seeds and passages; their coverage alone.",
        "",
        *coverage_table(covered),
        "",
        "## True differences found of the method, two rotations a seed",
        "",
        *power_table(powers),
        "",
        "## Rotation draws that change all trainings alike",
        "",
        "Every seed meets the same two draws. What a draw changes query by query is in the interval; a change of all queries in all trainings at once is not, and this is what it would cost. The deviation of a "
        "rotation within its seed is half of a training's.",
        "",
        *shared_table(draws),
    ]
    place = result_place("training_intervals")
    place.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

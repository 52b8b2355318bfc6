"""Do intervals over trainings and queries hold the truth, how often is a difference claimed of a
method that has none, and which ones are found?

    python benchmarks/training_intervals.py --state FOLDER
        # writes benchmarks/results/training_intervals_HARDWARE_DATE.md

Finished parts of cells stay in the state folder, so that a stopped campaign goes on. The degrees of
freedom were chosen on draws of seed 1; the campaign's are others.

A study is drawn anew each time: two trainings a seed, and the difference of their values query by
query. Five queries a passage share a part of it, each training has a part of its own on each query,
half of the differences are 0 and few are near 1, as those of nDCG are. To that comes what a
training changes everywhere, normal over seeds, with a deviation in units of the *query error*: the
standard deviation of the mean difference where trainings change nothing of the kind. Rotations
within a seed have half of that deviation. *Uneven*: a tenth of queries is cut by each draw, and one
seed has one draw less. *Shared*: a draw changes all trainings alike, which the model does not have.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place
from scipy import stats
from scipy.special import ndtr

from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.crossed import crossed, mean_by_query
from positionbias.evaluation.significance import corrected

CAMPAIGN = 2  # seed of all draws; not 1, on whose draws the degrees of freedom were chosen
LEVEL = 0.05
LEAST_COVERAGE = 0.93  # of a cell with three seeds whose trainings vary
PER_PASSAGE = 5
SAME = 0.5  # share of queries whose difference is 0
# of a difference's latent number
PASSAGE, QUERY, TRAINING, ROTATION = (math.sqrt(share) for share in (0.25, 0.25, 0.35, 0.15))
RESAMPLES = 400
# studies that are kept at once; the methods that are not used see the first part of a cell alone
PART = 250
METHODS = ("crossed", "t over seeds", "queries alone", "percentiles")


@dataclass(frozen=True, slots=True)
class Cell:
    """What studies are drawn with; ``deviation`` and ``shared`` are in query errors, and so is
    ``effect``, the true difference.
    """

    seeds: int = 3
    rotations: int = 1
    passages: int = 100
    deviation: float = 0.0
    uneven: bool = False
    shared: float = 0.0
    effect: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """By method, of how many studies how many intervals held the truth; of ``crossed``, the sum of
    lengths in query errors and the findings of the method.
    """

    cell: Cell
    studies: Counter[str]
    held: Counter[str]
    length: float
    found: int

    @property
    def draws(self) -> int:
        """Studies of ``crossed``."""
        return self.studies["crossed"]

    @property
    def coverage(self) -> float:
        """The share of ``crossed`` intervals that hold the truth."""
        return self.held["crossed"] / self.draws


def differences(rng: np.random.Generator, cell: Cell) -> np.ndarray:
    """What is of single queries in the differences, ``(seeds, rotations, queries)``; 0 in the mean
    of many studies.
    """
    shape = (cell.seeds, cell.rotations, cell.passages * PER_PASSAGE)
    latent = PASSAGE * np.repeat(rng.normal(size=cell.passages), PER_PASSAGE) + QUERY * rng.normal(
        size=shape[2]
    )
    latent = (
        latent
        + TRAINING * rng.normal(size=(shape[0], 1, shape[2]))
        + ROTATION * rng.normal(size=shape)
    )
    beyond = np.maximum(2 * ndtr(np.abs(latent)) - 1 - SAME, 0) / (1 - SAME)
    return np.sign(latent) * beyond * beyond * beyond


@lru_cache
def query_error(cell: Cell, *, draws: int = 2_000) -> float:
    """The standard deviation of the mean difference where no training changes all queries alike."""
    return float(
        np.std(
            [
                differences(generator(CAMPAIGN, "query error", draw), cell).mean()
                for draw in range(draws)
            ]
        )
    )


def unit_of(cell: Cell) -> float:
    """The query error of a cell's layout."""
    return query_error(replace(cell, deviation=0.0, uneven=False, shared=0.0, effect=0.0))


def study(cell: Cell, draw: int) -> tuple[np.ndarray, float]:
    """The differences of one study, NaN where there are none, and the true one."""
    unit = unit_of(cell)
    rng = generator(CAMPAIGN, "study", repr(cell), draw)
    values = differences(rng, cell)
    values = values + unit * cell.deviation * rng.normal(size=(cell.seeds, 1, 1))
    if cell.rotations > 1:
        values = values + unit * cell.deviation / 2 * rng.normal(
            size=(cell.seeds, cell.rotations, 1)
        )
    values = values + unit * (cell.shared * rng.normal(size=(1, cell.rotations, 1)) + cell.effect)
    if cell.uneven:
        cut = rng.random((cell.rotations, values.shape[2])) < 0.1
        values = np.where(cut[None], np.nan, values)
        values[0, 1:] = np.nan
    return values, unit * cell.effect


def percentiles(values: np.ndarray, seed: int) -> tuple[float, float]:
    """Trainings and passages resampled: the interval that is not used."""
    rng = generator(CAMPAIGN, "percentiles", seed)
    # (seeds, passages)
    cells = values.mean(axis=1).reshape(values.shape[0], -1, PER_PASSAGE).mean(axis=2)
    weights = [
        rng.multinomial(size, np.full(size, 1 / size), size=RESAMPLES) / size
        for size in cells.shape
    ]
    low, high = np.quantile(
        ((weights[0] @ cells) * weights[1]).sum(axis=1), [LEVEL / 2, 1 - LEVEL / 2]
    )
    return float(low), float(high)


def run(cell: Cell, draws: range, *, others: bool) -> Found:
    """Some studies of a cell; ``others``: by the methods that are not used too."""
    labels = [f"passage {place // PER_PASSAGE:04d}" for place in range(cell.passages * PER_PASSAGE)]
    studies, held, length, findings = Counter[str](), Counter[str](), 0.0, 0
    for draw in draws:
        values, truth = study(cell, draw)
        found = crossed(values, labels)
        assert found.interval is not None
        findings += found.of_method and bool(found.least)
        length += (found.interval.high - found.interval.low) / unit_of(cell)
        bounds = {"crossed": (found.interval.low, found.interval.high)}
        if others:
            seeds = np.array(found.by_seed)
            half = float(
                stats.t.ppf(1 - LEVEL / 2, cell.seeds - 1) * seeds.std(ddof=1)
            ) / math.sqrt(cell.seeds)
            bounds["t over seeds"] = (float(seeds.mean()) - half, float(seeds.mean()) + half)
            alone = clustered_mean(mean_by_query(values), labels).interval
            assert alone is not None
            bounds["queries alone"] = (alone.low, alone.high)
            bounds["percentiles"] = percentiles(values, draw)
        studies.update(bounds.keys())
        held.update(name for name, (low, high) in bounds.items() if low <= truth <= high)
    return Found(cell, studies, held, length, findings)


def kept(state: Path, cell: Cell, draws: int, *, others: bool) -> Found:
    """The first studies of a cell, in whole parts: those in the state folder, and the others made
    now.
    """
    whole = Found(cell, Counter(), Counter(), 0.0, 0)
    for start in range(0, draws, PART):
        place = state / f"{CAMPAIGN}_{'_'.join(map(str, astuple(cell)))}.{start}.json"

        def made(start: int = start) -> dict[str, Any]:
            of = run(cell, range(start, start + PART), others=others and not start)
            return {"studies": of.studies, "held": of.held, "length": of.length, "found": of.found}

        part = kept_part(place, made)
        whole.studies.update(part["studies"])
        whole.held.update(part["held"])
        whole = replace(
            whole, length=whole.length + part["length"], found=whole.found + part["found"]
        )
    return whole


def seconds(state: Path) -> float:
    """Processor time of all studies in the state folder."""
    return float(
        sum(
            json.loads(place.read_text(encoding="utf-8"))["seconds"]
            for place in state.glob(f"{CAMPAIGN}_*.json")
        )
    )


def exact(count: int, draws: int) -> str:
    """A share with Clopper and Pearson's 95 % interval."""
    bounds = stats.binomtest(count, draws).proportion_ci()
    return f"{100 * count / draws:.1f} % [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"


def coverage_table(found: Sequence[Found]) -> list[str]:
    """A row a cell: coverage and length of each method, findings of the method where there is
    nothing to find; all cells against 5 %.
    """
    lines = [
        (
            "| seeds | rotations | passages | layout | training deviation | studies | crossed "
            "holds the truth | findings of the method | length | t over seeds | queries alone | "
            "percentiles |"
        ),
        "|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for of in found:
        cell = of.cell
        others = [
            f"{100 * of.held[name] / of.studies[name]:.1f} %" if of.studies[name] else ""
            for name in METHODS[1:]
        ]
        row = [
            cell.seeds,
            cell.rotations,
            cell.passages,
            "uneven" if cell.uneven else "even",
            f"{cell.deviation:g}",
        ]
        row += [
            f"{of.draws:,}",
            exact(of.held["crossed"], of.draws),
            exact(of.found, of.draws),
            f"{of.length / of.draws:.1f}",
        ]
        lines.append("| " + " | ".join(map(str, [*row, *others])) + " |")
    return lines


def bars(found: Sequence[Found]) -> list[str]:
    """The pooled figures, and each bar with the exact binomial test of the cell that is furthest
    beyond it, Holm-adjusted over its cells.
    """
    held, draws, findings = (
        sum(of.held["crossed"] for of in found),
        sum(of.draws for of in found),
        sum(of.found for of in found),
    )
    three = [of for of in found if of.cell.seeds == 3 and of.cell.deviation > 0]
    below = [
        stats.binomtest(of.held["crossed"], of.draws, LEAST_COVERAGE, alternative="less").pvalue
        for of in three
    ]
    above = [
        stats.binomtest(of.found, of.draws, LEVEL, alternative="greater").pvalue for of in found
    ]
    under = sum(of.coverage < LEAST_COVERAGE for of in three)
    most = max(of.found / of.draws for of in found)
    return [
        (
            f"- All cells: {exact(held, draws)} of intervals hold the truth; the least of a cell "
            f"is {100 * min(of.coverage for of in found):.1f} %."
        ),
        "- Three seeds, trainings that vary: least coverage "
        f"{100 * min(of.coverage for of in three):.1f} %; {under} of {len(three)} cells are below "
        f"{100 * LEAST_COVERAGE:.0f} %; smallest p of a cell for less than that, Holm over them: "
        f"{min(corrected(below, 'holm')):.3f}.",
        (
            f"- False findings of the method: {exact(findings, draws)}; most of a cell "
            f"{100 * most:.1f} %; smallest p of a cell for more than {100 * LEVEL:.0f} %, Holm "
            f"over cells: {min(corrected(above, 'holm')):.3f}."
        ),
    ]


def power_table(found: Sequence[Found]) -> list[str]:
    """A row a true difference: how often it is found of the method."""
    lines = [
        "| seeds | training deviation | true difference | studies | found |",
        "|---:|---:|---:|---:|---:|",
    ]
    for of in found:
        cell = of.cell
        lines.append(
            f"| {cell.seeds} | {cell.deviation:g} | {cell.effect:g} | {of.draws:,} | "
            f"{exact(of.found, of.draws)} |"
        )
    return lines


def shared_table(found: Sequence[Found]) -> list[str]:
    """A row a deviation of what a draw changes in all trainings alike."""
    lines = [
        "| seeds | training deviation | shared deviation | studies | holds the truth |",
        "|---:|---:|---:|---:|---:|",
    ]
    for of in found:
        cell = of.cell
        lines.append(
            f"| {cell.seeds} | {cell.deviation:g} | {cell.shared:g} | {of.draws:,} | "
            f"{exact(of.held['crossed'], of.draws)} |"
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--state", type=Path, required=True, help="folder of finished parts")
    parser.add_argument(
        "--draws", type=int, default=2_000, help=f"studies a cell of coverage, a multiple of {PART}"
    )
    parser.add_argument(
        "--fewer",
        type=int,
        default=1_000,
        help=f"studies a cell of power and of shared draws, a multiple of {PART}",
    )
    given = parser.parse_args()
    if given.draws % PART or given.fewer % PART or min(given.draws, given.fewer) < PART:
        parser.error(
            f"wanted multiples of {PART}; found --draws {given.draws}, --fewer {given.fewer}"
        )
    given.state.mkdir(parents=True, exist_ok=True)
    of_coverage, of_power, of_draws = cells()
    covered = [kept(given.state, cell, given.draws, others=not cell.uneven) for cell in of_coverage]
    powers, draws = (
        [kept(given.state, cell, given.fewer, others=False) for cell in some]
        for some in (of_power, of_draws)
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    lines = [
        "# Intervals over trainings and queries",
        "",
        (
            f"{hardware()}; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; {seconds(given.state) / 60:.1f} processor minutes."
        ),
        "",
        (
            f"    python benchmarks/training_intervals.py --state FOLDER --draws {given.draws} "
            f"--fewer {given.fewer}"
        ),
        "",
        f"All draws are of campaign seed {CAMPAIGN}; the degrees of freedom were chosen on those "
        "of seed 1. Deviations, lengths and differences are in query errors: the standard error "
        "that queries alone leave. Shares have Clopper and Pearson's 95 % interval. A finding of "
        "the method is an interval off zero over three trainings or more.",
        "",
        "## No true difference",
        "",
        *bars(covered),
        "",
        (
            "Beside `crossed`: Student's t over the seeds' means, the cluster jackknife of each "
            f"query's mean over seeds, and percentiles of {RESAMPLES} resamples of seeds and "
            f"passages; their coverage in the first {PART} studies of a cell."
        ),
        "",
        *coverage_table(covered),
        "",
        "## True differences found of the method, two rotations a seed",
        "",
        *power_table(powers),
        "",
        "## Rotation draws that change all trainings alike",
        "",
        "Every seed meets the same two draws. What a draw changes query by query is in the "
        "interval; a change of all queries in all trainings at once is not, and this is what it "
        "would cost. The deviation of a rotation within its seed is half of a training's.",
        "",
        *shared_table(draws),
    ]
    place = result_place("training_intervals")
    place.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

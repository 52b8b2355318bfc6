"""False alarms and power of ``posbias contamination suspect``, nominal and measured, by controls,
queries and spread.

    OMP_NUM_THREADS=1 python benchmarks/suspect_rates.py FOLDER
        # writes benchmarks/results/suspect_rates_HARDWARE_DATE.md

Values are simulated: a query's difficulty, shared by all systems; what a training gains on one set
(a normal effect); and what it gains on a query (nothing for three queries in four, normal for the
fourth, as ranks rarely change). Their sizes are those of trained models: with 200 queries a side,
clean trainings differ by 0.0217 nDCG@10 between test and fresh queries (20 collections, 80
trainings, of 2026-11-22), of which 0.0187 are taken to be the queries' part (0.0187 in 27 further
trainings). Finished cells are kept in FOLDER.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place
from pandas import DataFrame, Series
from statsmodels.stats.proportion import proportion_confint

from positionbias.contamination.suspect import MARGIN
from positionbias.core.seeds import generator
from positionbias.evaluation.single_case import Excess, excess_of, simulated_rates

ALPHA, TRIALS, PRINTED = 0.05, 1_000, 50
EFFECTS = (0.0, 0.02, 0.05, 0.1)
CHANGED = 0.25  # share of queries on which two trainings differ
SPREAD, OF_QUERIES = 0.0217, 0.0187  # among clean trainings, 200 queries a side


@dataclass(frozen=True, slots=True)
class Cell:
    """One configuration of the command: ``spread`` of all trainings, times; ``own`` what the
    suspect differs by query, times what its controls do."""

    queries: int = 200
    controls: int = 8
    spread: float = 1.0
    own: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.queries}-{self.controls}-1-{self.spread}-{self.own}"


def drawn(cell: Cell, trial: int) -> Excess:
    """The excess of a suspect over its controls."""
    rng = generator(5, f"{cell.name} {trial}")
    by_query = cell.spread * OF_QUERIES * sqrt(200 / 2)
    by_set = cell.spread * sqrt(SPREAD**2 - OF_QUERIES**2)
    subsets = np.repeat(["test", "fresh"], cell.queries)
    queries = DataFrame({"subset": subsets, "cluster": range(2 * cell.queries)})

    def training(times: float = 1.0) -> np.ndarray:
        """Values but for the difficulty, which all share and which every excess takes off."""
        changes = rng.random((2, cell.queries)) < CHANGED
        values = rng.normal(size=(2, cell.queries)) * changes * times * by_query / sqrt(CHANGED)
        values[0] += by_set * rng.normal()
        return values.ravel()

    suspect = Series(training(cell.own))
    controls = DataFrame({f"c{number}": training() for number in range(cell.controls)})
    excess = excess_of(suspect, controls, queries)
    assert isinstance(excess, Excess)
    return excess


def measured(cell: Cell) -> dict[str, Any]:
    """Counts of trials by effect, suspicious and not suspicious; and the mean of the error rates
    that the command prints, over the first trials.
    """
    counts = {name: [0] * len(EFFECTS) for name in ("suspicious", "cleared")}
    printed = []
    for trial in range(TRIALS):
        tested = drawn(cell, trial)
        for place, effect in enumerate(EFFECTS):
            found = tested.p(effect) <= ALPHA
            counts["suspicious"][place] += found
            high = tested.value + effect + tested.least(ALPHA)
            counts["cleared"][place] += not found and high < MARGIN
        if trial < PRINTED:
            printed.append(simulated_rates(tested, ALPHA, EFFECTS, seed=trial))
    return {**counts, "printed": np.mean(printed, axis=0).tolist()}


def share(hits: int) -> str:
    """In per cent, with Clopper and Pearson's interval."""
    low, high = proportion_confint(hits, TRIALS, method="beta")
    return f"{100 * hits / TRIALS:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def table(
    folder: Path, chosen: Sequence[Cell], head: str, name: Callable[[Cell], object]
) -> list[str]:
    """A line for each cell."""
    lines = [
        [
            head, "false alarms", "power at 0.02", "at 0.05", "at 0.1",
            "power printed by the call, mean", "clean: not suspicious",
        ]
    ]  # fmt: skip
    lines.append(["---"] * len(lines[0]))
    for cell in chosen:
        found = kept_part(folder / f"{cell.name}.json", lambda cell=cell: measured(cell))
        printed = " / ".join(f"{100 * of:.0f}" for of in found["printed"][1:])
        cleared = f"{100 * found['cleared'][0] / TRIALS:.1f}"
        shares = [share(hits) for hits in found["suspicious"]]
        lines.append([str(name(cell)), *shares, printed, cleared])
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


SECTIONS: Sequence[tuple[str, str, Sequence[Cell], Callable[[Cell], object]]] = (
    (
        "By controls, 200 + 200 queries",
        "controls",
        [Cell(controls=k) for k in (2, 3, 5, 8, 16)],
        lambda cell: cell.controls,
    ),
    (
        "By queries, eight controls",
        "against",
        [Cell(queries=n) for n in (100, 200, 400, 800)],
        lambda cell: f"{cell.queries} + {cell.queries} fresh",
    ),
    (
        "By spread, eight controls, 400 + 400 queries",
        "spread, times",
        [Cell(queries=400, spread=s) for s in (0.75, 1.0, 1.5)],
        lambda cell: f"{cell.spread:g}",
    ),
    (
        "A suspect whose values vary by query so many times as much as its controls' do",
        "by query, times",
        [Cell(queries=400, own=own) for own in (1.0, 1.5)],
        lambda cell: f"{cell.own:g}",
    ),
)


def report(folder: Path) -> list[str]:
    lines = [
        (
            "# A model suspected of having seen the test: error rates by controls, queries and "
            "spread, simulated"
        ),
        "",
        f"{hardware()}; {date.today().isoformat()}.",
        "",
        "    OMP_NUM_THREADS=1 python benchmarks/suspect_rates.py FOLDER",
        "",
        f"Shares in per cent of {TRIALS:,} trials with Clopper and Pearson's interval; one-sided "
        f"tests at {ALPHA:g}, so the nominal rate of false alarms is 5. Clean trainings differ by "
        f"{SPREAD} nDCG@10 between 200 test and 200 fresh queries.",
        "",
    ]
    for title, head, chosen, name in SECTIONS:
        lines += [f"## {title}", "", *table(folder, chosen, head, name)]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    text = "\n".join(report(parser.parse_args().folder))
    result_place("suspect_rates").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

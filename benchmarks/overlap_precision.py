"""How often the lower bound of a detector's precision holds, in simulated pairs that cluster by
test text, sampled and labelled.

    python benchmarks/overlap_precision.py
        # writes benchmarks/results/overlap_precision_HARDWARE_DATE.md

A test text has a geometric number of pairs. Its share of true ones is a beta draw around the
precision, in one population the same for all; it rises with the score in two of three. A bound
holds where the precision of all pairs is not below it; 95 % is what it promises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import hardware, result_place
from msgspec.structs import replace

from positionbias.leakage.calibrate import wilson
from positionbias.leakage.labels import DIFFERENT, UNTYPED, Label
from positionbias.leakage.pairs import Pair
from positionbias.leakage.sample import stratified_sample
from positionbias.leakage.settings import SampleSettings
from positionbias.overlap.precision import KnownPairs

SHEETS, STRATA = 400, 5
LABELS = {True: Label(UNTYPED), False: Label(DIFFERENT)}


@dataclass(frozen=True)
class Population:
    """Test texts, pairs a text on average, how much texts differ (0: not), and whether the share of
    true pairs rises with the score.
    """

    tests: int
    pairs: float
    spread: float
    by_score: bool

    def draw(
        self, precision: float, random: np.random.Generator
    ) -> tuple[list[Pair], dict[str, bool]]:
        found, true = [], {}
        for test in range(self.tests):
            own = (
                random.beta(precision / self.spread, (1 - precision) / self.spread)
                if self.spread
                else precision
            )
            for number in range(min(int(random.geometric(1 / self.pairs)), 200)):
                score, train_id = float(random.random()), f"{test}-{number}"
                share = own + (2 * score - 1) * min(own, 1 - own) if self.by_score else own
                found.append(Pair(train_id, str(test), {"of_test": score}, found_by=("ngram",)))
                true[train_id] = bool(random.random() < share)
        return found, true


POPULATIONS = (
    Population(300, 1.3, 0.0, False),
    Population(100, 10.0, 0.5, True),
    Population(30, 30.0, 1.0, True),
)


def held(population: Population, precision: float, rows: int) -> tuple[int, float]:
    """Return of how many sheets the bound holds, and its mean."""
    count, bounds = 0, []
    for turn in range(SHEETS):
        found, true = population.draw(
            precision, np.random.default_rng([turn, population.tests, int(1_000 * precision)])
        )
        drawn, _ = stratified_sample(found, SampleSettings(rows, 0.0, STRATA, "of_test", turn + 1))
        sheet = [replace(one, label=LABELS[true[one.train_id]]) for one in drawn]
        known = KnownPairs(found, {Path("sheet"): sheet}).precision({"ngram"})
        assert known is not None
        bounds.append(known.lower)
        count += known.lower <= np.mean([*true.values()])
    return count, float(np.mean(bounds))


def rows() -> Iterator[str]:
    yield (
        "| test texts | pairs a text | rows of a sheet | precision | mean bound | bounds that hold "
        "|"
    )
    yield "|---|---|---|---|---|---|"
    for population in POPULATIONS:
        for size in (50, 100, 200):
            for precision in (0.5, 0.9, 0.99):
                count, bound = held(population, precision, size)
                share = wilson(count / SHEETS, SHEETS)
                cells = (population.tests, f"{population.pairs:g}", size, precision, f"{bound:.3f}")
                line = (
                    f"| {' | '.join(map(str, cells))} | {count / SHEETS:.3f} [{share.low:.3f}, "
                    f"{share.high:.3f}] |"
                )
                print(line, flush=True)
                yield line


def main() -> None:
    head = [
        "# The lower bound of a detector's precision\n",
        f"{hardware()}; {SHEETS} sheets each, {STRATA} strata.\n",
    ]
    head += [
        "    python benchmarks/overlap_precision.py\n",
        " ".join((__doc__ or "").split("\n\n")[2].split()) + "\n",
    ]
    result_place("overlap_precision").write_text(
        "\n".join([*head, *rows()]) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()

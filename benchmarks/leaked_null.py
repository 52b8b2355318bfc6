"""How often posbias evaluate --leaked sees leakage that is not there, and how often it finds what was planted.

    OMP_NUM_THREADS=1 python benchmarks/leaked_null.py FOLDER     # writes benchmarks/results/leaked_null_HARDWARE_DATE.md

Real runs ($POSBIAS_DATA/trec_covid_r5, nDCG@10 of each topic): runs and topics are drawn without replacement, topics are marked leaked at random, or
by how easy or hard they are; planted leakage adds a gain to a third of the runs on the leaked topics. Simulated systems have more queries than any real round.
Parts are kept in FOLDER, so that a stopped call goes on.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place

from positionbias.core.seeds import generator, key64
from positionbias.evaluation.bootstrap import LEVEL, RESAMPLES, bootstrap_mean
from positionbias.evaluation.leaked import unpaired_difference
from positionbias.evaluation.leaked_order import ALPHA, SPLITS, order_found
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.random_splits import Marked, mark_queries, random_parts
from positionbias.evaluation.rank_correlation import agreement
from positionbias.results.leaked_order import OrderAnswer

MEASURE = "nDCG@10"
SHARE = 1 / 3
SIZES = ((30, 7), (50, 12), (50, 25))  # topics, of which leaked


@dataclass(frozen=True)
class Trial:
    """Repeated draws of one kind: ``marks`` "at random", "easy" or "hard"; ``gain`` of a third of the systems on leaked queries."""

    source: str
    systems: int
    queries: int
    leaked: int
    draws: int
    gain: float = 0.0
    marks: str = "at random"

    @property
    def name(self) -> str:
        return f"{self.source}-{self.systems}-{self.queries}-{self.leaked}-{self.gain:g}-{self.marks.replace(' ', '_')}-{self.draws}"


DRAWS = {126: 12, 20: 150, 5: 200, 2: 200}
FALSE_ALARMS = [Trial("r5", systems, *size, DRAWS[systems]) for systems in DRAWS for size in SIZES]
BY_DIFFICULTY = [
    Trial("r5", systems, *size, draws, marks=marks)
    for systems, draws in ((126, 40), (20, 300))
    for size in SIZES[::2]
    for marks in ("at random", "easy", "hard")
]
PLANTED = [
    Trial("r5", systems, *size, draws, gain)
    for systems, draws in ((126, 10), (20, 80), (5, 100))
    for size in SIZES[::2]
    for gain in (0.05, 0.1, 0.2)
]
SIMULATED = [Trial("simulated", systems, 1_000, 200, 30, gain) for systems in (5, 20) for gain in (0.0, 0.05, 0.1)]


@lru_cache(maxsize=1)
def real_values() -> np.ndarray:
    """nDCG@10 of each run on each topic, ``(runs, topics)``."""
    from positionbias.core.qrels import read_qrels
    from positionbias.core.run import read_run

    folder = Path(os.environ["POSBIAS_DATA"]) / "trec_covid_r5"
    qrels = read_qrels(folder / "qrels.round5.txt")
    found = [per_query(read_run(path), qrels, [MEASURE])[MEASURE] for path in sorted((folder / "runs").glob("*.run.gz"))]
    return np.array([[of[query] for query in sorted(of)] for of in found])


def simulated_values(trial: Trial, rng: np.random.Generator) -> np.ndarray:
    """Systems with standard deviation 0.05 between them, 0.2 between queries and 0.2 of both together, cut at 0 and 1."""
    shape = (trial.systems, trial.queries)
    systems, queries = rng.normal(0.5, 0.05, (trial.systems, 1)), rng.normal(0, 0.2, trial.queries)
    return np.clip(systems + queries + rng.normal(0, 0.2, shape), 0, 1)


@dataclass(frozen=True)
class Drawn:
    """One data set: ``values (systems, queries)``, the marks, who gains, and the values without the gain."""

    values: np.ndarray
    leaked: np.ndarray
    gains: np.ndarray
    before: np.ndarray

    @property
    def marked(self) -> Marked:
        return mark_queries(self.values, self.leaked)


def drawn(trial: Trial) -> Iterator[Drawn]:
    for number in range(trial.draws):
        rng = generator(key64(1, trial.name, number), "draw")
        if trial.source == "r5":
            real = real_values()
            rows, columns = (
                rng.choice(of, size, replace=False) for of, size in zip(real.shape, (trial.systems, trial.queries), strict=True)
            )
            before = real[np.ix_(rows, columns)]
        else:
            before = simulated_values(trial, rng)
        leaked = np.isin(
            np.arange(trial.queries), rng.choice(trial.queries, trial.leaked, replace=False, p=weights(before, trial.marks))
        )
        gains = rng.permutation(trial.systems) < max(1, round(SHARE * trial.systems))
        values = np.where(leaked & gains[:, None], np.minimum(before + trial.gain, 1), before)
        yield Drawn(values, leaked, gains if trial.gain else np.zeros_like(gains), before)


def weights(values: np.ndarray, marks: str) -> np.ndarray | None:
    """Chances of being marked; the easiest (hardest) query is e⁴ = 55 times as likely as the hardest (easiest)."""
    if marks == "at random":
        return None
    place = np.argsort(np.argsort(np.median(values, axis=0))) / values.shape[1]
    found = np.exp(4 * (place if marks == "easy" else -place))
    return found / found.sum()


def answers(trial: Trial) -> dict[str, Any]:
    """By draw: the answer, swaps printed before, swaps named now, of these those without any gain, and those whose order is planted otherwise."""
    rows = []
    for number, of in enumerate(drawn(trial)):
        order = order_found(of.marked, [str(place) for place in range(trial.systems)], seed=number).order
        false = sum(of.gains[int(swap.falls)] == of.gains[int(swap.behind)] for swap in order.named)
        planted = of.before.mean(axis=1) + np.where(of.gains, trial.gain, 0)
        strict = sum(planted[int(swap.behind)] <= planted[int(swap.falls)] for swap in order.named)
        at = [item.found for item in order.power if item.gain == trial.gain]
        predicted = at[0] if at else (1.0 if trial.gain else None)
        assert order.swaps is not None
        rows.append([order.answer.name, order.swaps.value, len(order.named), int(false), int(strict), predicted])
    return {"rows": rows}


def by_difficulty(trial: Trial) -> dict[str, Any]:
    """How often τ is found changed with splits within classes of difficulty, and with splits of all queries alike."""
    found = []
    for number, of in enumerate(drawn(trial)):
        within = of.marked
        found.append(
            [tau_p(marked, number) <= ALPHA for marked in (within, replace(within, strata=np.zeros_like(within.strata)))]
        )
    return {"rows": found}


def tau_p(marked: Marked, seed: int) -> float:
    null = agreement(*random_parts(marked, SPLITS, seed=seed)).tau
    return float((1 + (null <= agreement(*marked.parts(marked.leaked[None])).tau[0]).sum()) / (1 + SPLITS))


# -- intervals of few topics -----------------------------------------------------------------------------------------------------


def coverage(topics: int) -> dict[str, Any]:
    """How often 95 % intervals hold the truth, of topics drawn with replacement from round 5's: of a mean, and of the difference to 23 clean ones.

    The truth is the mean of all 50, and a difference of 0.
    """
    values, rng = real_values(), generator(topics, "coverage")
    held = np.zeros(4, np.int64)
    draws = 1_000
    for number in range(draws):
        of = values[rng.integers(len(values))]
        truth, leaked, clean = of.mean(), rng.choice(of, topics), rng.choice(of, 23)
        ours = bootstrap_mean(leaked, None, seed=number)
        welch = unpaired_difference(leaked, clean, seed=number)[1]
        means = [side[rng.integers(len(side), size=(RESAMPLES, len(side)))].mean(axis=1) for side in (leaked, clean)]
        ends = [(ours.low, ours.high) if ours else (0, 1), (welch.low, welch.high) if welch else (0.0, 0.0)]
        ends += [tuple(np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])) for drawn in (means[0], means[0] - means[1])]
        held += [low <= target <= high for (low, high), target in zip(ends, (truth, 0, truth, 0), strict=True)]
    return {"held": (held / draws).tolist()}


def excess_coverage(gain: float, queries: int, leaked: int) -> dict[str, Any]:
    """How often the excess's 90 % interval holds the expected excess: 20 of the runs, one third of which gain, and many markings."""
    real, rng = real_values(), generator(leaked, "excess")
    excesses, ends = [], []
    rows, gains = rng.choice(len(real), 20, replace=False), np.arange(20) < round(SHARE * 20)
    for number in range(250):
        before = real[np.ix_(rows, rng.choice(50, queries, replace=False))]
        marks = np.isin(np.arange(queries), rng.choice(queries, leaked, replace=False))
        marked = mark_queries(np.where(marks & gains[:, None], np.minimum(before + gain, 1), before), marks)
        null, tau = agreement(*random_parts(marked, SPLITS, seed=number)).tau, agreement(*marked.parts(marks[None])).tau[0]
        excesses.append(tau - null.mean())
        ends.append(tau - np.quantile(null, [1 - ALPHA, ALPHA], method="inverted_cdf"))
    truth = np.mean(excesses)
    return {"truth": truth, "held": np.mean([low <= truth <= high for low, high in ends])}


# -- the table -------------------------------------------------------------------------------------------------------------------


def share(hits: int, of: int) -> str:
    """A share and the Clopper–Pearson interval, in per cent."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(hits, of, method="beta")
    return f"{100 * hits / of:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def answer_row(trial: Trial, found: dict[str, Any]) -> list[str]:
    rows = found["rows"]
    count = {answer: sum(row[0] == answer.name for row in rows) for answer in OrderAnswer}
    named = [row for row in rows if row[2]]
    cells = [
        str(trial.systems),
        f"{trial.leaked} of {trial.queries:,}",
        f"{trial.gain:g}",
        str(len(rows)),
        f"{np.mean([row[1] for row in rows]):,.1f}",
    ]
    cells += [share(count[answer], len(rows)) for answer in (OrderAnswer.CHANGED, OrderAnswer.UNCHANGED)]
    predicted = [row[5] for row in rows if row[5] is not None]
    cells += [
        f"{100 * np.mean(predicted):.0f}" if predicted else "–",
        share(len(named), len(rows)),
        f"{np.mean([row[2] for row in rows]):.2f}",
    ]
    false, strict = (f"{100 * np.mean([row[at] / max(1, row[2]) for row in rows]):.1f}" for at in (3, 4))
    return [*cells, false, strict if trial.gain else "–"]


ANSWERS = [
    "systems", "leaked", "gain", "draws", "before: swaps printed", "changed, % [95 % CI]", "no change found, %", "power printed, %", "any swap named, %",
    "swaps named", "false among named, %", "not reversed among named, %",
]  # fmt: skip


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def report(part: Callable[[str, Callable[[], dict[str, Any]]], dict[str, Any]]) -> list[str]:
    def of_trials(trials: Sequence[Trial]) -> list[str]:
        return table(ANSWERS, [answer_row(trial, part(trial.name, lambda trial=trial: answers(trial))) for trial in trials])  # type: ignore[misc]

    difficulty = []
    for trial in BY_DIFFICULTY:
        rows = np.array(part(f"difficulty-{trial.name}", lambda trial=trial: by_difficulty(trial))["rows"])  # type: ignore[misc]
        cells = [share(int(column.sum()), len(rows)) for column in rows.T]
        difficulty.append([str(trial.systems), f"{trial.leaked} of {trial.queries}", trial.marks, str(len(rows)), *cells[::-1]])
    few = []
    for topics in (5, 7, 10, 15, 20, 30):
        held = part(f"coverage-{topics}", lambda topics=topics: coverage(topics))["held"]  # type: ignore[misc]
        few.append([str(topics), *(f"{100 * held[at]:.1f}" for at in (2, 0, 3, 1))])
    excess = []
    for queries, leaked in SIZES[::2]:
        for gain in (0.0, 0.1, 0.2):
            found = part(f"excess-{gain:g}-{queries}-{leaked}", lambda g=gain, q=queries, n=leaked: excess_coverage(g, q, n))  # type: ignore[misc]
            excess.append([f"{leaked} of {queries}", f"{gain:g}", f"{found['truth']:+.3f}", f"{100 * found['held']:.1f}"])
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    return [
        "# Leaked against clean queries: false alarms, power, coverage",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; one thread.",
        "",
        "    OMP_NUM_THREADS=1 python benchmarks/leaked_null.py FOLDER",
        "",
        f"126 runs of TREC-COVID round 5 by {MEASURE}, runs and topics drawn without replacement. Nominal: \"changed\" 5 % without leakage, a named swap false in 10 %. "
        "Before, every swap was printed as a finding, and no order was held against anything.",
        "",
        "## False alarms: topics marked at random",
        "",
        *of_trials(FALSE_ALARMS),
        "",
        "Without leakage each named swap is false, so that the false discovery rate is the share of data sets with any.",
        "",
        "## False alarms: leaked topics that are easy or hard",
        "",
        "Marks follow difficulty (the likeliest topic 55 times as likely as the least), and leakage does nothing. \"Changed\", in per cent:",
        "",
        *table(["systems", "leaked", "marked", "draws", "random splits of all queries", "within classes of difficulty (as it is)"], difficulty),
        "",
        "## Planted leakage",
        "",
        "A third of the systems gain on every leaked topic, up to 1. \"Power printed\" is what the answer itself says of this gain; a named swap is false where both or "
        "neither of the two gain, not reversed where the gain is too small to change their order over all topics.",
        "",
        *of_trials(PLANTED),
        "",
        "## Simulated systems, 1,000 queries",
        "",
        "Standard deviations: 0.05 between systems, 0.2 between queries, 0.2 of both together. With a gain of 0.05 or more \"no change found\" is an error (nominal: at most 5 %).",
        "",
        *of_trials(SIMULATED),
        "",
        "## Intervals",
        "",
        "How often nominal 95 % intervals hold the truth, in per cent, 1,000 draws of a run and of topics with replacement; the difference is to 23 other topics. Before: percentiles. Now: t by the jackknife, Welch.",
        "",
        *table(["topics", "mean, percentiles", "mean, t", "difference, percentiles", "difference, Welch"], few),
        "",
        "How often the nominal 90 % interval of the excess of τ holds the expected excess, 20 runs, 250 draws of topics and marks each:",
        "",
        *table(["leaked", "gain", "expected excess", "held, %"], excess),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="Where parts are kept.")
    folder = parser.parse_args().folder
    lines = report(lambda name, make: kept_part(folder / f"{name}.json", make))
    place = result_place("leaked_null")
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {place}")


if __name__ == "__main__":
    main()

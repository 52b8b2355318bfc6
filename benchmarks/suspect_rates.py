"""False alarms and power of ``posbias contamination suspect``, nominal and measured, by controls,
queries and bank; and what the rule before it did.

    OMP_NUM_THREADS=1 python benchmarks/suspect_rates.py FOLDER
        # writes benchmarks/results/suspect_rates_HARDWARE_DATE.md

Values are simulated: a query's difficulty, shared by all systems; what a training gains on one set
(a normal effect); and what it gains on a query (nothing for three queries in four, normal for the
fourth, as ranks rarely change). Their sizes are those of trained models: with 200 queries a side,
clean trainings differ by 0.0217 nDCG@10 between test and fresh queries, by 0.0121 between test
queries and paraphrases (20 collections, 80 trainings, of 2026-11-22), of which 0.0187 and 0.0098
are taken to be the queries' part (0.0187 and 0.0095 in 27 further trainings). Finished cells are
kept in FOLDER.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from positionbias.contamination.contrast import Contrast, Values
from positionbias.contamination.error_rates import simulated_rates
from positionbias.contamination.excess import Tested, excess_of
from positionbias.contamination.suspect import MARGIN
from positionbias.core.seeds import generator

ALPHA, TRIALS, PRINTED = 0.05, 1_000, 50
EFFECTS = (0.0, 0.02, 0.05, 0.1)
CHANGED = 0.25  # share of queries on which two trainings differ
SPREAD = {False: 0.0217, True: 0.0121}  # by paired: among clean trainings, 200 queries a side
OF_QUERIES = {False: 0.0187, True: 0.0098}


@dataclass(frozen=True, slots=True)
class Cell:
    """One configuration of the command. ``prior``: degrees of freedom around which the groups' true
    variances differ; ``models`` screened together, all clean but the first; ``spread`` of all
    trainings, times; ``own`` what the suspect differs by query, times what its controls do."""

    paired: bool = False
    queries: int = 200
    controls: int = 8
    groups: int = 0
    trainings: int = 7
    prior: float = inf
    models: int = 1
    spread: float = 1.0
    own: float = 1.0

    @property
    def contrast(self) -> Contrast:
        ids = [f"q{number}" for number in range(self.queries)]
        return Contrast("test", "other", ids, [(query_id,) for query_id in ids], self.paired)

    @property
    def name(self) -> str:
        return "-".join(str(value) for value in asdict(self).values())


def drawn(cell: Cell, trial: int) -> tuple[list[Values], list[list[Values]]]:
    """The suspects, and the groups of clean trainings, the controls first."""
    rng = generator(5, f"{cell.name} {trial}")
    by_query, by_set = _sizes(cell)
    scales = (
        np.ones(1 + cell.groups)
        if cell.prior == inf
        else np.sqrt(cell.prior / rng.chisquare(cell.prior, 1 + cell.groups))
    )
    suspects = [
        _training(rng, cell, scales[0], by_query * cell.own, by_set) for _ in range(cell.models)
    ]
    sizes = [cell.controls, *[cell.trainings] * cell.groups]
    groups = [
        [_training(rng, cell, scale, by_query, by_set) for _ in range(size)]
        for scale, size in zip(scales, sizes, strict=True)
    ]
    return suspects, groups


def _sizes(cell: Cell) -> tuple[float, float]:
    """Deviations of a query's value by training on each side, and of a training's effect on the
    test set.
    """
    of_queries = OF_QUERIES[cell.paired]
    return cell.spread * of_queries * sqrt(200 / 2), cell.spread * sqrt(
        SPREAD[cell.paired] ** 2 - of_queries**2
    )


def _training(
    rng: np.random.Generator, cell: Cell, scale: float, by_query: float, by_set: float
) -> Values:
    """Values but for the difficulty, which all share and which every excess takes off."""
    sides = (
        rng.normal(size=(2, cell.queries))
        * (rng.random((2, cell.queries)) < CHANGED)
        * scale
        * by_query
        / sqrt(CHANGED)
    )
    return Values(sides[0] + scale * by_set * rng.normal(), sides[1])


def before(tested: Tested, effect: float, own_p: float) -> bool:
    """The rule of before: p over queries, and from two controls on p among the controls alone, both
    at most alpha.
    """
    return tested.p_queries(effect) <= ALPHA and (tested.controls < 2 or own_p <= ALPHA)


def measured(cell: Cell) -> dict[str, Any]:
    """Counts of trials by effect: suspicious now and before, not suspicious; with several models
    any of those that are clean.
    """
    contrast = cell.contrast
    counts = {
        name: [0] * len(EFFECTS) for name in ("now", "before", "no", "others", "others before")
    }
    for trial in range(TRIALS):
        suspects, (controls, *bank) = drawn(cell, trial)
        tested = [excess_of(model, controls, bank, contrast) for model in suspects]
        alone = [excess_of(model, controls, (), contrast) for model in suspects]
        assert all(tested)
        assert all(alone)
        for place, effect in enumerate(EFFECTS):
            _count(counts, place, effect, [of for of in tested if of], [of for of in alone if of])
    return counts


def printed(cell: Cell) -> dict[str, Any]:
    """The mean of the error rates that the command prints, over the first trials."""
    rates = []
    for trial in range(PRINTED):
        suspects, (controls, *bank) = drawn(cell, trial)
        tested = excess_of(suspects[0], controls, bank, cell.contrast)
        assert tested
        rates.append(simulated_rates(tested, ALPHA / cell.models, EFFECTS, seed=trial))
    return {"printed": np.mean(rates, axis=0).tolist()}


def _count(
    counts: Mapping[str, list[int]],
    place: int,
    effect: float,
    tested: Sequence[Tested],
    alone: Sequence[Tested],
) -> None:
    """``effect`` is the first model's; the others are clean."""
    added = [effect, *[0.0] * (len(tested) - 1)]
    now = _holm(np.array([of.p(more) for of, more in zip(tested, added, strict=True)]))
    earlier = [
        before(of, more, of.p_trainings(more)) for of, more in zip(alone, added, strict=True)
    ]
    counts["now"][place] += bool(now[0])
    counts["before"][place] += earlier[0]
    counts["no"][place] += (
        not now[0] and tested[0].value + effect + tested[0].half_width(ALPHA) < MARGIN
    )
    counts["others"][place] += any(now[1:])
    counts["others before"][place] += any(earlier[1:])


def _holm(p_values: np.ndarray) -> np.ndarray:
    """Which are rejected: the i-th smallest as long as p ≤ alpha / (number − i), from the smallest
    on (statsmodels' form collects garbage at each call).
    """
    order = np.argsort(p_values)
    rejected = np.zeros(len(p_values), bool)
    rejected[order] = np.minimum.accumulate(
        p_values[order] <= ALPHA / (len(order) - np.arange(len(order)))
    )
    return rejected


def one_control(paired: bool) -> dict[str, Any]:
    """What the rule of before did with a single control: p over queries alone."""
    cell = Cell(paired, controls=1)
    contrast, hits = cell.contrast, [0] * len(EFFECTS)
    for trial in range(TRIALS):
        suspects, (controls,) = drawn(cell, trial)
        over = Values(suspects[0].seen - controls[0].seen, suspects[0].other - controls[0].other)
        error = contrast.over_queries(over)
        assert error
        for place, effect in enumerate(EFFECTS):
            hits[place] += bool(
                stats.t.sf((over.difference + effect) / error[0], error[1]) <= ALPHA
            )
    return {"before": hits}


BY_CONTROLS = [
    Cell(paired, controls=k, groups=groups)
    for paired in (False, True)
    for k in (2, 3, 5, 8, 16)
    for groups in (0, 10)
]
BY_QUERIES = [Cell(queries=n, groups=10) for n in (100, 200, 400, 800)] + [
    Cell(True, queries=n, groups=10) for n in (50, 100, 200)
]
BY_BANK = [
    Cell(controls=3, groups=g, trainings=t, prior=prior)
    for g, t in ((3, 21), (10, 7))
    for prior in (inf, 10.0, 4.0)
]
BY_SPREAD = [Cell(queries=400, groups=10, spread=s) for s in (0.75, 1.5)] + [
    Cell(True, groups=10, spread=s) for s in (1.5, 2.0)
]
SCREENED = [Cell(queries=400, groups=10, models=m) for m in (1, 10)]
UNLIKE = [Cell(queries=400, groups=10, own=own) for own in (1.0, 1.5)]


def share(hits: int, trials: int = TRIALS) -> str:
    """In per cent, with Clopper and Pearson's interval."""
    low, high = proportion_confint(hits, trials, method="beta")
    return f"{100 * hits / trials:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def cells(folder: Path, chosen: Sequence[Cell]) -> Iterator[tuple[Cell, dict[str, Any]]]:
    for cell in chosen:
        counts = kept_part(folder / f"{cell.name}.json", lambda cell=cell: measured(cell))
        yield (
            cell,
            counts
            | kept_part(folder / f"{cell.name}-printed.json", lambda cell=cell: printed(cell)),
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]


def _against(cell: Cell) -> str:
    return (
        f"{cell.queries} paraphrases" if cell.paired else f"{cell.queries} + {cell.queries} fresh"
    )


def by_controls(folder: Path) -> list[str]:
    head = [
        "against",
        "controls",
        "bank",
        "false alarms before",
        "false alarms",
        "power at 0.05 before",
        "power at 0.02",
        "at 0.05",
        "the same, printed by the call",
        "at 0.1",
        "clean: not suspicious",
        "clean: cannot tell",
    ]
    rows = []
    for paired in (False, True):
        old = kept_part(folder / f"one-{paired}.json", lambda paired=paired: one_control(paired))[
            "before"
        ]
        none = ["cannot tell"] * 4
        rows.append(
            [
                _against(Cell(paired)),
                "1",
                "–",
                share(old[0]),
                "cannot tell",
                share(old[2]),
                *none,
                "0.0",
                "100.0",
            ]
        )
    for cell, found in cells(folder, BY_CONTROLS):
        decided = found["no"][0] if not cell.paired else 0
        rest = (
            f"{100 * decided / TRIALS:.1f}",
            f"{100 * (TRIALS - decided - found['now'][0]) / TRIALS:.1f}",
        )
        powers = [share(found["now"][place]) for place in (1, 2, 3)]
        powers.insert(2, f"{100 * found['printed'][2]:.0f}")
        bank = f"{cell.groups} × {cell.trainings}" if cell.groups else "–"
        rates = share(found["before"][0]), share(found["now"][0]), share(found["before"][2])
        rows.append([_against(cell), str(cell.controls), bank, *rates, *powers, *rest])
    return _table(head, sorted(rows, key=lambda row: "paraphrases" in row[0]))


def by_cell(folder: Path, chosen: Sequence[Cell], head: Sequence[str], name: Any) -> list[str]:
    rows = []
    for cell, found in cells(folder, chosen):
        printed = " / ".join(f"{100 * of:.0f}" for of in found["printed"][1:])
        rows.append([*name(cell), *(share(hits) for hits in found["now"]), printed])
    return _table(
        [
            *head,
            "false alarms",
            "power at 0.02",
            "at 0.05",
            "at 0.1",
            "power printed by the call, mean",
        ],
        rows,
    )


def screened(folder: Path) -> list[str]:
    rows = []
    for cell, found in cells(folder, SCREENED):
        clean = cell.models - 1
        any_of = [share(found[name][0]) if clean else "–" for name in ("others before", "others")]
        rows.append([str(cell.models), *any_of, share(found["before"][2]), share(found["now"][2])])
    return _table(
        [
            "models",
            "any clean one of the others suspicious, before",
            "now",
            "power at 0.05 for the first, before",
            "now",
        ],
        rows,
    )


def report(folder: Path) -> list[str]:
    spread = [f"{SPREAD[paired]:g}" for paired in (False, True)]
    return [
        (
            "# A model suspected of having seen the test: error rates by controls, queries and "
            "bank, simulated"
        ),
        "",
        f"{hardware()}; {date.today().isoformat()}.",
        "",
        "    OMP_NUM_THREADS=1 python benchmarks/suspect_rates.py FOLDER",
        "",
        f"Shares in per cent of {TRIALS:,} trials with Clopper and Pearson's interval; one-sided "
        f"tests at {ALPHA:g}, so the nominal rate of false alarms is 5. Clean trainings differ by "
        f"{spread[0]} nDCG@10 between 200 test and 200 fresh queries, by {spread[1]} between 200 "
        "queries and their paraphrases. Before: p over queries, and from two controls on p among "
        "the controls. A bank of 10 × 7 has 60 degrees of freedom.",
        "",
        "## By controls",
        "",
        *by_controls(folder),
        (
            "Against paraphrases no clean model is ever called not suspicious, since they find "
            "memory of the wording only."
        ),
        "",
        "## By queries, eight controls and a bank of 10 × 7",
        "",
        *by_cell(folder, BY_QUERIES, ["against"], lambda cell: [_against(cell)]),
        "## By spread, eight controls and a bank of 10 × 7",
        "",
        *by_cell(
            folder,
            BY_SPREAD,
            ["against", "spread, times"],
            lambda cell: [_against(cell), f"{cell.spread:g}"],
        ),
        "## Banks whose configurations differ in spread, three controls, 200 + 200 fresh",
        "",
        (
            "A prior of 10 degrees of freedom: true spreads of configurations differ by a fifth or "
            "so either way; of 4, by a third."
        ),
        "",
        *by_cell(
            folder,
            BY_BANK,
            ["bank", "prior"],
            lambda cell: [
                f"{cell.groups} × {cell.trainings}",
                "alike" if cell.prior == inf else f"{cell.prior:g}",
            ],
        ),
        "## Models screened together, 400 + 400 fresh, eight controls and a bank of 10 × 7",
        "",
        *screened(folder),
        "## A suspect that differs from its controls in more than its seed",
        "",
        (
            "Clean, but its values vary by query so many times as much as its controls' do (a user "
            "vouches wrongly); 400 + 400 fresh, eight controls and a bank of 10 × 7."
        ),
        "",
        *by_cell(folder, UNLIKE, ["by query, times"], lambda cell: [f"{cell.own:g}"]),
    ]


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

"""How often is a flat validation curve called "not finished", and how often a rising one?

    python benchmarks/convergence.py
        # writes benchmarks/results/convergence_HARDWARE_DATE.md

Curves of validation nDCG@10 at k validations after the untrained model: a shape over the budget x
from 0 to 1, and normal noise of deviation 0.005 (as of 1,000 queries between neighbouring
checkpoints), independent or with neighbours that agree (first-order autoregressive). The rule is
``evaluation.convergence.finish_of``; beside it stands what "the best is the last" alone would say.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version

import numpy as np
from measuring import hardware, result_place
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.convergence import BLOCKS, LEAST, LEAST_RISE, Finish, finish_of

LEVEL = 0.05
NOISE = 0.005
VALIDATIONS = (4, 5, 6, 8, 10, 12, 16, 20, 30, 50)
AGREEMENT = (0.0, 0.3, 0.6)  # of neighbouring validations


def _saturating(rate: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: 0.3 * (1 - np.exp(-rate * x))


SHAPES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear, +0.05": lambda x: 0.05 * x,
    "linear, +0.1": lambda x: 0.1 * x,
    "linear, +0.3": lambda x: 0.3 * x,
    **{f"saturating, rate {rate}": _saturating(rate) for rate in (2, 3, 5, 10, 20)},
}


@dataclass(frozen=True, slots=True)
class Called:
    """Of ``draws`` curves, how many were called not finished, and of how many the last validation
    was the best.
    """

    validations: int
    draws: int
    not_finished: int
    best_is_last: int


def curves(
    shape: Callable[[np.ndarray], np.ndarray] | None,
    validations: int,
    agreement: float,
    *,
    draws: int,
    seed: int = 1,
    name: str = "",
) -> np.ndarray:
    """Validation curves ``(draws, validations)``; without a ``shape`` flat ones."""
    rng = generator(seed, "validation curves", name, validations, f"{agreement:g}")
    new = rng.normal(scale=NOISE, size=(draws, validations))
    noise = new.copy()
    for place in range(1, validations):
        noise[:, place] = (
            agreement * noise[:, place - 1] + math.sqrt(1 - agreement**2) * new[:, place]
        )
    x = np.arange(1, validations + 1) / validations
    return 0.5 + noise + (0 if shape is None else shape(x))


def called(values: np.ndarray) -> Called:
    """What the rule says of each curve."""
    not_finished = sum(finish_of(curve) is Finish.NOT_FINISHED for curve in values.tolist())
    return Called(
        values.shape[1],
        len(values),
        not_finished,
        int((values.argmax(axis=1) == values.shape[1] - 1).sum()),
    )


def flat_table(draws: int) -> list[str]:
    """False alarms by number of validations and agreement of neighbours."""
    heads = [
        f"neighbours agree by {agreement:g}" if agreement else "independent noise"
        for agreement in AGREEMENT
    ]
    lines = [
        "## Flat curves: false alarms",
        "",
        (
            f"Share called not finished, with Clopper and Pearson's 95 % interval, of {draws:,} "
            "curves a cell."
        ),
        "",
        f"| validations | {' | '.join(heads)} | the best is the last (independent) |",
        "|---:|" + "---:|" * (len(AGREEMENT) + 1),
    ]
    together = dict.fromkeys(AGREEMENT, 0)
    for validations in VALIDATIONS:
        found = [
            called(curves(None, validations, agreement, draws=draws, name="flat"))
            for agreement in AGREEMENT
        ]
        for agreement, of in zip(AGREEMENT, found, strict=True):
            together[agreement] += of.not_finished
        cells = [_share(of.not_finished, of.draws) for of in found]
        lines.append(
            f"| {validations} | {' | '.join(cells)} | {_percent(found[0].best_is_last / draws)} |"
        )
    every = [_share(count, draws * len(VALIDATIONS)) for count in together.values()]
    return [*lines, f"| all | {' | '.join(every)} | |", ""]


def rising_table(draws: int) -> list[str]:
    """Power by shape and number of validations, beside what as many steps again would bring."""
    lines = [
        "## Rising and saturating curves: power",
        "",
        f"Share called not finished of {draws:,} curves a cell, independent noise. Saturating: 0.3 "
        "(1 − exp(−rate · x)). Still to come: what as many steps again would add; a curve with "
        "next to nothing to come is as good as flat.",
        "",
        f"| curve | still to come | {' | '.join(f'{k} validations' for k in VALIDATIONS)} |",
        "|---|---:|" + "---:|" * len(VALIDATIONS),
    ]
    for name, shape in SHAPES.items():
        once, twice = shape(np.array([1.0, 2.0]))
        shares = [
            called(curves(shape, k, 0.0, draws=draws, name=name)).not_finished / draws
            for k in VALIDATIONS
        ]
        lines.append(f"| {name} | {twice - once:+.4f} | {' | '.join(map(_percent, shares))} |")
    return [*lines, ""]


def _share(number: int, draws: int) -> str:
    bounds = stats.binomtest(number, draws).proportion_ci()
    return f"{_percent(number / draws)} [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=5_000, help="curves a cell")
    draws = parser.parse_args().draws
    started = time.process_time()
    tables = [*flat_table(draws), *rising_table(draws)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    lines = [
        "# Is a training finished?",
        "",
        (
            f"{hardware()}; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; {time.process_time() - started:.0f} processor seconds."
        ),
        "",
        f"    {' '.join(['python', 'benchmarks/convergence.py', *sys.argv[1:]])}",
        "",
        f"The rule: the last half of the validations, to a multiple of {BLOCKS} and {BLOCKS} at "
        f"least, in {BLOCKS} blocks of successive ones. Not finished: all block means rise, or all "
        "but one pair do and the last validation is the best of all; and the last block is "
        f"{LEAST_RISE:g} or more above the first. Of {LEAST} validations: each is above the one "
        f"before. Fewer say nothing. Noise of deviation {NOISE:g}; the level aimed at is "
        f"{_percent(LEVEL)}.",
        "",
        *tables,
    ]
    place = result_place("convergence")
    place.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""Simulate runs and judgements with a known pool bias: neural systems find relevant documents that
traditional ones cannot, at a given rate.

Each query has ``common`` relevant documents that any system may find, and as many ``hidden`` ones
that only neural systems may find. A rank of a run holds a relevant document with the run's own
probability, from ``weakest`` to ``best`` in equal steps over the groups, the same for both kinds; a
neural run takes it from the hidden ones with probability ``rate``, else from the common ones, as
traditional runs always do. All other ranks hold documents judged not relevant. So at ``rate`` 0 the
two kinds are drawn alike, and under a pool of traditional groups that holds the share c of what
traditional test systems find, P of a neural system with probability q falls by q·rate·c more than
that of a traditional one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.evaluation.judged_runs import System

__all__ = ["Simulation", "simulated_qrels", "simulated_runs"]

KINDS = ("traditional", "neural")


@dataclass(frozen=True, slots=True)
class Simulation:
    """Sizes and probabilities; every run has ``depth`` ranks, every group of each kind one run."""

    rate: float = 0.3
    queries: int = 40
    groups: int = 8
    depth: int = 10
    common: int = 15
    others: int = 100
    weakest: float = 0.3
    best: float = 0.7
    seed: int = 1


def simulated_qrels(settings: Simulation) -> list[Qrel]:
    """Judge every document that a run may find: 1 for common and hidden ones, 0 for others."""
    kinds = (
        ("common", settings.common, 1),
        ("hidden", settings.common, 1),
        ("other", settings.others, 0),
    )
    return [
        Qrel(str(query), f"{what}-{number}", grade)
        for query in range(settings.queries)
        for what, size, grade in kinds
        for number in range(size)
    ]


def simulated_runs(settings: Simulation) -> Iterator[tuple[System, Run]]:
    """Yield one run per group and kind, drawn by (seed, kind, group) alone."""
    for kind in KINDS:
        for group, chance in enumerate(
            np.linspace(settings.weakest, settings.best, settings.groups)
        ):
            name = f"{kind}-{group}"
            random = generator(settings.seed, "simulated run", kind, group)
            rate = settings.rate if kind == "neural" else 0.0
            rankings = [
                (str(query), *_ranking(settings, float(chance), rate, random))
                for query in range(settings.queries)
            ]
            yield System(name, name, kind), Run(name, rankings)


def _ranking(
    settings: Simulation, chance: float, rate: float, random: np.random.Generator
) -> tuple[list[str], np.ndarray]:
    """Return distinct passages, best first, and decreasing scores."""
    orders = {
        "common": random.permutation(settings.common),
        "hidden": random.permutation(settings.common),
        "other": random.permutation(settings.others),
    }
    relevant, hidden = random.random(settings.depth) < chance, random.random(settings.depth) < rate
    names = np.where(relevant, np.where(hidden, "hidden", "common"), "other").tolist()
    passages = [f"{name}-{orders[name][rank]}" for rank, name in enumerate(names)]
    return passages, np.arange(settings.depth, 0, -1)

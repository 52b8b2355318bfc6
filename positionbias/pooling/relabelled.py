"""Measure the effect of wrong labels: repeatedly give a random share of the runs another kind, and
measure again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.core.interval import Interval
from positionbias.core.seeds import generator
from positionbias.pooling.change_interval import change_of
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.reliability import Reliability, reliability
from positionbias.pooling.reliability_results import average
from positionbias.pooling.scores import PoolMeasure
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import System, groups_of, kinds_of
from positionbias.results.pools import RELABELLED, RelabelledFigures, Spread, systems_under
from positionbias.results.result import Result

__all__ = ["relabel", "relabelled", "relabelled_results"]


def relabel(systems: Sequence[System], share: float, number: int, seed: int) -> list[System]:
    """Change the kind of round(share · systems) systems, drawn by (seed, number), to another kind,
    drawn alike.

    Raises:
        SettingError: only one kind.
    """
    kinds = kinds_of(systems)
    if len(kinds) < 2:
        raise SettingError(
            f"--relabel: wanted at least 2 kinds; found {', '.join(kinds)}; check the column kind"
        )
    random = generator(seed, "relabelled", number)
    changed = list(systems)
    for place in random.permutation(len(systems))[: round(share * len(systems))].tolist():
        others = [kind for kind in kinds if kind != systems[place].kind]
        changed[place] = systems[place]._replace(kind=others[int(random.integers(len(others)))])
    return changed


def relabelled(
    runs: JudgedRuns,
    measures: Sequence[PoolMeasure],
    settings: PoolSettings,
    *,
    share: float,
    repeats: int,
    level: int = 1,
) -> list[Reliability]:
    """Repeat ``reliability`` with other labels ``repeats`` times, without draws that leave only one
    kind or no kind with two groups.
    """
    drawn = (relabel(runs.systems, share, number, settings.seed) for number in range(repeats))
    return [
        reliability(runs.with_systems(systems), measures, settings, level=level)
        for systems in drawn
        if _can_be_measured(systems)
    ]


def _can_be_measured(systems: Sequence[System]) -> bool:
    kinds = kinds_of(systems)
    return len(kinds) > 1 and any(len(groups_of(systems, kind)) > 1 for kind in kinds)


def relabelled_results(
    given: Reliability, repeats: Sequence[Reliability], *, collection: str, share: float, drawn: int
) -> list[Result]:
    """Return τ_b (value: its mean over repeats) and change for each test set, with the given labels
    and over the repeats.
    """
    results = []
    for item in given.sets:
        key = (item.pool, item.test, item.measure)
        same = [
            own
            for found in repeats
            for own in found.sets
            if (own.pool, own.test, own.measure) == key
        ]
        tau = _spread(
            average(item.figures["tau_b"]), [average(own.figures["tau_b"]) for own in same]
        )
        figures = RelabelledFigures(
            pool=item.pool, test=item.test, measure=item.measure, share=share, drawn=drawn,
            repeats=len(same),
            tau_b=tau, change=_spread(change_of(item)[0], [change_of(own)[0] for own in same]),
        )  # fmt: skip
        interval = None
        if tau.low is not None and tau.high is not None:
            interval = Interval(
                tau.low, tau.high, 0.95, f"middle 95\u00a0% of {len(same)} relabellings"
            )
        name, system, seed = (
            RELABELLED + item.measure,
            systems_under(item.pool, item.test),
            given.settings.seed,
        )
        results.append(
            Result(name, collection, "", system, seed, tau.mean, interval, len(same), figures)
        )
    return results


def _spread(given: float | None, values: Sequence[float | None]) -> Spread:
    defined = [value for value in values if value is not None]
    if not defined:
        return Spread(given)
    low, high = np.quantile(defined, [0.025, 0.975])
    return Spread(given, float(np.mean(defined)), float(low), float(high))

"""Measure the effect of wrong labels: repeatedly give a random share of the runs another kind, and
measure again.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.errors import SettingError
from positionbias.core.seeds import generator
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.reliability import Reliability, reliability
from positionbias.pooling.scores import PoolMeasure
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import System, groups_of, kinds_of

__all__ = ["relabel", "relabelled"]


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

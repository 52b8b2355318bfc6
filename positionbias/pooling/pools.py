"""Draw pools from half of the groups of one kind, and find the remaining test systems.

All runs of a drawn group that are of the pool's kind feed the pool [paper]; half of the groups are
drawn, rounded down. A drawn group's runs of other kinds leave the test set [decision], as their
group put similar runs into the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.seeds import generator
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import System, groups_of, kinds_of

__all__ = ["NOTES", "DrawnPools", "draw_groups", "draw_pools", "gold_pool", "pool_kinds"]

NOTES = (
    (
        "Half of a kind's groups feed a pool, rounded down; a drawn group's runs of other kinds "
        "are not tested."
    ),
    "Documents outside a pool count as not relevant; every mean is over all judged queries.",
)  # the name of drawn pools in a manifest
RESERVED = ("all", "gold")  # the test set of every kind, and the reference of pools


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPools:
    """Pools of one kind: the ``groups`` that feed each, ``judged (pools, judgements)`` and
    ``test (pools, runs)``, both bool.
    """

    kind: str
    numbers: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]
    judged: np.ndarray
    test: np.ndarray


def pool_kinds(systems: Sequence[System]) -> tuple[str, ...]:
    """Return the kinds to draw pools from: those with at least two groups; the others are only
    tested.

    Raises:
        InputError: fewer than two kinds, no kind with two groups, or a kind with a reserved name.
    """
    kinds = kinds_of(systems)
    for kind in kinds:
        if kind in RESERVED:
            raise InputError(
                f"systems: wanted kinds not named {' or '.join(RESERVED)}; found {kind!r}; rename "
                "it"
            )
    if len(kinds) < 2:
        raise InputError(
            f"systems: wanted at least 2 kinds; found {', '.join(kinds) or 'none'}; check the "
            "column kind"
        )
    found = tuple(kind for kind in kinds if len(groups_of(systems, kind)) > 1)
    if not found:
        raise InputError(
            "systems: wanted a kind with at least 2 groups, to draw half of them; found none; "
            "check the column group"
        )
    return found


def draw_groups(
    systems: Sequence[System], kind: str, number: int, seed: int, count: int | None = None
) -> tuple[str, ...]:
    """Draw the groups that feed pool ``number`` of a kind: ``count`` of them, at most all but one;
    by default half, rounded down.

    A larger count adds groups to those of a smaller one. The draw is keyed by (seed, kind, number),
    so it is independent of other pools.
    """
    groups = groups_of(systems, kind)
    order = generator(seed, "pool groups", kind, number).permutation(len(groups))
    size = len(groups) // 2 if count is None else min(count, len(groups) - 1)
    return tuple(sorted(groups[place] for place in order[:size]))


def draw_pools(
    runs: JudgedRuns, kind: str, numbers: Sequence[int], settings: PoolSettings
) -> DrawnPools:
    """Draw depth-k pools from groups' runs of ``kind``; runs of no drawn group are the test
    systems.
    """
    groups = groups_of(runs.systems, kind)
    feeds = [
        np.array([s.group == group and s.kind == kind for s in runs.systems], bool)
        for group in groups
    ]
    fed = np.array([runs.pooled(of_group, settings.depth) for of_group in feeds])
    place_of = {group: place for place, group in enumerate(groups)}
    of_run = np.array([place_of.get(system.group, len(groups)) for system in runs.systems])
    drawn = [
        draw_groups(runs.systems, kind, number, settings.seed, settings.groups)
        for number in numbers
    ]
    judged = np.zeros((len(drawn), runs.unjudged), bool)
    test = np.ones((len(drawn), len(runs.systems)), bool)
    for row, names in enumerate(drawn):
        places = [place_of[name] for name in names]
        judged[row] = fed[places].any(axis=0)
        test[row] = ~np.isin(of_run, places)
    return DrawnPools(kind, tuple(numbers), tuple(drawn), judged, test)


def gold_pool(runs: JudgedRuns, settings: PoolSettings) -> np.ndarray:
    """Return the mask of the gold judgements, ``(judgements,)`` bool."""
    if settings.gold == "all":
        return np.ones(runs.unjudged, bool)
    return runs.pooled(np.ones(len(runs.systems), bool), settings.gold_depth or settings.depth)

"""Leave each group out in turn: its unique documents, and the scores of its runs if it had not
taken part (Zobel 1998).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.pools import gold_pool
from positionbias.pooling.scores import PoolMeasure, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import System

__all__ = ["LeftOut", "Moved", "leave_out", "ranks_of"]

_DECIMALS = 12  # means that differ only by rounding are ties
_BLOCK = 400_000  # values of one measure held in memory


class Moved(NamedTuple):
    """A run's mean score and rank (from 1), with its group in the pool and without."""

    before: float
    after: float
    rank_before: int
    rank_after: int


class LeftOut(NamedTuple):
    """One group left out of the pool: judgements ``unique`` to it, the ``relevant`` ones among
    them, and its runs, rescored by each measure.
    """

    group: str
    unique: int
    relevant: int
    systems: Sequence[System]
    moved: Mapping[str, Sequence[Moved]]


def ranks_of(means: np.ndarray) -> np.ndarray:
    """Return ranks from 1 along the last axis, the highest mean first; equal means share the best
    of their ranks.
    """
    rounded = np.round(means, _DECIMALS)
    return 1 + (rounded[..., None, :] > rounded[..., :, None]).sum(axis=-1)


def leave_out(
    runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings, *, level: int = 1
) -> list[LeftOut]:
    """Rescore all runs, for each group, without the gold judgements that only the group's runs have
    within the pool's depth.
    """
    gold = gold_pool(runs, settings)
    groups = sorted({system.group for system in runs.systems})
    of_group = np.array([[system.group == group for system in runs.systems] for group in groups])
    pools = np.array([runs.pooled(own, settings.depth) for own in of_group])
    alone = pools & (pools.sum(axis=0) == 1) & gold
    relevant = runs.grades >= level
    before = {
        measure.name: score_pools(runs, gold[None], measure)[0].mean(axis=0) for measure in measures
    }
    size = max(1, _BLOCK // max(runs.places.shape[0] * runs.places.shape[1], runs.unjudged))
    after = {
        measure.name: np.concatenate(
            [
                score_pools(runs, gold & ~alone[start : start + size], measure).mean(axis=1)
                for start in range(0, len(groups), size)
            ]
        )
        for measure in measures
    }
    found = []
    for place, group in enumerate(groups):
        own = np.flatnonzero(of_group[place]).tolist()
        moved = {name: _moved(means, after[name][place], own) for name, means in before.items()}
        unique, of_these = int(alone[place].sum()), int((alone[place] & relevant).sum())
        systems = [runs.systems[run] for run in own]
        found.append(LeftOut(group, unique, of_these, systems, moved))
    return found


def _moved(before: np.ndarray, after: np.ndarray, own: list[int]) -> list[Moved]:
    """Return score and rank of a group's ``own`` runs with and without it, from the means of all
    runs, each ``(runs,)``.
    """
    columns = (
        values[own].tolist() for values in (before, after, ranks_of(before), ranks_of(after))
    )
    return [Moved(*run) for run in zip(*columns, strict=True)]

"""Leave each group out in turn: its unique documents, and the scores of its runs if it had not
taken part (Zobel 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.pools import gold_pool
from positionbias.pooling.scores import PoolMeasure, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import kinds_of
from positionbias.results.pools import (
    LEFT_OUT,
    LEFT_OUT_BY,
    LeftOutByKind,
    LeftOutFigures,
    LeftOutRun,
    Moved,
)
from positionbias.results.result import Result

__all__ = ["leave_out", "leave_out_results", "ranks_of"]

_DECIMALS = 12  # means that differ only by rounding are ties
_BLOCK = 400_000  # values of one measure held in memory


def ranks_of(means: np.ndarray) -> np.ndarray:
    """Return ranks from 1 along the last axis, the highest mean first; equal means share the best
    of their ranks.
    """
    rounded = np.round(means, _DECIMALS)
    return 1 + (rounded[..., None, :] > rounded[..., :, None]).sum(axis=-1)


def leave_out(
    runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings, *, level: int = 1
) -> list[LeftOutFigures]:
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
        systems = [runs.systems[run] for run in own]
        members = [
            LeftOutRun(one.run, one.kind, {name: moved[name][at] for name in moved})
            for at, one in enumerate(systems)
        ]
        unique, of_these = int(alone[place].sum()), int((alone[place] & relevant).sum())
        found.append(LeftOutFigures(group=group, unique=unique, relevant=of_these, runs=members))
    return found


def _moved(before: np.ndarray, after: np.ndarray, own: list[int]) -> list[Moved]:
    """Return score and rank of a group's ``own`` runs with and without it, from the means of all
    runs, each ``(runs,)``.
    """
    columns = (
        values[own].tolist() for values in (before, after, ranks_of(before), ranks_of(after))
    )
    return [Moved(*run) for run in zip(*columns, strict=True)]


def leave_out_results(
    left: Sequence[LeftOutFigures],
    runs: JudgedRuns,
    measures: Sequence[PoolMeasure],
    *,
    collection: str,
) -> list[Result]:
    """Return a Result for each group (value: its unique relevant documents), and for each measure
    and kind (value: mean change).
    """
    results = [
        Result(
            LEFT_OUT,
            collection,
            "",
            item.group,
            None,
            float(item.relevant),
            None,
            len(item.runs),
            item,
        )
        for item in left
    ]
    for measure in measures:
        for kind in kinds_of(runs.systems):
            moved = [
                run.measures[measure.name] for item in left for run in item.runs if run.kind == kind
            ]
            changes = [run.change for run in moved]
            ranks = [run.rank_after - run.rank_before for run in moved]
            figures = LeftOutByKind(
                kind=kind, measure=measure.name, systems=len(moved), largest_fall=min(changes),
                ranks_lost=float(np.mean(ranks)), most_ranks_lost=max(ranks),
            )  # fmt: skip
            value = float(np.mean(changes))
            results.append(
                Result(
                    LEFT_OUT_BY + measure.name,
                    collection,
                    "",
                    kind,
                    None,
                    value,
                    None,
                    len(moved),
                    figures,
                )
            )
    return results

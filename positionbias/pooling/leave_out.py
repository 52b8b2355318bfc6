"""Leave one group out: what only this group found, and what its runs would have scored had it not taken part (Zobel 1998)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.pools import PoolSettings, gold_pool
from positionbias.pooling.scores import PoolMeasure, score_pools
from positionbias.pooling.systems import kinds_of
from positionbias.results.payloads import Statistics
from positionbias.results.result import Result

__all__ = ["LeftOut", "leave_out", "leave_out_results", "ranks_of"]

_DECIMALS = 12  # means that rounding alone parts are ties
_BLOCK = 400_000  # values of one measure held at once


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """One group out of the pool: ``unique`` judgements and ``relevant`` ones among them that no other group brought in.

    By measure, for the group's ``runs`` (numbers): mean scores and ranks, from 1, among all runs, ``before`` and ``after``.
    """

    group: str
    runs: np.ndarray
    unique: int
    relevant: int
    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]
    rank_before: dict[str, np.ndarray]
    rank_after: dict[str, np.ndarray]


def ranks_of(means: np.ndarray) -> np.ndarray:
    """Ranks from 1 along the last axis, the highest mean first; equal means share the best of their ranks."""
    rounded = np.round(means, _DECIMALS)
    return 1 + (rounded[..., None, :] > rounded[..., :, None]).sum(axis=-1)


def leave_out(runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings, *, level: int = 1) -> list[LeftOut]:
    """For each group the gold judgements without those that only its runs have within the pool's depth, and all runs scored anew."""
    gold = gold_pool(runs, settings)
    groups = sorted({system.group for system in runs.systems})
    of_group = {group: np.array([system.group == group for system in runs.systems], bool) for group in groups}
    pools = np.array([runs.pooled(of_group[group], settings.depth) for group in groups])
    alone = pools & (pools.sum(axis=0) == 1) & gold
    relevant = runs.grades >= level
    before = {measure.name: score_pools(runs, gold[None], measure)[0].mean(axis=0) for measure in measures}
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
    return [
        LeftOut(
            group,
            np.flatnonzero(of_group[group]),
            int(alone[place].sum()),
            int((alone[place] & relevant).sum()),
            {name: means[of_group[group]] for name, means in before.items()},
            {name: means[place, of_group[group]] for name, means in after.items()},
            {name: ranks_of(means)[of_group[group]] for name, means in before.items()},
            {name: ranks_of(means[place])[of_group[group]] for name, means in after.items()},
        )
        for place, group in enumerate(groups)
    ]


def leave_out_results(
    left: Sequence[LeftOut], runs: JudgedRuns, measures: Sequence[PoolMeasure], *, collection: str
) -> list[Result]:
    """A Result a group (value: its unique relevant documents; rows: every run's change), and one a measure and kind (value: mean change)."""
    results = [
        Result(
            "left out",
            collection,
            "",
            item.group,
            None,
            float(item.relevant),
            None,
            len(item.runs),
            Statistics(_rows(item, runs)),
        )
        for item in left
    ]
    for measure in measures:
        for kind in kinds_of(runs.systems):
            own = runs.of_kind(kind)
            changes = [
                float(after - before)
                for item in left
                for run, before, after in zip(item.runs, item.before[measure.name], item.after[measure.name], strict=True)
                if own[run]
            ]
            moved = [
                int(after - before)
                for item in left
                for run, before, after in zip(
                    item.runs, item.rank_before[measure.name], item.rank_after[measure.name], strict=True
                )
                if own[run]
            ]
            rows = {
                "what": "left out by kind", "kind": kind, "measure": measure.name, "systems": len(changes),
                "largest fall": min(changes), "ranks lost": float(np.mean(moved)), "most ranks lost": max(moved),
            }  # fmt: skip
            name = f"left out by {measure.name}"
            value = float(np.mean(changes))
            results.append(Result(name, collection, "", kind, None, value, None, len(changes), Statistics(rows)))
    return results


def _rows(item: LeftOut, runs: JudgedRuns) -> dict[str, Any]:
    return {
        "what": "left out",
        "group": item.group,
        "unique judgements": item.unique,
        "unique relevant": item.relevant,
        "runs": [
            {
                "run": runs.systems[run].run,
                "kind": runs.systems[run].kind,
                **{
                    name: {
                        "before": float(item.before[name][place]), "after": float(item.after[name][place]),
                        "rank before": int(item.rank_before[name][place]), "rank after": int(item.rank_after[name][place]),
                    }
                    for name in item.before
                },
            }
            for place, run in enumerate(item.runs.tolist())
        ],
    }  # fmt: skip

"""Measure reliability by pool depth and by the number of groups that feed a pool: the same draws,
made deeper or wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.pools import pool_kinds
from positionbias.pooling.reliability import Reliability, reliability
from positionbias.pooling.scores import PoolMeasure
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import groups_of

__all__ = ["curve_depths", "depth_curve", "groups_curve"]

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)


def curve_depths(settings: PoolSettings) -> list[int]:
    """Return a curve's default depths: up to the pools' own depth, and beyond if the gold is every
    judgement.

    Beyond the depth of a gold pool nothing is known.
    """
    depths = [depth for depth in DEPTHS if settings.gold == "all" or depth < settings.depth]
    return sorted({*depths, settings.depth})


def depth_curve(
    runs: JudgedRuns,
    measures: Sequence[PoolMeasure],
    settings: PoolSettings,
    depths: Sequence[int],
    *,
    level: int = 1,
) -> dict[int, Reliability]:
    """Compare pools of the same groups at each depth with one gold of depth
    ``settings.gold_depth``, by default the deepest of ``depths``.
    """
    gold = settings.gold_depth or max(depths)
    return {
        depth: reliability(
            runs, measures, replace(settings, depth=depth, gold_depth=gold), level=level
        )
        for depth in depths
    }


def groups_curve(
    runs: JudgedRuns,
    measures: Sequence[PoolMeasure],
    settings: PoolSettings,
    counts: Sequence[int] = (),
    *,
    level: int = 1,
) -> dict[int, Reliability]:
    """Draw pools of 1, 2 … groups; a pool of n groups contains the pool of n − 1 with the same
    number. The default is one less than the largest kind has.

    A kind with fewer groups stops at all but one. As more groups are drawn, fewer test systems
    remain.
    """
    most = max(len(groups_of(runs.systems, kind)) for kind in pool_kinds(runs.systems)) - 1
    chosen = counts or range(1, most + 1)
    return {
        count: reliability(runs, measures, replace(settings, groups=count), level=level)
        for count in chosen
    }

"""Effects of kind: what a plain loop says, a planted bias is found, one that is none is not, and
too few groups cannot tell.
"""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.pooling.exchange import exchange_of
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.kind_effects import MIXED_POOLS, POOLS, kind_effects
from positionbias.pooling.kind_rule import Contrast, KindAnswer, KindEffect
from positionbias.pooling.pools import draw_groups, gold_pool
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings

from .worked import simulated

SETTINGS = PoolSettings(gold="all")
PLANTED = {"groups": 6, "queries": 12}


def effect(effects: list[KindEffect], pool: str, contrast: Contrast) -> KindEffect:
    return next(one for one in effects if (one.pool, one.contrast) == (pool, contrast))


def changes(runs: JudgedRuns, kind: str, fed: int, pools: int) -> np.ndarray:
    """Each run's mean change over the pools that its group did not feed, one pool after the
    other.
    """
    measure = pool_measures(["nDCG@10"])[0]
    gold = score_pools(runs, gold_pool(runs, SETTINGS)[None], measure)[0].mean(axis=0)
    own: list[list[float]] = [[] for _ in runs.systems]
    for number in range(pools):
        drawn = draw_groups(runs.systems, kind, number, SETTINGS.seed, fed)
        feeds = np.array([system.group in drawn and system.kind == kind for system in runs.systems])
        scores = score_pools(runs, runs.pooled(feeds, SETTINGS.depth)[None], measure)[0].mean(
            axis=0
        )
        for run, system in enumerate(runs.systems):
            if system.group not in drawn:
                own[run].append(scores[run] - gold[run])
    return np.array([np.mean(values) for values in own])


def test_effects_are_those_of_a_plain_regression() -> None:
    runs = simulated(0.3, groups=4, queries=6)
    measure = pool_measures(["nDCG@10"])[0]
    gold = score_pools(runs, gold_pool(runs, SETTINGS)[None], measure)[0].mean(axis=0)
    anybody = runs.with_systems([system._replace(kind="any") for system in runs.systems])
    mixed = changes(anybody, "any", 2, MIXED_POOLS)
    effects = kind_effects(runs, [measure], SETTINGS)
    for pool in ("traditional", "neural"):
        found = changes(runs, pool, 2, POOLS)
        other = np.array([system.kind != pool for system in runs.systems], float)
        design = np.column_stack([np.ones(8), gold, other])
        for contrast, values in ((Contrast.UNSEEN, found), (Contrast.MIXED, found - mixed)):
            slope = np.linalg.lstsq(design, values, rcond=None)[0][2]
            assert effect(effects, pool, contrast).gap == pytest.approx(slope)


def test_a_planted_bias_is_found_and_none_is_not() -> None:
    measures = pool_measures(["P@10"])
    effects = kind_effects(simulated(0.4, **PLANTED), measures, SETTINGS, permutations=160)
    assert [(one.pool, one.kind, one.contrast) for one in effects] == [
        (pool, kind, contrast)
        for pool, kind in (("traditional", "neural"), ("neural", "traditional"))
        for contrast in Contrast
    ]
    biased = effects[0]
    assert biased.answer is KindAnswer.WORSE
    assert biased.value == pytest.approx(biased.gap - biased.by_chance)
    assert biased.interval.high < 0
    assert biased.p <= biased.p_holm <= 0.05
    assert (biased.alarms.value <= 0.05, biased.alarms.drawn) == (True, 160)
    fair = kind_effects(simulated(0.0, **PLANTED), measures, SETTINGS, permutations=160)
    assert not {KindAnswer.WORSE, KindAnswer.BETTER} & {one.answer for one in fair}


def test_too_few_groups_cannot_tell() -> None:
    runs = simulated(0.6, groups=3, queries=5)
    effects = kind_effects(runs, pool_measures(["P@10"]), SETTINGS)
    assert exchange_of(runs.systems, ("traditional", "neural")).arrangements == 20  # 6 over 3
    assert {(one.answer, one.value, one.arrangements) for one in effects} == {
        (KindAnswer.UNKNOWN, None, 20)
    }
    # not computed on arrays
    assert kind_effects(runs, pool_measures(["ERR@10"]), SETTINGS) == []

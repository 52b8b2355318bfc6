"""Effects of kind: what a plain loop says, a planted bias is found, one that is none is not, and
too few groups cannot tell.
"""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.pooling.exchange import exchange_of
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.kind_effects import MIXED_POOLS, POOLS, kind_effects
from positionbias.pooling.kind_rule import Contrast, KindAnswer
from positionbias.pooling.pools import draw_pools, gold_pool
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings

from .worked import simulated

SETTINGS = PoolSettings(gold="all")
PLANTED = {"groups": 6, "queries": 12}


def changes(runs: JudgedRuns, kind: str, pools: int) -> np.ndarray:
    """Each run's mean change of nDCG@10 over the pools that its group did not feed."""
    measure = pool_measures(["nDCG@10"])[0]
    drawn = draw_pools(runs, kind, range(pools), PoolSettings(groups=2))
    means = score_pools(runs, drawn.judged, measure).mean(axis=1)
    return np.nanmean(np.where(drawn.test, means - gold_scores(runs), np.nan), axis=0)


def gold_scores(runs: JudgedRuns) -> np.ndarray:
    [measure] = pool_measures(["nDCG@10"])
    return score_pools(runs, gold_pool(runs, SETTINGS)[None], measure)[0].mean(axis=0)


def test_effects_are_those_of_a_plain_regression() -> None:
    runs = simulated(0.3, groups=4, queries=6)
    anybody = runs.with_systems([system._replace(kind="any") for system in runs.systems])
    mixed = changes(anybody, "any", MIXED_POOLS)
    for own in kind_effects(runs, pool_measures(["nDCG@10"]), SETTINGS):
        values = changes(runs, own.pool, POOLS) - (own.contrast == Contrast.MIXED) * mixed
        design = np.column_stack([np.ones(8), gold_scores(runs), runs.of_kind(own.kind)])
        slope = np.linalg.lstsq(design, values, rcond=None)[0][2]
        assert own.gap == pytest.approx(slope)


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

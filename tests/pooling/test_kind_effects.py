"""Effects of kind: what a plain loop says, a planted bias is found, one that is none is not, and
too few groups cannot tell.
"""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.pooling.exchange import exchange_of
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.kind_effects import MIXED_POOLS, POOLS, KindEffect, kind_effects
from positionbias.pooling.kind_results import kind_results
from positionbias.pooling.pools import draw_groups, gold_pool
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.results.payloads import Finding
from positionbias.results.pools import Contrast, KindAnswer, KindFigures
from positionbias.results.select import of_type

SETTINGS = PoolSettings(gold="all")


def simulated(rate: float, *, groups: int = 6, queries: int = 12, seed: int = 1) -> JudgedRuns:
    simulation = Simulation(rate=rate, groups=groups, queries=queries, seed=seed)
    return judge_runs(simulated_runs(simulation), simulated_qrels(simulation))


def effect(effects: list[KindEffect], pool: str, contrast: Contrast) -> KindEffect:
    return next(
        one for one in effects if (one.figures.pool, one.figures.contrast) == (pool, contrast)
    )


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
            assert effect(effects, pool, contrast).figures.gap == pytest.approx(slope)


@pytest.fixture(scope="module")
def planted() -> list[KindEffect]:
    return kind_effects(simulated(0.4), pool_measures(["P@10"]), SETTINGS, permutations=160)


def test_a_planted_bias_is_found_and_none_is_not(planted: list[KindEffect]) -> None:
    biased = effect(planted, "traditional", Contrast.UNSEEN)
    own = biased.figures
    assert own.answer is KindAnswer.WORSE
    assert biased.value == pytest.approx(own.gap - own.by_chance)
    assert biased.interval.high < 0
    assert own.p <= own.p_holm <= 0.05
    assert own.alarms.value <= 0.05
    fair = kind_effects(simulated(0.0), pool_measures(["P@10"]), SETTINGS, permutations=160)
    assert not {KindAnswer.WORSE, KindAnswer.BETTER} & {one.figures.answer for one in fair}


def test_too_few_groups_cannot_tell() -> None:
    runs = simulated(0.6, groups=3, queries=5)
    effects = kind_effects(runs, pool_measures(["P@10"]), SETTINGS)
    assert exchange_of(runs.systems, ("traditional", "neural")).arrangements == 20  # 6 over 3
    assert {one.figures.answer for one in effects} == {KindAnswer.UNKNOWN}
    results = kind_results(effects, runs, collection="few", seed=1)
    assert {result.value for result in results} == {None}
    sentence = next(
        result.payload.text for result in results if isinstance(result.payload, Finding)
    )
    assert sentence.startswith(
        "Cannot tell: under pools of traditional runs, the change of P@10 of neural runs minus "
        "that of unseen"
    )
    assert sentence.endswith(
        "kinds can be permuted in only 20 ways, and 400 are needed. More groups are needed (here "
        "6)."
    )


def test_a_measure_that_is_not_computed_on_arrays_is_left_out() -> None:
    assert (
        kind_effects(simulated(0.3, groups=3, queries=5), pool_measures(["ERR@10"]), SETTINGS) == []
    )


def test_results_say_the_answer_first_and_never_mix_signs(planted: list[KindEffect]) -> None:
    results = kind_results(planted, simulated(0.4), collection="simulated", seed=1)
    effects = [own for _, own in of_type(results, KindFigures)]
    assert [(own.pool, own.contrast) for own in effects] == [
        (pool, contrast)
        for pool in ("traditional", "neural")
        for contrast in ("beside unseen", "beyond mixed pools")
    ]
    assert effects[0].answer == "worse"
    assert effects[0].alarms.drawn == 160
    first = next(result.payload for result in results if isinstance(result.payload, Finding))
    assert first.holds
    start = (
        "Worse: under pools of traditional runs, the change of P@10 of neural runs minus that of "
        "unseen traditional runs of equal score is "
    )
    assert first.text.startswith(f"{start}−{abs(planted[0].value):.3f} (95\u00a0% CI [−")
    assert first.text.endswith(
        "Add groups of neural runs to the pool, or compare neural runs only with each other."
    )
    assert (
        "of 160 permutations of kinds among groups of equal size; a gap of 0.03 is found in "
        in first.text
    )

"""Kinds permuted among groups; effects of kind by a plain loop; the rule that decides, by hand and
on effects that are drawn.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from positionbias.evaluation.judged_runs import JudgedRuns, System, pool_measures, score_pools
from positionbias.pooling.kinds import (
    GAP,
    MIXED_POOLS,
    POOLS,
    Contrast,
    KindAnswer,
    Rule,
    add_kinds,
    exchange_of,
    exchanged,
)
from positionbias.pooling.pools import draw_pools, gold_pool, pool_rows
from positionbias.pooling.settings import PoolSettings

from .worked import row, simulated

KINDS = ("old", "new")
SETTINGS = PoolSettings(gold="all")
PLANTED = {"groups": 6, "queries": 12}


def systems(**groups: str) -> list[System]:
    """Runs of groups by the first letters of their kinds: ``a="on"`` has one of each kind."""
    names = {"o": "old", "n": "new", "x": "third"}
    return [
        System(f"{group}{number}", group, names[letter])
        for group, letters in groups.items()
        for number, letter in enumerate(letters)
    ]


def labels(found: list[System]) -> dict[str, str]:
    by_group: dict[str, str] = {}
    for system in found:
        by_group[system.group] = by_group.get(system.group, "") + system.kind[0]
    return by_group


def test_arrangements_by_hand() -> None:
    # three groups of two runs, all different: 3! ways; two of one run, different: 2; one of three:
    # nothing to exchange with
    found = exchange_of(systems(a="oo", b="nn", c="on", d="o", e="n", f="ooo"), KINDS)
    assert found == ([[(0, 1), (2, 3), (4, 5)], [(6,), (7,)]], 12)
    # a and b have the same labels, and a third kind keeps its own
    found = exchange_of(systems(a="on", b="no", c="nn", d="x", e="o", f="ox"), KINDS)
    assert found == ([[(0, 1), (2, 3), (4, 5)]], 3)


def test_whole_vectors_move_between_groups_of_equal_size() -> None:
    given_labels = systems(a="on", b="oo", c="nn", d="o", e="n")
    classes, _ = exchange_of(given_labels, KINDS)
    drawn = [exchanged(given_labels, classes, number, 3) for number in range(100)]
    assert drawn[7] == exchanged(given_labels, classes, 7, 3)
    assert all(old[:2] == new[:2] for old, new in zip(given_labels, drawn[7], strict=True))
    # three groups of two runs, two of one; within a group in random order
    outcomes = {tuple("".join(sorted(own)) for own in labels(one).values()) for one in drawn}
    assert outcomes == {
        (*two, *single)
        for two in permutations(["no", "oo", "nn"])
        for single in permutations(["o", "n"])
    }


def changes(runs: JudgedRuns, kind: str, pools: int) -> np.ndarray:
    """Each run's mean change of nDCG@10 over the pools that its group did not feed."""
    [measure] = pool_measures(["nDCG@10"])
    drawn = draw_pools(runs, kind, range(pools), SETTINGS, 2)
    means = score_pools(runs, drawn.judged, measure).mean(axis=1)
    return np.nanmean(np.where(drawn.test, means - gold_scores(runs), np.nan), axis=0)


def gold_scores(runs: JudgedRuns) -> np.ndarray:
    [measure] = pool_measures(["nDCG@10"])
    return score_pools(runs, gold_pool(runs, SETTINGS)[None], measure)[0].mean(axis=0)


def test_effects_are_those_of_a_plain_regression() -> None:
    runs, made = simulated(0.3, groups=4, queries=6), pool_rows("simulated")
    anybody = replace(runs, systems=[system._replace(kind="any") for system in runs.systems])
    mixed = changes(anybody, "any", MIXED_POOLS)
    add_kinds(made, runs, pool_measures(["nDCG@10"]), SETTINGS)
    gaps = made.rows.query("statistic == 'gap'")
    assert len(gaps) == 4
    for own in gaps.itertuples():
        values = changes(runs, own.pool, POOLS) - (own.variant == Contrast.MIXED) * mixed
        design = np.column_stack([np.ones(8), gold_scores(runs), runs.kinds == own.kind])
        slope = np.linalg.lstsq(design, values, rcond=None)[0][2]
        assert own.value == pytest.approx(slope)
    # 8 groups over 4
    reasons = made.rows.query("statistic == 'effect of kind'")[["answer", "reason"]]
    assert set(reasons.itertuples(index=False, name=None)) == {
        (KindAnswer.UNKNOWN.value, "kinds can be permuted in only 70 ways")
    }


def test_a_planted_bias_is_found() -> None:
    measures, made = pool_measures(["P@10"]), pool_rows("biased")
    add_kinds(made, simulated(0.4, **PLANTED), measures, SETTINGS, permutations=160)
    own = {"pool": "traditional", "kind": "neural", "variant": Contrast.UNSEEN.value}
    biased = row(made, "effect of kind", **own)
    assert (biased.answer, biased.count, biased.margin) == (KindAnswer.WORSE.value, 12, 0.03)
    assert row(made, "gap", **own).value < biased.high < 0
    assert biased.p <= biased.p_adjusted <= 0.05
    alarms = row(made, "false alarms", **own)
    assert (alarms.value <= 0.05, alarms.count) == (True, 160)


def drawn(
    seed: int,
    given_effects: list[float],
    *,
    permutations: int = 400,
    spread: float = 0.01,
    error: float = 0.0,
) -> np.ndarray:
    """Effects as found, then those of permuted kinds: normal around 0.002."""
    effects = np.random.default_rng(seed).normal(
        0.002, spread, (1 + 2 * permutations, len(given_effects))
    )
    effects[0] = given_effects
    return np.stack([effects, np.full(effects.shape, error)], axis=-1)


def decided(rule: Rule) -> dict[str, float | str]:
    """The rows of the first test, and its answer."""
    made = pool_rows("c")
    rule.add(made, 0, "RR", {"pool": "old", "kind": "new", "variant": "v", "margin": GAP})
    rows = made.rows.set_index("statistic")
    effect = rows.loc["effect of kind"]
    half = (effect["high"] - effect["low"]) / 2
    same = {name: effect[name] for name in ("answer", "p", "p_adjusted")}
    return {**rows["value"].to_dict(), **same, "half": half}


def test_p_and_interval_by_hand() -> None:
    reference, held_out = [-0.01, 0.0, 0.01, 0.02], [0.0] * 4
    found = np.array([[[value, 0.0]] for value in (-0.02, *reference, *held_out)])
    # the mean is 0.005, distances from it are 0.005 twice and 0.015 twice; −0.02 is 0.025 away,
    # farther than all four
    own = decided(Rule(found, 50))
    assert (own["answer"], own["p"], own["p_adjusted"]) == ("cannot tell", 1 / 5, 1 / 5)
    assert own["half"] == pytest.approx(0.015)
    found[0, 0, 0] = 0.015  # 0.01 away: two of four are as far
    # within 0.01 ± 0.015 there is no 0.03
    own = decided(Rule(found, 50))
    assert (own["answer"], own["p"]) == ("within 0.03", 3 / 5)


def test_topics_widen_the_interval() -> None:
    # t(0.975, 9) = 2.262: √(q² + (2.262 · 0.01)²)
    narrow, wide = (decided(Rule(drawn(1, [0.0], error=error), 10)) for error in (0.0, 0.01))
    assert wide["half"] == pytest.approx(np.hypot(narrow["half"], 0.02262), abs=1e-5)


@pytest.mark.parametrize(
    ("effect", "answer"),
    [
        (-0.06, KindAnswer.WORSE),
        (0.06, KindAnswer.BETTER),
        (0.003, KindAnswer.CLOSE),
        (-0.024, KindAnswer.UNKNOWN),
    ],
)
def test_the_four_answers(effect: float, answer: KindAnswer) -> None:
    assert decided(Rule(drawn(2, [effect, 0.0, 0.0, 0.0]), 50))["answer"] == answer.value


def test_false_alarms_stay_below_their_level_and_power_is_what_the_normal_says() -> None:
    rule = Rule(drawn(3, [0.0] * 4, permutations=4_000), 50)
    family = (rule.judged(rule.held_out)[-1] < 2).any(axis=1).mean()
    # Holm holds 5 % for all four together; four errors of sampling around it
    assert 0.03 < family < 0.07
    rates = decided(rule)
    assert rates["false alarms"] < 0.025
    # a gap of three standard deviations against a limit of about 2.5: Φ(0.5) = 0.69
    assert rates["power"] == pytest.approx(0.69, abs=0.05)

"""The rule that decides whether kinds differ: p and Holm by hand, its error rates on effects that
are drawn.
"""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.evaluation.significance import HOLM, corrected
from positionbias.pooling.kind_rule import GAP, Contrast, KindAnswer, KindEffect, Rule, holm

ASKED = KindEffect(
    contrast=Contrast.UNSEEN, pool="old", kind="new", measure="RR", gap=0.0, groups=28,
    among="groups", arrangements=400, exchanging=28,
)  # fmt: skip


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


def test_p_and_interval_by_hand() -> None:
    reference, held_out = [-0.01, 0.0, 0.01, 0.02], [0.0] * 4
    found = np.array([[[value, 0.0]] for value in (-0.02, *reference, *held_out)])
    rule = Rule(found, 50)
    # the mean is 0.005, distances from it are 0.005 twice and 0.015 twice; −0.02 is 0.025 away,
    # farther than all four
    assert rule.answers() == [(KindAnswer.UNKNOWN, 1 / 5, 1 / 5)]
    assert rule.half(rule.given)[0, 0] == pytest.approx(0.015)
    found[0, 0, 0] = 0.015  # 0.01 away: two of four are as far
    # within 0.01 ± 0.015 there is no 0.03
    assert Rule(found, 50).answers() == [(KindAnswer.CLOSE, 3 / 5, 3 / 5)]


def test_topics_widen_the_interval() -> None:
    # t(0.975, 9) = 2.262: √(q² + (2.262 · 0.01)²)
    narrow, wide = (Rule(drawn(1, [0.0], error=error), 10) for error in (0.0, 0.01))
    assert wide.half(wide.given)[0, 0] == pytest.approx(
        np.hypot(narrow.half(narrow.given)[0, 0], 0.02262), abs=1e-5
    )


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
    assert Rule(drawn(2, [effect, 0.0, 0.0, 0.0]), 50).answers()[0][0] is answer


def test_holm_of_all_rows_at_once_is_that_of_each() -> None:
    p = np.random.default_rng(5).random((20, 6)).round(2)  # with ties
    for row, adjusted in zip(p, holm(p), strict=True):
        assert adjusted == pytest.approx(corrected(row.tolist(), HOLM))


def test_false_alarms_stay_below_their_level_and_power_is_what_the_normal_says() -> None:
    rule = Rule(drawn(3, [0.0] * 4, permutations=4_000), 50)
    family = (rule.judged(rule.held_out)[2] < 2).any(axis=1).mean()
    # Holm holds 5 % for all four together; four errors of sampling around it
    assert 0.03 < family < 0.07
    rates = rule.with_rates(ASKED, 0)
    assert rates.alarms.value < 0.025
    assert rates.alarms.low <= rates.alarms.value <= rates.alarms.high
    # a gap of three standard deviations against a limit of about 2.5: Φ(0.5) = 0.69; and 80 % at
    # 3.34 of them
    assert rates.power == pytest.approx(0.69, abs=0.05)
    # "within 0.03" needs a value 1.96 deviations above −0.03, which is where the planted ones lie:
    # Φ(−1.96)
    assert rates.missed == pytest.approx(0.025, abs=0.01)
    assert rates.needed == pytest.approx(28 * (3.34 * 0.01 / GAP) ** 2, rel=0.12)


def test_no_number_of_groups_is_told_where_no_gap_would_be_found() -> None:
    # Holm's smallest p is 4 / 21
    assert Rule(drawn(4, [0.0] * 4, permutations=20), 50).with_rates(ASKED, 0).needed is None

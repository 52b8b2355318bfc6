"""Limits on position bias, on verdicts made by hand: pass, fail, cannot tell, and how many queries
would tell.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import pytest

from positionbias.audit.answers import READ_WHOLE, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.limits import EXIT_CODES, Check, Outcome, checks_of, overall
from positionbias.audit.measured import Given
from positionbias.audit.settings import Limits
from positionbias.audit.systems import RERANKER
from positionbias.core.errors import SettingError

ENDS, MIDDLE, ROTATION = Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION
RUNS, ORDER, ORDER_MIDDLE = Contrast.RUNS, Contrast.ORDER, Contrast.ORDER_MIDDLE
NDCG = "nDCG@10"


def effect(
    contrast: Contrast, value: float | None, low: float | None, high: float | None, **more: Any
) -> Effect:
    return Effect(
        contrast, **{"unit": NDCG, "value": value, "low": low, "high": high, "queries": 100, **more}
    )


def passage(*effects: Effect, system: str = "minilm", reason: str = "", **more: Any) -> Given:
    verdict = Verdict(Question.PASSAGE, Preference.UNKNOWN, effects, reason=reason, **more)
    return Given(system, RERANKER, "squad", "test", verdict)


def listed(
    *effects: Effect, preference: Preference = Preference.UNKNOWN, reason: str = ""
) -> Given:
    verdict = Verdict(Question.LIST, preference, effects, reason=reason)
    return Given("minilm", RERANKER, "squad", "test", verdict)


def one(results: list[Given], **limits: float) -> Check:
    (check,) = checks_of(results, Limits(**limits), NDCG)
    return check


def response(
    ends: tuple[float, float, float],
    middle: tuple[float, float, float] = (0.0, -0.001, 0.001),
    at_most: float = 0.02,
) -> Check:
    return one([passage(effect(ENDS, *ends), effect(MIDDLE, *middle))], max_response=at_most)


@pytest.mark.parametrize(
    ("ends", "outcome", "wanted"),
    [
        ((0.005, -0.01, 0.02), Outcome.PASS, None),  # the limit itself is within
        ((-0.03, -0.035, -0.025), Outcome.FAIL, None),
        # half-width 0.04 must shrink to 0.02: to 1/2, so 100 · 2² queries
        ((0.0, -0.04, 0.04), Outcome.CANNOT_TELL, 400),
        # on the upper side 0.01 of 0.04 is left: a quarter, so 100 · 4²
        ((0.01, -0.03, 0.05), Outcome.CANNOT_TELL, 1_600),
        # beyond the limit: the near end, 0.08 away, must come nearer than 0.06: 100 · (4/3)² =
        # 177.8, of which two digits are given
        ((-0.08, -0.16, 0.0), Outcome.CANNOT_TELL, 180),
        ((0.02, 0.01, 0.03), Outcome.CANNOT_TELL, None),  # at the limit no number would do
        # 0.0001 of 0.1 is left: 100 · 1,000² queries
        ((0.0199, -0.0801, 0.1199), Outcome.CANNOT_TELL, None),
    ],
)
def test_an_interval_within_passes_one_beyond_fails_all_else_is_open(
    ends: tuple[float, float, float], outcome: Outcome, wanted: int | None
) -> None:
    check = response(ends)
    assert (check.outcome, check.wanted) == (outcome, wanted)
    assert (check.contrast, check.unit, check.queries) == ("end − front", NDCG, 100)
    assert (check.value, check.low, check.high) == ends
    assert ("more than 1,000,000 queries" in check.reason) == (
        outcome is Outcome.CANNOT_TELL and wanted is None
    )


def test_of_several_contrasts_all_must_pass_and_one_is_enough_to_fail() -> None:
    inside, open_, beyond = (0.0, -0.01, 0.01), (0.0, -0.04, 0.04), (0.05, 0.03, 0.07)
    assert response(inside, inside).outcome is Outcome.PASS
    assert response(inside, open_).outcome is Outcome.CANNOT_TELL
    failed = response(open_, beyond)
    assert failed.outcome is Outcome.FAIL
    assert failed.contrast == "middle − ends"
    # both head for a pass, at 400 and 1,600 queries: the later one counts
    assert response(open_, (0.01, -0.03, 0.05)).wanted == 1_600


def test_a_contrast_that_was_not_measured_never_passes() -> None:
    inside, beyond = effect(ENDS, 0.0, -0.01, 0.01), effect(ENDS, 0.05, 0.03, 0.07)
    check = one([passage(effect(MIDDLE, 0.0, -0.01, 0.01))], max_response=0.02)
    assert (check.outcome, check.wanted) == (Outcome.CANNOT_TELL, None)
    assert check.reason.startswith("not measured in nDCG@10: end − front;")
    assert one([passage(beyond)], max_response=0.02).outcome is Outcome.FAIL
    assert one([passage(inside)], max_response=0.02).outcome is Outcome.CANNOT_TELL


@pytest.mark.parametrize(
    "ends",
    [
        effect(ENDS, None, None, None),
        effect(ENDS, 0.0, None, None),
        effect(ENDS, 0.0, -0.01, 0.01, unit="worth"),
        effect(ENDS, 0.0, -0.01, 0.01, subset=READ_WHOLE),
    ],
    ids=[
        "undefined",
        "no interval",
        "worth",
        "a subset",
    ],
)
def test_what_is_undefined_or_of_something_else_cannot_tell(ends: Effect) -> None:
    check = one([passage(ends, effect(MIDDLE, 0.0, -0.01, 0.01))], max_response=0.02)
    assert check.outcome is Outcome.CANNOT_TELL
    assert check.reason
    json.dumps(asdict(check), allow_nan=False)


@pytest.mark.parametrize("contrast", [ROTATION, RUNS])
def test_movement_is_read_from_a_model_or_from_two_runs(contrast: Contrast) -> None:
    assert (
        one([passage(effect(contrast, 0.0, -0.01, 0.01))], max_movement=0.02).outcome
        is Outcome.PASS
    )
    assert (
        one([passage(effect(contrast, -0.05, -0.08, -0.03))], max_movement=0.02).outcome
        is Outcome.FAIL
    )


def test_order_is_in_ranks_and_a_pointwise_model_passes() -> None:
    steady = listed(effect(ORDER, 0.2, -0.1, 0.5, unit="ranks"))
    assert one([steady], max_order=1).outcome is Outcome.PASS
    assert one([steady], max_order=0.4).outcome is Outcome.CANNOT_TELL
    assert one([listed(effect(ORDER, 3, 2, 4, unit="ranks"))], max_order=1).outcome is Outcome.FAIL
    pointwise = one([listed(preference=Preference.NONE)], max_order=1)
    assert pointwise.outcome is Outcome.PASS
    assert "scores each passage by itself" in pointwise.reason
    # both the first places and the ends must be within the limit
    both = [effect(contrast, 0.2, -0.1, 0.5, unit="ranks") for contrast in (ORDER, ORDER_MIDDLE)]
    assert one([listed(*both)], max_order=1).outcome is Outcome.PASS
    assert (
        one([listed(both[0], effect(ORDER_MIDDLE, 3, 2, 4, unit="ranks"))], max_order=1).outcome
        is Outcome.FAIL
    )
    assert (
        one(
            [listed(both[0], effect(ORDER_MIDDLE, 0.9, 0.5, 1.3, unit="ranks"))], max_order=1
        ).outcome
        is Outcome.CANNOT_TELL
    )
    unsteady = one([listed(reason="its lists are too short")], max_order=1)
    assert unsteady.outcome is Outcome.CANNOT_TELL
    assert unsteady.reason.endswith("order in the list: cannot tell: its lists are too short.")
    # a verdict on passages says nothing about lists
    assert (
        one([passage(effect(ENDS, 0.0, -0.01, 0.01))], max_order=1).outcome is Outcome.CANNOT_TELL
    )


def test_a_few_queries_that_all_agree_do_not_pass_unless_their_scores_agree_too() -> None:
    # of 100 queries without a change, up to 3 in 100 may have one: 150 exclude 0.02
    alike = response((0.0, -0.03, 0.03), (0.0, -0.03, 0.03))
    assert (alike.outcome, alike.wanted) == (Outcome.CANNOT_TELL, 150)
    assert response((0.0, -0.03, 0.03), (0.0, -0.03, 0.03), at_most=0.03).outcome is Outcome.PASS
    invariant = [
        one
        for contrast in (ENDS, MIDDLE)
        for one in (
            effect(contrast, 0.0, -0.03, 0.03),
            effect(contrast, 0.0, 0.0, 0.0, unit="worth"),
        )
    ]
    assert one([passage(*invariant)], max_response=0.02).outcome is Outcome.PASS
    moved = [effect(ENDS, 0.0, -0.03, 0.03), effect(ENDS, 0.0, -0.1, 0.1, unit="worth")]
    # where 100 of 300 drawn queries could be asked about, three times as many must be drawn
    middle = effect(MIDDLE, 0.0, -0.03, 0.03)
    assert one([passage(*moved, middle, drawn=300)], max_response=0.02).wanted == 450
    assert one([passage(*moved)], max_response=0.02).outcome is Outcome.CANNOT_TELL
    exact = response((0.0, -0.03, 0.03), at_most=0)
    assert (exact.outcome, exact.wanted) == (Outcome.CANNOT_TELL, None)
    assert "exactly 0" in exact.reason


def of_system(system: str, value: float, half: float) -> Given:
    return passage(effect(ROTATION, value, value - half, value + half), system=system)


def test_systems_are_held_to_limits_and_nothing_does_not_pass() -> None:
    limits = Limits(max_movement=0.02)
    beside = checks_of([of_system("a", 0.0, 0.01)], limits, NDCG)
    assert [check.system for check in beside] == ["a"]
    # where there is nothing else, nothing must not pass
    assert EXIT_CODES[overall(checks_of([], limits, NDCG))] == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {},
            (
                "check: wanted a limit; found none; give one of --max-response, --max-movement, "
                "--max-order"
            ),
        ),
        ({"max_movement": math.nan}, "--max-movement: nan is not a finite number"),
    ],
    ids=["none", "NaN"],
)
def test_limits_that_say_nothing_are_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Limits(**given)

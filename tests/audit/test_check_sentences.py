"""Checks in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from positionbias.audit.limits import Check, Outcome, headline, sentence

PASS, FAIL, OPEN = Outcome
WITHIN = ("end − front", "nDCG@10", -0.004, -0.013, 0.005, 2_000)
BEYOND = ("end − front", "nDCG@10", -0.051, -0.071, -0.031, 2_000)
ACROSS = ("end − front", "nDCG@10", 0.01, -0.03, 0.05, 100)


def check(
    system: str,
    outcome: Outcome,
    measured: Sequence[Any] = (),
    limit: str = "max-response",
    **more: Any,
) -> Check:
    return Check(system, limit, 0.02, outcome, *measured, **more)


CHECKS = [
    check("minilm", PASS, WITHIN),
    check("my.ckpt", FAIL, BEYOND),
    check("bm25.run", OPEN, reason="not measured: end − front"),
    check("tk", OPEN, ACROSS, wanted=1_600),
]


def test_a_line_a_check_says_what_decided() -> None:
    assert headline(CHECKS) == (
        "Limits on position bias: fail (4 systems: 1 pass, 1 fail, 2 cannot tell)."
    )
    assert [sentence(one).replace("\u00a0", " ") for one in CHECKS] == [
        "minilm: passes --max-response 0.02 (end − front: −0.004 nDCG@10 [−0.013, +0.005])",
        "my.ckpt: fails --max-response 0.02 (end − front: −0.051 nDCG@10 [−0.071, −0.031])",
        "bm25.run: cannot tell about --max-response 0.02 (not measured: end − front)",
        "tk: cannot tell about --max-response 0.02 "
        "(end − front: +0.010 nDCG@10 [−0.030, +0.050]; about 1,600 queries would do)",
    ]


def test_nothing_open_is_passed() -> None:
    assert "cannot tell" in headline([])

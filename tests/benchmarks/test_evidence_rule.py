"""The measured errors of the rules that choose evidence: worked by hand, and those that verdicts name."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from positionbias.audit.evidence_rule import MEASURED
from tests.benchmarks.scripts import PLACE, script_named

RULES = {"query terms": "terms", "minilm": "minilm"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("evidence_rule")


def test_errors_by_hand(script: ModuleType) -> None:
    def asked(name: str, passage: str, sentences: list[str], holding: list[int]) -> object:
        return script.Question(name, "lamp oil", passage, "", [], sentences, holding)

    four = ["A lamp burns oil.", "A gate.", "A tower.", "A bell."]
    given = [
        asked("a", "p1", four, [0]),
        asked("b", "p1", four, [3]),
        asked("c", "p2", four[:2], [0, 1]),
        asked("d", "p3", four, [1]),
    ]
    found = script.errors(given, [0, 0, 1, None])
    assert found["all"][:2] == [4, 0.5]  # a and c, any of whose sentences holds an answer
    assert found["chance"] == pytest.approx((1 / 4 + 1 / 4 + 1 + 1 / 4) / 4)
    assert found["none chosen"] == 1
    assert found["displacement"]["all"][:2] == [3, pytest.approx(-1 / 3)]  # b goes from the last sentence to the first
    assert found["displacement"]["wrong"][:2] == [1, -1]
    assert found["displacement"]["wrong at random"][1] == pytest.approx((-1 - 2 / 3 - 1 / 3) / 3)
    assert found["by"]["shared terms"]["0.75 to 1"][:2] == [2, 1]
    assert found["by"]["shared terms"]["0"][:2] == [2, 0]
    assert found["by"]["the true sentence"]["the last"][:2] == [1, 0]
    assert found["confusion"]["last third"] == {"first third": 1, "middle third": 0, "last third": 0}


def test_verdicts_name_the_errors_that_were_measured() -> None:
    sets = json.loads((PLACE / "results" / "evidence_rule.json").read_text("utf-8"))["sets"]
    for name, rule in RULES.items():
        counts = [sets[squad][rule]["all"] for squad in ("SQuAD dev", "SQuAD train44")]
        wrong = 1 - sum(number * share for number, share, *_ in counts) / sum(number for number, *_ in counts)
        assert MEASURED[name].squad == pytest.approx(wrong, abs=5e-4)
        assert MEASURED[name].msmarco == pytest.approx(1 - sets["MS MARCO spans"][rule]["all"][1], abs=5e-4)

"""A miniature of the benchmark: its fast scorers are the plain ones, its verdicts the audit's, and blind scorers are not accused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PLACE = Path(__file__).parents[2] / "benchmarks" / "audit_false_alarms.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_false_alarms", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PLACE.parent)
        patch.setitem(sys.modules, "audit_false_alarms", module)  # its dataclasses look their module up
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("clustered", [False, True])
def test_scores_from_arrays_are_those_of_the_plain_text(script: ModuleType, clustered: bool) -> None:
    vocabulary = script.Vocabulary()
    asked = script.planted(script.Condition(0.7, clustered), seed=3, queries=20)
    instances, texts = [], []
    for one in asked:
        parts, fill, rows = script.laid(one, 3, script.Passages.of(asked), 2)
        pieces = [*parts.sentences, fill, *one.candidates]
        candidates = [[len(parts.sentences) + 1 + number] for number in range(len(one.candidates))]
        made = [*candidates, *rows.ends, *rows.middle, *rows.rotated]
        instances.append(script.Instance(one.query, [script.Block.of(text, vocabulary) for text in pieces], made))
        texts += [(one.query, " ".join(pieces[number] for number in row)) for row in made]
    scores = script.score_all(instances, vocabulary, edged=True)
    assert scores.keys() == script.PLAIN.keys()
    for name, plain in script.PLAIN.items():
        assert scores[name] == pytest.approx(np.array([plain(query, text) for query, text in texts]), abs=1e-12), name


def test_verdicts_are_those_of_the_audit_itself(script: ModuleType, tmp_path: Path) -> None:
    assert script.check(tmp_path / "asked", script.Condition(0.7, clustered=True), seed=3, queries=30) < 1e-4


def test_blind_scorers_are_not_accused(script: ModuleType) -> None:
    found = script.collection(script.Condition(0.7, clustered=False), seed=11, queries=400, sizes=(200,))["audits"]
    answers = {name: [row["preference"] for rows in sizes.values() for row in rows] for name, sizes in found.items()}
    for name in script.UNORDERED:
        assert answers[name] == ["no preference"] * 2
    # at 5 % each, 5 or more of 20 audits accuse in 3 of a thousand times
    accused = sum(one not in ("no preference", "cannot tell") for name in script.ORDERED for one in answers[name])
    assert accused < 5
    assert "cannot tell" not in answers["best sentence"]

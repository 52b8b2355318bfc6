"""A miniature of the benchmark: its fast scorers are the plain ones, its verdicts the audit's, and blind scorers are not accused."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("audit_false_alarms")


def test_counts_of_parts_add_up_to_those_of_the_whole(script: ModuleType, tmp_path: Path) -> None:
    effects = [
        ("noise 1", "prefers the end", 0.3, 0.2, 0.4),
        ("noise 1", "no preference", 0.01, -0.02, 0.04),
        ("noise 1", "cannot tell", 0.05, -0.2, 0.3),
        ("window", "no preference", 0.02, 0.01, 0.03),
    ]
    for number, (name, said, *effect) in enumerate(effects):
        row = {"preference": said, "orders": 2 + number, "effects": {"end − front": effect}}
        receipt = {"condition": "0-flat", "seed": number, "seconds": 1.5, "audits": {name: {"200": [row]}}}
        for folder in ("whole", "first" if number < 2 else "second"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{number}.json").write_text(json.dumps(receipt))
    whole, first = script.Counts.of(tmp_path / "whole"), script.Counts.of(tmp_path / "first")
    # one beyond the margin, one within it, one that reaches over it; two leave out 0
    assert whole.planted["noise 1|200|0-flat"] == (3, 1, 1, 1, 9, 0)
    assert whole.planted["window|200|0-flat"] == (1, 0, 0, 1, 5, 0)
    assert whole.effects["noise 1|end − front"] == pytest.approx((3, 0.36, 0.0926))
    assert str(whole.effects["noise 1|end − front"]) == "+0.1200 [-0.2704, +0.5104]"  # 0.12 ± 4.303 · 0.1572 / √3
    first.add(script.Counts.of(tmp_path / "second"))
    first.write(tmp_path / "counts.json")
    again = script.Counts.read(tmp_path / "counts.json")
    assert (again.planted, again.collections, again.seconds) == (whole.planted, {"0-flat": 4}, 6)


def test_the_committed_table_is_that_of_the_kept_counts(script: ModuleType) -> None:
    parts = sorted(script.RESULTS.glob("audit_false_alarms_*.json"))
    counts = script.Counts()
    for part in parts:
        counts.add(script.Counts.read(part))
    newest = max(script.RESULTS.glob("audit_false_alarms_*.md"), key=lambda path: path.stem[-10:])
    assert script.table(counts, [part.name for part in parts]) == newest.read_text("utf-8")
    with pytest.raises(ValueError, match="seeds in both"):
        counts.add(script.Counts.read(parts[-1]))


@pytest.mark.parametrize("clustered", [False, True])
def test_scores_from_arrays_are_those_of_the_plain_text(script: ModuleType, clustered: bool) -> None:
    vocabulary = script.Vocabulary()
    asked = script.planted(script.Condition(0.7, clustered), seed=3, queries=20)
    instances, texts = [], []
    for one in asked:
        passages = script.Passages.of(asked)
        (other,) = passages.strangers([one], 3)
        own, rows = script.laid(one, 3, script.known_words(passages, 3), 2, other)
        pieces = [*own, *one.candidates]
        candidates = [[len(own) + number] for number in range(len(one.candidates))]
        made = [*candidates, *rows.worth, *rows.ends, *rows.middle, *rows.rotated]
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
    unordered, ordered = script.SCORERS[:3], script.SCORERS[3:]
    assert unordered == ("overlap", "length", "random")
    assert answers["overlap"] == ["no preference"] * 2
    for name in ("length", "random"):
        assert answers[name] == ["does not react to its evidence"] * 2
    # at 5 % each, 5 or more of 20 audits accuse in 3 of a thousand times
    accused = sum(one.startswith("prefers") for name in ordered for one in answers[name])
    assert accused < 5
    assert "cannot tell" not in answers["best sentence"]

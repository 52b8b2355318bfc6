"""Scores that an endpoint did not give: counted, at their worst both ways, and never replaced."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from positionbias.audit.answers import (
    Contrast,
    Effect,
    Missing,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.audit import audit
from positionbias.audit.limits import checks_of
from positionbias.audit.lists import nature_of, order_slopes
from positionbias.audit.missing import completed, filled, missing_in
from positionbias.audit.settings import AuditSettings, Limits
from positionbias.audit.systems import System, Task
from positionbias.audit.verdict import agreed
from positionbias.audit.words import sentences_of
from positionbias.core.checks import Outcome
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from tests.audit.tasks import blind, figures_of, random_task

NAN = math.nan


class Chat:
    """A scorer of lists that orders by what ``rank`` says, and leaves lists out where ``silent`` is
    true.
    """

    kind, at_once, characters, device = "chat", 1, 0, torch.device("cpu")

    def __init__(self, silent: Any = lambda query, passages: False) -> None:
        self.silent, self.stop = silent, threading.Event()

    def begin(self, lists: Sequence[int]) -> None:
        pass

    def remarks(self) -> Iterator[str]:
        yield from ()

    def to(self, device: Any) -> Chat:
        return self

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        if len(passages) > 1 and self.silent(query, passages):
            return np.full(len(passages), NAN)
        order = np.argsort(-np.array(blind(query, passages)), kind="stable")
        scores = np.empty(len(passages))
        scores[order] = np.arange(len(passages))[::-1]
        return scores


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """24 queries, each with the same eight passages for candidates."""
    return random_task(
        tmp_path_factory.mktemp("missing") / "random", 24, per_passage=3, sentences=(4, 5)
    )


def test_a_run_is_completed_at_its_best_and_worst() -> None:
    run = Run("x", [("q", ["a", "b", "c", "d"], [4, 3, 2, 1])]).rescored(
        "x", {"q": np.array([2, NAN, 1, NAN])}, missing=True
    )
    assert run["q"].passage_ids == ["a", "c", "b", "d"]  # missing ones behind, as they were given
    qrels = [Qrel("q", "d", 1), Qrel("q", "a", 1)]
    assert completed(run, qrels, best=True)["q"].passage_ids == ["d", "a", "c", "b"]
    assert completed(run, qrels, best=False)["q"].passage_ids == ["b", "a", "c", "d"]
    whole = Run("x", [("q", ["a", "b"], [2, 1])])
    assert completed(whole, qrels, best=True) is whole


def test_a_list_is_filled_for_and_against_its_own_text() -> None:
    known = {("t", "t"): NAN, ("t", "a"): 2.0, ("u", "u"): 1.0, ("u", "a"): NAN}
    assert filled(known, best=True) == {("t", "t"): 3, ("t", "a"): 2, ("u", "u"): 1, ("u", "a"): 0}
    assert filled(known, best=False) == {("t", "t"): 0, ("t", "a"): 2, ("u", "u"): 1, ("u", "a"): 3}


def test_missing_scores_are_counted_by_answer_and_query() -> None:
    lists = {"1": [NAN, NAN], "2": [1.0, NAN], "3": [1.0, 0.0]}
    assert missing_in(lists, {"1": "q", "2": "q", "3": "r"}) == Missing(3, 6, 2, 3, 1)
    assert missing_in({"3": [1.0]}, {}) is None


def test_the_order_of_a_list_that_is_missing_has_the_greatest_and_least_slopes(task: Task) -> None:
    silent = System("silent", model=Chat(lambda query, passages: True))  # type: ignore[arg-type]
    assert nature_of(silent, task, 1).listwise
    slopes = order_slopes(silent, task, task.query_ids, 1)
    last = len(task.candidates[task.query_ids[0]].passage_ids) - 1
    assert slopes.most is not None
    # ranks in the order of the input: as many ranks from first to last as there are steps
    np.testing.assert_allclose(slopes.most[:, 0], last)
    np.testing.assert_allclose(slopes.slopes[:, 0], -last)
    assert slopes.missing == Missing(4 * 24 * (last + 1), 4 * 24 * (last + 1), 4 * 24, 4 * 24, 24)


SETTINGS = AuditSettings(needles=24, draws=1, describe=True, depth=8)


def verdicts(task: Task, model: Chat) -> tuple[dict[Question, Verdict], dict[str, Outcome]]:
    results = audit(task, [System("chat", model=model)], SETTINGS)  # type: ignore
    found = {verdict.question: verdict for verdict in figures_of(results, Verdict)}
    limits = Limits(max_response=0.9, max_movement=0.9, max_order=6.9)
    return found, {check.limit: check.outcome for check in checks_of(results, limits, "nDCG@10")}


def test_a_model_that_answers_nothing_has_no_verdict_and_passes_nothing(task: Task) -> None:
    found, outcomes = verdicts(task, Chat(lambda query, passages: True))
    assert {verdict.preference for verdict in found.values()} == {Preference.UNKNOWN}
    assert all(
        "answers, on 24 queries, could not be read" in sentences_of("chat", verdict)[1]
        for verdict in found.values()
    )
    assert set(outcomes.values()) == {Outcome.CANNOT_TELL}


def test_one_answer_that_is_missing_widens_and_is_counted(task: Task) -> None:
    whole, _ = verdicts(task, Chat())
    calls = iter(range(10**9))
    few, _ = verdicts(task, Chat(lambda query, passages: next(calls) % 40 == 39))
    for question in (Question.PASSAGE, Question.LIST):
        missing = few[question].missing
        assert missing is not None
        assert 0 < missing.scores < missing.all_scores
        assert whole[question].missing is None
        before, after = (
            {(one.contrast, one.unit): (one.low, one.high) for one in found[question].effects}
            for found in (whole, few)
        )
        widths = [(before[key], after[key]) for key in before if key[1] == "ranks"]
        assert all(after[0] <= before[0] <= before[1] <= after[1] for before, after in widths)
        assert any(np.ptp(after) > np.ptp(before) + 0.01 for before, after in widths)


def verdict(preference: Preference, low: float, high: float) -> Verdict:
    effect = Effect(Contrast.ENDS, "ranks", (low + high) / 2, low, high, 0.1, 24)
    return Verdict(Question.PASSAGE, preference, [effect], 0.1, None, 24)


def test_a_verdict_stands_if_both_ways_agree() -> None:
    missing = Missing(3, 60, 2, 30, 1)
    front = verdict(Preference.FRONT, -3, -2)
    same = agreed([front, verdict(Preference.FRONT, -2.5, -1)], missing)
    assert (same.preference, same.missing) == (Preference.FRONT, missing)
    assert [(effect.low, effect.high, effect.value) for effect in same.effects] == [
        (-3, -1, -2.125)
    ]
    assert sentences_of("x", same)[0] == (
        "x: prefers the front, whatever its missing scores are: end − front [−3.000, −1.000] "
        "ranks (24 queries)."
    )
    assert sentences_of("x", same)[1].startswith(
        "2 of 30 answers, on 1 query, could not be read or left passages out: 3 of 60 scores"
    )
    other = agreed([front, verdict(Preference.NONE, -0.05, 0.05)], missing)
    assert other.preference is Preference.UNKNOWN
    assert (
        "cannot tell, as scores are missing: end − front [−3.000, 0.050] ranks"
        in sentences_of("x", other)[0]
    )

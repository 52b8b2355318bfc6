"""Scores that an endpoint did not give: their queries are left out and counted, and too many leave
no verdict.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from positionbias.audit.answers import Preference, Question
from positionbias.audit.audit import MANIPULATIONS, audit
from positionbias.audit.limits import Outcome, checks_of
from positionbias.audit.lists import order_slopes
from positionbias.audit.measured import given_in
from positionbias.audit.settings import AuditSettings, Limits
from positionbias.audit.systems import System, Task
from positionbias.audit.words import sentences_of
from positionbias.core.rows import Collected
from tests.audit.tasks import blind, counts_of, random_task, verdict_of


class Chat:
    """A scorer of lists that orders by words in common, and leaves lists out where ``silent`` is
    true.
    """

    kind, at_once, characters, device = "chat", 1, 0, torch.device("cpu")

    def __init__(self, silent: Callable[[str], bool]) -> None:
        self.silent, self.stop = silent, threading.Event()

    def begin(self, lists: Sequence[int]) -> None:
        pass

    def remarks(self) -> Iterator[str]:
        yield from ()

    def to(self, device: Any) -> Chat:
        return self

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        if self.silent(query):
            return np.full(len(passages), math.nan)
        order = np.argsort(-np.array(blind(query, passages)), kind="stable")
        scores = np.empty(len(passages))
        scores[order] = np.arange(len(passages))[::-1]
        return scores


def audit_of(task: Task, silent: Sequence[str]) -> Collected:
    """An audit of a chat that says nothing to these queries."""
    chat = System("chat", model=Chat(lambda query: query in silent))  # type: ignore[arg-type]
    return audit(task, [chat], AuditSettings(rotation=False))


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """60 queries, each with the same passages for candidates."""
    return random_task(
        tmp_path_factory.mktemp("missing") / "random", 60, per_passage=3, sentences=(4, 5)
    )


def test_a_query_with_a_missing_score_is_left_out_and_counted(task: Task) -> None:
    texts = task.texts
    one = task.query_ids[7]
    results = audit_of(task, [texts[one]])
    counts = counts_of(results, MANIPULATIONS, "chat")
    assert counts["left out: a score is missing"] == 1
    verdict = verdict_of(results, "chat")
    assert (verdict.drawn, verdict.queries) == (60, 59 - counts.get("left out: no other", 0))
    assert verdict.preference == Preference.NONE
    chat = System("chat", model=Chat(lambda query: query == texts[one]))  # type: ignore[arg-type]
    slopes = order_slopes(chat, task, task.query_ids, 1)
    assert (len(slopes.slopes), slopes.missing) == (len(task.query_ids) - 1, 1)


def test_more_than_a_fiftieth_leaves_no_verdict_and_passes_no_limit(
    task: Task,
) -> None:
    results = audit_of(task, [task.texts[name] for name in task.query_ids[:2]])
    for question in Question:
        verdict = verdict_of(results, "chat", question)
        assert (verdict.preference, list(verdict.effects)) == (Preference.UNKNOWN, [])
        (said, *_) = sentences_of("chat", verdict)
        assert "scores are missing for 2 of 60 queries" in said
    checks = checks_of(given_in(results.rows), Limits(max_response=1, max_order=1), "nDCG@10")
    assert {check.outcome for check in checks} == {Outcome.CANNOT_TELL}

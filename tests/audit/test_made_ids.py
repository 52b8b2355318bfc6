"""Errors about texts and lists that an audit made name the query and the passage that they were
made of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from positionbias.audit.evidence_rule import Asked, model_rule
from positionbias.audit.lists import nature_of
from positionbias.audit.made_ids import made_id, own_ids
from positionbias.audit.manipulate import Texts
from positionbias.audit.systems import Task
from positionbias.core.errors import InputError
from positionbias.models.checkpoint import load_checkpoint
from tests.audit.tasks import random_task, system


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return random_task(
        tmp_path_factory.mktemp("made") / "random", 12, per_passage=3, sentences=(3, 4)
    )


def nothing(query: str, passages: Sequence[str]) -> np.ndarray:
    return np.full(len(passages), np.nan)


def test_a_list_that_was_made_is_named_by_its_query(task: Task) -> None:
    with pytest.raises(InputError) as caught:
        nature_of(system(nothing), task, 1)
    query_id = str(caught.value).split("'")[1]
    first = task.candidates[query_id].passage_ids[0]  # the list "once" has them in this order
    assert str(caught.value) == (
        f"scorer: wanted finite scores for query {query_id!r}; found nan for passage "
        f"{first!r}; fix what scores"
    )


def test_a_text_that_was_made_is_named_by_its_passage(task: Task) -> None:
    stored = {passage.text for passage in task.collection.passages()}

    def moved(query: str, passages: Sequence[str]) -> np.ndarray:
        return np.array([1.0 if text in stored else np.nan for text in passages])

    query_id = task.query_ids[0]
    text = made_id(query_id, 0)
    texts = Texts({text: "None stored."}, task.collection)
    with pytest.raises(InputError) as caught:
        system(moved).scores(task, texts, {query_id: ("which?", [text])}, "a text")
    assert str(caught.value) == (
        f"scorer: wanted finite scores for query {query_id!r}; "
        f"found nan for a text made of passage {task.evidence.by_query[query_id].passage_id!r}; "
        "fix what scores"
    )


def test_a_sentence_that_a_model_chooses_from_is_named_by_its_query() -> None:
    rule = model_rule(load_checkpoint("tests.audit.scorers:broken"))
    with pytest.raises(
        InputError,
        match="scores for query 'q1'; found nan for a text made for query 'q1'; fix what scores",
    ):
        rule.score([Asked("q1", "What?", ["One.", "Two."])])


@pytest.mark.parametrize("query_id", ["it's", 'a"b', "a'b\"c"])
def test_ids_with_quotes(query_id: str) -> None:
    with pytest.raises(InputError) as caught, own_ids({query_id: "p"}):
        raise InputError(
            f"found nan for passage {made_id(query_id, 'x')!r} of query "
            f"{made_id(query_id, 'alone 1')!r}"
        )
    assert str(caught.value).startswith("found nan for a text made of passage 'p' of query ")
    assert "x1f" not in str(caught.value)


def test_other_errors_are_what_they_were() -> None:
    error = InputError("passage 'p': as it was")
    with pytest.raises(InputError) as caught, own_ids({"q": "p"}):
        raise error
    assert caught.value is error

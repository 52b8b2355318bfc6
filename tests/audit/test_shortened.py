"""Passages cut to what a scorer reads: its limit is reported, and is no preference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from positionbias.audit.answers import READ_WHOLE, Contrast, Preference, Verdict
from positionbias.audit.audit import audit
from positionbias.audit.reads import reads_of
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Task
from positionbias.audit.trials import make_trials, shortened_trials
from positionbias.audit.words import sentences_of
from positionbias.text.sentences import sentences
from tests.audit import tasks
from tests.audit.tasks import Scorer, blind, random_task, system
from tests.audit.test_reads import starting, stopping


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """60 passages of 82 to 115 words in short sentences, so that a dozen of them fit into 60
    words.
    """
    return random_task(
        tmp_path_factory.mktemp("shortened") / "random", 60, sentences=(22, 26), words=(3, 5)
    )


NONE_READ = np.zeros((60, 4), bool)


SETTINGS = AuditSettings(depth=20, needles=60)


def verdict_of(task: Task, scorer: Scorer, declared: int | None, **more: Any) -> Verdict:
    settings = replace(SETTINGS, reads=declared, **more)
    return tasks.verdict_of(audit(task, [system(scorer, "stops")], settings))


def test_a_scorer_that_stops_has_no_preference_within_what_it_reads(task: Task) -> None:
    verdict = verdict_of(task, stopping(60), None)
    assert (verdict.preference, verdict.within) == (Preference.UNREAD, Preference.NONE)
    # a sentence with the answer has six to eight words
    assert verdict.reads is not None
    assert 52 <= verdict.reads <= 60
    assert verdict.unread == 1
    assert sentences_of("stops", verdict)[0].startswith(
        f"stops loses what stands behind word {verdict.reads:.0f}: −"
    )  # in deviations: no rank changes
    read = [one for one in verdict.effects if one.subset == READ_WHOLE]
    assert {(one.value, one.low, one.high) for one in read if one.unit != "nDCG@10"} == {(0, 0, 0)}
    assert {one.contrast for one in read} == {Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION}
    # over all texts the three words of the query are lost at the end, which is all that the
    # evidence is worth
    over_all = next(one for one in verdict.effects if not one.subset)
    assert (over_all.contrast, over_all.value, over_all.queries) == (
        Contrast.ENDS,
        pytest.approx(-1, abs=1e-4),
        60,
    )


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """60 passages of 43 to 57 words, 63 to 77 with a filler."""
    return random_task(
        tmp_path_factory.mktemp("even") / "random", 60, sentences=(5, 6), words=(8, 9), seed=3
    )


@pytest.mark.parametrize(
    ("scorer", "words"),
    [(stopping, 71), (starting, 57)],
    ids=["first words", "last words"],
)
def test_a_limit_that_only_filled_texts_pass_is_no_preference(
    even: Task, scorer: Callable[[int], Scorer], words: int
) -> None:
    verdict = verdict_of(even, scorer(words), None, rotation=False, depth=8)
    assert (verdict.within or verdict.preference) == Preference.NONE
    assert verdict.reads is None or words - 9 <= verdict.reads <= words


def test_shortened_passages_keep_the_evidence_and_leave_out_no_more_than_they_must(
    task: Task,
) -> None:
    reads = reads_of(system(blind), task, {}, declared=80, listwise=False, seed=1)
    trials, _ = make_trials(task, task.query_ids, most=60, orders=2, seed=1)
    short = shortened_trials(task, trials, NONE_READ, reads.fits, orders=2, seed=1)
    assert [one.query_id for one in short] == [one.query_id for one in trials]
    queries = {query.query_id: query.text for query in task.queries}
    for one, whole in zip(short, trials, strict=True):
        fill, query = one.filler, queries[one.query_id]
        assert not set(one.names) & set(whole.names)
        assert (one.placebo_query, [pair.contrast for pair in one.compared]) == (
            whole.placebo_query,
            [pair.contrast for pair in whole.compared],
        )
        lengths = [len(text.split()) for text in one.texts]
        # the sentence left out last had at most five words
        assert 80 - 5 < max(lengths) <= 80
        known = set(sentences(task.collection.texts([one.passage_id])[0]))
        ((stranger, _),) = one.of(Contrast.WORTH)
        for place, text in enumerate(one.texts):
            assert {*sentences(text)} - {fill, one.stranger if place == stranger else ""} <= known
            assert blind(query, [text]) == [0 if place == stranger else 3]


def test_what_cannot_be_cut_to_fit_has_no_shortened_trial(task: Task) -> None:
    trials, _ = make_trials(task, task.query_ids, most=60, orders=2, seed=1)
    # evidence and placebo have at least 6 + 3 words
    reads = reads_of(system(blind), task, {}, declared=8, listwise=False, seed=1)
    assert shortened_trials(task, trials, NONE_READ, reads.fits, orders=2, seed=1) == []

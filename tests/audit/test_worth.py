"""The worth of the evidence as the unit of effects: which sentence replaces it, what does not move
it, and scorers to which it is worth nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from positionbias.audit.answers import Contrast, Effect, Preference
from positionbias.audit.audit import audit
from positionbias.audit.limits import EXIT_CODES, checks_of, overall
from positionbias.audit.measured import given_in
from positionbias.audit.settings import AuditSettings, Limits
from positionbias.audit.systems import Task
from positionbias.audit.trials import STRANGERS, make_trials
from positionbias.audit.words import sentences_of
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.core.seeds import choose
from positionbias.text.sentences import sentences
from tests.audit.tasks import by_sentence, overlap, random_task, system, verdict_of, words_of

SETTINGS = AuditSettings(rotation=False)
# twice a word's weight in front, once at the end
front = by_sentence(lambda place, count: 2 - place / (count - 1))


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return random_task(tmp_path_factory.mktemp("worth") / "random", 60, sentences=(3, 6))


def results_of(task: Task, scorer, settings: AuditSettings = SETTINGS) -> Collected:
    return audit(task, [system(scorer)], settings)


def first_stage(task: Task, name: str, depth: int) -> Task:
    """The same queries with the first passages by another order of all."""
    lists = []
    for query in task.queries:
        ids = sorted(task.candidates[query.query_id].passage_ids, reverse=name == "backwards")
        by_words = sorted(
            ids, key=lambda one: -overlap(query.text, task.collection.texts([one])[0])
        )
        kept = (by_words if name == "words" else ids)[:depth]
        lists.append((query.query_id, kept, -np.arange(len(kept), dtype=float)))
    return replace(task, candidates=Run(name, lists))


def test_a_verdict_is_equal_to_the_bit_at_any_depth_and_with_any_first_stage(task: Task) -> None:
    found = {
        (name, depth): verdict_of(
            results_of(
                first_stage(task, name, depth), front, replace(SETTINGS, depth=depth, needles=40)
            )
        )
        for name, depth in (("words", 10), ("backwards", 20))
    }
    shares = {
        key: [one for one in verdict.effects if one.unit == "worth"]
        for key, verdict in found.items()
    }
    answers = {
        key: (verdict.preference, verdict.exceeds, verdict.margin, shares[key])
        for key, verdict in found.items()
    }
    assert len(shares["words", 10]) == 3
    assert all(one == answers["words", 10] for one in answers.values())
    said = {key: sentences_of("scorer", verdict) for key, verdict in found.items()}
    assert len({sentences[0] for sentences in said.values()}) == 1
    # the words of the query weigh 2 in front and 1 at the end; where the evidence stands by itself
    # they weigh 1 to 2, 1.5 on average
    assert found["words", 10].preference is Preference.FRONT
    assert shares["words", 10][0].value == pytest.approx(-1 / 1.5, abs=0.03)
    # ranks and the measure are those of the first stage and its depth, which are named
    assert "among the first 10 of words" in said["words", 10][1]
    assert "among the first 20 of backwards" in said["backwards", 20][1]


def test_a_stranger_is_the_sentence_nearest_in_words_of_passages_drawn_by_seed_and_query(
    task: Task,
) -> None:
    trials, _ = make_trials(task, task.query_ids, most=99, orders=2, seed=3)
    texts = dict(
        zip(
            task.collection.passage_ids_at(np.arange(len(task.collection))),
            task.collection.texts_at(np.arange(len(task.collection))),
            strict=True,
        )
    )
    ids = list(texts)
    for one in trials[:20]:
        item = task.evidence.by_query[one.query_id]
        evidence = next(
            text
            for text in sentences(texts[one.passage_id])
            if texts[one.passage_id].index(text) == item.start
        )
        drawn = [ids[row] for row in choose(len(ids), STRANGERS, 3, "stranger", one.query_id)]
        lengths = [
            len(words_of(text))
            for name in drawn
            if name != one.passage_id
            for text in sentences(texts[name])
        ]
        words = len(words_of(evidence))
        assert abs(len(words_of(one.stranger)) - words) == min(
            abs(length - words) for length in lengths
        )
        ((before, after),) = one.of(Contrast.WORTH)
        assert one.texts[after] == texts[one.passage_id]
        assert one.texts[before] == texts[one.passage_id].replace(evidence, one.stranger)
    other, _ = make_trials(task, task.query_ids, most=99, orders=2, seed=4)
    assert [one.stranger for one in other] != [one.stranger for one in trials]


def by_length(query: str, passages: Sequence[str]) -> list[float]:
    """Likes short passages."""
    return [-float(len(text.split())) for text in passages]


def averse(query: str, passages: Sequence[str]) -> list[float]:
    """Dislikes the query's words."""
    return [-overlap(query, text) for text in passages]


@pytest.mark.parametrize("scorer", [by_length, averse])
def test_a_scorer_to_which_the_evidence_is_worth_nothing_has_no_other_answer_and_does_not_pass(
    task: Task, scorer
) -> None:
    results = results_of(task, scorer)
    verdict = verdict_of(results)
    assert verdict.preference is Preference.UNREACTIVE
    assert sentences_of("scorer", verdict)[0].startswith("scorer does not react to its evidence: ")
    head = verdict.effects[0]
    assert (head.contrast, head.unit) == (Contrast.WORTH, "score")
    assert head.high is not None
    assert head.high < 0 if scorer is averse else head.value == pytest.approx(0, abs=0.2)
    assert not any(effect.unit == "worth" for effect in verdict.effects)
    checks = checks_of(given_in(results.rows), Limits(max_response=1.0), "nDCG@10")
    assert EXIT_CODES[overall(checks)] == 3
    assert "does not react to its evidence" in checks[0].reason


def test_effects_are_ratios_of_means_and_0_is_tested_by_scores() -> None:
    # the ratio's interval reaches 0 here, that of the scores does not
    near = Effect(Contrast.ENDS, "worth", -0.3, -0.6, 0.01, raw=(-0.5, -0.9, -0.1))
    assert near.excludes_zero
    assert not replace(near, raw=(-0.5, -1.1, 0.1)).excludes_zero
    assert not replace(near, raw=None).excludes_zero
    assert Effect(Contrast.ENDS, "ranks", -0.3, -0.6, -0.01).excludes_zero
    assert not Effect(Contrast.ENDS, "ranks", -0.3).excludes_zero

"""Planted clicks: which results were clicked and which skipped, by hand; the three sets of
judgements against the grammar's own oracle.
"""

from __future__ import annotations

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.planted.clicks import PASSED_OVER, TRUE, clicked
from positionbias.planted.generator import write_planted
from positionbias.planted.grammar import Thing
from positionbias.planted.settings import PlantedSettings
from tests.oracles import states_value

ANSWERS = 4


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=60, passages=60 * (ANSWERS + 5), answers_each=ANSWERS, seed=4
    )
    return write_planted(tmp_path_factory.mktemp("clicks") / "planted", settings)


def test_what_stands_above_the_last_click_was_skipped() -> None:
    answering, mentioning = [f"a{n}" for n in range(4)], [f"m{n}" for n in range(6)]
    seen = set()
    for number in range(40):
        found = clicked(f"q{number}", answering, mentioning, seed=1)
        assert set(found.clicked) <= set(answering)
        assert found.clicked
        assert not set(found.clicked) & set(found.skipped)
        # nobody skips everything: with all results either clicked or above the last click, at most
        # all but it
        assert len(found.clicked) + len(found.skipped) <= 10
        seen.add((len(found.clicked), len(found.skipped)))
        assert found == clicked(f"q{number}", answering, mentioning, seed=1)
    assert len(seen) > 10  # drawn, not fixed


def test_one_passage_at_least_is_clicked_and_about_the_asked_share() -> None:
    answering = [f"a{n}" for n in range(4)]
    counts = [len(clicked(f"q{n}", answering, [], seed=2).clicked) for n in range(2000)]
    assert min(counts) == 1
    # of Binomial(4, 0.3) with 0 counted as 1: mean 1.2 + 0.7⁴, variance below 1, so that the mean
    # of 2,000 is within 0.1 of it
    assert abs(sum(counts) / 2000 - 1.4401) < 0.1


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_true_set_is_what_the_grammar_says(planted: Collection, split: str) -> None:
    true = planted.qrels(split, TRUE)
    texts = {passage.passage_id: passage.text for passage in planted.passages()}
    for query in planted.queries(split):
        grades = {qrel.passage_id: qrel.grade for qrel in true if qrel.query_id == query.query_id}
        thing = Thing(*query.fields["thing"].split())
        answering = {
            item
            for item, text in texts.items()
            if states_value(text, thing, query.fields["attribute"])
        }
        assert {item for item, grade in grades.items() if grade} == answering
        assert len(answering) == ANSWERS
        assert len(grades) == ANSWERS + 5


def test_clicks_are_a_part_of_the_truth_and_false_negatives_stand_among_what_was_skipped(
    planted: Collection,
) -> None:
    true = {(q.query_id, q.passage_id): q.grade for q in planted.qrels("train", TRUE)}
    clicks = {(q.query_id, q.passage_id) for q in planted.qrels("train")}
    assert all(qrel.grade == 1 for qrel in planted.qrels("train"))
    assert all(true[pair] == 1 for pair in clicks)
    passed = planted.qrels("train", PASSED_OVER)
    assert {(q.query_id, q.passage_id) for q in passed if q.grade} == clicks
    negatives = [(q.query_id, q.passage_id) for q in passed if not q.grade]
    false = sum(true[pair] for pair in negatives)
    assert 0 < false < len(negatives)
    assert {q.query_id for q in planted.qrels("train")} == {
        q.query_id for q in planted.queries("train")
    }


def test_answers_of_one_query_state_one_value(planted: Collection) -> None:
    by_query: dict[str, list[str]] = {}
    for answer in planted.answers("test"):
        by_query.setdefault(answer.query_id, []).append(answer.text)
    assert all(len(sentences) == ANSWERS for sentences in by_query.values())


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"answers_each": 1}, "--answers-each: wanted 2 to 9"),
        ({"answers_each": 12}, "--answers-each: wanted 2 to 9"),
        ({"answers_each": 3, "leaked_queries": 1}, "--answers-each: wanted no --leaked-queries"),
        ({"answers_each": 3, "queries": 100, "passages": 399}, "--passages: wanted at least 400"),
    ],
    ids=["one", "too-many", "leaked", "few-passages"],
)
def test_bad_settings_are_one_line(given: dict, named: str) -> None:
    with pytest.raises(SettingError) as caught:
        PlantedSettings(**given)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)

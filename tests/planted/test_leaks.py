"""Planted leakage: what repeats a test query is known, answered and judged, and nothing else of the
collection changes its rules.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.leakage.lexical import read_terms
from positionbias.leakage.pairs import read_pairs
from positionbias.planted.generator import write_planted
from positionbias.planted.grammar import ATTRIBUTES, WAYS, Thing
from positionbias.planted.leaks import TRUE_PAIRS
from positionbias.planted.settings import PlantedSettings
from tests.oracles import states_value

# 40 test queries
SETTINGS = PlantedSettings(queries=200, passages=900, test_share=0.2, leaked_queries=90)


@pytest.fixture(scope="module")
def leaked(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return write_planted(tmp_path_factory.mktemp("leaked") / "pair", SETTINGS)


def test_every_test_query_leaks_before_any_leaks_twice(leaked: Collection) -> None:
    pairs = list(read_pairs(leaked.path))
    repeated = Counter(pair.test_id for pair in pairs)
    assert set(repeated) == {query.query_id for query in leaked.queries("test")}
    assert Counter(repeated.values()) == {2: 30, 3: 10}  # 90 = 2 · 40 + 10
    ways = Counter((pair.test_id, pair.label) for pair in pairs)
    assert max(ways.values()) == 1
    assert {pair.label for pair in pairs if pair.label} == set(WAYS)
    assert leaked.manifest.content["leaks"] == {
        "queries": 90,
        "test_queries": 40,
        "checksum": sha256_file(leaked.path / TRUE_PAIRS),
    }


def test_the_pairs_hold_the_texts_and_their_types_are_what_the_words_say(
    leaked: Collection,
) -> None:
    texts = {
        split: {query.query_id: query.text for query in leaked.queries(split)}
        for split in ("train", "test")
    }
    for pair in read_pairs(leaked.path):
        assert pair.train_text == texts["train"][pair.train_id]
        assert pair.test_text == texts["test"][pair.test_id]
        assert pair.label
        train, test = (read_terms(text).terms for text in (pair.train_text, pair.test_text))
        # the paper's: the same terms, a subset, a superset, or some terms in common
        said = {
            "identical": train == test,
            "generalization": train < test,
            "specialization": train > test,
            "reformulation": bool(train & test) and not (train <= test or train >= test),
        }
        assert [name for name, holds in said.items() if holds] == [pair.label]
    assert len(texts["train"]) == 200 - 40 - 6 + 90
    assert list(texts["train"]) == sorted(texts["train"])  # nothing tells the leaks from the others


def test_both_answers_of_a_test_query_are_judged_and_state_one_value(leaked: Collection) -> None:
    answering: dict[str, set[str]] = {}
    for split in leaked.splits:
        queries = {query.query_id: query for query in leaked.queries(split)}
        for answer, text in zip(
            answers := leaked.answers(split),
            leaked.texts([a.passage_id for a in answers]),
            strict=True,
        ):
            query = queries[answer.query_id]
            assert text[answer.start : answer.end] == answer.text
            assert states_value(
                text, Thing(*query.fields["thing"].split()), query.fields["attribute"]
            )
            answering.setdefault(answer.query_id, set()).add(answer.passage_id)
        relevant: dict[str, set[str]] = {}
        for qrel in leaked.qrels(split):
            if qrel.grade:
                relevant.setdefault(qrel.query_id, set()).add(qrel.passage_id)
        assert relevant == {query_id: answering[query_id] for query_id in queries}
    for pair in read_pairs(leaked.path):
        assert answering[pair.train_id] == answering[pair.test_id]
    said = leaked.answers("test")
    for query in leaked.queries("test"):
        assert len(answering[query.query_id]) == 2
        words = [
            set(answer.text.rstrip(".").split())
            for answer in said
            if answer.query_id == query.query_id
        ]
        values = [found.intersection(ATTRIBUTES[query.fields["attribute"]]) for found in words]
        assert values[0] == values[1]
        assert len(values[0]) == 1


def test_what_is_judged_not_relevant_mentions_and_does_not_answer(leaked: Collection) -> None:
    queries = {query.query_id: query for query in leaked.queries("test")}
    others = [qrel for qrel in leaked.qrels("test") if not qrel.grade]
    for qrel, text in zip(others, leaked.texts([qrel.passage_id for qrel in others]), strict=True):
        query = queries[qrel.query_id]
        assert query.fields["thing"] in text
        assert not states_value(
            text, Thing(*query.fields["thing"].split()), query.fields["attribute"]
        )
    # 900 passages, 200 + 40 answer: 660 mention, 3 or 4 for each of 200 queries
    assert set(Counter(qrel.query_id for qrel in others).values()) <= {3, 4}
    assert {qrel.grade for qrel in leaked.qrels("train")} == {1}


def test_the_same_settings_give_the_same_pairs(leaked: Collection, tmp_path: Path) -> None:
    again = write_planted(tmp_path / "again", SETTINGS)
    assert again.checksum == leaked.checksum
    assert again.manifest.content["leaks"] == leaked.manifest.content["leaks"]
    lines = (again.path / TRUE_PAIRS).read_text().splitlines()
    assert len({json.loads(line)["train_id"] for line in lines}) == len(lines) == 90


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"leaked_queries": 161},
            "--leaked-queries: wanted 0 to 160; found 161",
        ),
        ({"leaked_queries": -1}, "--leaked-queries: wanted 0 to 160"),
        ({"passages": 600}, "--passages: wanted at least 640 for these 200 queries"),
    ],
    ids=["too many", "negative", "passages"],
)
def test_settings_out_of_range_name_their_flag(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(SettingError) as error:
        PlantedSettings(
            **{"queries": 200, "passages": 900, "test_share": 0.2, "leaked_queries": 90, **wrong}
        )  # type: ignore[arg-type]
    assert str(error.value).startswith(message)

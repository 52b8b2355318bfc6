"""What a planted test set is held against: its queries in other words, and others; without them
nothing is different.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.planted.generator import write_planted
from positionbias.planted.grammar import Thing
from positionbias.planted.settings import PlantedSettings
from tests.oracles import states_value

# 80 test queries
SETTINGS = PlantedSettings(queries=200, passages=1_000, test_share=0.4, fresh_queries=50)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return write_planted(tmp_path_factory.mktemp("fresh") / "planted", SETTINGS)


def test_fresh_queries_ask_for_things_of_their_own(planted: Collection) -> None:
    things = {
        split: {q.fields["thing"] for q in planted.queries(split)}
        for split in ("train", "validation", "test", "fresh")
    }
    assert {split: len(found) for split, found in things.items()} == {
        "train": 114,
        "validation": 6,
        "test": 80,
        "fresh": 50,
    }
    assert len(set.union(*things.values())) == 250


@pytest.mark.parametrize("split", ["test", "fresh"])
def test_one_passage_answers_and_what_is_judged_not_relevant_only_mentions(
    planted: Collection, split: str
) -> None:
    queries = {query.query_id: query for query in planted.queries(split)}
    qrels = planted.qrels(split)
    for qrel, text in zip(qrels, planted.texts([qrel.passage_id for qrel in qrels]), strict=True):
        query = queries[qrel.query_id]
        assert query.fields["thing"] in text
        assert states_value(
            text, Thing(*query.fields["thing"].split()), query.fields["attribute"]
        ) == bool(qrel.grade)
    # 1,000 passages, 250 answer: 750 mention, three for each of 250 queries
    assert set(Counter(qrel.query_id for qrel in qrels).values()) == {4}
    assert {qrel.grade for qrel in planted.qrels("train")} == {1}


def test_the_other_queries_stay_and_so_do_the_passages_that_answer_them(
    planted: Collection, tmp_path: Path
) -> None:
    plain = write_planted(
        tmp_path / "plain", PlantedSettings(queries=200, passages=1_000, test_share=0.4)
    )
    for split in plain.splits:
        assert plain.queries(split) == planted.queries(split)
        ours, theirs = plain.answers(split), planted.answers(split)
        assert [answer.query_id for answer in ours] == [answer.query_id for answer in theirs]
        assert [answer.text for answer in ours] == [answer.text for answer in theirs]


def test_the_manifest_says_what_there_is(planted: Collection) -> None:
    assert planted.manifest.settings["fresh_queries"] == 50


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"fresh_queries": -1},
            "--fresh-queries: wanted 0 to 130,872; found -1",
        ),
        ({"fresh_queries": 130_873}, "--fresh-queries: wanted 0 to 130,872"),
        ({"passages": 499}, "--passages: wanted at least 500 for these 250 queries"),
    ],
    ids=["negative", "too many", "passages"],
)
def test_settings_out_of_range_name_their_flag(wrong: dict[str, int], message: str) -> None:
    good = {"queries": 200, "passages": 1_000, "fresh_queries": 50}
    with pytest.raises(SettingError) as error:
        PlantedSettings(**{**good, **wrong})  # type: ignore[arg-type]
    assert str(error.value).startswith(message)

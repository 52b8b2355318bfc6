"""Where evidence stands, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.positions.evidence import Evidence, evidence_of

TEXTS = {
    "p1": "red green blue. white black gold.",
    "p2": "gold comes first here",
    "p3": "no colour",
}


def colours(place: Path) -> Collection:
    """q1 is answered in two relevant passages, q2 in one that nobody judged, q3 nowhere, q4 by what
    does not stand there.
    """
    with create_collection(place) as writer:
        writer.add_passages(Passage(*item) for item in TEXTS.items())
        writer.add_split(
            "test",
            [Query(query_id, f"which {query_id}?") for query_id in ("q1", "q2", "q3", "q4")],
            [
                Qrel("q1", "p1", 1),
                Qrel("q1", "p2", 1),
                Qrel("q2", "p1", 1),
                Qrel("q3", "p3", 1),
                Qrel("q4", "p3", 2),
            ],
            [
                Answer("q1", "p1", "gold"),
                Answer("q1", "p2", "gold"),
                Answer("q2", "p2", "comes"),
                Answer("q4", "p3", "azure"),
            ],
        )
        writer.finish(Manifest("collection", "colours", "a test"))
    return Collection(place)


def test_the_earliest_answer_of_the_highest_judged_passage_counts_and_the_others_are_counted(
    tmp_path: Path,
) -> None:
    collection = colours(tmp_path / "c")
    found = evidence_of(collection, "test", collection.qrels("test"))
    assert found.query_ids == ["q1"]
    item = found.by_query["q1"]
    assert (item.passage_id, item.start, item.end, item.first, item.length, item.words) == (
        "p2",
        0,
        4,
        0,
        1,
        4,
    )
    assert item.relative == 0
    assert found.counts == {
        "answers by matching": 3,
        "answers unmatched": 1,
        "in a passage not judged relevant": 1,
        "queries with a relevant passage": 4,
        "queries with evidence": 1,
        "queries whose answer fills its passage": 0,
        "queries without a located answer": 2,
    }


def test_a_higher_judgement_outweighs_an_earlier_answer(tmp_path: Path) -> None:
    collection = colours(tmp_path / "c")
    qrels = [Qrel("q1", "p1", 3), Qrel("q1", "p2", 1)]
    item = evidence_of(collection, "test", qrels).by_query["q1"]
    # "gold" is the seventh of eight words: a full stop is a word
    assert (item.passage_id, item.first, item.words) == ("p1", 6, 8)


def test_positions_run_from_the_front_to_the_last_place_the_answer_could_have() -> None:
    # an answer of 3 words in 8 can start at the words 0 to 5
    places = [Evidence("q", "p", 0, 1, first, 3, 8).relative for first in range(6)]
    assert places == [0, 1 / 5, 2 / 5, 3 / 5, 4 / 5, 1]
    assert math.isnan(Evidence("q", "p", 0, 1, 0, 8, 8).relative)


def test_an_answer_that_fills_its_passage_has_no_position_and_is_chosen_last(
    tmp_path: Path,
) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("p1", "gold"), Passage("p2", "all of it is gold")])
        queries = [Query("q1", "which?"), Query("q2", "what?")]
        qrels = [Qrel("q1", "p1", 1), Qrel("q1", "p2", 1), Qrel("q2", "p1", 1)]
        writer.add_split(
            "test",
            queries,
            qrels,
            [Answer(qrel.query_id, qrel.passage_id, "gold") for qrel in qrels],
        )
        writer.finish(Manifest("collection", "filled", "a test"))
    collection = Collection(tmp_path / "c")
    found = evidence_of(collection, "test", qrels)
    assert (found.by_query["q1"].passage_id, found.by_query["q1"].relative) == ("p2", 1)
    assert found.by_query["q2"].passage_id == "p1"
    assert math.isnan(found.by_query["q2"].relative)
    assert found.counts["queries whose answer fills its passage"] == 1


def test_a_split_without_an_answer_is_refused_and_what_would_do_is_said(tmp_path: Path) -> None:
    collection = colours(tmp_path / "c")
    with pytest.raises(InputError, match="no answer in a relevant passage.*--evidence terms"):
        evidence_of(collection, "test", [Qrel("q3", "p3", 1)])

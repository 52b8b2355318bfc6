"""Where evidence stands, and where a rotation puts it: by hand, and against the rotated texts
themselves.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.by_position import positions_of
from positionbias.audit.evidence import Evidence, evidence_of, movements
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.evaluation.buckets import SQUAD_POSQ, Buckets
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.positions.settings import Matching
from positionbias.text.words import word_spans
from tests.tiny import planted

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
    found = evidence_of(collection, "test", collection.qrels("test"), Matching())
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
    item = evidence_of(collection, "test", qrels, Matching()).by_query["q1"]
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
    found = evidence_of(collection, "test", qrels, Matching())
    assert (found.by_query["q1"].passage_id, found.by_query["q1"].relative) == ("p2", 1)
    assert found.by_query["q2"].passage_id == "p1"
    assert (found.positioned, found.counts["queries whose answer fills its passage"]) == (1, 1)
    for buckets in (Buckets.relative(2), SQUAD_POSQ):
        assert np.isnan(positions_of(found, buckets)).tolist() == [False, True]
    assert np.isnan(movements(collection, found, [Rotation(seed=1)]).after[0, 1])


def test_without_a_located_answer_the_evidence_is_the_highest_judged_passage(
    tmp_path: Path,
) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages(
            [Passage("a", "One red lamp."), Passage("b", "Two blue lamps."), Passage("c", "Word")]
        )
        judged = [
            Qrel("q1", "gone", 3),
            Qrel("q1", "c", 3),
            Qrel("q1", "b", 2),
            Qrel("q1", "a", 2),
            Qrel("q2", "b", 0),
        ]
        writer.add_split("test", [Query("q1", "lamp"), Query("q2", "blue")], judged)
        writer.finish(
            Manifest("collection", "small", "a test", seed=1, licence="invented"), allow_absent=True
        )
    collection = Collection(tmp_path / "c")
    # one judged higher is not there, another has one word; of two alike the id decides
    found = evidence_of(collection, "test", collection.qrels("test"), Matching())
    item = found.by_query["q1"]
    assert (found.whole, list(found.by_query), item.passage_id, item.start, item.end) == (
        True,
        ["q1"],
        "a",
        0,
        13,
    )
    assert found.positioned == 0
    assert found.of(["q1"]).whole
    # a higher level leaves one word alone
    with pytest.raises(
        InputError,
        match="wanted relevant passages of two words or more for split 'test'; found none",
    ):
        evidence_of(collection, "test", collection.qrels("test"), Matching(), level=3)


def test_movements_are_where_the_answer_stands_in_the_rotated_text(tmp_path: Path) -> None:
    collection = planted(tmp_path / "planted")
    evidence = evidence_of(collection, "test", collection.qrels("test"), Matching())
    rotations = [Rotation(seed=seed) for seed in (1, 2, 3)]
    moved = movements(collection, evidence, rotations)
    assert moved.after.shape == moved.ends.shape == (3, len(evidence.by_query))
    whole = 0
    for draw, rotation in enumerate(rotations):
        for index, item in enumerate(evidence.by_query.values()):
            (before,), (after,) = (
                collection.texts([item.passage_id]),
                RotatedTexts(collection, rotation).texts([item.passage_id]),
            )
            if moved.ends[draw, index] < 0:
                assert np.isnan(moved.after[draw, index])
                continue
            whole += 1
            end = int(moved.ends[draw, index])
            assert after[end - (item.end - item.start) : end] == before[item.start : item.end]
            # words before the answer, counted in the rotated text itself
            first = sum(stop <= end - (item.end - item.start) for _, stop in word_spans(after))
            last = item.words - item.length
            assert moved.after[draw, index] == pytest.approx(first / last, abs=2 / last)
    assert whole > len(evidence.by_query) * 2


def test_no_cut_moves_nothing(tmp_path: Path) -> None:
    collection = planted(tmp_path / "planted")
    evidence = evidence_of(collection, "test", collection.qrels("test"), Matching())

    class Still(Rotation):
        def cut_among(self, starts: list[int], *key: str | int, purpose: str = "") -> int:
            return 0

    moved = movements(collection, evidence, [Still()])
    assert moved.after[0].tolist() == evidence.column("relative").tolist()
    assert moved.ends[0].tolist() == evidence.column("end").tolist()

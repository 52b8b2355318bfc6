"""Answers in shards: cut between passages, found alike, and the same numbers however they are cut
and wherever they are worked on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Answer
from positionbias.engine.local import map_shards
from positionbias.positions import answers as answers_module
from positionbias.positions.answers import answer_shards
from positionbias.positions.histogram import PositionHistogram, position_histogram
from positionbias.positions.settings import HistogramOptions

MakeCollection = Callable[..., Collection]


@pytest.fixture
def collection(make_collection: MakeCollection) -> Collection:
    """90 passages of 12 words; queries with one answer, two answers, and an answer that is not
    there.
    """
    texts = {
        f"p{number}": " ".join(f"w{number}x{word}" for word in range(12)) for number in range(90)
    }
    answers = []
    for number in range(90):
        for query in range(1 + number % 2):
            first = (number * 5 + query) % 11
            answers.append(
                Answer(
                    f"q{number}-{query}", f"p{number}", f"w{number}x{first} w{number}x{first + 1}"
                )
            )
        if number % 9 == 0:
            answers.append(Answer(f"q{number}-0", f"p{number}", "something else"))
    # as a source may have them: the answers of a passage stand apart
    return make_collection(texts, answers[::2] + answers[1::2])


def test_a_shard_holds_whole_passages_in_the_order_of_their_first_answer(
    make_collection: MakeCollection,
) -> None:
    given = [
        Answer("q1", "b", "y"),
        Answer("q2", "a", "x"),
        Answer("q3", "b", "x"),
        Answer("q1", "b", "x"),
        Answer("q1", "c", "x"),
    ]
    made = make_collection({"a": "x y", "b": "x y", "c": "x y"}, given)
    first, second = answer_shards(made, "test", 2)
    rows = [
        list(
            zip(
                *(shard.answers.column(name).to_pylist() for name in Answer._fields[:3]),
                strict=True,
            )
        )
        for shard in (first, second)
    ]
    assert rows == [
        [("q1", "b", "y"), ("q1", "b", "x"), ("q3", "b", "x"), ("q2", "a", "x")],
        [("q1", "c", "x")],
    ]
    assert first.checksum == made.checksum


def test_no_answers_are_no_shards(make_collection: MakeCollection) -> None:
    assert list(answer_shards(make_collection({"a": "x"}, []), "test", 2)) == []


def histogram(collection: Collection, workers: int = 1, resamples: int = 400) -> PositionHistogram:
    return position_histogram(
        collection,
        "test",
        HistogramOptions(resamples=resamples),
        map_shards=partial(map_shards, workers=workers),
    )


def test_two_workers_find_the_same_numbers(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_module, "SHARD_PASSAGES", 16)
    assert histogram(collection, workers=2) == histogram(collection)


def test_only_what_is_drawn_depends_on_how_the_answers_are_cut(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = histogram(collection, resamples=4_000)
    monkeypatch.setattr(answers_module, "SHARD_PASSAGES", 8)
    parts = histogram(collection, resamples=4_000)
    assert (parts.counts, parts.outcomes) == (whole.counts, whole.outcomes)
    assert parts.spans == whole.spans
    assert parts.expected == pytest.approx(whole.expected)
    assert parts.mean.value == pytest.approx(whole.mean.value)
    # the same bootstrap, drawn otherwise: the bounds of 4,000 resamples agree within a tenth of the
    # interval
    for name in ("mean", "first_tenth", "total_variation"):
        bounds = [getattr(figures, name).interval for figures in (whole, parts)]
        width = bounds[0].high - bounds[0].low
        assert bounds[1].low == pytest.approx(bounds[0].low, abs=0.1 * width)
        assert bounds[1].high == pytest.approx(bounds[0].high, abs=0.1 * width)
    by_chance = [figures.total_variation.by_chance for figures in (whole, parts)]
    assert by_chance[1] == pytest.approx(by_chance[0], rel=0.1)


def test_an_answer_outside_its_passage_is_one_clear_line_from_a_worker_too(
    make_collection: MakeCollection,
) -> None:
    wrong = make_collection(
        {"a": "x y", "b": "x"}, [Answer("q", "a", "y", 2, 3), Answer("r", "b", "x", 4, 5)]
    )
    for workers in (1, 2):
        with pytest.raises(InputError, match="within its 1 characters; found offsets 4 to 5"):
            histogram(wrong, workers=workers)

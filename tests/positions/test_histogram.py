"""The histogram: counted by hand, flat where nothing is biased, and honest about what it leaves
out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Answer
from positionbias.core.rows import Collected
from positionbias.positions.answers import OffsetCheck
from positionbias.positions.debias import debias
from positionbias.positions.histogram import (
    PositionHistogram,
    position_histogram,
    splits_with_answers,
)
from positionbias.positions.measured import histogram_rows
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import HistogramOptions, Matching
from positionbias.report.answer_positions import SHOWN
from positionbias.text.clusters import clusters

MakeCollection = Callable[..., Collection]

TEN = "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9"
#      0  3  6  9  12 15 18 21 24 27


def histogram(
    collection: Collection, matching: Matching | None = None, **options: Any
) -> PositionHistogram:
    settings = HistogramOptions(matching=matching or Matching(), resamples=100, **options)
    return position_histogram(collection, "test", settings)


def mean(counted: PositionHistogram) -> float:
    assert counted.mean is not None
    return counted.mean.value


@pytest.mark.parametrize("others", [[Answer("q3", "c", "w3", 9, 11)]])
def test_where_most_answers_fill_their_passage_nothing_is_told(
    make_collection: MakeCollection, others: list[Answer]
) -> None:
    answers = [Answer("q1", "a", "whole", 0, 5), Answer("q2", "b", "all of it", 0, 9), *others]
    counted = histogram(
        make_collection({"a": "whole", "b": "all of it", "c": TEN}, answers), bins=5
    )
    said = (
        f"too coarse to tell: 2 of {2 + len(others)} answers fill their passage, and so have one "
        "possible start"
    )
    assert (counted.coarse, counted.mean) == (said, None)
    assert sum(counted.counts) == counted.spans == len(others)
    made = Collected({"study": "histogram", "collection": "made"})
    histogram_rows(made, counted)
    rows = SHOWN.own(made.rows)
    text = SHOWN.as_text(rows)
    assert text.startswith(f"made, test: {said}.")
    assert "where unbiased ones do" not in text
    (tile,) = SHOWN.tiles(rows)
    assert (tile.answer, tile.words) == ("cannot tell", "Too coarse to tell")


@pytest.mark.parametrize(
    "text", ["ร้านเปิดเก้าโมงเช้าจนถึงหกโมงเย็นทุกวัน", "店の灯りは夜の八時に消えます"]
)
def test_places_in_scripts_without_spaces_are_those_of_clusters(
    make_collection: MakeCollection, text: str
) -> None:
    parts = clusters(text)
    at = len(parts) - 3
    start = len("".join(parts[:at]))
    counted = histogram(
        make_collection({"a": text}, [Answer("q", "a", text[start:], start, len(text))])
    )
    assert mean(counted) == pytest.approx(at / len(parts))


def test_counts_and_figures_by_hand(make_collection: MakeCollection) -> None:
    collection = make_collection(
        {"a": TEN, "b": TEN},
        [
            Answer("q1", "a", "w0 w1", 0, 5),  # words 0 and 1 of 10: starts 0 to 8 possible
            Answer("q2", "a", "w3", 9, 11),  # starts 0 to 9 possible
            Answer("q3", "b", "w9", 27, 29),
        ],
    )
    counted = histogram(collection, bins=5)
    assert counted.edges == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert counted.counts == [1, 1, 0, 0, 1]
    # by bin: (2/9 + 2/10 + 2/10) / 3, and in the last bin (1/9 + 2/10 + 2/10) / 3
    assert counted.expected == pytest.approx([(2 / 9 + 0.4) / 3] * 4 + [(1 / 9 + 0.4) / 3])
    assert mean(counted) == pytest.approx((0.0 + 0.3 + 0.9) / 3)
    assert (counted.collection, counted.split, counted.spans) == ("made", "test", 3)
    assert counted.mean.expected == pytest.approx((0.4 + 0.45 + 0.45) / 3)
    assert counted.first_tenth.value == counted.first_fifth.value == pytest.approx(1 / 3)
    assert counted.first_tenth.expected == pytest.approx((1 / 9 + 0.2) / 3)
    assert counted.first_fifth.expected == pytest.approx((2 / 9 + 0.4) / 3)
    inner = (2 / 9 + 0.4) / 3
    variation = (2 * abs(1 / 3 - inner) + 2 * inner + abs(1 / 3 - (1 / 9 + 0.4) / 3)) / 2
    assert counted.total_variation.value == pytest.approx(variation)
    assert counted.passages == 2
    assert counted.outcomes == {
        "answers": 3, "by_offsets": 3, "by_matching": 0, "unmatched": 0, "empty": 0,
        "no_answer_present": 0,
        "repeated": 0, "cut": 0,
    }  # fmt: skip


def test_midpoints(make_collection: MakeCollection) -> None:
    collection = make_collection(
        {"a": TEN}, [Answer("q", "a", "w0 w1", 0, 5), Answer("r", "a", "w9", 27, 29)]
    )
    counted = histogram(collection, bins=10, point="midpoint")
    # (0 + 2/2) / 10 and (9 + 1/2) / 10
    assert counted.counts == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert mean(counted) == pytest.approx((0.1 + 0.95) / 2)


def test_every_annotators_span_counts_once(make_collection: MakeCollection) -> None:
    collection = make_collection(
        {"a": TEN},
        [
            Answer("q", "a", "w2", 6, 8),
            Answer("q", "a", "w2", 6, 8),  # a second annotator, the same span
            Answer("q", "a", "w2 w3", 6, 11),  # a third, another span
            Answer("r", "a", "w2", 6, 8),  # another question
        ],
    )
    counted = histogram(collection, bins=10)
    assert counted.counts[2] == sum(counted.counts) == 3
    assert counted.outcomes["answers"] == 4
    assert counted.outcomes["repeated"] == 1


@pytest.mark.parametrize(("matches", "bins"), [("all", {0, 2, 3}), ("first", {0}), ("last", {3})])
def test_which_matches_count(make_collection: MakeCollection, matches: Any, bins: set[int]) -> None:
    collection = make_collection({"a": "x y x x"}, [Answer("q", "a", "x")])
    counted = histogram(collection, Matching(matches=matches), bins=4)
    assert {at for at, count in enumerate(counted.counts) if count} == bins
    # the rotations of "x y x x" put a first x at 0, 1, 0, 0 and a last one at 3, 3, 2, 3
    expected = {"all": [0.25] * 4, "first": [0.75, 0.25, 0, 0], "last": [0, 0, 0.25, 0.75]}
    assert counted.expected == pytest.approx(expected[matches])


def test_answers_are_counted_by_what_happened_to_them(make_collection: MakeCollection) -> None:
    collection = make_collection(
        {"a": "The gate opens at dusk.", "b": "\x00"},
        [
            Answer("q", "a", "gate"),
            Answer("q", "a", "Gate"),
            Answer("q", "a", "us"),
            Answer("q", "a", "at dawn"),
            Answer("q", "a", " "),
            Answer("q", "a", "No Answer Present."),
            Answer("q", "b", "\x00", 0, 1),  # a passage in which no word is found
        ],
    )
    counted = histogram(collection)
    assert counted.outcomes == {
        "answers": 7, "by_offsets": 0, "by_matching": 1, "unmatched": 3, "empty": 2,
        "no_answer_present": 1,
        "repeated": 0, "cut": 0,
    }  # fmt: skip
    assert counted.unmatched == {
        "found when case is ignored": 1,
        "text found, but not at word boundaries": 1,
        "words not found in a row": 1,
    }
    folded = histogram(collection, Matching(fold_case=True))
    assert (folded.outcomes["by_matching"], folded.outcomes["repeated"]) == (2, 1)


def test_spans_are_held_against_the_matches(make_collection: MakeCollection) -> None:
    collection = make_collection(
        {"a": "A gate, a gate and 1817."},
        [
            Answer("q", "a", "gate", 2, 6),
            Answer("q", "a", "gate", 10, 14),
            Answer("r", "a", "7", 22, 23),
            Answer("s", "a", "gate", 2, 6),
        ],
    )
    counted = histogram(collection)
    assert counted.check == OffsetCheck(
        spans=4,
        among_matches=3,
        missed={"starts inside a word": 1},
        extra={"another span of this query": 2, "the same words elsewhere in the passage": 1},
    )


def front_loaded(make_collection: MakeCollection, **more: Any) -> Collection:
    """400 passages of 20 words; the answers, of 1 to 4 words, start in the first four words."""
    texts = {
        f"p{number}": " ".join(f"w{number}x{word}" for word in range(20)) for number in range(400)
    }
    answers = []
    for number in range(400):
        first, length = number % 4, 1 + number // 4 % 4
        text = " ".join(f"w{number}x{word}" for word in range(first, first + length))
        start = texts[f"p{number}"].index(text)
        answers.append(Answer(f"q{number}", f"p{number}", text, start, start + len(text)))
    return make_collection(texts, answers, **more)


def test_front_loaded_positions_are_far_from_chance_and_rotated_ones_are_not(
    make_collection: MakeCollection,
) -> None:
    original = front_loaded(make_collection)
    rotated = debias(original, original.path.parent / "rotated", Rotation())
    before, after = (histogram(collection) for collection in (original, rotated))
    assert before.first_fifth.value == 1
    assert before.mean.value == pytest.approx((0 + 1 + 2 + 3) / 4 / 20)
    assert before.total_variation.value > 5 * before.total_variation.by_chance
    assert before.mean.difference_interval.high < -0.35
    assert after.total_variation.value < after.total_variation.by_chance_high
    for name in ("mean", "first_tenth", "first_fifth"):
        bounds = getattr(after, name).difference_interval
        assert bounds.low < 0 < bounds.high


def test_intervals_depend_on_the_seed_alone(make_collection: MakeCollection) -> None:
    collection = front_loaded(make_collection)
    assert histogram(collection) == histogram(collection)
    assert histogram(collection).mean != histogram(collection, seed=2).mean


def test_questions_that_share_a_passage_are_resampled_together(
    make_collection: MakeCollection,
) -> None:
    """Ten copies of every question on the same passage add no certainty."""
    words = " ".join(f"w{word}" for word in range(30))
    once = [Answer(f"q{number}", f"p{number}", f"w{number}") for number in range(30)]
    tenfold = [
        Answer(f"{answer.query_id}-{copy}", *answer[1:]) for answer in once for copy in range(10)
    ]
    texts = {f"p{number}": words for number in range(30)}
    alone = histogram(make_collection(texts, once, name="once")).mean
    copied = histogram(make_collection(texts, tenfold, name="tenfold")).mean
    assert alone is not None
    assert copied is not None
    ends = [(figure.interval.low, figure.interval.high) for figure in (alone, copied)]
    assert ends[1] == pytest.approx(ends[0])


def test_no_answers_and_no_findable_answers_are_one_clear_line(
    make_collection: MakeCollection,
) -> None:
    without = make_collection({"a": "x"}, [], name="without")
    with pytest.raises(InputError, match="wanted a collection with answers"):
        splits_with_answers(without)
    with pytest.raises(InputError, match="no answers"):
        position_histogram(without, "test")
    lost = make_collection({"a": "x"}, [Answer("q", "a", "y")], name="lost")
    with pytest.raises(InputError, match="answers 1, unmatched 1"):
        position_histogram(lost, "test")
    assert splits_with_answers(lost) == ["test"]

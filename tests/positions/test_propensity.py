"""Weights by the inverse share of an answer's place: by hand, and on a collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.positions.propensity import place_weights, weights_of
from positionbias.positions.settings import PlaceWeights


def test_by_hand() -> None:
    # four halves: three answers in the first, one in the second; 4 / (2 · 3) = 2/3 and 4 / (2 · 1) = 2, whose mean is 1
    found = weights_of({"a": [0.0], "b": [0.2], "c": [0.49], "d": [0.5]}, PlaceWeights(bins=2))
    assert found.weights == pytest.approx({"a": 2 / 3, "b": 2 / 3, "c": 2 / 3, "d": 2.0})
    assert (found.counts, found.clipped, found.empty) == ((3, 1), (), ())
    assert found.effective == pytest.approx(16 / (3 * 4 / 9 + 4))


def test_a_query_with_several_answers_has_the_mean_of_their_weights() -> None:
    # 2 / (2 · 1) = 1 each, whatever their number
    assert weights_of({"a": [0.1, 0.9]}, PlaceWeights(bins=2)).weights == {"a": 1.0}
    # in the first half 1 + 1 + 1/2 of 3, in the second 1/2: 3/5 and 3; the query with both has 9/5; the mean is 1
    found = weights_of({"a": [0.1], "b": [0.2], "c": [0.3, 0.8]}, PlaceWeights(bins=2)).weights
    assert found == pytest.approx({"a": 0.6, "b": 0.6, "c": 1.8})


def test_an_answer_that_occurs_often_counts_as_one_that_occurs_once() -> None:
    # a query in each half: nothing to undo
    found = weights_of({"often": [0.0, 0.1, 0.2, 0.3], "once": [0.6]}, PlaceWeights(bins=2))
    assert found.weights == {"often": 1.0, "once": 1.0}
    assert found.counts == (4, 1)


def test_clipped_and_empty_bins_are_named() -> None:
    starts = {f"q{number}": [0.05] for number in range(99)} | {"late": [0.55]}
    found = weights_of(starts, PlaceWeights(most=5.0))
    # 100 / (10 · 99) = 0.101 and 10, clipped to 5
    assert found.weights["late"] / found.weights["q0"] == pytest.approx(5 / (100 / 990))
    assert np.mean(list(found.weights.values())) == pytest.approx(1.0)
    assert (found.clipped, found.empty) == ((5,), (1, 2, 3, 4, 6, 7, 8, 9))
    assert "not identified here: 10\u00a0% to 20\u00a0%" in found.told()
    assert found.told().endswith("clipped: 50\u00a0% to 60\u00a0%")


def test_weights_undo_the_place_of_answers() -> None:
    drawn = np.random.default_rng(1).beta(1, 4, 20_000) * 0.999
    found = weights_of({f"q{number}": [place] for number, place in enumerate(drawn)}, PlaceWeights(most=1_000.0))
    weights = np.array(list(found.weights.values()))
    assert drawn.mean() < 0.21
    assert (weights * drawn).sum() / weights.sum() == pytest.approx(0.5, abs=0.01)  # the mean of a uniform place


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("p1", "one two three four"), Passage("p2", "five six seven eight")])
        writer.add_split(
            "train",
            [Query("q1", "one?"), Query("q2", "eight?"), Query("q3", "none?")],
            [Qrel("q1", "p1", 1), Qrel("q2", "p2", 1), Qrel("q3", "p1", 1)],
            [Answer("q1", "p1", "one", 0, 3), Answer("q2", "p2", "eight", 15, 20), Answer("q3", "p1", "absent", None, None)],
        )
        writer.add_split("bare", [Query("q4", "one?")], [Qrel("q4", "p1", 1)])
        writer.finish(Manifest("collection", "c", "a test"))
    return Collection(tmp_path / "c")


def test_a_collection_s_answers(collection: Collection) -> None:
    found = place_weights(collection, "train")
    assert found.weights == {"q1": 1.0, "q2": 1.0}  # q3's answer is not in its passage
    assert found.counts == (1, 0, 0, 0, 0, 0, 0, 1, 0, 0)  # words 0 and 3 of 4: 0 and 0.75


def test_no_answers(collection: Collection) -> None:
    with pytest.raises(InputError, match="wanted answers of split 'bare' within their passages"):
        place_weights(collection, "bare")


@pytest.mark.parametrize("settings", [{"most": 0.5}, {"bins": 1}])
def test_bad_settings(settings: dict) -> None:
    with pytest.raises(SettingError):
        PlaceWeights(**settings)

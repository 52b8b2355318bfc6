"""Pairs found against a known truth: by hand, and on a collection whose leakage was planted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.leakage.find import find_pairs
from positionbias.leakage.labels import Label
from positionbias.leakage.pairs import Pair, read_pairs
from positionbias.leakage.queries import collection_source, field_texts
from positionbias.leakage.settings import FindSettings
from positionbias.leakage.truth import against_truth, truth_result
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.results.leakage_pairs import FoundOfTrue


def true(train: str, test: str, label: str) -> Pair:
    return Pair(train, test, {}, label=Label(label))


def test_precision_and_recall_by_hand() -> None:
    truth = [
        true("a", "t", "identical"),
        true("b", "t", "reformulation"),
        true("c", "u", "reformulation"),
        true("d", "u", "different topic"),  # no true pair
    ]
    found = [("a", "t"), ("a", "t"), ("b", "t"), ("d", "u"), ("e", "t")]  # ("a", "t") in two fields
    figures = against_truth(found, truth)
    assert figures.rows == {
        "all": FoundOfTrue(3, 2, 2 / 3, pairs_found=4, precision=0.5),
        "identical": FoundOfTrue(1, 1, 1.0),
        "reformulation": FoundOfTrue(2, 1, 0.5),
    }
    result = truth_result(figures, test_name="here", sources="there")
    assert (result.value, result.count) == (2 / 3, 3)
    assert against_truth([], truth).rows["all"].precision is None
    with pytest.raises(InputError, match="wanted true pairs"):
        against_truth(found, truth[3:])


def test_the_lexical_detector_on_planted_leakage(tmp_path: Path) -> None:
    """Its recall follows from the words, whatever was drawn; what else it finds shares a name and
    the form of the question.
    """
    pair = write_planted(
        tmp_path / "pair",
        PlantedSettings(queries=300, passages=1_200, test_share=0.4, leaked_queries=240),
    )
    tests = field_texts(pair.queries("test"))
    found = find_pairs(
        [collection_source("train", pair, "train")], tests.texts, FindSettings("lexical")
    )
    truth = list(read_pairs(pair.path))
    rows = against_truth(((item.train_id, item.test_id) for item in found.pairs), truth).rows
    # The terms of "what is the colour of the A B" are colour, A and B, whatever the form. A synonym
    # of the attribute, or none, leaves A and B, which name one thing: found by meaning or not at
    # all. All others hold every term of the test query.
    by_type = Counter(item.label.name for item in truth if item.label)
    assert by_type == dict.fromkeys(
        ("identical", "generalization", "specialization", "reformulation"), 60
    )
    assert {name: rows[name].found for name in by_type} == {
        "identical": 60, "specialization": 60, "reformulation": 0, "generalization": 0,
    }  # fmt: skip
    assert rows["all"].recall == 0.5
    assert isinstance(rows["all"].precision, float)
    assert 0.9 < rows["all"].precision <= 1.0
    planted = {(item.train_id, item.test_id) for item in truth}
    for item in found.pairs:
        if (item.train_id, item.test_id) not in planted:
            assert len(set(item.train_text.split()) & set(item.test_text.split())) >= 3

"""Training groups: a relevant passage and a candidate that is not; each draw a function of its
key.
"""

from __future__ import annotations

from collections import Counter

import pytest

from positionbias.core.errors import InputError
from positionbias.core.groups import TrainingGroup
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.training.trainsets.sample import make_sampler

QRELS = [
    Qrel("q1", "a", 1), Qrel("q1", "b", 2), Qrel("q1", "c", 0),
    Qrel("q2", "d", 1),
    Qrel("q3", "e", 1), Qrel("q3", "f", 1),
    Qrel("q4", "g", 0),
]  # fmt: skip
CANDIDATES = Run(
    "bm25",
    [
        ("q1", ["a", "b", "c", "x", "y", "z"], [6, 5, 4, 3, 2, 1]),  # both relevant ones among them
        ("q2", ["x", "y"], [2, 1]),  # the relevant one was not found
        ("q3", ["e", "f"], [2, 1]),  # nothing to set against them
        ("q9", ["x"], [1]),  # a query that is not judged
    ],
)


def groups(epoch: int = 0, start: int = 0, seed: int = 1) -> list[tuple[int, TrainingGroup]]:
    return list(make_sampler(QRELS, CANDIDATES, seed=seed).epoch(epoch, start))


def test_a_positive_and_a_candidate_that_is_not_relevant() -> None:
    negatives = {"q1": {"c", "x", "y", "z"}, "q2": {"x", "y"}}
    relevant = {"q1": {"a", "b"}, "q2": {"d"}}
    drawn: Counter[tuple[str, str]] = Counter()
    for epoch in range(60):
        found = [group for _, group in groups(epoch)]
        # every judged positive once an epoch
        assert sorted((g.query_id, g.passage_ids[0]) for g in found) == [
            ("q1", "a"),
            ("q1", "b"),
            ("q2", "d"),
        ]
        for group in found:
            assert group.labels == (1, 0)
            assert group.passage_ids[0] in relevant[group.query_id]
            assert group.passage_ids[1] in negatives[group.query_id]
            drawn[group.query_id, group.passage_ids[1]] += 1
    # each of them at some time
    assert set(drawn) == {(q, p) for q, pool in negatives.items() for p in pool}
    # 120 draws over four, none of them favoured
    assert max(drawn[("q1", p)] for p in negatives["q1"]) < 2 * 30


def test_groups_without_negatives_are_left_out_and_counted() -> None:
    sampler = make_sampler([*QRELS, Qrel("q5", "h", 1)], CANDIDATES, seed=1)
    assert len(sampler) == 3
    # q3's two, whose candidates are all relevant, and q5's, which has no candidates
    assert sampler.left_out == 3


def test_pairs_whose_passage_is_absent_are_left_out_and_counted() -> None:
    sampler = make_sampler(QRELS, CANDIDATES, seed=1, absent={"b", "f"})
    assert list(sampler.positives) == [("q1", "a"), ("q2", "d")]
    # b and f; e, whose candidates are all relevant
    assert (sampler.absent, sampler.left_out) == (2, 1)
    assert "b" not in sampler.negatives["q1"]


def test_a_group_does_not_depend_on_where_the_epoch_was_entered() -> None:
    whole = groups(epoch=3)
    assert [index for index, _ in whole] == [0, 1, 2]
    for start in range(4):
        assert groups(epoch=3, start=start) == whole[start:]


def test_epochs_and_seeds_differ_and_nothing_else_does() -> None:
    assert groups(0) == groups(0)
    assert len({tuple(groups(epoch)) for epoch in range(8)}) > 4
    assert len({tuple(groups(0, seed=seed)) for seed in range(8)}) > 4


@pytest.mark.parametrize(
    "run", [Run("bm25", [("q9", ["x"], [1])]), Run("bm25", [("q3", ["e", "f"], [2, 1])])]
)
def test_nothing_to_train_on_is_one_line(run: Run) -> None:
    with pytest.raises(
        InputError,
        match="run 'bm25': wanted candidates for the training queries; found none that fit; check",
    ):
        make_sampler(QRELS, run, seed=1)

"""Ranks of leaked passages, retrieved or not, ties: by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.rank_order import order_by_score
from positionbias.core.run import Run
from positionbias.papers.leakage.measured import LeakedPair, leaked_places, with_leaked

CANDIDATES = Run("bm25", [("q1", ["a", "b", "c"], [9.0, 8.0, 7.0]), ("q2", ["a", "d"], [5.0, 4.0])])
LEAKED = [
    LeakedPair("q1", "b", "x"),
    LeakedPair("q1", "y", "x"),
    LeakedPair("q2", "x", "a"),
    LeakedPair("q9", "a", "b"),  # not retrieved for
]


def test_what_has_to_be_scored() -> None:
    run = with_leaked(CANDIDATES, LEAKED, name="to score")
    assert run["q1"].passage_ids == ["a", "b", "c", "x", "y"]
    assert run["q1"].scores.tolist() == [9, 8, 7, 6, 5]
    assert run["q2"].passage_ids == ["a", "d", "x"]


def scored(**scores: float) -> Run:
    return Run("model", [("q1", list(scores), list(scores.values()))])


@pytest.mark.parametrize(
    ("scores", "passage", "rank"),
    [
        # y was not retrieved: it takes no place
        ({"a": 1.0, "b": 3.0, "c": 2.0, "x": 2.5, "y": 2.6}, "x", 2),
        ({"a": 1.0, "b": 3.0, "c": 2.0, "x": 0.5, "y": 0.6}, "x", 4),  # at most candidates + 1
        # c, b, a: equal scores by id descending
        ({"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0, "y": 1.0}, "b", 2),
        ({"a": 1.0, "b": 1.0, "c": 1.0, "bb": 1.0}, "bb", 2),  # c, bb, b, a
        ({"a": 1.0, "b": 1.0 + 1e-12, "c": 0.0, "aa": 1.0}, "aa", 2),  # equal as float32: b, aa, a
    ],
)
def test_ranks_by_hand(scores: dict[str, float], passage: str, rank: int, tmp_path: Path) -> None:
    run = scored(**scores)
    [found] = leaked_places(run, CANDIDATES, [("q1", passage)])
    assert found == (rank, pytest.approx(scores[passage]))
    run.save(tmp_path / "x.run")  # which parts ties: the ranks stay
    [again] = leaked_places(Run.from_file(tmp_path / "x.run"), CANDIDATES, [("q1", passage)])
    assert again[0] == rank


def test_against_sorting_each_passage_in_by_itself() -> None:
    rng = np.random.default_rng(5)
    ids = [f"p{n}" for n in range(30)]
    candidates = Run("bm25", [("q1", ids[:20], np.arange(20.0))])
    scores = dict(zip(ids, rng.integers(0, 6, 30).astype(float), strict=True))  # many ties
    run = Run("model", [("q1", ids, [scores[i] for i in ids])])
    found = leaked_places(run, candidates, [("q1", passage) for passage in ids])
    for passage, (rank, _) in zip(ids, found, strict=True):
        held = sorted({*ids[:20], passage})
        order = [held[i] for i in order_by_score(held, np.array([scores[i] for i in held]))]
        assert order.index(passage) + 1 == rank


def test_a_passage_that_was_not_scored() -> None:
    with pytest.raises(
        InputError,
        match=(
            "run 'model': wanted a score of every leaked passage; found none of 'x' for query 'q1'"
        ),
    ):
        list(leaked_places(scored(a=1.0), CANDIDATES, [("q1", "x")]))

"""Ranks of leaked passages, retrieved or not, ties, and the offsets: by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.run import Run, order_by_score, read_run, write_run
from positionbias.papers.leakage.memorisation import (
    leaked_places,
    memorised,
    rank_offset,
    with_leaked,
)

CANDIDATES = Run("bm25", [("q1", ["a", "b", "c"], [9.0, 8.0, 7.0]), ("q2", ["a", "d"], [5.0, 4.0])])
LEAKED = [("q1", "b"), ("q1", "x"), ("q1", "y"), ("q2", "x")]


def test_what_has_to_be_scored() -> None:
    run = with_leaked(CANDIDATES, LEAKED, name="to score")
    assert run["q1"].passage_ids == ["a", "b", "c", "x", "y"]
    assert run["q1"].scores.tolist() == [9, 8, 7, 6, 5]
    assert run["q2"].passage_ids == ["a", "d", "x"]
    with pytest.raises(
        InputError,
        match="wanted candidates of each query with leaked passages; found none for 'q9'",
    ):
        with_leaked(CANDIDATES, [("q9", "a")], name="x")


def scored(**scores: float) -> Run:
    return Run("model", [("q1", list(scores), list(scores.values()))])


@pytest.mark.parametrize(
    ("scores", "passage", "rank"),
    [
        ({"a": 1.0, "b": 3.0, "c": 2.0, "x": 2.5, "y": 2.6}, "b", 1),
        # y was not retrieved: it takes no place
        ({"a": 1.0, "b": 3.0, "c": 2.0, "x": 2.5, "y": 2.6}, "x", 2),
        ({"a": 1.0, "b": 3.0, "c": 2.0, "x": 2.5, "y": 9.0}, "b", 1),
        ({"a": 1.0, "b": 3.0, "c": 2.0, "x": 0.5, "y": 0.6}, "x", 4),  # at most candidates + 1
        # c, b, a: equal scores by id descending
        ({"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0, "y": 1.0}, "b", 2),
        ({"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0, "y": 1.0}, "x", 1),  # "x" is above "c"
        ({"a": 1.0, "b": 1.0, "c": 1.0, "bb": 1.0}, "bb", 2),  # c, bb, b, a
        ({"a": 1.0, "b": 1.0, "c": 1.0, "0": 1.0}, "0", 4),
        ({"a": 1.0, "b": 1.0 + 1e-12, "c": 0.0, "aa": 1.0}, "aa", 2),  # equal as float32: b, aa, a
    ],
)
def test_ranks_by_hand(scores: dict[str, float], passage: str, rank: int, tmp_path: Path) -> None:
    run = scored(**scores)
    found = leaked_places(run, CANDIDATES, [("q1", passage)])
    assert found.ranks.tolist() == [rank]
    assert found.scores.tolist() == pytest.approx([scores[passage]])
    write_run(tmp_path / "x.run", run)  # which parts ties: the ranks stay
    assert leaked_places(
        read_run(tmp_path / "x.run"), CANDIDATES, [("q1", passage)]
    ).ranks.tolist() == [rank]


def test_against_sorting_each_passage_in_by_itself() -> None:
    rng = np.random.default_rng(5)
    ids = [f"p{n}" for n in range(30)]
    candidates = Run("bm25", [("q1", ids[:20], np.arange(20.0))])
    scores = dict(zip(ids, rng.integers(0, 6, 30).astype(float), strict=True))  # many ties
    run = Run("model", [("q1", ids, [scores[i] for i in ids])])
    found = leaked_places(run, candidates, [("q1", passage) for passage in ids])
    for passage, rank in zip(ids, found.ranks.tolist(), strict=True):
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
        leaked_places(scored(a=1.0), CANDIDATES, [("q1", "x")])


def test_means_deviations_and_the_difference_by_hand() -> None:
    with_leakage, without = (
        np.array([[1.0, 4.0, 4.0], [3.0, 4.0, 2.0]]),
        np.array([[2.0, 8.0, 5.0], [4.0, 6.0, 5.0]]),
    )
    found, interval = memorised(with_leakage, without, ["q1", "q1", "q2"], seed=1)
    assert (found.with_mean, found.without_mean, found.difference) == (3.0, 5.0, -2.0)
    # squares about 3: 4 1 1 0 1 1; about 5: 9 9 0 1 1 0; of −1 −4 −1 −1 −2 −3 about −2: 1 4 1 1 0 1
    assert (found.with_deviation, found.without_deviation) == (
        pytest.approx((8 / 5) ** 0.5),
        pytest.approx(2.0),
    )
    assert found.difference_deviation == pytest.approx((8 / 5) ** 0.5)
    assert (found.count, found.repeats) == (3, 2)
    assert interval is None  # of two queries


def test_the_offset_by_hand() -> None:
    queries = ["q1", "q1", "q2"]
    positive = np.array([[1.0, 2.0, 5.0]]), np.array([[3.0, 2.0, 5.0]])  # with, without
    negative = np.array([[9.0, 4.0, 7.0]]), np.array([[8.0, 3.0, 9.0]])
    found, interval = rank_offset(
        (positive[0], negative[0]), (positive[1], negative[1]), queries, seed=1
    )
    # with: q1 (8 + 2) / 2 = 5, q2 2; without: q1 (5 + 1) / 2 = 3, q2 4; increases 2 and −2
    assert (found.with_mean, found.without_mean, found.difference) == (3.5, 3.5, 0.0)
    assert found.difference_deviation == pytest.approx(8**0.5)
    assert (found.count, found.repeats) == (2, 1)
    assert interval is None  # of two queries
    # three times 2 and −2: 0 ± t(0.975, 5) · √(24 / 5 / 6), t = 2.570582
    six = [f"{query} {turn}" for turn in range(3) for query in queries]
    sides = ((np.tile(positive[side], 3), np.tile(negative[side], 3)) for side in (0, 1))
    _, interval = rank_offset(*sides, six, seed=1)
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(-2.299199), pytest.approx(2.299199))
    # in one cluster they say nothing of how sure it is
    _, together = rank_offset(
        (positive[0], negative[0]),
        (positive[1], negative[1]),
        queries,
        {"q1": "passage p", "q2": "passage p"},
        seed=1,
    )
    assert together is None


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="as many with as without"):
        memorised(np.ones((2, 3)), np.ones((1, 3)), ["a", "b", "c"], seed=1)

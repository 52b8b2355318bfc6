"""How far int8 is from float32: what is drawn, and figures worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.run import Run
from positionbias.ranking.agreement import drawn_lists, drawn_texts, list_agreement, vector_agreement


def run_of(queries: int, candidates: int) -> Run:
    return Run(
        "run",
        (
            (f"q{query}", [f"p{place:05}" for place in range(candidates)], np.arange(candidates, 0, -1, dtype=np.float32))
            for query in range(queries)
        ),
    )


@pytest.mark.parametrize(
    ("queries", "candidates", "drawn", "depth"),
    [(3, 5, 3, 5), (50, 20, 10, 20), (50, 100, 10, 20), (500, 100, 20, 50), (3, 1, 0, 0), (1, 1_000, 1, 20)],
)
def test_what_is_drawn(queries: int, candidates: int, drawn: int, depth: int) -> None:
    run = run_of(queries, candidates)
    lists = drawn_lists(run)
    assert len(lists) == drawn
    assert lists.pairs == drawn * depth <= max(200, run.pairs // 50)
    assert all(lists[query_id].passage_ids == run[query_id].passage_ids[:depth] for query_id in lists)


def test_texts_are_drawn_by_what_they_say() -> None:
    texts = [f"text {number}" for number in range(500)]
    assert len(drawn_texts(texts)) == 200
    assert drawn_texts(texts[::-1] + texts) == drawn_texts(texts)


def test_lists_by_hand() -> None:
    same = np.arange(12, 0, -1, dtype=np.float32)
    other = same.copy()
    other[[9, 10]] = other[[10, 9]]  # one of 66 pairs of places, across the 10th
    found = list_agreement({"a": same, "b": same[:2]}, {"a": other, "b": same[:2][::-1]})
    assert (found.queries, found.pairs) == (2, 14)
    short = list_agreement({"b": same[:10]}, {"b": same[:10][::-1]})
    assert short.told().endswith("10 pairs of 1 queries: Kendall's tau -1.000")  # the first ten of ten are always the same
    assert found.tau == pytest.approx(((66 - 2) / 66 - 1) / 2)
    assert found.first_ten == 9  # of the longer list
    assert found.told().startswith(
        "int8 beside float32, 14 pairs of 2 queries: Kendall's tau -0.015, 9.0 of the first 10 the same"
    )


def test_vectors_by_hand() -> None:
    one = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]], np.float32)
    other = np.array([[6.0, 8.0], [1.0, 1.0], [0.0, 0.0]], np.float32)
    found = vector_agreement(one, other)
    assert (found.texts, found.least) == (3, pytest.approx(2**-0.5))
    assert found.mean == pytest.approx((2 + 2**-0.5) / 3)
    assert "3 texts: cosine 0.9024 on average, 0.7071 at least" in found.told()

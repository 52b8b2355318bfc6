"""Mean first rank, by hand and against the reciprocal rank of ir_measures."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.first_rank import first_ranks
from positionbias.evaluation.measures import per_query

RUN = Run(
    "r",
    [
        ("q1", ["a", "b", "c"], [3, 2, 1]),
        ("q2", ["a", "b", "c"], [3, 2, 1]),
        ("q3", ["a", "b"], [2, 1]),
    ],
)
QRELS = [
    Qrel("q1", "a", 1),
    Qrel("q1", "b", 2),
    Qrel("q2", "c", 2),
    Qrel("q3", "z", 1),
    Qrel("q4", "a", 1),
    Qrel("q5", "a", 0),
]


def test_ranks_by_hand() -> None:
    found = first_ranks(RUN, QRELS, depth=3)
    # q3's is not retrieved, q4 has no candidates, q5 has nothing relevant: 3 + 1 each
    assert found.ranks == {"q1": 1, "q2": 3, "q3": 4, "q4": 4, "q5": 4}
    assert found.without == 3
    assert found.mean == pytest.approx((1 + 3 + 4 + 4 + 4) / 5)


def test_grade_and_depth() -> None:
    assert first_ranks(RUN, QRELS, depth=3, relevant_from=2).ranks["q1"] == 2
    cut = first_ranks(RUN, QRELS, depth=2)
    assert (cut.ranks["q2"], cut.without) == (3, 4)


def test_against_the_reciprocal_rank_of_ir_measures() -> None:
    rng = np.random.default_rng(3)
    ids = [f"p{n}" for n in range(12)]
    run = Run("r", [(f"q{n}", ids, rng.normal(size=12)) for n in range(40)])
    qrels = [
        Qrel(f"q{n}", passage, int(rng.integers(0, 3)))
        for n in range(40)
        for passage in rng.choice(ids, 3, replace=False)
    ]
    ranks = first_ranks(run, qrels, depth=12, relevant_from=2).ranks
    reciprocal = per_query(run, qrels, ["RR(rel=2)"])["RR(rel=2)"]
    assert {q: 0.0 if rank == 13 else 1 / rank for q, rank in ranks.items()} == pytest.approx(
        reciprocal
    )


def test_what_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="run 'r': wanted judgements of its queries; found none"):
        first_ranks(RUN, [], depth=3)
    with pytest.raises(SettingError, match="--depth: wanted at least 1; found 0"):
        first_ranks(RUN, QRELS, depth=0)

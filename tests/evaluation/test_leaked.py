"""Systems on all, leaked and clean queries: every number by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.evaluation.leaked import leaked_results, unpaired_difference
from positionbias.evaluation.records import (
    LeakedAndClean,
    LeakedOrder,
    MeanOfPart,
    PerQuery,
    Result,
)

QUERIES = ["q1", "q2", "q3", "q4", "q5"]


def measured(**systems: list[float]) -> list[Result]:
    return [
        Result(
            "nDCG@10",
            "c",
            "test",
            name,
            1,
            float(np.mean(values)),
            None,
            5,
            PerQuery(QUERIES, values),
        )
        for name, values in systems.items()
    ]


RESULTS = measured(
    a=[0.9, 0.7, 0.2, 0.3, 0.1], b=[0.5, 0.5, 0.4, 0.5, 0.3], c=[0.1, 0.1, 0.1, 0.1, 0.1]
)


def test_each_system_on_each_part() -> None:
    # a, b and c, then what b and c gain over a
    a, _, _, gain, *_ = leaked_results(RESULTS, {"q1", "q2", "elsewhere"}, seed=1)
    assert (a.system, gain.system) == ("a", "b")
    assert isinstance(a.payload, LeakedAndClean)
    assert [
        (part.queries, part.mean) for part in (a.payload.all, a.payload.leaked, a.payload.clean)
    ] == [
        (5, pytest.approx(0.44)),
        (2, pytest.approx(0.8)),
        (3, pytest.approx(0.2)),
    ]
    assert (a.value, a.interval) == (pytest.approx(0.6), None)  # of two queries against three
    # b − a: −0.4, −0.2 on leaked, 0.2 throughout on clean
    assert gain.value == pytest.approx(-0.3 - 0.2)


def test_the_order() -> None:
    results = leaked_results(RESULTS, {"q1", "q2"}, seed=1)
    order = results[-1].payload
    assert isinstance(order, LeakedOrder)
    assert results[-1].measure == "nDCG@10"
    # leaked: a 0.8, b 0.5; clean: a 0.2, b 0.4; c last in both
    assert (order.leaked, order.clean, order.systems, order.pairs, order.strata) == (2, 3, 3, 3, 1)
    assert (order.tau, order.swaps) == (pytest.approx(1 / 3), 1)
    assert (results[-1].value, results[-1].interval) == (order.tau, None)
    # b leads a by -0.4 -0.2 +0.2 +0.2 +0.2; of the ten pairs of queries, the three of the second
    # with one of the last three leave both tied on either side (τ 1), the others swap them (τ 1/3)
    assert order.p == pytest.approx(0.7, abs=0.03)


def test_against_scipy() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.5, 0.2, 60), rng.normal(0.3, 0.1, 90)
    difference, interval = unpaired_difference(first, second, seed=1)
    welch = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert difference == pytest.approx(first.mean() - second.mean())
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((welch.low, welch.high), abs=0.01)


def test_queries_of_one_passage_are_drawn_together() -> None:
    values = np.tile([0.0, 1.0], 20)
    alone, together = (
        unpaired_difference(values, values, clusters, clusters, seed=1)[1]
        for clusters in (None, [*"uvwxyz"] * 6 + [*"uvwx"])
    )
    assert alone is not None
    assert together is not None
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_what_is_undefined() -> None:
    every = leaked_results(RESULTS, set(QUERIES), seed=1)
    assert every[-1].payload.undefined == "no clean query"  # type: ignore[union-attr]
    assert [item.value for item in every] == [None] * len(every)
    assert every[0].payload.clean == MeanOfPart(0, None, None, None)  # type: ignore[union-attr]
    tied = leaked_results(
        measured(a=[1.0, 0.0, 1.0, 0.0, 0.0], b=[1.0, 1.0, 0.0, 0.0, 0.0]), {"q1"}, seed=1
    )[-1]
    assert tied.payload.undefined == "all systems tie on leaked or on clean queries"  # type: ignore
    assert len(leaked_results(RESULTS[:1], {"q1"}, seed=1)) == 1  # one system has no order
    with pytest.raises(
        InputError, match="--leaked: wanted pairs with judged queries; found none of the 5"
    ):
        leaked_results(RESULTS, {"elsewhere"}, seed=1)
    assert unpaired_difference(np.array([1.0]), np.array([0.0, 0.5]), seed=1) == (0.75, None)

"""Systems on all, leaked and clean queries: every number by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.evaluation.leaked import leaked_results, unpaired_difference
from positionbias.evaluation.records import (
    LeakedAndClean,
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


def test_against_scipy() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.5, 0.2, 60), rng.normal(0.3, 0.1, 90)
    difference, interval = unpaired_difference(first, second, seed=1)
    welch = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert difference == pytest.approx(first.mean() - second.mean())
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((welch.low, welch.high), abs=0.01)


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

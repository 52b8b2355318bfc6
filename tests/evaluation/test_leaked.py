"""Systems on all, leaked and clean queries: every number by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.core.payloads import PerQuery
from positionbias.core.result import Result
from positionbias.evaluation.leaked import leaked_results, unpaired_difference

QUERIES = ["q1", "q2", "q3", "q4", "q5"]


def measured(**systems: list[float]) -> list[Result]:
    return [
        Result("nDCG@10", "c", "test", name, 1, float(np.mean(values)), None, 5, PerQuery(QUERIES, values))
        for name, values in systems.items()
    ]


RESULTS = measured(a=[0.9, 0.7, 0.2, 0.3, 0.1], b=[0.5, 0.5, 0.4, 0.5, 0.3], c=[0.1, 0.1, 0.1, 0.1, 0.1])


def test_each_system_on_each_part() -> None:
    found = {(item.measure, item.system): item for item in leaked_results(RESULTS, {"q1", "q2", "elsewhere"}, seed=1)}
    a = found["nDCG@10, leaked − clean", "a"]
    rows = a.payload.rows  # type: ignore[union-attr]
    assert {part: (rows[part]["queries"], rows[part]["mean"]) for part in ("all", "leaked", "clean")} == {
        "all": (5, pytest.approx(0.44)),
        "leaked": (2, pytest.approx(0.8)),
        "clean": (3, pytest.approx(0.2)),
    }
    assert a.value == pytest.approx(0.6)
    assert a.interval is not None
    # 0.9, 0.7 and 0.1, 0.3, 0.2 are few: Welch's interval, se² = 0.02 / 2 + 0.01 / 3, df = se⁴ / (0.01² / 1 + 0.0033² / 2)
    squared = 0.01 + 0.01 / 3
    half = stats.t.ppf(0.975, squared**2 / (0.01**2 + (0.01 / 3) ** 2 / 2)) * squared**0.5
    assert (a.interval.low, a.interval.high) == (pytest.approx(0.6 - half), pytest.approx(0.6 + half))
    assert a.interval.method == "Welch, t, 2 queries and 3 queries"
    gain = found["nDCG@10 against a, leaked − clean", "b"]
    # b − a: −0.4, −0.2 on leaked, 0.2 throughout on clean
    assert gain.value == pytest.approx(-0.3 - 0.2)
    assert gain.interval is not None
    half = stats.t.ppf(0.975, 1) * 0.1  # 0.02 / 2 of the first side, nothing of the second
    assert (gain.interval.low, gain.interval.high) == (pytest.approx(-0.5 - half), pytest.approx(-0.5 + half))


def test_the_order_and_its_swaps() -> None:
    order = leaked_results(RESULTS, {"q1", "q2"}, seed=1)[-1]
    # all: a 0.44 and b 0.44 tie; leaked: a 0.8, b 0.5; clean: a 0.2, b 0.4; c last throughout
    rows = order.payload.rows  # type: ignore[union-attr]
    assert order.measure == "order of systems by nDCG@10"
    assert rows["leaked to clean"] == {"tau": pytest.approx(1 / 3), "swaps": [["a", "b"]]}
    assert order.value == pytest.approx(1 / 3)
    # a tie in one is no swap: τ_b = 2 / √(2·3)
    assert rows["all to leaked"] == {"tau": pytest.approx(2 / 6**0.5), "swaps": []}


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
        unpaired_difference(values, values, clusters, clusters, seed=1)[1] for clusters in (None, ["x", "y"] * 20)
    )
    assert alone is not None
    assert together is not None
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_what_is_undefined() -> None:
    every = leaked_results(RESULTS, set(QUERIES), seed=1)
    assert [item.value for item in every] == [None] * len(every)
    assert every[0].payload.rows["clean"] == {"queries": 0, "mean": None, "low": None, "high": None}  # type: ignore[union-attr]
    assert len(leaked_results(RESULTS[:1], {"q1"}, seed=1)) == 1  # one system has no order
    with pytest.raises(InputError, match="--leaked: wanted pairs that name judged queries; found none among 5"):
        leaked_results(RESULTS, {"elsewhere"}, seed=1)
    assert unpaired_difference(np.array([1.0]), np.array([0.0, 0.5]), seed=1) == (0.75, None)

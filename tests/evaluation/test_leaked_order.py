"""Does leakage change the order of systems: false alarms, what is planted, and what is said."""

from __future__ import annotations

import json

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.leaked_order import ALPHA, order_found
from positionbias.evaluation.random_splits import mark_queries
from positionbias.report.leaked_order import order_findings, order_sentences
from positionbias.results.leaked_order import LeakedOrder, OrderAnswer
from positionbias.results.result import Result


def values(systems: int, queries: int, seed: int, noise: float = 0.2) -> np.ndarray:
    """Systems that differ by 0.01 each, on queries of differing difficulty."""
    rng = np.random.default_rng(seed)
    return 0.3 + 0.2 * rng.random(queries) + 0.01 * np.arange(systems)[:, None] + noise * rng.random((systems, queries))


def found(of: np.ndarray, leaked: int) -> LeakedOrder:
    names = [f"s{place}" for place in range(len(of))]
    return order_found(mark_queries(of, np.arange(of.shape[1]) < leaked), names, seed=1).order


def test_what_is_planted_is_found_and_named() -> None:
    of = values(12, 60, seed=1)
    of[:4, :30] += 0.3  # the four worst gain on the leaked half
    order = found(of, 30)
    assert order.answer is OrderAnswer.CHANGED
    assert order.p is not None
    assert order.p <= ALPHA
    assert order.tau is not None
    assert order.tau.excess_ends[1] < 0
    assert order.named
    gained = {"s0", "s1", "s2", "s3"}
    right = [swap.falls not in gained and swap.behind in gained for swap in order.named]
    assert np.mean(right) >= 0.8  # one in ten may be false


def test_no_change_is_said_only_where_a_small_one_would_be_seen() -> None:
    sure, small = found(values(20, 600, seed=2, noise=0.1), 300), found(values(20, 20, seed=2), 6)
    assert sure.answer is OrderAnswer.UNCHANGED
    assert max(item.found for item in sure.power if item.gain <= 0.05) >= 0.95
    assert small.answer is OrderAnswer.UNKNOWN


def test_marks_at_random_are_no_finding() -> None:
    rng, hits, named = np.random.default_rng(1), 0, 0
    for seed in range(40):
        order = found(values(6, 30, seed)[:, rng.permutation(30)], 9)
        hits += order.answer is OrderAnswer.CHANGED
        named += bool(order.named)
    # of 40 at 5 %, more than 6 are seen once in a hundred times; of 40 at 10 % more than 9
    assert hits <= 6
    assert named <= 9


def test_p_and_the_interval_say_the_same() -> None:
    for seed in range(10):
        of = values(15, 40, seed)
        of[:5, :20] += 0.08
        order = found(of, 20)
        assert order.tau is not None
        assert order.p is not None
        assert (order.p <= ALPHA) == (order.tau.excess_ends[1] < 0)


def test_the_sentences_answer_first() -> None:
    order = found(values(4, 30, seed=6), 7)
    assert order.tau is not None
    sentences = order_sentences("order of systems by nDCG@10", order)
    assert sentences[0].startswith("nDCG@10: cannot tell whether leakage changes the order of systems: Kendall's τ ")
    assert "between 7 leaked and 23 clean queries, random splits " in sentences[0]
    assert "one-sided p " in sentences[1]
    assert sentences[2] == "Single swaps: none can be named at a false discovery rate of 10\xa0%."
    assert "1 of 4 systems" in sentences[3]
    (finding,) = order_findings([result(order)])
    assert finding.holds is None
    assert finding.text == " ".join(sentences)


def test_without_a_clean_query_it_is_undefined() -> None:
    order = found(values(3, 5, seed=1), 5)
    assert (order.tau, order.p, order.answer) == (None, None, OrderAnswer.UNKNOWN)
    assert order_sentences("order of systems by AP", order) == [
        "AP: cannot tell whether leakage changes the order of systems: no clean query."
    ]


def test_json_gives_an_undefined_order_back() -> None:
    order = found(values(3, 5, seed=1), 5)
    assert Result.from_json(json.loads(json.dumps(result(order).to_json()))) == result(order)


def result(order: LeakedOrder) -> Result:
    interval = Interval(*order.tau.excess_ends, 0.9) if order.tau else None
    return Result("order of systems by nDCG@10", "c", "test", "a, b", 1, None, interval, order.systems, order)

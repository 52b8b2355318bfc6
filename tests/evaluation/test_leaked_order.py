"""Does leakage change the order of systems: false alarms, what is planted, and what is said."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from positionbias.evaluation.leaked_order import order_found
from positionbias.evaluation.random_splits import mark_queries
from positionbias.evaluation.rank_correlation import agreement
from positionbias.evaluation.records import LeakedOrder


def values(systems: int, queries: int, seed: int, noise: float = 0.2) -> np.ndarray:
    """Systems that differ by 0.01 each, on queries of differing difficulty."""
    rng = np.random.default_rng(seed)
    return (
        0.3
        + 0.2 * rng.random(queries)
        + 0.01 * np.arange(systems)[:, None]
        + noise * rng.random((systems, queries))
    )


def found(of: np.ndarray, leaked: int) -> LeakedOrder:
    return order_found(mark_queries(of, np.arange(of.shape[1]) < leaked), seed=1)


def test_what_is_planted_is_found() -> None:
    of = values(12, 60, seed=1)
    of[:4, :30] += 0.3  # the four worst gain on the leaked half
    order = found(of, 30)
    assert order.p is not None
    assert order.p <= 0.05
    assert order.tau is not None
    assert order.expected is not None
    assert order.tau < order.expected


def test_p_is_the_share_of_all_splits() -> None:
    of = np.random.default_rng(3).random((3, 9))
    order = found(of, 4)  # nine queries are one class of difficulty
    taus = []
    for chosen in combinations(range(9), 4):
        mask = np.isin(np.arange(9), chosen)
        taus.append(agreement(of[:, mask].mean(axis=1), of[:, ~mask].mean(axis=1)[None]).tau[0])
    assert order.tau == pytest.approx(taus[0])
    assert order.p == pytest.approx(np.mean(np.array(taus) <= taus[0] + 1e-12), abs=0.03)
    assert order.expected == pytest.approx(np.mean(taus), abs=0.04)


def test_marks_at_random_are_no_finding() -> None:
    rng, hits = np.random.default_rng(1), 0
    for seed in range(40):
        p = found(values(6, 30, seed)[:, rng.permutation(30)], 9).p
        hits += p is not None and p <= 0.05
    assert hits <= 6  # of 40 at 5 %, more than 6 are seen once in a hundred times


def test_without_a_clean_query_it_is_undefined() -> None:
    order = found(values(3, 5, seed=1), 5)
    assert (order.tau, order.p) == (None, None)
    assert order.undefined == "no clean query"

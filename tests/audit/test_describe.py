"""Quality by the place of the evidence: PSI by hand, by chance, and where something is planted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from positionbias.audit.describe import PSI, position_rows, psi_of


def task_of(places: np.ndarray) -> Any:
    """As much of a task as a description reads: a passage a query, evidence at these shares."""
    evidence = {
        f"q{number}": SimpleNamespace(relative=place) for number, place in enumerate(places)
    }
    return SimpleNamespace(evidence=SimpleNamespace(by_query=evidence), clusters=list(evidence))


def test_psi_by_hand() -> None:
    assert psi_of(np.array([0.8, 0.6, 0.4])) == pytest.approx(0.5)
    assert np.isnan(psi_of(np.zeros(3)))


def test_means_of_shares_by_hand() -> None:
    places = np.repeat([0.0, 0.25, 0.5, 1.0, np.nan], [20, 20, 30, 10, 7])
    values = np.repeat([0.9, 0.5, 0.4, 0.2, 1.0], [20, 20, 30, 10, 7])
    first, second, psi = position_rows(task_of(places), values, "nDCG@10", 1)
    assert (first["label"], first["at"], first["count"]) == ("0.00 to 0.50", 0.25, 40)
    assert (second["label"], second["count"]) == ("0.50 to 1.00", 40)
    assert [first["value"], second["value"]] == pytest.approx([0.7, 0.35])
    assert (psi["statistic"], psi["count"]) == (PSI, 80)
    assert psi["value"] == pytest.approx(0.5)
    assert psi["p"] == pytest.approx(1 / 1001)


def test_a_share_of_few_queries_is_left_out_and_one_alone_has_no_psi() -> None:
    places = np.repeat([0.1, 0.9], [60, 19])
    share, psi = position_rows(task_of(places), np.ones(79), "RR", 1)
    assert share["count"] == psi["count"] == 60
    assert (psi["value"], psi["reason"]) == (None, "fewer than two shares with 20 queries")


def test_p_is_below_5_in_a_hundred_about_as_often_where_places_say_nothing() -> None:
    rng = np.random.default_rng(3)
    found = [
        position_rows(task_of(rng.random(120)), rng.random(120), "RR", seed)[-1]
        for seed in range(60)
    ]
    assert sum(row["p"] < 0.05 for row in found) <= 9  # 3 are due; more than 9 once in 2,000
    assert np.mean([row["value"] - row["expected"] for row in found]) == pytest.approx(0, abs=0.02)

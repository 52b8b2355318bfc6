"""The simulation does what it says: who can find what, and how often."""

from __future__ import annotations

import pytest

from positionbias.pooling.simulated import Simulation, simulated_runs

SETTINGS = Simulation(rate=0.4, queries=100, groups=4)


def counts(simulation: Simulation) -> dict[str, dict[str, float]]:
    """By run, the share of ranks that hold a document of each sort."""
    found = {}
    for system, run in simulated_runs(simulation):
        names = [
            passage.partition("-")[0]
            for ranking in run.rankings()
            for passage in ranking.passage_ids
        ]
        found[system.run] = {
            name: names.count(name) / len(names) for name in ("common", "hidden", "other")
        }
    return found


def test_only_neural_runs_find_hidden_documents_at_the_rate_that_is_set() -> None:
    shares = counts(SETTINGS)
    # chances of a relevant document, for both kinds: 0.3, 0.433, 0.567, 0.7, over 1,000 ranks
    for group, chance in enumerate((0.3, 0.3 + 0.4 / 3, 0.3 + 0.8 / 3, 0.7)):
        old, new = shares[f"traditional-{group}"], shares[f"neural-{group}"]
        assert old["hidden"] == 0
        assert old["common"] == pytest.approx(chance, abs=0.05)
        assert new["hidden"] == pytest.approx(0.4 * chance, abs=0.05)
        assert new["common"] == pytest.approx(0.6 * chance, abs=0.05)

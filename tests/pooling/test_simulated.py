"""The simulation does what it says: who can find what, and how often; every document is judged."""

from __future__ import annotations

from collections import Counter

import pytest

from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs


def test_only_neural_runs_find_hidden_documents_at_the_rate_that_is_set() -> None:
    settings = Simulation(rate=0.4, queries=100, groups=4)
    judged = {qrel[:2]: qrel.grade for qrel in simulated_qrels(settings)}
    assert len(judged) == 100 * (15 + 15 + 100)
    for place, (system, run) in enumerate(simulated_runs(settings)):
        ranked = [(r.query_id, passage) for r in run.rankings() for passage in r.passage_ids]
        assert all(judged[key] == (not key[1].startswith("other")) for key in ranked)
        counts = Counter(passage.partition("-")[0] for _, passage in ranked)
        # of 1,000 ranks; chances of a relevant document, for both kinds: 0.3, 0.433, 0.567, 0.7
        relevant = 300 + 400 / 3 * (place % 4)
        hidden = 0.4 if system.kind == "neural" else 0.0
        assert counts["hidden"] == pytest.approx(hidden * relevant, abs=50 * (hidden > 0))
        assert counts["common"] == pytest.approx((1 - hidden) * relevant, abs=50)

"""Which passages of a query are relevant, by its judgements."""

from __future__ import annotations

from positionbias.core.records import Qrel, relevant_passages


def test_relevant_passages_stand_once_in_the_order_of_the_judgements() -> None:
    qrels = [
        Qrel("q", "b", 2),
        Qrel("r", "a", 1),
        Qrel("q", "a", 1),
        Qrel("q", "b", 1),
        Qrel("q", "c", 0),
        Qrel("s", "c", 0),
    ]
    assert relevant_passages(qrels) == {"q": ("b", "a"), "r": ("a",)}
    assert relevant_passages(qrels, 2) == {"q": ("b",)}

"""Sample test queries by a seed, whatever was retrieved for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from positionbias.core.collection import Collection
from positionbias.core.records import Qrel
from positionbias.core.seeds import drawn_order

__all__ = ["drawn_queries", "judgements"]


def drawn_queries(qrels: Iterable[Qrel], number: int, seed: int) -> set[str]:
    """Draw ``number`` of the judged queries, or all if there are fewer."""
    judged = {qrel.query_id for qrel in qrels}
    return set(drawn_order(judged, seed, "test queries")[:number])


def judgements(
    collection: Collection, tests: Sequence[str], number: int | None, seed: int
) -> list[Qrel]:
    """Return the judgements of the test splits; with a ``number``, of so many drawn queries of
    each.
    """
    found = []
    for split in tests:
        qrels = list(collection.qrels(split))
        drawn = None if number is None else drawn_queries(qrels, number, seed)
        found += [qrel for qrel in qrels if drawn is None or qrel.query_id in drawn]
    return found

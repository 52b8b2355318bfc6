"""Plan a control for a planted test set that a model may have seen: unpublished queries.

A *fresh* query asks about a new thing; its thing, id and wording have their own random keys, so
that no other query changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

from positionbias.core.seeds import key64
from positionbias.planted.grammar import ATTRIBUTES, PlantedQuery, Thing, question

FRESH = "fresh"


def plan_fresh(
    number: int, taken: Collection[int], things: int, thing: Callable[[int], Thing], seed: int
) -> list[PlantedQuery]:
    """Plan ``number`` queries of the split ``fresh``; ``taken`` are the numbers, below ``things``,
    of things used elsewhere.
    """
    free = sorted(set(range(things)).difference(taken))
    queries = []
    for place, drawn in enumerate(Random(key64(seed, "planted fresh things")).sample(free, number)):
        own = Random(key64(seed, "planted fresh query", place))
        attribute = own.choice(list(ATTRIBUTES))
        query_id = f"q{key64(seed, 'planted query id', FRESH, place):016x}"
        queries.append(
            PlantedQuery(
                query_id, question(own, thing(drawn), attribute), FRESH, thing(drawn), attribute
            )
        )
    return queries

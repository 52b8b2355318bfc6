"""What a planted test set is held against where a model may have seen it: its queries in other words, and queries that nobody has published.

A *paraphrase* asks what a test query asks in one of the grammar's four ways, under the same id and with the same judgements, so that the two can
be paired. A *fresh* query asks for a thing of its own; things, ids and wordings are drawn by keys of their own, so that those of all other queries stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random

from positionbias.core.records import Query
from positionbias.core.seeds import key64
from positionbias.planted.grammar import ATTRIBUTES, WAYS, PlantedQuery, Thing, question, reworded

__all__ = ["FRESH", "PARAPHRASED", "paraphrases", "plan_fresh"]

FRESH = "fresh"
PARAPHRASED = "paraphrased"


def paraphrases(tests: Sequence[PlantedQuery], seed: int) -> list[Query]:
    """Each test query in other words, in the same order; the field ``way`` says how."""
    found = []
    for query in tests:
        random = Random(key64(seed, "planted paraphrase", query.query_id))
        way = random.choice(WAYS)
        text = reworded(random, way, query.text, query.thing, query.attribute)
        found.append(Query(query.query_id, text, {"thing": str(query.thing), "attribute": query.attribute, "way": way}))
    return found


def plan_fresh(
    number: int, taken: Collection[int], things: int, thing: Callable[[int], Thing], seed: int
) -> list[PlantedQuery]:
    """``number`` queries of the split ``fresh``; ``taken`` are the numbers, of ``things`` in all, of what others ask or speak of."""
    free = sorted(set(range(things)).difference(taken))
    queries = []
    for place, drawn in enumerate(Random(key64(seed, "planted fresh things")).sample(free, number)):
        own = Random(key64(seed, "planted fresh query", place))
        attribute = own.choice(list(ATTRIBUTES))
        query_id = f"q{key64(seed, 'planted query id', FRESH, place):016x}"
        queries.append(PlantedQuery(query_id, question(own, thing(drawn), attribute), FRESH, thing(drawn), attribute))
    return queries

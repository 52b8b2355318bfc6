"""Plan controls for a planted test set that a model may have seen: paraphrases of its queries, and
unpublished queries.

A *paraphrase* rewords a test query in one of the grammar's four ways, with the same id and
judgements, so that the two can be paired. A *fresh* query asks about a new thing; its thing, id and
wording have their own random keys, so that no other query changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random

from positionbias.core.records import Query
from positionbias.core.seeds import key64
from positionbias.planted.grammar import ATTRIBUTES, WAYS, PlantedQuery, Thing, question, reworded

FRESH = "fresh"
PARAPHRASED = "paraphrased"


def paraphrases(tests: Sequence[PlantedQuery], seed: int) -> list[Query]:
    """Reword each test query, in the same order; the field ``way`` says how."""
    found = []
    for query in tests:
        random = Random(key64(seed, "planted paraphrase", query.query_id))
        way = random.choice(WAYS)
        text = reworded(random, way, query.text, query.thing, query.attribute)
        found.append(
            Query(
                query.query_id,
                text,
                {"thing": str(query.thing), "attribute": query.attribute, "way": way},
            )
        )
    return found


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

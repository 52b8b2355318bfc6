"""Plant train–test leakage: training queries that reword test queries, and the list of these pairs.

Leaks go through the test queries in a keyed order, all once before any twice, each time in another
of the 4 ways. So n leaks reach min(n, test queries) test queries, with at most 4 per test query.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from positionbias.core.seeds import key64
from positionbias.planted.grammar import WAYS, PlantedQuery, reworded

TRUE_PAIRS = "pairs.jsonl"  # in the collection's folder, where readers of pairs look
MOST_PER_QUERY = len(WAYS)


class Leak(NamedTuple):
    """A training query that repeats a test query; ``way`` is one of ``grammar.WAYS``."""

    query_id: str
    text: str
    repeats: PlantedQuery
    way: str


def plan_leaks(tests: Sequence[PlantedQuery], number: int, seed: int) -> list[Leak]:
    """Plan ``number`` leaks of ``tests``, in order of their ids."""
    order = sorted(tests, key=lambda query: key64(seed, "planted leaks", query.query_id))
    leaks = []
    for place in range(number):
        turn, index = divmod(place, len(order))
        query, way = order[index], WAYS[(index + turn) % len(WAYS)]
        random = Random(key64(seed, "planted leak", query.query_id, way))
        query_id = f"q{key64(seed, 'planted query id', query.query_id, way):016x}"
        leaks.append(
            Leak(
                query_id,
                reworded(random, way, query.text, query.thing, query.attribute),
                query,
                way,
            )
        )
    return sorted(leaks, key=lambda leak: leak.query_id)


def write_true_pairs(place: Path, leaks: Sequence[Leak]) -> None:
    """Write the true pairs, labelled with their way, as JSON lines for ``posbias leakage`` and
    ``trainset leaked``.
    """
    with open(place, "w", encoding="utf-8", newline="\n") as lines:
        for leak in leaks:
            record = {
                "train_id": leak.query_id,
                "test_id": leak.repeats.query_id,
                "field": "query",
                "train_text": leak.text,
                "test_text": leak.repeats.text,
                "label": leak.way,
            }
            lines.write(json.dumps(record) + "\n")

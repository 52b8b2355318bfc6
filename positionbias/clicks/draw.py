"""Triples of the queries of one block of a run: drawn, keyed, and written to a file of their own in the order of their keys.

A triple is a record of 24 bytes: its key, the place of its query in the split, the rows of its passages in the collection, and whether the negative was
judged (not relevant). The key is a hash of seed and ids, so the order of all keys is a shuffle that no worker, block or order of the run can change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.clicks.judged import JudgedQuery, Which, judged_queries
from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.negatives import draw_negatives, without
from positionbias.core.run import Ranking, rankings_of
from positionbias.core.seeds import keys64

__all__ = ["COUNTS", "TRIPLE", "draw_block"]

TRIPLE = np.dtype([("key", "<u8"), ("query", "<u4"), ("positive", "<u4"), ("negative", "<u4"), ("judged", "<u4")])
_ORDER = "order of triples"
COUNTS = (
    "queries with candidates",
    "queries with all negatives",
    "queries with fewer negatives",
    "queries without a negative",
    "queries without a positive in the corpus",
    "positives of queries with candidates",
    "positives missing from the corpus",
    "candidates left out as relevant",
    "negatives drawn again for another positive",
    "triples drawn",
)


class _Drawn(NamedTuple):
    """The negatives of one positive of a query; ``pool`` of the query's candidates could be drawn."""

    query_id: str
    query: JudgedQuery
    positive: str
    negatives: list[str]
    pool: int


def draw_block(which: Which, negatives: int, depth: int | None, seed: int, block: Block, path: Path) -> Mapping[str, Any]:
    """Write the triples of a block's queries to ``path``, sorted by key; gives ``COUNTS`` and the places of its queries.

    A query with a positive and candidates counts once: with all negatives, with fewer, without one, or without a positive in the corpus.

    Raises:
        InputError: candidates of a query or passage that is not there; a run that cannot be read.
    """
    judged, collection = judged_queries(which), _collection(which)
    counts = Counter(dict.fromkeys(COUNTS, 0))
    drawn: list[_Drawn] = []
    places = []
    for ranking in rankings_of(block):
        query = judged.get(ranking.query_id)
        if query is None:
            raise _of_another(block, which, f"queries of split {which.split!r}", f"query {ranking.query_id!r}")
        places.append(query.place)
        counts["queries with candidates"] += 1
        if query.positives:
            _draw(drawn, ranking, query, negatives, depth, seed, counts)
    present = collection.find([item.positive for item in drawn])
    _count_queries(drawn, present, negatives, counts)
    triples = _records(drawn, present, which, collection, block, seed, counts)
    with open(path, "wb") as handle:  # numpy's tofile does not say so where the last of it does not reach the disk
        handle.write(triples.view(np.uint8).data)
    return {"counts": dict(counts), "places": _ranges(places)}


@lru_cache(maxsize=1)
def _collection(which: Which) -> Collection:
    return Collection(which.path)


def _draw(
    drawn: list[_Drawn],
    ranking: Ranking,
    query: JudgedQuery,
    negatives: int,
    depth: int | None,
    seed: int,
    counts: Counter[str],
) -> None:
    candidates = ranking.passage_ids[:depth]
    pool = without(candidates, query.relevant)
    counts["positives of queries with candidates"] += len(query.positives)
    counts["candidates left out as relevant"] += len(candidates) - len(pool)
    for positive in query.positives:
        chosen = draw_negatives(pool, negatives, seed, ranking.query_id, positive)
        drawn.append(_Drawn(ranking.query_id, query, positive, chosen, len(pool)))


def _count_queries(drawn: list[_Drawn], present: np.ndarray, negatives: int, counts: Counter[str]) -> None:
    """``present``: the row of each positive, ``(len(drawn),)``, −1 where the corpus lacks it."""
    pools = {item.query_id: item.pool for item in drawn}
    with_positive = {item.query_id for item, row in zip(drawn, present.tolist(), strict=True) if row >= 0}
    counts["positives missing from the corpus"] += int((present < 0).sum())
    for query_id, pool in pools.items():
        if query_id not in with_positive:
            counts["queries without a positive in the corpus"] += 1
        elif pool >= negatives:
            counts["queries with all negatives"] += 1
        else:
            counts["queries with fewer negatives" if pool else "queries without a negative"] += 1


def _records(
    drawn: list[_Drawn],
    present: np.ndarray,
    which: Which,
    collection: Collection,
    block: Block,
    seed: int,
    counts: Counter[str],
) -> np.ndarray:
    """The drawn triples whose positive is in the collection, in the order of their keys."""
    kept = [(row, item) for row, item in zip(present.tolist(), drawn, strict=True) if row >= 0]
    ids = [negative for _, item in kept for negative in item.negatives]
    distinct = list(dict.fromkeys(ids))
    rows = collection.find(distinct)
    if len(rows) and rows.min() < 0:
        unknown = distinct[int(np.flatnonzero(rows < 0)[0])]
        raise _of_another(block, which, f"passages of {collection.name}", f"passage {unknown!r}")
    row_of = dict(zip(distinct, rows.tolist(), strict=True))
    sizes = [len(item.negatives) for _, item in kept]
    triples = np.zeros(len(ids), TRIPLE)
    triples["query"] = np.repeat(np.array([item.query.place for _, item in kept], np.uint32), sizes)
    triples["positive"] = np.repeat(np.array([row for row, _ in kept], np.uint32), sizes)
    triples["negative"] = np.fromiter((row_of[item] for item in ids), np.uint32, len(ids))
    judged = (negative in item.query.others for _, item in kept for negative in item.negatives)
    triples["judged"] = np.fromiter(judged, np.uint32, len(ids))
    names = [f"{item.query_id}\x1f{item.positive}\x1f{other}".encode() for _, item in kept for other in item.negatives]
    triples["key"] = keys64(seed, _ORDER, names)
    pairs = triples["query"].astype(np.uint64) << np.uint64(32) | triples["negative"]
    counts["negatives drawn again for another positive"] += len(pairs) - len(np.unique(pairs))
    counts["triples drawn"] += len(triples)
    return np.sort(triples, order=list(TRIPLE.names or ()))


def _ranges(places: list[int]) -> list[list[int]]:
    """Numbers as ranges [first, last], in order: a run mostly keeps the order of the queries."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


def _of_another(block: Block, which: Which, wanted: str, found: str) -> InputError:
    do = "check --split, and that --candidates were retrieved from this collection"
    return bad_input(block.source, wanted=wanted, found=found, do=do)

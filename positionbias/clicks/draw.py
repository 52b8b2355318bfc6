"""Draw and key the triples of one block of a run's queries, and write them to a file in the order
of their keys.

A triple is a record of 24 bytes: its key, the place of its query in the split, the rows of its
passages in the collection, and a flag for a judged (not relevant) negative. The key is a hash of
seed and ids, so the order of keys is a shuffle independent of workers, blocks and the run's order.
A block is held as columns of numbers, one per candidate, query, pair of query and positive, or
triple; only drawn triples get ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.clicks.judged import Listed, Which, judgements, opened
from positionbias.core.blocks import Block
from positionbias.core.errors import InputError, bad_input
from positionbias.core.negatives import draw_many
from positionbias.core.ranked_blocks import Rankings, block_rankings
from positionbias.core.seeds import keys64

__all__ = ["COUNTS", "TRIPLE", "WITH_POSITIVE", "DrawnBlock", "by_key", "draw_block"]

TRIPLE = np.dtype(
    [("key", "<u8"), ("query", "<u4"), ("positive", "<u4"), ("negative", "<u4"), ("judged", "<u4")]
)
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
WITH_POSITIVE = COUNTS[1:5]  # outcomes of a query with a positive and candidates


class _Candidates(NamedTuple):
    """The possible negatives of a block: the query of each, and where each query's begin."""

    places: np.ndarray  # (queries,) places in the split
    query: np.ndarray  # (candidates,)
    passage_ids: pa.StringArray  # (candidates,)
    left_out: int  # that are relevant

    @property
    def sizes(self) -> np.ndarray:
        """Return the number of candidates of each query, ``(queries,)``."""
        return np.bincount(self.query, minlength=len(self.places))


class _Pairs(NamedTuple):
    """The pairs of query and positive in a block: the query's number, both ids, and the positive's
    row, −1 if not in the corpus.
    """

    query: np.ndarray  # (pairs,)
    names: list[bytes]  # query id, \x1f, positive
    rows: np.ndarray  # (pairs,)


@dataclass(frozen=True, slots=True)
class DrawnBlock:
    """The counts of a block (``COUNTS``), and its queries' places as ranges."""

    counts: Mapping[str, int]
    places: list[list[int]]


def draw_block(
    which: Which, negatives: int, depth: int | None, seed: int, block: Block, path: Path
) -> DrawnBlock:
    """Write the triples of a block's queries to ``path``, sorted by key; return counts and the
    queries' places.

    A query with a positive and candidates counts once: with all negatives, with fewer, without one,
    or without a positive in the corpus.

    Raises:
        InputError: candidates with an unknown query or passage, or an unreadable run.
    """
    rankings = block_rankings(block)
    places = _places(which, block, rankings.query_ids)
    pairs = _pairs(which, rankings.query_ids, places)
    candidates = _candidates(which, rankings, places, depth, pairs)
    triples = _triples(which, block, candidates, pairs, negatives, seed)
    # numpy's tofile does not report it if the last bytes do not reach the disk
    with open(path, "wb") as handle:
        handle.write(by_key(triples).view(np.uint8).data)
    counts = {
        "queries with candidates": len(places),
        **_counts(candidates, pairs, negatives),
        **_drawn(triples),
    }
    return DrawnBlock(counts, _ranges(places.tolist()))


def _places(which: Which, block: Block, query_ids: Sequence[str]) -> np.ndarray:
    known = judgements(which).places
    if unknown := next((query_id for query_id in query_ids if query_id not in known), None):
        raise _of_another(block, which, f"queries of split {which.split!r}", f"query {unknown!r}")
    return np.array([known[query_id] for query_id in query_ids], np.int64)


def _pairs(which: Which, query_ids: Sequence[str], places: np.ndarray) -> _Pairs:
    query, positives = judgements(which).positives.of(places)
    # a judgement may occur twice
    pairs = list(dict.fromkeys(zip(query.tolist(), positives, strict=True)))
    names = [f"{query_ids[number]}\x1f{positive}".encode() for number, positive in pairs]
    rows = opened(which).find([positive for _, positive in pairs])
    return _Pairs(np.array([number for number, _ in pairs], np.int64), names, rows)


def _candidates(
    which: Which, rankings: Rankings, places: np.ndarray, depth: int | None, pairs: _Pairs
) -> _Candidates:
    """Return the possible negatives: the first ``depth`` candidates of each query with a positive,
    without relevant ones.
    """
    sizes = np.diff(rankings.starts)
    query, rank = (
        np.repeat(np.arange(len(sizes)), sizes),
        np.arange(rankings.starts[-1]) - np.repeat(rankings.starts[:-1], sizes),
    )
    within = np.isin(np.arange(len(sizes)), pairs.query)[query]
    if depth is not None:
        within &= rank < depth
    relevant = within & _among(judgements(which).relevant, places, query, rankings.passage_ids)
    kept = np.flatnonzero(within & ~relevant)
    return _Candidates(places, query[kept], rankings.passage_ids.take(kept), int(relevant.sum()))


def _among(
    judged: Listed, places: np.ndarray, query: np.ndarray, passage_ids: pa.StringArray
) -> np.ndarray:
    """Return the mask of these (query, passage) pairs that are in ``judged``,
    ``(len(passage_ids),)`` bool.
    """
    numbers, ids = judged.of(places)
    found = pc.is_in(passage_ids, value_set=pa.array(ids, pa.string())).to_numpy(
        zero_copy_only=False
    )
    # judged for some query of the block: check that it is the same query
    maybe = np.flatnonzero(found)
    pairs = set(zip(numbers.tolist(), ids, strict=True))
    own = zip(query[maybe].tolist(), passage_ids.take(pa.array(maybe)).to_pylist(), strict=True)
    found[maybe] = [pair in pairs for pair in own]
    return found


def _triples(
    which: Which, block: Block, candidates: _Candidates, pairs: _Pairs, negatives: int, seed: int
) -> np.ndarray:
    """Return the triples of the positives in the collection, ``TRIPLE``, pair by pair."""
    here = np.flatnonzero(pairs.rows >= 0)
    query, names = pairs.query[here], [pairs.names[pair] for pair in here.tolist()]
    sizes = candidates.sizes
    drawn = draw_many(sizes[query], negatives, seed, names)
    pair, _ = np.nonzero(drawn >= 0)
    lines = (np.cumsum(sizes) - sizes)[query[pair]] + drawn[drawn >= 0]
    passage_ids = candidates.passage_ids.take(pa.array(lines))
    negative_ids = passage_ids.to_pylist()
    triples = np.zeros(len(lines), TRIPLE)
    triples["key"] = keys64(
        seed,
        _ORDER,
        [
            b"%b\x1f%b" % (names[n], i.encode())
            for n, i in zip(pair.tolist(), negative_ids, strict=True)
        ],
    )
    triples["query"] = candidates.places[query[pair]]
    triples["positive"] = pairs.rows[here][pair]
    triples["negative"] = _rows(which, block, negative_ids)
    triples["judged"] = _among(
        judgements(which).others, candidates.places, query[pair], passage_ids
    )
    return triples


def _rows(which: Which, block: Block, passage_ids: Sequence[str]) -> np.ndarray:
    rows = opened(which).find(passage_ids)
    if (rows < 0).any():
        unknown = passage_ids[int(np.flatnonzero(rows < 0)[0])]
        raise _of_another(block, which, f"passages of {opened(which).name}", f"passage {unknown!r}")
    return rows


def by_key(triples: np.ndarray) -> np.ndarray:
    """Sort triples by key; equal keys, one in 10¹² pairs of triples, by all fields."""
    triples = triples[np.argsort(triples["key"])]
    if len(triples) and (triples["key"][1:] == triples["key"][:-1]).any():
        triples = np.sort(triples, order=list(TRIPLE.names or ()))
    return triples


def _counts(candidates: _Candidates, pairs: _Pairs, negatives: int) -> dict[str, int]:
    every, present = np.unique(pairs.query), np.unique(pairs.query[pairs.rows >= 0])
    pools = candidates.sizes[present]
    return {
        "queries with all negatives": int((pools >= negatives).sum()),
        "queries with fewer negatives": int(((pools > 0) & (pools < negatives)).sum()),
        "queries without a negative": int((pools == 0).sum()),
        "queries without a positive in the corpus": len(every) - len(present),
        "positives of queries with candidates": len(pairs.rows),
        "positives missing from the corpus": int((pairs.rows < 0).sum()),
        "candidates left out as relevant": candidates.left_out,
    }


def _drawn(triples: np.ndarray) -> dict[str, int]:
    negatives = np.sort(triples["query"].astype(np.uint64) << np.uint64(32) | triples["negative"])
    again = int((negatives[1:] == negatives[:-1]).sum())
    return {"negatives drawn again for another positive": again, "triples drawn": len(triples)}


def _ranges(places: list[int]) -> list[list[int]]:
    """Compress numbers to ranges [first, last], in order, as a run mostly keeps the order of the
    queries.
    """
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

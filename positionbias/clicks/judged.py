"""The judgements of a split by query, in columns: held while negatives are drawn, some 20 bytes a judgement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.collection import Collection

__all__ = ["Judgements", "Listed", "Which", "judgements", "opened", "query_ids"]


class Which(NamedTuple):
    """The key of judgements: a collection's path and checksum, a split, a judgement set of it, the lowest grade of a positive.

    ``state`` distinguishes collections of the same content in another order, which the checksum does not.
    """

    path: str
    checksum: str
    split: str
    qrels_name: str | None
    relevant_from: int
    state: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Passages by query, in the order of the judgements: those of query p from ``starts[p]`` to ``starts[p + 1]``."""

    starts: np.ndarray
    passage_ids: pa.StringArray

    def of(self, places: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """The passages of these queries in sequence, and for each the index of its query in ``places``."""
        sizes = self.starts[places + 1] - self.starts[places]
        query = np.repeat(np.arange(len(places)), sizes)
        within = np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return query, self.passage_ids.take(pa.array(self.starts[places][query] + within)).to_pylist()


class Judgements(NamedTuple):
    """Places of queries in the split, positives, and the passages that any judgement set has as relevant at any grade, or as not relevant."""

    places: dict[str, int]
    positives: Listed
    relevant: Listed
    others: Listed


@lru_cache(maxsize=1)
def opened(which: Which) -> Collection:
    """Open the collection, whose shards and index are mapped once a process."""
    return Collection(which.path)


@lru_cache(maxsize=1)
def query_ids(which: Which) -> pa.StringArray:
    """Read the ids of the split's queries, in stored order."""
    return pa.array([query_id for query_id, _ in opened(which).query_texts(which.split)], pa.string())


@lru_cache(maxsize=1)
def judgements(which: Which) -> Judgements:
    """Read all judgements of the split's queries."""
    collection = opened(which)
    names = (None, *collection.qrels_names(which.split))
    positive = collection.qrel_table(which.split, which.qrels_name)
    every = pa.concat_tables(collection.qrel_table(which.split, name) for name in names)
    return Judgements(
        {query_id: place for place, query_id in enumerate(query_ids(which).to_pylist())},
        _listed(which, positive.filter(pc.greater_equal(positive["grade"], which.relevant_from))),
        _listed(which, every.filter(pc.greater(every["grade"], 0))),
        _listed(which, every.filter(pc.less_equal(every["grade"], 0))),
    )


def _listed(which: Which, qrels: pa.Table) -> Listed:
    places = pc.index_in(qrels["query_id"], value_set=query_ids(which)).to_numpy()
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(len(query_ids(which)) + 1))
    return Listed(starts, qrels["passage_id"].combine_chunks().take(pa.array(order)))

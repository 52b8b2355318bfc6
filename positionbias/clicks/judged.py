"""Hold the judgements of a split in columns, by query, while negatives are drawn: about 20 bytes
per judgement.
"""

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
    """The key of judgements: a collection's path and checksum, a split, its judgement set, and the
    lowest grade of a positive.

    ``state`` distinguishes collections with the same content in another order, which the checksum
    does not.
    """

    path: str
    checksum: str
    split: str
    qrels_name: str | None
    relevant_from: int
    state: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Passages by query, in the order of the judgements: query p's from ``starts[p]`` to
    ``starts[p + 1]``.
    """

    starts: np.ndarray
    passage_ids: pa.StringArray

    def of(self, places: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Return, for each passage of these queries in sequence, the index of its query in
        ``places``, and its id.
        """
        sizes = self.starts[places + 1] - self.starts[places]
        query = np.repeat(np.arange(len(places)), sizes)
        within = np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return query, self.passage_ids.take(
            pa.array(self.starts[places][query] + within)
        ).to_pylist()


class Judgements(NamedTuple):
    """Places of queries in the split, positives, passages judged relevant (in any judgement set, at
    any grade), and passages judged not relevant.
    """

    places: dict[str, int]
    positives: Listed
    relevant: Listed
    others: Listed


@lru_cache(maxsize=1)
def opened(which: Which) -> Collection:
    """Open the collection, mapping its shards and index once per process."""
    return Collection(which.path)


@lru_cache(maxsize=1)
def query_ids(which: Which) -> pa.StringArray:
    """Read the ids of the split's queries, in stored order."""
    return pa.array(
        [query_id for query_id, _ in opened(which).query_texts(which.split)], pa.string()
    )


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

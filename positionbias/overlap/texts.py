"""The texts of one side of a search: a split's queries and its judged passages, or all passages of
a collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from positionbias.core.collection import Collection
from positionbias.core.split_tables import QRELS
from positionbias.overlap.settings import PASSAGES, OverlapSettings

_ROWS = 1 << 15  # passages of a block
_AT_ONCE = 2_048


@dataclass(frozen=True)
class TextSet:
    """The queries of a collection's split and its judged passages; all passages where it has no
    judgements, or all are wanted.

    In a test set judged means of grade ``relevant_from`` or higher, in a training set named by a
    judgement.
    """

    name: str
    collection: Collection
    split: str
    settings: OverlapSettings
    test: bool

    def blocks(self, unit: str) -> Iterator[Block]:
        """Yield its passages, or its queries, in blocks that processes read by themselves."""
        if unit == PASSAGES:
            rows = self._rows()
            for start in range(0, len(rows), _ROWS):
                yield Block(self, f"{self.name} {start}", rows[start : start + _ROWS])
        elif (facts := self.collection.split_facts.get(self.split)) and facts.queries:
            yield Block(self, f"{self.name} queries")

    def texts(self, unit: str, most: int | None = None) -> DataFrame:
        """Return its first texts, about ``most`` or all, with their ids and the set's name."""
        batches = (batch for block in self.blocks(unit) for batch in block.batches())
        first = islice(batches, most and most // _AT_ONCE)
        none = DataFrame({"id": [], "text": []}, dtype=object)
        return pandas.concat([none, *first], ignore_index=True).assign(set=self.name)

    def _rows(self) -> np.ndarray:
        """Return the rows of the passages in the collection."""
        judged = self._judged()
        if self.settings.all_passages or not len(judged):
            return np.arange(len(self.collection))
        judged = self._relevant(judged) if self.test else judged
        rows = self.collection.find(pc.unique(judged["passage_id"]).to_pylist())
        return np.sort(rows[rows >= 0])

    def _judged(self) -> pa.Table:
        known = self.split in self.collection.splits
        return self.collection.table("qrels", self.split) if known else QRELS.empty_table()

    def _relevant(self, judged: pa.Table) -> pa.Table:
        return judged.filter(pc.greater_equal(judged["grade"], self.settings.relevant_from))

    def links(self) -> DataFrame:
        """Return the ids of its queries with their relevant passages: query_id, passage_id."""
        judged = self._relevant(self._judged())
        return judged.select(["query_id", "passage_id"]).to_pandas().drop_duplicates()


@dataclass(frozen=True, eq=False)
class Block:
    """The passages of a set at these rows of its collection; without rows its queries. A job finds
    it again by its ``name``.
    """

    of: TextSet
    name: str
    rows: np.ndarray | None = None

    def fingerprint(self) -> str:
        return self.name

    def batches(self) -> Iterator[DataFrame]:
        """Yield its texts with their ids, some at once."""
        collection, rows = self.of.collection, self.rows
        if rows is None:
            table = collection.table("queries", self.of.split, ["query_id", "text"])
            for batch in table.to_batches(_AT_ONCE):
                yield batch.rename_columns(["id", "text"]).to_pandas().astype(object)
            return
        for part in np.split(rows, range(_AT_ONCE, len(rows), _AT_ONCE)):
            texts = {"id": collection.passage_ids_at(part), "text": collection.texts_at(part)}
            yield DataFrame(texts, dtype=object)

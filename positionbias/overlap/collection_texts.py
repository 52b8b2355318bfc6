"""The texts of a collection: a split's queries and its judged passages, or all passages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.closest import or_closest
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.input_state import file_mark
from positionbias.core.manifest import MANIFEST
from positionbias.core.shards import read_shard
from positionbias.overlap.detectors import Texts
from positionbias.overlap.normal import Encoded
from positionbias.overlap.settings import PASSAGES, OverlapSettings

__all__ = ["BATCH", "CollectionTexts", "PassageBlock", "QueryBlock", "ShardBlock"]

BATCH = 2_048  # texts compared at once: their arrays fit a processor's cache
_ROWS = 1 << 15  # judged passages of a block


@dataclass(frozen=True)
class CollectionTexts:
    """The queries of a collection's split and its judged passages; all passages where it has no
    judgements, or all are wanted.

    In a test set judged means of grade ``relevant_from`` or higher, in a training set named by a
    judgement.
    """

    name: str
    collection: Collection
    split: str
    relevant_from: int
    all_passages: bool
    test: bool

    @staticmethod
    def of(
        collection: Collection, split: str, name: str, settings: OverlapSettings, *, test: bool
    ) -> CollectionTexts:
        """Return a collection's texts.

        Raises:
            InputError: no such split.
        """
        if collection.splits and split not in collection.splits:
            do = or_closest(split, collection.splits, f"name one: {collection.name}:SPLIT")
            raise bad_input(
                collection.path,
                wanted=f"a split {split!r}",
                found=", ".join(collection.splits),
                do=do,
            )
        lowest = settings.relevant_from if test else 1
        own = f"{collection.name}.{split}" if collection.splits else collection.name
        return CollectionTexts(name or own, collection, split, lowest, settings.all_passages, test)

    @property
    def place(self) -> Path:
        return self.collection.path

    @property
    def checksum(self) -> str:
        return self.collection.checksum

    @property
    def corpus(self) -> str:
        return self.collection.passages_checksum

    def blocks(self, unit: str) -> Iterator[PassageBlock | ShardBlock | QueryBlock]:
        """Yield rows or shards of the collection's passages, or its queries."""
        path = str(self.collection.path.absolute())
        state = repr(sorted(file_mark(self.collection.path / MANIFEST).items()))
        if unit != PASSAGES:
            if self.split in self.collection.splits:
                yield QueryBlock(path, state, self.split)
            return
        rows = self._rows()
        if rows is None:
            yield from (ShardBlock(shard) for shard in self.collection.shard_paths)
            return
        for start in range(0, len(rows), _ROWS):
            yield PassageBlock(path, state, rows[start : start + _ROWS])

    def _rows(self) -> np.ndarray | None:
        """Return the rows of the judged passages; None for all."""
        judged = self._judged(self.relevant_from if self.test else None)
        if self.all_passages or judged is None:
            return None
        found = self.collection.find(pc.unique(judged["passage_id"]).to_pylist())
        return np.sort(found[found >= 0])

    def _judged(self, lowest: int | None) -> pa.Table | None:
        """Return the judgements from a grade on; None where the split has none at all."""
        if (
            self.split not in self.collection.splits
            or not (table := self.collection.qrel_table(self.split)).num_rows
        ):
            return None
        return table if lowest is None else table.filter(pc.greater_equal(table["grade"], lowest))

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield the split's queries with their relevant passages."""
        judged = self._judged(self.relevant_from)
        for batch in () if judged is None else judged.to_batches():
            yield from zip(
                batch["query_id"].to_pylist(), batch["passage_id"].to_pylist(), strict=True
            )


@dataclass(frozen=True, slots=True)
class ShardBlock:
    """All passages of a collection's shard."""

    path: Path

    def batches(self) -> Iterator[Texts]:
        """Yield the passages."""
        for whole in read_shard(self.path).to_batches():
            for start in range(0, len(whole), BATCH):
                batch = whole.slice(start, BATCH)
                yield Texts(_encoded(batch.column("passage_id")), _encoded(batch.column("text")))

    def fingerprint(self) -> str:
        """Return the state of the shard."""
        return repr(sorted(file_mark(self.path).items()))


def _encoded(column: pa.StringArray) -> Encoded:
    _, offsets, data = column.buffers()
    if not data:
        return Encoded(b"", [0] * (len(column) + 1))
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return Encoded(data[int(ends[0]) : int(ends[-1])].to_pybytes(), (ends - ends[0]).tolist())


@lru_cache(maxsize=4)
def _opened(path: str, state: str) -> Collection:
    """Return the collection at a path, opened once in each process."""
    return Collection(path)


@dataclass(frozen=True, eq=False)
class PassageBlock:
    """The passages at these rows of a collection in this state."""

    path: str
    state: str
    rows: np.ndarray

    def batches(self) -> Iterator[Texts]:
        """Yield the passages."""
        collection = _opened(self.path, self.state)
        for start in range(0, len(self.rows), BATCH):
            rows = self.rows[start : start + BATCH]
            yield Texts(collection.passage_ids_at(rows), collection.texts_at(rows))

    def fingerprint(self) -> str:
        """Return the state of the collection, and the rows."""
        return f"{self.state} {hashlib.blake2b(self.rows.tobytes(), digest_size=16).hexdigest()}"


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """The queries of a collection's split."""

    path: str
    state: str
    split: str

    def batches(self) -> Iterator[Texts]:
        """Yield the queries."""
        queries = list(_opened(self.path, self.state).query_texts(self.split))
        for start in range(0, len(queries), BATCH):
            ids, texts = zip(*queries[start : start + BATCH], strict=True)
            yield Texts(ids, texts)

    def fingerprint(self) -> str:
        """Return the state of the collection, and the split."""
        return f"{self.state} {self.split}"

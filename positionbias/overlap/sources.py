"""Text sets: where the texts of one side come from, as ``[NAME=]PLACE[:SPLIT]`` names them.

A set gives its texts by unit in blocks, which processes read by themselves. How a set is cut into blocks changes no result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.closest import or_closest
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import bad_input
from positionbias.core.input_state import file_mark
from positionbias.core.manifest import MANIFEST
from positionbias.core.shards import read_shard
from positionbias.overlap.detectors import Texts
from positionbias.overlap.normal import Encoded
from positionbias.overlap.settings import PASSAGES, OverlapSettings

__all__ = ["TextBlock", "TextSet", "text_set"]

_ROWS = 1 << 15  # texts of a block
_BATCH = 2_048  # texts compared at once: their arrays fit a processor's cache


class TextBlock(Protocol):
    """Some texts of a set, picklable."""

    def batches(self) -> Iterator[Texts]:
        """Yield the texts with their ids, a few thousand at once."""

    def fingerprint(self) -> str:
        """Return an identifier of the block across runs."""


class TextSet(Protocol):
    """The texts of a training or test set."""

    @property
    def name(self) -> str:
        """Its name in results and files."""

    @property
    def place(self) -> Path:
        """Where it lies."""

    @property
    def checksum(self) -> str:
        """The checksum of its content."""

    @property
    def corpus(self) -> str:
        """The checksum of the corpus that its passage ids belong to; empty where they belong to none."""

    def blocks(self, unit: str) -> Iterator[TextBlock]:
        """Yield its passages or queries."""

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield (query id, passage id) of its queries with their relevant passages."""


def text_set(given: Collection | Path | str, settings: OverlapSettings, *, test: bool) -> TextSet:
    """Return the set that an argument names; without a split a collection's split test, or train.

    Raises:
        InputError: nothing there, or no such split.
    """
    default = "test" if test else "train"
    if isinstance(given, Collection):
        return CollectionTexts.of(given, default, "", settings, test=test)
    name, place = named_place(str(given))
    folder, _, split = place.rpartition(":") if ":" in place and not Path(place).is_dir() else (place, "", default)
    return CollectionTexts.of(find_collection(folder), split, name, settings, test=test)


def named_place(text: str) -> tuple[str, str]:
    """Split ``NAME=PLACE`` into both; the name may be missing."""
    name, named, place = text.partition("=")
    if not named or not name or "/" in name or Path(text).exists():
        return "", text
    return name, place


@dataclass(frozen=True)
class CollectionTexts:
    """The queries of a collection's split and its judged passages; all passages where it has no judgements, or all are wanted.

    In a test set judged means of grade ``relevant_from`` or higher, in a training set named by a judgement.
    """

    name: str
    collection: Collection
    split: str
    relevant_from: int
    all_passages: bool
    test: bool

    @staticmethod
    def of(collection: Collection, split: str, name: str, settings: OverlapSettings, *, test: bool) -> CollectionTexts:
        """Return a collection's texts.

        Raises:
            InputError: no such split.
        """
        if collection.splits and split not in collection.splits:
            do = or_closest(split, collection.splits, f"name one: {collection.name}:SPLIT")
            raise bad_input(collection.path, wanted=f"a split {split!r}", found=", ".join(collection.splits), do=do)
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

    def blocks(self, unit: str) -> Iterator[TextBlock]:
        """Yield rows of the collection's passages, or its queries."""
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

    def _judged(self, lowest: int | None):  # type: ignore[no-untyped-def]
        """Return the judgements from a grade on; None where the split has none at all."""
        if self.split not in self.collection.splits or not (table := self.collection.qrel_table(self.split)).num_rows:
            return None
        return table if lowest is None else table.filter(pc.greater_equal(table["grade"], lowest))

    def links(self) -> Iterator[tuple[str, str]]:
        judged = self._judged(self.relevant_from)
        for batch in () if judged is None else judged.to_batches():
            yield from zip(batch["query_id"].to_pylist(), batch["passage_id"].to_pylist(), strict=True)


@dataclass(frozen=True, slots=True)
class ShardBlock:
    """All passages of a collection's shard."""

    path: Path

    def batches(self) -> Iterator[Texts]:
        for whole in read_shard(self.path).to_batches():
            for start in range(0, len(whole), _BATCH):
                batch = whole.slice(start, _BATCH)
                yield Texts(_encoded(batch.column("passage_id")), _encoded(batch.column("text")))

    def fingerprint(self) -> str:
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
        collection = _opened(self.path, self.state)
        for start in range(0, len(self.rows), _BATCH):
            rows = self.rows[start : start + _BATCH]
            yield Texts(collection.passage_ids_at(rows), collection.texts_at(rows))

    def fingerprint(self) -> str:
        return f"{self.state} {hashlib.blake2b(self.rows.tobytes(), digest_size=16).hexdigest()}"


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """The queries of a collection's split."""

    path: str
    state: str
    split: str

    def batches(self) -> Iterator[Texts]:
        queries = list(_opened(self.path, self.state).query_texts(self.split))
        for start in range(0, len(queries), _BATCH):
            yield Texts(*zip(*queries[start : start + _BATCH], strict=True))

    def fingerprint(self) -> str:
        return f"{self.state} {self.split}"

"""Read the stored order of a collection's passages from its mapped shards: its checksum, each row's
place by id, ids of rows.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.collection import Collection
from positionbias.core.shards import read_shard


def _chunks(collection: Collection) -> list[pa.Array]:
    return [
        chunk
        for path in collection.shard_paths
        for chunk in read_shard(path).column("passage_id").chunks
        if len(chunk)
    ]


def order_checksum(collection: Collection) -> str:
    """Return a checksum of the passage ids in stored order, independent of shards: equal checksums
    mean the same rows.
    """
    lengths, ids = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    for chunk in _chunks(collection):
        offsets = np.frombuffer(chunk.buffers()[1], np.int32)[
            chunk.offset : chunk.offset + len(chunk) + 1
        ]
        lengths.update(np.diff(offsets).data)
        ids.update(memoryview(chunk.buffers()[2] or b"")[int(offsets[0]) : int(offsets[-1])])
    lengths.update(ids.digest())
    return lengths.hexdigest()


def places_by_id(collection: Collection) -> np.ndarray:
    """Return each row's place when passage ids are sorted in descending order, ``(passages,)``
    int32: the tie rule in numbers.

    Arrow sorts the mapped ids, with about 20 bytes of memory per passage.
    """
    order = pc.sort_indices(
        pa.chunked_array(_chunks(collection), pa.string()), sort_keys=[("", "descending")]
    )
    places = np.empty(len(order), np.int32)
    places[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return places


class StoredIds:
    """Passage ids of any rows, read from the mapped shards on request."""

    def __init__(self, collection: Collection) -> None:
        self._chunks = _chunks(collection)
        self._starts = np.cumsum([0, *map(len, self._chunks)])
        # a text that was asked for is one object, whose hash Python keeps
        self._known = np.empty(self._starts[-1], object)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def of(self, rows: np.ndarray) -> list[str]:
        """Return the ids of these rows, in the given order."""
        new = rows[self._known[rows] == None]  # noqa: E711 (of each place)
        at = np.searchsorted(self._starts, new, side="right") - 1
        for chunk in np.flatnonzero(np.bincount(at)).tolist():
            here = new[at == chunk]
            column = self._chunks[chunk].take(pa.array(here - self._starts[chunk]))
            self._known[here] = column.to_numpy(zero_copy_only=False)
        ids: list[str] = self._known[rows].tolist()
        return ids

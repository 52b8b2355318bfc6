"""Rows of passages by id, from sorted hashes that are mapped, so that no ids are held.

``ids.arrow`` of a collection has the 64-bit hashes of all ids, sorted, and the row of each: 16
bytes a passage. Ids are compared by their hashes alone: an unknown id is taken for one of n
passages with probability n / 2⁶⁴.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.errors import InputError, bad_input
from positionbias.core.seal import AGAIN
from positionbias.core.seeds import keys64
from positionbias.core.shards import PASSAGES, ArrowFiles, check_count, read_shard
from positionbias.core.steps import MapShards

INDEX = "ids.arrow"
_INDEX = pa.schema([("hash", pa.uint64()), ("row", pa.int64())])


class PassageIndex:
    """The rows of passages by id.

    Raises:
        InputError: no index at ``path``, or a damaged one, or one of another number of passages.
    """

    def __init__(self, path: Path, passages: int) -> None:
        index = pa.Table.from_batches(ArrowFiles([path], _INDEX), _INDEX)
        check_count(path, "passages", passages, len(index))
        self._hashes, self._rows = (column.to_numpy() for column in index.columns)
        if passages and not 0 <= self._rows.min() <= self._rows.max() < passages:
            raise bad_input(path, wanted="rows of the collection", found="others", do=AGAIN)

    def find(self, passage_ids: Sequence[str]) -> np.ndarray:
        """Return the row of each id, ``(len(passage_ids),)`` int64; −1 for unknown ids."""
        rows = np.full(len(passage_ids), -1, dtype=np.int64)
        if not len(self._hashes):
            return rows
        # a lone surrogate is encoded as bytes that no stored id has
        hashes = _hashes([item.encode("utf-8", "surrogatepass") for item in passage_ids])
        order = np.argsort(hashes)  # so that neighbours are read together
        places = np.searchsorted(self._hashes, hashes[order])
        places = np.minimum(places, len(self._hashes) - 1)
        known = self._hashes[places] == hashes[order]
        rows[order[known]] = self._rows[places[known]]
        return rows

    def absent(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the ids without a passage, in the given order."""
        return [passage_ids[place] for place in np.flatnonzero(self.find(passage_ids) < 0).tolist()]


def build_index(shard_paths: Sequence[Path], path: Path, map_shards: MapShards = map) -> None:
    """Write the index of these shards; in memory are 32 bytes a passage.

    Raises:
        InputError: a repeated passage id (both positions are named), or a damaged shard.
    """
    hashes = np.concatenate([np.empty(0, np.uint64), *map_shards(_shard_hashes, shard_paths)])
    rows = np.argsort(hashes, kind="stable")
    hashes = hashes[rows]
    if (alike := np.flatnonzero(hashes[1:] == hashes[:-1])).size:
        first, second = rows[alike[0] : alike[0] + 2]
        ids = ArrowFiles(shard_paths, PASSAGES).texts("passage_id", np.array([first, second]))
        # two ids have one hash in one of 400,000 collections of 10 million passages
        shared = f"the id {ids[0]!r}" if ids[0] == ids[1] else f"the hash of {' and '.join(ids)}"
        raise InputError(
            f"passage {first + 1:,} and passage {second + 1:,} share {shared}: wanted every id "
            "once; found it twice; rename or drop one"
        )
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, _INDEX) as writer:
        writer.write(pa.record_batch([hashes, rows], schema=_INDEX))


def _shard_hashes(path: Path) -> np.ndarray:
    return _hashes(read_shard(path).column("passage_id").cast(pa.binary()).to_pylist())


def _hashes(encoded: Sequence[bytes]) -> np.ndarray:
    return keys64(0, "id", encoded)

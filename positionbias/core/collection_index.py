"""Rows of passages by id, from sorted hashes that are mapped, so that no ids are held.

``cache/passages`` of a collection has them:

    manifest.json   the checksum of its passages, the seed of the hashes, digests of both files
    hashes.npy      (passages,) uint64, sorted: 64-bit hashes of the ids
    rows.npy        (passages,) int64: the row of each

Ids are compared by their hashes alone: an unknown id is taken for one of n passages with
probability n / 2⁶⁴. Where two ids of a collection have one hash (in one of 200,000 of 10 million
passages), all are hashed with another seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from positionbias.core.arrays import mapped_array
from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, read_manifest, write_manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.seal import MANIFEST, verified
from positionbias.core.seeds import keys64
from positionbias.core.shards import PASSAGES, ArrowFiles, read_shard
from positionbias.core.steps import MapShards

INDEX = Path("cache") / "passages"
HASHES, ROWS = "hashes.npy", "rows.npy"
_KIND, _OF, _SEED = "index", "passages_checksum", "seed"


class PassageIndex:
    """The rows of passages by id.

    Raises:
        ValueError, OSError, InputError: no index in ``folder``, or a damaged one, or one of other
            passages.
    """

    def __init__(self, folder: Path, passages: int, checksum: str) -> None:
        content = read_manifest(folder, kind=_KIND).content
        if content.get(_OF) != checksum or not isinstance(seed := content.get(_SEED), int):
            raise ValueError(f"{folder}: an index of other passages")
        self._seed, self._path = seed, folder
        # as plain arrays: indexing a numpy.memmap costs more than the look-up itself
        self._hashes = np.asarray(mapped_array(verified(folder / HASHES)))
        self._rows = np.asarray(mapped_array(verified(folder / ROWS)))
        shapes = self._hashes.shape == self._rows.shape == (passages,)
        types = self._hashes.dtype == np.uint64 and self._rows.dtype == np.int64
        if not (shapes and types):
            raise ValueError(f"{folder}: an index of another collection")

    def find(self, passage_ids: Sequence[str]) -> np.ndarray:
        """Return the row of each id, ``(len(passage_ids),)`` int64; −1 for unknown ids."""
        rows = np.full(len(passage_ids), -1, dtype=np.int64)
        if not len(self._hashes):
            return rows
        # a lone surrogate is encoded as bytes that no stored id has
        encoded = [item.encode("utf-8", "surrogatepass") for item in passage_ids]
        hashes = _hashes(self._seed, encoded)
        order = np.argsort(hashes)  # so that neighbours are read together
        places = np.searchsorted(self._hashes, hashes[order])
        places = np.minimum(places, len(self._hashes) - 1)
        known = self._hashes[places] == hashes[order]
        rows[order[known]] = self._rows[places[known]]
        if len(rows) and rows.max() >= len(self._hashes):
            raise bad_input(
                self._path,
                wanted="rows of the collection",
                found=f"row {rows.max():,}",
                do="delete its folder, and it is built again",
            )
        return rows

    def absent(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the ids without a passage, in the given order."""
        return [passage_ids[place] for place in np.flatnonzero(self.find(passage_ids) < 0).tolist()]


def build_index(
    shard_paths: Sequence[Path], folder: Path, checksum: str, map_shards: MapShards = map
) -> None:
    """Write the index of these shards, whose passages have this checksum; 16 bytes a passage, and
    twice that in memory.

    Raises:
        InputError: a repeated passage id (both positions are named), or a damaged shard.
    """
    with atomic_folder(folder, overwrite=True, owned=True) as unfinished:
        for seed in count():
            shards = map_shards(partial(_shard_hashes, seed), shard_paths)
            hashes = np.concatenate([np.empty(0, np.uint64), *shards])
            rows = np.argsort(hashes, kind="stable")
            hashes = hashes[rows]
            alike = np.flatnonzero(hashes[1:] == hashes[:-1])
            if not len(alike):
                break
            _refuse_repeated(shard_paths, rows[alike], rows[alike + 1])
        for name, array in ((HASHES, hashes), (ROWS, rows)):
            with open(unfinished / name, "wb") as handle:
                np.lib.format.write_array_header_1_0(
                    handle, np.lib.format.header_data_from_array_1_0(array)
                )
                handle.write(array.data)  # numpy's own writing does not report a full disk
        content: JsonObject = {_OF: checksum, _SEED: seed}
        write_manifest(unfinished / MANIFEST, Manifest(_KIND, INDEX.name, "index", content=content))


def _shard_hashes(seed: int, path: Path) -> np.ndarray:
    return _hashes(seed, read_shard(path).column("passage_id").cast(pa.binary()).to_pylist())


def _hashes(seed: int, encoded: Sequence[bytes]) -> np.ndarray:
    return keys64(seed, "id", encoded)


def _refuse_repeated(shard_paths: Sequence[Path], first: np.ndarray, second: np.ndarray) -> None:
    """Refuse two rows with one id, among pairs of rows with one hash."""
    passages = ArrowFiles(shard_paths, PASSAGES)
    for row, other in zip(first.tolist(), second.tolist(), strict=True):
        passage_id, again = passages.texts("passage_id", np.array([row, other]))
        if passage_id == again:
            raise InputError(
                f"passage {row + 1:,} and passage {other + 1:,} share the id {passage_id!r}: "
                "wanted every id once; found it twice; rename or drop one"
            )

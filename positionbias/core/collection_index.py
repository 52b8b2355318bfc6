"""A memory-mapped index from hashed passage ids to rows, so that no ids are held.

It is stored in ``cache/passages`` of a collection:

    manifest.json   the checksum of its passages, and the digests of its files
    records.npy     (passages, 3) uint64, sorted: the first and the second 64 bits of an id's hash,
                    its row
    buckets.npy     the first record of each prefix of the hash

Ids are compared by their 128-bit hashes only. Any two of n passages collide with probability n² /
2¹²⁹, which is 10⁻²⁵ for the passages of MS MARCO and 10⁻²³ for a hundred million; an unknown id
collides with one of them with probability n / 2¹²⁸.

It is built in bounded memory: ``map_shards`` hashes and sorts the ids of each shard into a run of
its own, and the runs are merged by ranges of the hash, a million records at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from positionbias.core.arrays import mapped_array
from positionbias.core.errors import InputError, bad_input
from positionbias.core.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.seal import verified
from positionbias.core.seeds import keys128
from positionbias.core.shards import read_shard
from positionbias.core.steps import MapShards

__all__ = ["INDEX", "PassageIndex", "build_index"]

INDEX = Path("cache") / "passages"
RECORDS, BUCKETS = "records.npy", "buckets.npy"
RECORD = np.dtype("<u8")
FIRST, CHECK, ROW, WIDTH = 0, 1, 2, 3  # the columns of a record
BUCKET_RECORDS = 16
RANGE_BITS = 10  # a run is cut into 1,024 ranges; small neighbouring ranges are merged together
MERGED_RECORDS = 1 << 20
_KIND, _OF = "index", "passages_checksum"
_DO = "delete its folder, and it is built again"


class PassageIndex:
    """The rows of passages by id.

    Raises:
        ValueError, OSError, InputError: no index in ``folder``, or a damaged one, or one of other
            passages.
    """

    def __init__(self, folder: Path, passages: int, checksum: str) -> None:
        if read_manifest(folder, kind=_KIND).content.get(_OF) != checksum:
            raise ValueError(f"{folder}: an index of other passages")
        self._path = verified(folder / RECORDS)
        # as plain arrays: indexing a numpy.memmap costs more than the look-up itself
        self._records = np.asarray(mapped := mapped_array(self._path))
        self._buckets = np.array(mapped_array(verified(folder / BUCKETS)))
        rising = (
            self._buckets.dtype == np.int64
            and self._buckets.ndim == 1
            and len(self._buckets) > 1
            and (self._buckets[1:] >= self._buckets[:-1]).all()
        )
        if (
            not rising
            or mapped.dtype != RECORD
            or mapped.shape != (passages, WIDTH)
            or tuple(self._buckets[[0, -1]]) != (0, passages)
        ):
            raise ValueError(f"{folder}: an index of another collection")
        if len(self._buckets) - 1 & len(self._buckets) - 2:
            raise ValueError(f"{folder}: wanted a power of two of buckets")
        self._shift = np.uint64(64 - (len(self._buckets) - 1).bit_length() + 1)

    def find(self, passage_ids: Sequence[str]) -> np.ndarray:
        """Return the row of each id, ``(len(passage_ids),)`` int64; −1 for unknown ids."""
        # a lone surrogate is encoded as bytes that no stored id has
        hashes = id_hashes([item.encode("utf-8", "surrogatepass") for item in passage_ids])
        found = np.full(len(hashes), -1, dtype=np.int64)
        at = self._lower_bounds(hashes[:, FIRST])
        pending = np.flatnonzero(at < len(self._records))
        while len(pending):
            records = self._records[at[pending]]
            first = records[:, FIRST] == hashes[pending, FIRST]
            both = first & (records[:, CHECK] == hashes[pending, CHECK])
            found[pending[both]] = records[both, ROW]
            # another id with the same first half: try the next record
            pending = pending[first & ~both]
            at[pending] += 1
            pending = pending[at[pending] < len(self._records)]
        if len(found) and found.max() >= len(self._records):
            raise bad_input(
                self._path,
                wanted="rows of the collection",
                found=f"row {found.max():,}",
                do=_DO,
            )
        return found

    def absent(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the ids without a passage, in the given order."""
        return [passage_ids[place] for place in np.flatnonzero(self.find(passage_ids) < 0).tolist()]

    def _lower_bounds(self, wanted: np.ndarray) -> np.ndarray:
        """Return the first record not below each hash, by bisection within the bucket of its
        leading bits.
        """
        bucket = (wanted >> self._shift).astype(np.int64)
        low, high = self._buckets[bucket], self._buckets[bucket + 1]
        while (unsettled := low < high).any():
            middle = (low + high) >> 1
            below = unsettled & (self._records[np.where(unsettled, middle, 0), FIRST] < wanted)
            low = np.where(below, middle + 1, low)
            high = np.where(below, high, np.where(unsettled, middle, high))
        return low


def id_hashes(passage_ids: Sequence[bytes]) -> np.ndarray:
    """Return two 64-bit hashes of each UTF-8 id: ``(len(passage_ids), 2)`` uint64."""
    return keys128(0, "id", passage_ids)


class _Run(NamedTuple):
    """A shard to index by itself, and the file for its sorted records."""

    shard: Path
    target: Path


def _write_manifest(folder: Path, checksum: str) -> None:
    manifest = Manifest(_KIND, INDEX.name, "index", content={_OF: checksum})
    write_manifest(folder / MANIFEST, manifest)


def build_index(
    shard_paths: Sequence[Path], folder: Path, checksum: str, map_shards: MapShards = map
) -> None:
    """Write the index of these shards, whose passages have this checksum; 24 bytes a passage.

    Raises:
        InputError: a repeated passage id (both positions are named), or a damaged shard.
    """
    with atomic_folder(folder, overwrite=True, owned=True) as partial:
        runs = [_Run(path, partial / f"{number}.run") for number, path in enumerate(shard_paths)]
        # (shards, 1,025): the start of each range of the hash in each run
        cuts = np.array(list(map_shards(_write_run, runs)), dtype=np.int64).reshape(
            -1, (1 << RANGE_BITS) + 1
        )
        starts = np.cumsum([0, *cuts[:, -1]])
        total = int(starts[-1])
        bits = max(1, (total // BUCKET_RECORDS).bit_length() - 1)
        counts = np.zeros(1 + (1 << bits), dtype=np.int64)
        with open(partial / RECORDS, "wb") as handle:
            np.lib.format.write_array_header_1_0(
                handle, {"descr": RECORD.str, "fortran_order": False, "shape": (total, WIDTH)}
            )
            for first, last in _ranges(cuts):
                records = _merged(runs, starts, cuts[:, first], cuts[:, last])
                _refuse_repeated_ids(records, runs, starts)
                buckets = (records[:, FIRST] >> np.uint64(64 - bits)).astype(np.int64)
                lowest, seen = (
                    (int(buckets[0]), np.bincount(buckets - buckets[0]))
                    if len(buckets)
                    else (0, buckets)
                )
                counts[1 + lowest : 1 + lowest + len(seen)] += seen
                handle.write(records.data)
        np.save(partial / BUCKETS, np.cumsum(counts))
        for run in runs:
            run.target.unlink()
        _write_manifest(partial, checksum)


def _write_run(run: _Run) -> list[int]:
    """Hash and sort the ids of one shard; return the starts of 1,024 equal ranges of the hash, and
    the end.
    """
    table = read_shard(run.shard)
    hashes = id_hashes(table.column("passage_id").cast(pa.binary()).to_pylist())
    records = np.empty((len(hashes), WIDTH), dtype=RECORD)
    records[:, :ROW], records[:, ROW] = hashes, np.arange(len(hashes))
    records = records[np.argsort(records[:, FIRST], kind="stable")]
    with open(run.target, "wb") as handle:  # numpy's tofile does not report a failed last write
        handle.write(records.data)
    return np.searchsorted(
        records[:, FIRST] >> np.uint64(64 - RANGE_BITS), np.arange((1 << RANGE_BITS) + 1)
    ).tolist()


def _ranges(cuts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield neighbouring ranges of the hash together, up to a million records."""
    sizes = np.diff(cuts.sum(axis=0))
    first, held = 0, 0
    for last, size in enumerate(sizes.tolist(), 1):
        held += size
        if held >= MERGED_RECORDS or last == len(sizes):
            yield first, last
            first, held = last, 0


def _merged(
    runs: Sequence[_Run], starts: np.ndarray, first: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Return one range's records from all runs, sorted, with rows counted over all shards."""
    parts = [np.empty((0, WIDTH), dtype=RECORD)]
    for run, start, begin, end in zip(
        runs, starts.tolist(), first.tolist(), last.tolist(), strict=False
    ):
        if begin < end:
            width = RECORD.itemsize * WIDTH
            part = np.fromfile(
                run.target, RECORD, (end - begin) * WIDTH, offset=begin * width
            ).reshape(-1, WIDTH)
            part[:, ROW] += np.uint64(start)
            parts.append(part)
    records = np.concatenate(parts)
    return records[np.argsort(records[:, FIRST], kind="stable")]


def _refuse_repeated_ids(records: np.ndarray, runs: Sequence[_Run], starts: np.ndarray) -> None:
    alike = np.flatnonzero(records[1:, FIRST] == records[:-1, FIRST])
    seen: dict[tuple[int, int], int] = {}
    for place in np.union1d(alike, alike + 1):
        first, check, row = map(int, records[place])
        earlier = seen.setdefault((first, check), row)
        if earlier != row:
            shard = int(np.searchsorted(starts, row, side="right") - 1)
            passage_id = (
                read_shard(runs[shard].shard).column("passage_id")[row - int(starts[shard])].as_py()
            )
            raise InputError(
                f"passage {earlier + 1:,} and passage {row + 1:,} share the id {passage_id!r}: "
                "wanted every id once; found it twice; rename or drop one"
            )

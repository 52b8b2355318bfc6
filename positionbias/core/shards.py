"""Passage shards: Arrow IPC files of passage_id and text, uncompressed, written in batches and read
memory-mapped; and any such files.

They are compared with their manifest when opened, and the offsets and texts of each batch are
checked before use: Arrow trusts the offsets in a file and reads wherever they point, so a damaged
or forged file could crash the process or expose its memory.

The checksum of a shard, or of any records, is a sum of hashes: it depends neither on the order of
records nor on the cuts into shards.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.types as types

from positionbias.core.errors import InputError, bad_input
from positionbias.core.records import Passage
from positionbias.core.seal import AGAIN, verified

BATCH_PASSAGES = 4_096
BATCH_BYTES = 4 << 20
CHECKSUM_MODULUS = 1 << 128
PASSAGES = pa.schema([("passage_id", pa.string()), ("text", pa.string())])
_LENGTH = struct.Struct("<q").pack


@dataclass(frozen=True, slots=True)
class Shard:
    """A written shard's number of passages and the checksum of their content."""

    count: int
    checksum: int


def rows_checksum(rows: Iterable[Sequence[Any]]) -> int:
    """Return the sum of the 128-bit hashes of records, whatever their order.

    Collections with the same passages agree on it, however they are sharded or sorted.
    """
    stream, total = iter(rows), 0
    while batch := list(islice(stream, BATCH_PASSAGES)):
        for length in {*map(len, batch)}:
            alike = (row for row in batch if len(row) == length)
            total += columns_checksum(list(zip(*alike, strict=True)))
    return total % CHECKSUM_MODULUS


def columns_checksum(columns: Sequence[Sequence[Any]]) -> int:
    """Return the ``rows_checksum`` of rows given by column; bytes are items that are encoded
    already.
    """
    total, fresh = 0, hashlib.blake2b(digest_size=16)
    for start in range(0, len(columns[0]), BATCH_PASSAGES):
        parts: list[Iterable[bytes]] = []
        for column in columns:
            encoded = _encoded(column[start : start + BATCH_PASSAGES])
            parts += [map(_LENGTH, map(len, encoded)), encoded]
        digests = []
        for row in map(b"".join, zip(*parts, strict=True)):
            digest = fresh.copy()
            digest.update(row)
            digests.append(digest.digest())
        quarters = np.frombuffer(b"".join(digests), "<u4").reshape(-1, 4)
        for place, value in enumerate(quarters.sum(axis=0, dtype=np.uint64).tolist()):
            total += value << 32 * place
    return total % CHECKSUM_MODULUS


def _encoded(column: Sequence[Any]) -> list[bytes]:
    """Return items as bytes: texts in UTF-8, others as Python writes them."""
    kinds = set(map(type, column))
    if kinds == {bytes}:
        return list(column)
    if kinds <= {int, type(None)}:  # mostly few distinct values
        known = {item: repr(item).encode() for item in set(column)}
        return [known[item] for item in column]
    return [(item if isinstance(item, str) else repr(item)).encode() for item in column]


def write_shard(path: Path, passages: Iterable[Passage]) -> Shard:
    """Write passages to one Arrow IPC file, in batches, independent of other shards.

    Raises:
        InputError: an id or text with half a surrogate pair.
    """
    return write_encoded(path, encoded_batches(passages))


def write_encoded(path: Path, batches: Iterable[tuple[Sequence[bytes], Sequence[bytes]]]) -> Shard:
    """Write a shard as ``write_shard`` does, from ids and texts in UTF-8, by batch and column."""
    count, checksum = 0, 0
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, PASSAGES) as writer:
        for columns in batches:
            arrays = [pa.array(column, pa.string()) for column in columns]
            writer.write_batch(pa.record_batch(arrays, schema=PASSAGES))
            checksum += columns_checksum(columns)
            count += len(columns[0])
    return Shard(count, checksum % CHECKSUM_MODULUS)


def encoded_batches(passages: Iterable[Passage]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield ids and texts in UTF-8, by 4,096 passages, or fewer long ones.

    Raises:
        InputError: an id or text with half a surrogate pair.
    """
    ids: list[bytes] = []
    texts: list[bytes] = []
    held = 0
    for passage_id, text in passages:
        try:
            ids.append(passage_id.encode())
            texts.append(text.encode())
        except UnicodeEncodeError as error:
            raise not_unicode(f"passage {passage_id!r}", error) from None
        held += len(texts[-1])
        if len(ids) == BATCH_PASSAGES or held >= BATCH_BYTES:
            yield ids, texts
            ids, texts, held = [], [], 0
    if ids:
        yield ids, texts


def not_unicode(place: str, error: UnicodeEncodeError) -> InputError:
    """Return an error about a text that UTF-8 cannot encode, as JSON escapes can produce."""
    half = error.object[error.start]
    return InputError(
        f"{place}: wanted text in Unicode; found {half!r}, half of a surrogate pair; fix it in the "
        "source"
    )


def shard_files(folder: Path, shards: int) -> list[Path]:
    """Return the numbered files of a folder, in order.

    Raises:
        InputError: they are not as many as the manifest says.
    """
    # by number: shard 100,000 has one more digit
    paths = sorted(folder.glob("[0-9]*.arrow"), key=lambda path: (len(path.name), path.name))
    check_count(folder, "shards", shards, len(paths))
    return paths


def check_count(path: Path, what: str, wanted: int, found: int) -> None:
    """Check a number that a manifest claims.

    Raises:
        InputError: the files say another.
    """
    if found != wanted:
        claimed = f"{wanted:,} {what}, as its manifest says"
        raise bad_input(path, wanted=claimed, found=f"{found:,}", do=AGAIN)


def read_shard(path: Path) -> pa.Table:
    """Map one passage shard, verified whole; texts are copied only on access, and no file stays
    open.

    Raises:
        InputError: it is damaged.
    """
    return read_arrow(path, PASSAGES, do=AGAIN)


def open_shard(path: Path) -> ArrowFile:
    """Map one passage shard, with each batch verified on first access, for reading a few passages
    of many.

    Raises:
        InputError: it is cut; from its batches, damage.
    """
    return ArrowFile(path, PASSAGES, do=AGAIN)


class Strings:
    """One string column over mapped files; each batch is checked on first access."""

    def __init__(self, files: Sequence[ArrowFile], column: str) -> None:
        self._name = column
        self._places = [(file, number) for file in files for number in range(file.batches)]
        sizes = [size for file in files for size in np.diff(file.starts).tolist()]
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)
        self._columns: list[pa.StringArray | None] = [None] * len(sizes)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def take(self, rows: np.ndarray) -> list[str]:
        """Return the texts of these rows, in the given order.

        Raises:
            InputError: the file of one of them is damaged.
        """
        batches = np.searchsorted(self._starts, rows, side="right") - 1
        taken = []
        for batch, place in zip(
            batches.tolist(), (rows - self._starts[batches]).tolist(), strict=True
        ):
            column = self._columns[batch]
            if column is None:
                file, number = self._places[batch]
                column = self._columns[batch] = file.batch(number).column(self._name)
            taken.append(column[place].as_py())
        return taken


class ArrowFile:
    """An uncompressed Arrow IPC file with exactly the columns of ``schema``, opened for reading
    batch by batch.

    ``starts``: the first row of each batch, then the number of rows, ``(batches + 1,)`` int64. Only
    the columns named in ``nulls`` may hold nulls.

    Raises:
        InputError: not such a file, or a damaged one; the message of the former ends with ``do``.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, *, do: str, nulls: frozenset[str] = frozenset()
    ) -> None:
        self.path, self._do, self._nulls = path, do, nulls
        try:
            whole = pa.memory_map(str(verified(path))).read_buffer()
            reader = ipc.open_file(whole)
            if reader.schema != schema:
                raise self._refused(
                    f"columns {', '.join(schema.names)}",
                    ", ".join(map(str, reader.schema)) or "no columns",
                )
            self._batches = [
                reader.get_batch(number) for number in range(reader.num_record_batches)
            ]
        except (pa.ArrowException, OSError) as error:
            raise self._refused("a whole Arrow file", str(error).splitlines()[0]) from error
        self.starts = np.cumsum([0, *(batch.num_rows for batch in self._batches)], dtype=np.int64)
        self._check_places(whole)
        self._checked = np.zeros(len(self._batches), dtype=bool)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def batches(self) -> int:
        """The number of batches."""
        return len(self._batches)

    def batch(self, number: int) -> pa.RecordBatch:
        """Return one batch, checked on first access."""
        batch = self._batches[number]
        if not self._checked[number]:
            try:
                batch.validate(full=True)  # offsets at any depth, and UTF-8
                for field, column in zip(batch.schema, batch.columns, strict=True):
                    if field.name in self._nulls:  # a missing list is fine, a missing item is not
                        column = column.flatten()
                    _check_nulls(column)
                _check_lengths(batch)
            except (pa.ArrowException, ValueError) as error:
                raise self._refused(
                    "a whole Arrow file", f"{str(error).splitlines()[0]} in batch {number}"
                ) from error
            self._checked[number] = True
        return batch

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return map(self.batch, range(len(self._batches)))

    def _check_places(self, whole: pa.Buffer) -> None:
        """Check that all columns lie within the file: none is compressed or cut."""
        buffers = (
            buffer
            for batch in self._batches
            for column in batch.columns
            for buffer in column.buffers()
            if buffer is not None and buffer.size
        )
        last = whole.address + whole.size
        if any(not whole.address <= held.address <= last - held.size for held in buffers):
            raise self._refused("uncompressed columns", "columns outside the file")

    def _refused(self, wanted: str, found: str) -> InputError:
        return bad_input(self.path, wanted=wanted, found=found, do=self._do)


def read_arrow(
    path: Path, schema: pa.Schema, *, do: str, nulls: frozenset[str] = frozenset()
) -> pa.Table:
    """Map a whole file, checked as by ``ArrowFile``; values are copied only on access.

    Raises:
        InputError: as ``ArrowFile``.
    """
    return pa.Table.from_batches(ArrowFile(path, schema, do=do, nulls=nulls), schema)


def _check_nulls(array: pa.Array) -> None:
    """Refuse nulls in a column and in its lists."""
    if array.null_count:
        raise ValueError(f"{array.null_count:,} nulls")
    if types.is_list(array.type) or types.is_large_list(array.type):
        _check_nulls(array.values)


def _check_lengths(batch: pa.RecordBatch) -> None:
    """Check that the lists of a row, which describe the same passages, have one length."""
    lists = [
        column
        for column in batch.columns
        if types.is_list(column.type) or types.is_large_list(column.type)
    ]
    lengths = [pc.list_value_length(column) for column in lists]
    if any(pc.any(pc.not_equal(lengths[0], other)).as_py() for other in lengths[1:]):
        raise ValueError("lists of several lengths in one row")

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
from itertools import chain, islice
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
    return pa.Table.from_batches(ArrowFiles([path], PASSAGES), PASSAGES)


class ArrowFiles:
    """The rows of uncompressed Arrow IPC files with exactly the columns of ``schema``, one file
    after the other; each batch is verified on first access.

    ``starts``: the first row of each batch, then the number of rows, ``(batches + 1,)`` int64;
    ``file_starts``: those of each file. Only the columns named in ``nulls`` may hold nulls.

    Raises:
        InputError: not such a file, or a damaged one; the message ends with ``do``.
    """

    def __init__(
        self,
        paths: Iterable[Path],
        schema: pa.Schema,
        *,
        do: str = AGAIN,
        nulls: frozenset[str] = frozenset(),
    ) -> None:
        self._schema, self._do, self._nulls = schema, do, nulls
        self._batches: list[tuple[Path, pa.RecordBatch]] = []
        files = []
        for path in paths:
            batches = self._open(path)
            files.append(sum(batch.num_rows for batch in batches))
            self._batches += [(path, batch) for batch in batches]
        sizes = [batch.num_rows for _, batch in self._batches]
        self.starts = np.cumsum([0, *sizes], dtype=np.int64)
        self.file_starts = np.cumsum([0, *files], dtype=np.int64)
        self._checked = np.zeros(len(sizes), dtype=bool)

    def _open(self, path: Path) -> list[pa.RecordBatch]:
        """Map the batches of a file, whose columns lie within it: none is compressed or cut."""
        try:
            whole = pa.memory_map(str(verified(path))).read_buffer()
            reader = ipc.open_file(whole)
            if reader.schema != self._schema:
                there = ", ".join(map(str, reader.schema)) or "no columns"
                raise self._refused(path, f"columns {', '.join(self._schema.names)}", there)
            batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        except (pa.ArrowException, OSError) as error:
            raise self._refused(path, "a whole Arrow file", str(error).splitlines()[0]) from error
        first, last = whole.address, whole.address + whole.size
        columns = chain.from_iterable(batch.columns for batch in batches)
        for buffer in chain.from_iterable(column.buffers() for column in columns):
            if buffer is not None and buffer.size:
                within = first <= buffer.address <= last - buffer.size
                if not within:
                    raise self._refused(path, "uncompressed columns", "columns outside the file")
        return batches

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def batches(self) -> int:
        """The number of batches."""
        return len(self._batches)

    def batch(self, number: int) -> pa.RecordBatch:
        """Return one batch, verified on first access."""
        path, batch = self._batches[number]
        if not self._checked[number]:
            try:
                batch.validate(full=True)  # offsets at any depth, and UTF-8
                for field, column in zip(batch.schema, batch.columns, strict=True):
                    if field.name in self._nulls:  # a missing list is fine, a missing item is not
                        column = column.flatten()
                    _check_nulls(column)
                _check_lengths(batch)
            except (pa.ArrowException, ValueError) as error:
                fault = f"{str(error).splitlines()[0]} in batch {number}"
                raise self._refused(path, "a whole Arrow file", fault) from error
            self._checked[number] = True
        return batch

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return map(self.batch, range(len(self._batches)))

    def at(self, rows: np.ndarray) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the batch of each row, and its place there, in the given order.

        Raises:
            InputError: the file of one of them is damaged.
        """
        return ((self.batch(number), place) for number, place in self._places(rows))

    def texts(self, column: str, rows: np.ndarray) -> list[str]:
        """Return the texts of a column at these rows, in the given order.

        Raises:
            InputError: as ``at``.
        """
        places = self._places(rows)
        numbers = {number for number, _ in places}
        columns = {number: self.batch(number)[column] for number in numbers}
        return [columns[number][place].as_py() for number, place in places]

    def _places(self, rows: np.ndarray) -> list[tuple[int, int]]:
        """Return the number of each row's batch, and its place there."""
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        places = rows - self.starts[numbers]
        return list(zip(numbers.tolist(), places.tolist(), strict=True))

    def _refused(self, path: Path, wanted: str, found: str) -> InputError:
        return bad_input(path, wanted=wanted, found=found, do=self._do)


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

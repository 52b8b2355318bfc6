"""Passage shards: Arrow IPC files of passage_id and text, uncompressed, written in batches and read
memory-mapped.

The checksum of a shard, or of any records, is a sum of hashes: it depends neither on the order of
records nor on the cuts into shards.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.arrow_files import ArrowFile, read_arrow
from positionbias.core.errors import InputError, bad_input
from positionbias.core.records import Passage

__all__ = [
    "CHECKSUM_MODULUS",
    "Shard",
    "Strings",
    "columns_checksum",
    "not_unicode",
    "open_shard",
    "pairs_checksum",
    "read_shard",
    "rows_checksum",
    "write_encoded",
    "write_shard",
]

BATCH_PASSAGES = 4_096
BATCH_BYTES = 4 << 20
CHECKSUM_MODULUS = 1 << 128
PASSAGES = pa.schema([("passage_id", pa.string()), ("text", pa.string())])
_AGAIN = "restore it from a copy, or make the collection again"
_LENGTH = struct.Struct("<q").pack
_BETWEEN = struct.Struct("<ii").unpack_from  # two neighbouring offsets


@dataclass(frozen=True, slots=True)
class Shard:
    """A written shard's number of passages and the checksum of their content."""

    count: int
    checksum: int


def rows_checksum(rows: Iterable[Sequence[Any]]) -> int:
    """Return the sum of the 128-bit hashes of records, whatever their order.

    Collections with the same passages agree on it, however they are sharded or sorted.
    """
    stream = iter(rows)
    total = 0
    while batch := list(islice(stream, BATCH_PASSAGES)):
        total += _sum_of_digests(_digests(batch))
    return total % CHECKSUM_MODULUS


def columns_checksum(columns: Sequence[Sequence[Any]]) -> int:
    """Return the ``rows_checksum`` of rows given by column."""
    total = 0
    for start in range(0, len(columns[0]), BATCH_PASSAGES):
        total += _sum_of_digests(
            _column_digests(
                [_encoded_column(column[start : start + BATCH_PASSAGES]) for column in columns]
            )
        )
    return total % CHECKSUM_MODULUS


def pairs_checksum(first: Sequence[bytes], second: Sequence[bytes], *same: Any) -> int:
    """Return the ``rows_checksum`` of rows of two UTF-8 texts followed by the ``same`` items, in
    less than half the time.

    An import spends a third of its time here.
    """
    return _sum_of_digests(_column_digests([first, second], _framed(same)))


def _digests(rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """Yield the hash of each row. Rows of one length are encoded by column, which takes half the
    time.
    """
    if len(set(map(len, rows))) > 1:
        return (hashlib.blake2b(_framed(row), digest_size=16).digest() for row in rows)
    return _column_digests([_encoded_column(column) for column in zip(*rows, strict=True)])


def _column_digests(columns: Sequence[Sequence[bytes]], rest: bytes = b"") -> Iterator[bytes]:
    """Yield the hash of each row of encoded columns, followed by ``rest``."""
    fresh = hashlib.blake2b(digest_size=16)
    framed = [part for column in columns for part in (map(_LENGTH, map(len, column)), column)]
    for row in map(b"".join, zip(*framed, *([repeat(rest)] if rest else []), strict=not rest)):
        digest = fresh.copy()
        digest.update(row)
        yield digest.digest()


def _encoded_column(column: Sequence[Any]) -> list[bytes]:
    kinds = set(map(type, column))
    if kinds == {bytes}:  # already encoded
        return list(column)
    if kinds == {str}:
        return [item.encode() for item in column]
    if kinds <= {int, type(None)}:  # mostly few distinct values
        encoded = {item: _encoded(item) for item in set(column)}
        return [encoded[item] for item in column]
    return [_encoded(item) for item in column]


def _encoded(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else repr(item).encode()


def _framed(row: Sequence[Any]) -> bytes:
    return b"".join([part for item in map(_encoded, row) for part in (_LENGTH(len(item)), item)])


def _sum_of_digests(digests: Iterable[bytes]) -> int:
    total, iterator = 0, iter(digests)
    while data := b"".join(islice(iterator, BATCH_PASSAGES)):
        quarters = np.frombuffer(data, "<u4").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
        total += sum(int(value) << 32 * place for place, value in enumerate(quarters))
    return total % CHECKSUM_MODULUS


def write_shard(path: Path, passages: Iterable[Passage]) -> Shard:
    """Write passages to one Arrow IPC file, in batches, independent of other shards.

    Raises:
        InputError: an id or text with half a surrogate pair.
    """
    return write_encoded(path, _batches(passages))


def write_encoded(path: Path, batches: Iterable[tuple[Sequence[bytes], Sequence[bytes]]]) -> Shard:
    """Write a shard as ``write_shard`` does, from ids and texts in UTF-8, by batch and column."""
    count, checksum = 0, 0
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, PASSAGES) as writer:
        for ids, texts in batches:
            writer.write_batch(pa.record_batch([_strings(ids), _strings(texts)], schema=PASSAGES))
            checksum += pairs_checksum(ids, texts)
            count += len(ids)
    return Shard(count, checksum % CHECKSUM_MODULUS)


def _batches(passages: Iterable[Passage]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield ids and texts in UTF-8, by 4,096 passages, or fewer long ones."""
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


def _strings(encoded: Sequence[bytes]) -> pa.Array:
    offsets = np.zeros(len(encoded) + 1, dtype=np.int32)
    np.cumsum(np.fromiter(map(len, encoded), np.int32, len(encoded)), out=offsets[1:])
    return pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))
    )


def read_shard(path: Path) -> pa.Table:
    """Map one passage shard, verified whole; texts are copied only on access, and no file stays
    open.

    Raises:
        InputError: it is damaged.
    """
    return read_arrow(path, PASSAGES, do=_AGAIN)


def open_shard(path: Path) -> ArrowFile:
    """Map one passage shard, with each batch verified on first access, for reading a few passages
    of many.

    Raises:
        InputError: it is cut; from its batches, damage.
    """
    return ArrowFile(path, PASSAGES, do=_AGAIN)


class Strings:
    """One string column over mapped files, read straight from the mapped bytes; each batch is
    verified on first access.
    """

    def __init__(self, files: Sequence[ArrowFile], column: str) -> None:
        self._column = column
        self._places = [(file, number) for file in files for number in range(file.batches)]
        sizes = [size for file in files for size in np.diff(file.starts).tolist()]
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)
        self._offsets: list[memoryview] = [memoryview(b"")] * len(sizes)
        self._data: list[memoryview] = [memoryview(b"")] * len(sizes)
        self._first = np.zeros(len(sizes), dtype=np.int64)
        self._opened = np.zeros(len(sizes), dtype=bool)
        self._closed = len(sizes)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def take(self, rows: np.ndarray) -> list[str]:
        """Return the texts of these rows, in the given order.

        Raises:
            InputError: the file of one of them is damaged.
        """
        chunks = np.searchsorted(self._starts, rows, side="right") - 1
        if self._closed:
            wanted = np.zeros(len(self._opened), dtype=bool)
            wanted[chunks] = True
            for chunk in np.flatnonzero(wanted & ~self._opened).tolist():
                self._open(chunk)
        places = (rows - self._starts[chunks] + self._first[chunks]) * 4 if len(rows) else rows
        offsets, data = self._offsets, self._data
        taken = []
        try:
            for chunk, place in zip(chunks.tolist(), places.tolist(), strict=True):
                start, end = _BETWEEN(offsets[chunk], place)
                taken.append(str(data[chunk][start:end], "utf-8"))
        except UnicodeDecodeError as error:
            path = self._places[chunk][0].path
            raise bad_input(
                path,
                wanted="text in UTF-8",
                found=f"bytes that are not ({error.reason})",
                do=_AGAIN,
            ) from error
        return taken

    def _open(self, chunk: int) -> None:
        file, number = self._places[chunk]
        column = file.batch(number).column(self._column)
        _, offsets, data = column.buffers()
        self._offsets[chunk] = memoryview(offsets) if offsets else memoryview(b"")
        self._data[chunk] = memoryview(data) if data else memoryview(b"")
        self._first[chunk] = column.offset
        self._opened[chunk] = True
        self._closed -= 1

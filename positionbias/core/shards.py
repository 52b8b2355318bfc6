"""Rows on disk, written in batches: Parquet, and uncompressed Arrow IPC, which is read
memory-mapped. Passage shards are such files of passage_id and text.

Files are compared with their manifest when opened, and their offsets and texts are checked: Arrow
trusts the offsets in a file and reads wherever they point, so a damaged or forged one could crash
the process or expose its memory.

The checksum of a shard, or of any records, is a sum of hashes: it depends neither on the order of
records nor on the cuts into shards.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
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
    """The number of rows of a written file, and the checksum of their content."""

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


def checksum_text(sums: Iterable[int]) -> str:
    """Return a checksum, the sum of those of its parts, in hexadecimal digits."""
    return f"{sum(sums) % CHECKSUM_MODULUS:032x}"


def _encoded(column: Sequence[Any]) -> list[bytes]:
    """Return items as bytes: texts in UTF-8, others as Python writes them."""
    kinds = set(map(type, column))
    if kinds == {bytes}:
        return list(column)
    if kinds <= {int, type(None)}:  # mostly few distinct values
        known = {item: repr(item).encode() for item in set(column)}
        return [known[item] for item in column]
    return [(item if isinstance(item, str) else repr(item)).encode() for item in column]


class RowWriter:
    """Write rows to a file, Parquet or else Arrow IPC, ``at_once`` or more together; count them,
    and sum up their hashes, each row's begun by ``first``.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, *, at_once: int = 1, first: tuple[str, ...] = ()
    ) -> None:
        self.path, self.count, self.checksum = path, 0, 0
        self._schema, self._at_once, self._first = schema, at_once, first
        self._held: list[list[Any]] = [[] for _ in schema]
        path.parent.mkdir(parents=True, exist_ok=True)
        # a traceback may keep an interrupted writer alive; when dropped, it must end its own file,
        # not this one
        path.unlink(missing_ok=True)
        self._sink = pa.OSFile(str(path), "wb")
        open_writer = pq.ParquetWriter if path.suffix == ".parquet" else ipc.new_file
        self._writer = open_writer(self._sink, schema)

    def add(self, columns: Iterable[Iterable[Any]]) -> None:
        """Append rows, given by column; bytes are texts that are encoded already.

        Raises:
            InputError: a text with half a surrogate pair; it may be of an earlier call.
        """
        before = len(self._held[0])
        for held, values in zip(self._held, columns, strict=False):  # no rows have no columns
            held.extend(values)
        self.count += len(self._held[0]) - before
        if len(self._held[0]) >= self._at_once:
            self._write()

    def _write(self) -> None:
        columns, self._held = self._held, [[] for _ in self._schema]
        try:
            arrays = [pa.array(*column) for column in zip(columns, self._schema.types, strict=True)]
        except UnicodeEncodeError as error:
            raise not_unicode(f"{self.path.parent.name} of {self.path.stem!r}", error) from None
        self._writer.write(pa.record_batch(arrays, schema=self._schema))
        begun = ([name] * len(columns[0]) for name in self._first)
        self.checksum = (self.checksum + columns_checksum([*begun, *columns])) % CHECKSUM_MODULUS

    def close(self) -> Shard:
        """Write what is left, and finish the file; return what it holds."""
        if self._held[0]:
            self._write()
        self._writer.close()
        self._sink.close()
        return Shard(self.count, self.checksum)


def write_rows(path: Path, schema: pa.Schema, batches: Iterable[Iterable[Iterable[Any]]]) -> Shard:
    """Write rows to a file, given by batch and column."""
    writer = RowWriter(path, schema)
    for columns in batches:
        writer.add(columns)
    return writer.close()


def write_shard(path: Path, passages: Iterable[Passage]) -> Shard:
    """Write passages to one Arrow IPC file, in batches, independent of other shards.

    Raises:
        InputError: an id or text with half a surrogate pair.
    """
    return write_rows(path, PASSAGES, encoded_batches(passages))


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
    after the other, verified when opened.

    ``file_starts``: the first row of each file, then the number of rows, ``(files + 1,)`` int64.
    Only the columns named in ``nulls`` may hold nulls.

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
        files = [_mapped(path, schema, nulls, do) for path in paths]
        self._batches = list(chain.from_iterable(files))
        self._starts = _starts(map(len, self._batches))
        self.file_starts = _starts(sum(map(len, batches)) for batches in files)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._batches)

    def at(self, rows: np.ndarray) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the batch of each row, and its place there, in the given order."""
        numbers, places = self._places(rows)
        return zip(map(self._batches.__getitem__, numbers), places, strict=True)

    def texts(self, name: str, rows: np.ndarray) -> list[str]:
        """Return the texts of a column at these rows, in the given order."""
        numbers, places = self._places(rows)
        columns = {number: self._batches[number][name] for number in {*numbers}}
        return [columns[n][place].as_py() for n, place in zip(numbers, places, strict=True)]

    def _places(self, rows: np.ndarray) -> tuple[list[int], list[int]]:
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        return numbers.tolist(), (rows - self._starts[numbers]).tolist()


def _starts(counts: Iterable[int]) -> np.ndarray:
    return np.cumsum([0, *counts], dtype=np.int64)


def _mapped(path: Path, schema: pa.Schema, nulls: Container[str], do: str) -> list[pa.RecordBatch]:
    """Map the batches of a file, whose columns lie within it: none is compressed or cut."""
    wanted = "a whole Arrow file"
    try:
        whole = pa.memory_map(str(verified(path))).read_buffer()
        reader = ipc.open_file(whole)
        if reader.schema != schema:
            wanted = f"columns {', '.join(schema.names)}"
            raise ValueError(", ".join(map(str, reader.schema)) or "no columns")
        batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        first, last = whole.address, whole.address + whole.size
        columns = chain.from_iterable(batch.columns for batch in batches)
        for buffer in chain.from_iterable(column.buffers() for column in columns):
            within = not buffer or first <= buffer.address <= last - buffer.size
            if not within:
                wanted = "uncompressed columns"
                raise ValueError("columns outside the file")
        for batch in batches:
            check_rows(batch, nulls)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise bad_input(path, wanted=wanted, found=str(error).splitlines()[0], do=do) from error
    return batches


def check_rows(rows: pa.RecordBatch | pa.Table, nulls: Container[str]) -> None:
    """Check columns at any depth: offsets, UTF-8, nulls but in the columns named in ``nulls``, and
    that the lists of a row, which describe the same passages, have one length.

    Raises:
        ValueError, pa.ArrowException: they are damaged.
    """
    rows.validate(full=True)
    lists = [column for column in rows.columns if types.is_list(column.type)]
    filled = [rows[name] for name in rows.schema.names if name not in nulls]
    if missing := sum(column.null_count for column in [*filled, *map(pc.list_flatten, lists)]):
        raise ValueError(f"{missing:,} nulls")
    lengths = [pc.list_value_length(column) for column in lists]
    if any(pc.any(pc.not_equal(lengths[0], other)).as_py() for other in lengths[1:]):
        raise ValueError("lists of several lengths in one row")

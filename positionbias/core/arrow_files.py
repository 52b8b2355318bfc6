"""Memory-mapped Arrow IPC files: compared with their manifest when opened, and the offsets and
texts of each batch checked before use.

Arrow trusts the offsets in a file and reads wherever they point, so a damaged or forged file could
crash the process or expose its memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.types as types

from positionbias.core.errors import InputError, bad_input
from positionbias.core.seal import verified


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

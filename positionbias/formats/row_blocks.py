"""Read rows of JSON lines and Parquet files in blocks for workers, with one-line errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.blocks import BLOCK_BYTES, Block
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import check_ratio, file_mark
from positionbias.formats.json_lines import json_lines

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 512
_BATCH_BYTES = 8 << 20


class RowBlock(Protocol):
    """Rows of one file, picklable and small enough for memory."""

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Yield each row with its number for ``bad_row``."""

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        """Return an error about one row, with its place in the file."""

    def fingerprint(self) -> str:
        """Return an identifier of the block across runs."""


@dataclass(frozen=True, slots=True)
class LineRows:
    """Rows as JSON lines."""

    block: Block

    def rows(self) -> Iterator[tuple[int, Any]]:
        return json_lines(self.block)

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        return self.block.bad_line(number, wanted=wanted, found=found, do=do)

    def fingerprint(self) -> str:
        return self.block.fingerprint()


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """The rows of the row groups ``[first, end)`` of a Parquet file."""

    path: str
    first: int
    end: int
    columns: Sequence[str]

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most ``rows`` rows, fewer if rows are long."""
        with parquet_errors(self.path), pq.ParquetFile(self.path) as table:
            names = [name for name in self.columns if name in table.schema_arrow.names]
            groups = [table.metadata.row_group(number) for number in range(self.first, self.end)]
            each = sum(group.total_byte_size for group in groups) // max(
                1, sum(group.num_rows for group in groups)
            )
            size = max(1, min(rows, _BATCH_BYTES // max(1, each)))
            yield from table.iter_batches(
                size, row_groups=list(range(self.first, self.end)), columns=names, use_threads=False
            )

    def rows(self) -> Iterator[tuple[int, Any]]:
        return enumerate(record for batch in self.batches(_BATCH) for record in batch.to_pylist())

    def bad_row(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        place = f"row {number} of row group {self.first} and those after it"
        return bad_input(self.path, wanted=wanted, found=f"{found} ({place})", do=do)

    def fingerprint(self) -> str:
        return f"{sorted(file_mark(self.path).items())} {self.first}-{self.end}"


@contextmanager
def parquet_errors(path: Path | str) -> Iterator[None]:
    """Turn Arrow's error about a damaged file into one clear line."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        found = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise bad_input(
            path, wanted="a complete Parquet file", found=found, do="fetch the file again"
        ) from None


def parquet_columns(path: Path | str) -> list[str]:
    """Return the names of a Parquet file's columns.

    Raises:
        InputError: a damaged file, or one whose unpacked size is over the budget.
    """
    return _look(path)[0]


def _look(path: Path | str) -> tuple[list[str], list[int]]:
    """Return the names of the columns, and the unpacked bytes of each row group."""
    with parquet_errors(path), pq.ParquetFile(path) as table:
        names, found = list(table.schema_arrow.names), table.metadata
        sizes = [found.row_group(group).total_byte_size for group in range(found.num_row_groups)]
    check_ratio(path, Path(path).stat().st_size, sum(sizes))
    return names, sizes


def parquet_blocks(
    path: Path | str, columns: Sequence[str], required: Sequence[str] = (), size: int = BLOCK_BYTES
) -> list[ParquetRows]:
    """Return a Parquet file's rows in blocks of whole row groups, of at least ``size`` bytes, with
    those of these columns that it has.

    Raises:
        InputError: a damaged file, one whose unpacked size is over the budget, or one without a
            ``required`` column.
    """
    names, sizes = _look(path)
    if missing := [name for name in required if name not in names]:
        raise bad_input(
            path,
            wanted=f"the columns {', '.join(required)}",
            found=f"no {', '.join(missing)}",
            do="check the path",
        )
    blocks: list[ParquetRows] = []
    first, held = 0, 0
    for group, group_size in enumerate(sizes):
        held += group_size
        if held >= size or group == len(sizes) - 1:
            blocks.append(ParquetRows(str(path), first, group + 1, tuple(columns)))
            first, held = group + 1, 0
    return blocks

"""The edits of a block of bytes, and a file that grows in order from blocks that any worker makes;
an interrupted run resumes after the last one.

A worker finds the cuts, and the writer of the file, which has the bytes, makes them. So another
process returns 12 bytes per passage instead of the text.

The pieces come back to this process, so a file is written once and its SHA-256 computed on the way.
Separate shards, joined at the end, would be written twice and read once more. A log has a line for
each piece: its length, the SHA-256 of everything so far, its maker's facts, and a digest of the
line. A later run of the same job keeps the file up to the first disagreement.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from positionbias.core.files import zstandard
from positionbias.core.seal import as_signed, signed

Counts = Mapping[str, Mapping[str, int]]  # by what is counted
Packing = Literal["gzip", "zstd"]
_ENDINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_LOG = ".pieces"
_LEVEL = 6
_SETTLED = 32 << 20


def packing_of(path: Path | str) -> Packing | None:
    """Return a file's compression by its suffix."""
    return _ENDINGS.get(Path(path).suffix)


def pack(data: bytes, packing: Packing | None) -> bytes:
    """Compress to one gzip member or zstd frame, without name and time; concatenated, they are a
    whole file.
    """
    if packing == "gzip":
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()
    if packing == "zstd":
        return zstandard().ZstdCompressor().compress(data)
    return data


def unpack(data: bytes, packing: Packing | None) -> bytes:
    """Invert ``pack``.

    Raises:
        ValueError: the data cannot be unpacked.
    """
    try:
        if packing == "gzip":
            return zlib.decompress(data, 31)
        if packing == "zstd":
            library = zstandard()
            try:
                return library.ZstdDecompressor().decompress(data)
            except library.ZstdError as error:
                raise ValueError(str(error)) from error
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return data


class Edits(NamedTuple):
    """Edits of a block: drop the bytes before ``begin``, and cut each of n stretches
    ``[start, end)`` at its place; each (n,) int32.

    Stretches are in increasing order and do not overlap.
    """

    begin: int
    starts: np.ndarray
    places: np.ndarray
    ends: np.ndarray


def spliced(data: bytes, edits: Edits) -> bytes:
    """Apply edits to a block: each stretch becomes the part after its cut, a space, and the part
    before.
    """
    count = len(edits.starts)
    if not count:
        return data[edits.begin :]
    # the parts of the block, by their edges: what is before a stretch, and its two parts, for each;
    # the rest; and last a space
    edges = np.empty(3 * count + 3, np.int32)
    edges[1:-2] = np.stack(edits[1:], axis=1).ravel()
    edges[0], edges[-2], edges[-1] = edits.begin, len(data), len(data) + 1
    rest, space = 3 * count, 3 * count + 1
    first = np.arange(0, rest, 3, dtype=np.int32)
    order = np.stack([first, first + 2, np.full(count, space, np.int32), first + 1], axis=1)
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data + b" ")]
    parts = pa.Array.from_buffers(pa.binary(), len(edges) - 1, buffers)
    taken = parts.take(pa.array(np.append(order.ravel(), np.int32(rest))))
    size = len(data) - edits.begin + count
    return taken.buffers()[2].slice(0, size).to_pybytes()


@dataclass(frozen=True, slots=True)
class _Piece:
    bytes: int
    checksum: str
    facts: Counts


class OrderedFile:
    """Pieces appended in order to an open file or pipe, with the SHA-256 and the size of the
    uncompressed content.
    """

    def __init__(
        self, handle: IO[bytes], packing: Packing | None = None, log: IO[bytes] | None = None
    ) -> None:
        self.packing = packing
        self.size = 0
        self.facts: list[Counts] = []  # what the makers of the pieces said
        self._handle, self._log = handle, log
        self._hash = hashlib.sha256()
        self._unsettled = 0  # bytes written since the last flush to disk
        if log is not None:
            self._verify(log)

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the uncompressed content so far, in hexadecimal."""
        return self._hash.hexdigest()

    def append(self, piece: bytes, facts: Counts) -> None:
        """Write one piece, as ``pack`` gave it, and what its maker said of it."""
        left = memoryview(piece)
        while left:  # an unbuffered pipe may take only a part
            written = self._handle.write(left)
            if written is None:
                raise BlockingIOError(errno.EAGAIN, "a pipe that does not wait for its reader")
            left = left[written:]
        self._handle.flush()
        self._settle(len(piece))
        self._count(unpack(piece, self.packing), facts)
        if self._log is not None:
            line = _Piece(len(piece), self.checksum, facts)
            self._log.write(json.dumps(signed(asdict(line))).encode() + b"\n")
            self._log.flush()

    def _settle(self, written: int) -> None:
        """Now and then, have the system write the file's cached pages to disk and free them.

        Otherwise a file of gigabytes fills as much page cache that nobody reads, and allocating it
        takes most of the time of writing.
        """
        self._unsettled += written
        if self._log is not None and self._unsettled >= _SETTLED and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            self._unsettled = 0

    def _count(self, content: bytes, facts: Counts) -> None:
        self._hash.update(content)
        self.size += len(content)
        self.facts.append(dict(facts))

    def _verify(self, log: IO[bytes]) -> None:
        """Keep the file as far as the log agrees with it, and cut off the rest."""
        whole, logged = 0, 0
        for line in log:
            try:
                told = as_signed(_Piece, json.loads(line))
                piece = self._handle.read(told.bytes)
                content = unpack(piece, self.packing)
                hash_ = self._hash.copy()
                hash_.update(content)
                if len(piece) != told.bytes or hash_.hexdigest() != told.checksum:
                    break
                self._count(content, told.facts)
            except (ValueError, KeyError, TypeError, RecursionError):
                break
            whole, logged = whole + len(piece), logged + len(line)
        for handle, length in ((self._handle, whole), (log, logged)):
            handle.seek(length)
            handle.truncate()


@contextmanager
def resumed_file(folder: Path, name: str, packing: Packing | None = None) -> Iterator[OrderedFile]:
    """Open the file ``name`` in a ``resumable_folder``, with the pieces of an earlier run."""
    path, log = folder / name, folder / _LOG
    path.touch()
    log.touch()
    with open(path, "r+b") as handle, open(log, "r+b") as lines:
        yield OrderedFile(handle, packing, lines)

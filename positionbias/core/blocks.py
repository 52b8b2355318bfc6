"""Text files as blocks of whole lines: the shards in which a corpus step reads a TSV or JSON-lines file.

A plain file is cut into byte ranges that a worker opens for itself. A compressed file or a stream can only be read from
its start, so its blocks carry their bytes. Where a file is cut depends on its bytes and the block size alone, never on the
number of workers.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes

__all__ = ["BLOCK_BYTES", "Block", "file_blocks", "stream_blocks"]

BLOCK_BYTES = 16 << 20
_BOM = b"\xef\xbb\xbf"
_SCAN = 1 << 16


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of one source: the bytes ``[start, end)`` of its uncompressed content.

    ``source`` is what messages name: a path, "ARCHIVE:MEMBER", or "standard input". ``path`` is set where the bytes can be read
    from a plain file; otherwise ``data`` holds them and ``lines_before`` counts the lines of the blocks before.
    """

    source: str
    index: int
    start: int
    end: int
    path: str | None = None
    data: bytes | None = None
    lines_before: int | None = None

    def read(self) -> bytes:
        """The bytes; the last line ends with a newline, except perhaps at the end of the source."""
        if self.data is not None:
            return self.data
        assert self.path is not None
        with open(self.path, "rb") as handle:
            handle.seek(self.start)
            data = handle.read(self.end - self.start)
        if len(data) != self.end - self.start:
            raise bad_input(self.source, wanted="a file that stays as it is", found="one that became shorter", do="run again")
        return data

    def text(self) -> str:
        """The block decoded, without a byte-order mark at the start of the source.

        Raises:
            InputError: not UTF-8; the line and the byte are named.
        """
        data = self.read()
        if self.start == 0 and data.startswith(_BOM):
            data = data[len(_BOM) :]
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.bad_line(
                data.count(b"\n", 0, error.start),
                wanted="text in UTF-8",
                found=f"the byte 0x{data[error.start]:02x}, which is not",
                do="convert the file",
            ) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines, without their newline, numbered from 0 within this block; only ``\\n`` ends a line.

        Raises:
            InputError: as ``text``.
        """
        text = self.text()
        start, number = 0, 0
        while start < len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            yield number, text[start:end]
            start, number = end + 1, number + 1

    def line_number(self, number: int) -> int:
        """The place in the whole source, from 1, of line ``number`` (from 0) of this block."""
        before = self.lines_before
        if before is None:
            assert self.path is not None
            before, left = 0, self.start
            with open(self.path, "rb") as handle:
                while left and (data := handle.read(min(left, BLOCK_BYTES))):
                    before += data.count(b"\n")
                    left -= len(data)
        return before + number + 1

    def bad_line(self, number: int, *, wanted: str, found: str, do: str) -> InputError:
        """The error about line ``number`` (from 0) of this block, with its place in the whole source."""
        return bad_input(self.source, line=self.line_number(number), wanted=wanted, found=found, do=do)


def file_blocks(path: Path | str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The blocks of a file, plain, ``.gz`` or ``.zst``; each is at least ``size`` bytes long but for the last.

    Raises:
        InputError: no such file, or a damaged archive (once it is read).
    """
    with open_bytes(path) as handle:
        if isinstance(handle, io.BufferedReader) and isinstance(handle.raw, io.FileIO) and handle.seekable():
            yield from _ranges(handle, str(path), size)
        else:
            with input_errors(path, wanted="a compressed file"):
                yield from stream_blocks(handle, str(path), size)


def _ranges(handle: IO[bytes], path: str, size: int) -> Iterator[Block]:
    length = handle.seek(0, 2)
    start, index = 0, 0
    while start < length:
        end = _line_end(handle, min(start + size, length), length)
        yield Block(path, index, start, end, path=path)
        start, index = end, index + 1


def _line_end(handle: IO[bytes], at: int, length: int) -> int:
    """The first place from ``at`` that follows a newline, or the end."""
    if at >= length:
        return length
    handle.seek(at - 1)
    place = at - 1
    while data := handle.read(_SCAN):
        found = data.find(b"\n")
        if found >= 0:
            return place + found + 1
        place += len(data)
    return length


def stream_blocks(stream: IO[bytes], source: str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The blocks of a stream that can only be read forward; a line longer than ``size`` makes a longer block."""
    kept: list[bytes] = []  # pieces of the block being gathered
    held, start, index, lines = 0, 0, 0, 0
    while data := stream.read(size):
        cut = data.rfind(b"\n") + 1
        if not cut or held + cut < size:
            kept.append(data)
            held += len(data)
            continue
        block = b"".join((*kept, data[:cut]))
        yield Block(source, index, start, start + len(block), data=block, lines_before=lines)
        start, index, lines = start + len(block), index + 1, lines + block.count(b"\n")
        kept, held = [data[cut:]], len(data) - cut
    if held:
        block = b"".join(kept)
        yield Block(source, index, start, start + len(block), data=block, lines_before=lines)

"""Text files as blocks of whole lines: the shards of a corpus step that reads TSV or JSON lines.

A plain file is cut into byte ranges that workers open themselves. A compressed file or a stream can
only be read from its start, so its blocks carry their bytes. A block ends with the first line that
makes it at least as long as the block size. The cuts depend only on the text and that size, so a
file and its compressed copy have the same blocks.
"""

from __future__ import annotations

import hashlib
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import LINE, file_mark, input_errors, open_bytes

BLOCK_BYTES = 16 << 20
_SCAN = 1 << 16


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of one source: the bytes ``[start, end)`` of its uncompressed content.

    ``source`` is the name in messages: a path, "ARCHIVE:MEMBER", or "standard input". ``path`` is
    the file that holds the bytes as they are, if there is one; otherwise ``data`` holds them and
    ``lines_before`` counts the lines of earlier blocks.
    """

    source: str
    index: int
    start: int
    end: int
    path: str | None = None
    data: bytes | None = None
    lines_before: int | None = None

    def read(self) -> bytes:
        """Return the bytes; every line ends with a newline, except perhaps the last of the source.

        Raises:
            InputError: the file is gone or has become shorter.
        """
        if self.data is not None:
            return self.data
        assert self.path is not None
        try:
            with open(self.path, "rb") as handle:
                handle.seek(self.start)
                data = handle.read(self.end - self.start)
        except OSError as error:
            raise bad_input(
                self.source,
                wanted="a readable file",
                found=error.strerror or str(error),
                do="check the path; every machine of a cluster must see it",
            ) from error
        if len(data) != self.end - self.start:
            raise bad_input(
                self.source,
                wanted="a file that stays as it is",
                found="one that became shorter",
                do="run again",
            )
        return data

    def text(self) -> str:
        """Return the decoded text, without a byte-order mark at the start of the source.

        Raises:
            InputError: not UTF-8; the line and the byte are named.
        """
        data = self.read()
        if self.start == 0 and data.startswith(BOM_UTF8):
            data = data[len(BOM_UTF8) :]
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
        """Yield the lines, numbered from 0 within this block, without their ends: ``\\n``, or
        ``\\r\\n`` as Windows writes it.

        Any other ``\\r`` is text.

        Raises:
            InputError: as ``text``.
        """
        *lines, last = self.text().split("\n")
        yield from ((number, line.removesuffix("\r")) for number, line in enumerate(lines))
        if last:
            yield len(lines), last

    def fingerprint(self) -> str:
        """Return an identifier of the block across runs: the file's state and range, or a hash of
        the bytes.
        """
        if self.path is not None:
            return f"{self.start}-{self.end} {sorted(file_mark(self.path).items())}"
        assert self.data is not None
        return f"{self.start}-{self.end} {hashlib.blake2b(self.data, digest_size=16).hexdigest()}"

    def line_number(self, number: int) -> int:
        """Return the number in the whole source, from 1, of line ``number`` (from 0) of this
        block.
        """
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
        """Return an error about line ``number`` (from 0) of this block, numbered within the whole
        source.
        """
        return bad_input(
            self.source, line=self.line_number(number), wanted=wanted, found=found, do=do
        )


def file_blocks(path: Path | str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield the blocks of a file, plain, ``.gz`` or ``.zst``; all but the last have at least
    ``size`` bytes.

    Raises:
        InputError: no regular file, a damaged archive, or a line over the budget (once it is read).
    """
    with open_bytes(path) as handle:
        if isinstance(handle, io.BufferedReader) and isinstance(handle.raw, io.FileIO):
            yield from _ranges(handle, str(path), size)
        else:
            with input_errors(path, wanted="a compressed file"):
                yield from stream_blocks(handle, str(path), size)


def file_lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file without their ends (``Block.lines``), numbered from 1.

    Raises:
        InputError: as ``file_blocks``, or not UTF-8 (line and byte are named).
    """
    return numbered_lines(file_blocks(path))


def numbered_lines(blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source's blocks, numbered from 1 within the source."""
    before = 0
    for block in blocks:
        number = -1
        for number, line in block.lines():
            yield before + number + 1, line
        before += number + 1


def _ranges(handle: IO[bytes], path: str, size: int) -> Iterator[Block]:
    length, limit = handle.seek(0, 2), LINE.limit
    start, index = 0, 0
    while start < length:
        end = _line_end(handle, min(start + size, length), length, limit)
        yield _checked(Block(path, index, start, end, path=path), limit)
        start, index = end, index + 1


def _line_end(handle: IO[bytes], at: int, length: int, limit: int) -> int:
    """Return the first position from ``at`` after a newline, or the end; stops once a line is known
    to be too long.
    """
    if at >= length:
        return length
    handle.seek(at - 1)
    handle.readline(limit + 2)
    return handle.tell()


def _checked(block: Block, limit: int) -> Block:
    """Return the block after checking its lines against the budget; blocks shorter than the budget
    need no check.
    """
    if block.end - block.start > limit:
        for number, line in enumerate(block.read().split(b"\n")):
            if len(line) > limit:
                raise _too_long(block.source, block.line_number(number))
    return block


def _too_long(source: Path | str, line: int) -> InputError:
    return LINE.exceeded(
        source, line=line, found="a longer line", do="check that the file has one record a line, "
    )


def stream_blocks(stream: IO[bytes], source: str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield the blocks of a forward-only stream, with the cuts of a plain file.

    Raises:
        InputError: a line is over the budget.
    """
    limit, data, held, at = LINE.limit, None, b"", 0
    start = index = lines = 0
    while data != b"":
        data = stream.read(max(size, _SCAN))
        held, at = held[at:] + data, 0
        while at < len(held):
            end = held.find(b"\n", at + max(0, size - 1)) + 1
            if not end and data and len(held) - at <= size + limit:
                break
            part = held[at : end or None]
            stop = start + len(part)
            yield _checked(Block(source, index, start, stop, data=part, lines_before=lines), limit)
            start, index, lines, at = stop, index + 1, lines + part.count(b"\n"), at + len(part)

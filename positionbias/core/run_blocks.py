"""Read a TREC run as columns in blocks of whole queries, for runs of hundreds of millions of lines.

A header of ir_metadata at the start of a run is skipped.

A block of plain lines (ASCII, one space or tab between columns, decimal scores) is cut at its white
space, some ten times as fast as line by line. Any other block is parsed line by line, which accepts
unusual lines and numbers faulty ones. Both give the same columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.core.blocks import BLOCK_BYTES, Block, byte_lines, stream_blocks
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "HEADER_END",
    "HEADER_START",
    "WANTED",
    "Columns",
    "Line",
    "block_columns",
    "parse_lines",
    "run_blocks",
]

Line = tuple[int, str, str, float, str]  # number from 1, query id, passage id, score, tag
WANTED = "six columns: query Q0 passage rank score tag"
HEADER_START, HEADER_END = "# ir_metadata.start", "# ir_metadata.end"
_BOM = b"\xef\xbb\xbf"
_SPACE, _TAB, _NEWLINE = b" \t\n"
_QUERY, _PASSAGE, _SCORE, _TAG, _WIDTH = 0, 2, 4, 5, 6


class Columns(NamedTuple):
    """The columns of a block's lines, in order; scores are float64. Of the tags it has each
    once.
    """

    query_ids: pa.StringArray
    passage_ids: pa.StringArray
    scores: np.ndarray
    tags: set[str]


def parse_lines(path: Path | str, lines: Iterable[tuple[int, str]]) -> Iterator[Line]:
    """Parse numbered lines; skips blank ones, and a byte-order mark and a header before the first.

    Raises:
        InputError: another number of columns, a score that is not finite, or a header without an
            end.
    """
    for number, line in _after_headers(path, iter(lines)):
        parts = (line.removeprefix("\ufeff") if number == 1 else line).split()
        if not parts:
            continue
        if len(parts) != 6:
            raise bad_input(
                path,
                line=number,
                wanted=WANTED,
                found=f"{len(parts)} columns",
                do="fix or drop the line",
            )
        try:
            score = float(parts[4])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise bad_input(
                path,
                line=number,
                wanted="a finite score",
                found=repr(parts[4]),
                do="fix or drop the line",
            )
        yield number, parts[0], parts[2], score, parts[5]


def _after_headers(path: Path | str, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines after the headers, which begin in line 1 and follow one another: repro_eval
    puts new ones before old ones.
    """
    at_head = 1
    for number, line in lines:
        if number != at_head or not _begins_header(line):
            yield number, line
            continue
        at_head = next((inside + 1 for inside, text in lines if _ends_header(text)), 0)
        if not at_head:
            raise _no_end(path, number)


def _header_size(path: Path | str) -> tuple[int, int]:
    """Return the bytes of a run's headers, with a byte-order mark before them, and their lines."""
    size = read = lines = 0
    inside = 0  # the line in which an open header begins
    with open_bytes(path) as stream:
        for number, raw in byte_lines(stream, path):
            line = raw.decode("utf-8", "replace")
            if not inside and not _begins_header(line):
                break
            inside, read = inside or number, read + len(raw)
            if _ends_header(line):
                inside, size, lines = 0, read, number
    if inside:
        raise _no_end(path, inside)
    return size, lines


def _begins_header(line: str) -> bool:
    return line.removeprefix("\ufeff").rstrip() == HEADER_START


def _ends_header(line: str) -> bool:
    return line.rstrip() == HEADER_END


def _no_end(path: Path | str, number: int) -> InputError:
    wanted, do = f"a line {HEADER_END!r} after {HEADER_START!r}", "add it, or fetch the file again"
    return bad_input(path, line=number, wanted=wanted, found="none", do=do)


def run_blocks(path: Path | str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield the run in blocks of whole queries, of about ``size`` bytes and carrying them.

    A leading byte-order mark and a header are left out; positions count from after them.

    Raises:
        InputError: no such file, a damaged one, or a header without an end.
    """
    source, start, index = str(path), 0, 0
    kept: list[bytes] = []  # the lines of one query, and blank ones
    query: str | None = None

    def made(data: bytes) -> Block:
        return Block(
            source, index, start, start + len(data), path=source, data=data, lines_before=before
        )

    with input_errors(path, wanted="a TREC run"), open_bytes(path) as stream:
        head, before = _header_size(path)
        for block in stream_blocks(stream, source, size):
            data = block.read()[max(0, head - block.start) :]
            if not head and not block.start:
                data = data.removeprefix(_BOM)
            cut, last, alone = _last_query(data)
            if last is None or (alone and query in (None, last)):
                kept.append(data)
                query = last or query
                continue
            whole = b"".join((*kept, data[:cut]))
            yield made(whole)
            start, index, before = start + len(whole), index + 1, before + whole.count(b"\n")
            kept, query = [data[cut:]], last
    if rest := b"".join(kept):
        yield made(rest)


def _last_query(data: bytes) -> tuple[int, str | None, bool]:
    """Return the start of the last query's lines, the query (None if all lines are blank), and
    whether it is the only one.
    """
    query, found, end = None, 0, len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        # as text, which has more kinds of white space
        first = data[start:end].decode("utf-8", "replace").split(None, 1)[:1]
        if first and query is not None and first[0] != query:
            return found, query, False
        if first:
            query, found = first[0], start
        end = start
    return found, query, True


def block_columns(block: Block) -> Columns:
    """Return the columns of a block.

    Raises:
        InputError: as ``parse_lines``.
    """
    return _plain_columns(block.read()) or _parsed_columns(block)


def _parsed_columns(block: Block) -> Columns:
    import pyarrow as pa

    lines = list(
        parse_lines(
            block.source, ((block.line_number(number), line) for number, line in block.lines())
        )
    )
    query_ids, passage_ids = (
        pa.array([line[column] for line in lines], pa.string()) for column in (1, 2)
    )
    return Columns(
        query_ids,
        passage_ids,
        np.array([line[3] for line in lines], np.float64),
        {line[4] for line in lines},
    )


def _plain_columns(data: bytes) -> Columns | None:
    """Return the columns of plain lines; None if a line or a score is not plain."""
    import pyarrow as pa

    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    ends = _ends(data if data.endswith(b"\n") else data + b"\n")
    if ends is None:
        return None
    try:
        scores = _column(data, ends, _SCORE).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    if not np.isfinite(scores).all():
        return None
    return Columns(
        _column(data, ends, _QUERY), _column(data, ends, _PASSAGE), scores, _tags(data, ends)
    )


def _tags(data: bytes, ends: np.ndarray) -> set[str]:
    start, end = int(ends[0, _SCORE]), int(ends[0, _TAG])
    first = data[start:end]  # with the space or tab before it
    if (data if data.endswith(b"\n") else data + b"\n").count(first + b"\n") == len(ends):
        return {first[1:].decode()}
    return set(_column(data, ends, _TAG).unique().to_pylist())


def _ends(data: bytes) -> np.ndarray | None:
    """Return the end of each field of plain lines, ``(lines, 6)`` int32; None if Python's ``split``
    might see other fields.
    """
    if not data.isascii() or len(data) >= 1 << 31:
        return None
    characters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(characters <= _SPACE).astype(np.int32)  # includes all ASCII white space
    if len(ends) % _WIDTH or not len(ends) or ends[0] == 0 or (ends[1:] - ends[:-1] == 1).any():
        return None
    found = characters[ends].reshape(-1, _WIDTH)
    between = found[:, :_TAG]
    plain = (found[:, _TAG] == _NEWLINE).all() and ((between == _SPACE) | (between == _TAB)).all()
    return ends.reshape(-1, _WIDTH) if plain else None


def _column(data: bytes, ends: np.ndarray, column: int) -> pa.StringArray:
    import pyarrow as pa

    # as consecutive strings: the column's fields, alternating with the text between them
    borders = np.empty(2 * len(ends), np.int32)
    borders[1::2] = ends[:, column]
    borders[0::2] = 1 + (
        ends[:, column - 1] if column else np.append(np.int32(-1), ends[:-1, _TAG])
    )
    fields = pa.StringArray.from_buffers(
        len(borders) - 1, pa.py_buffer(borders), pa.py_buffer(data)
    )
    return fields.take(pa.array(np.arange(0, len(fields), 2)))

"""A run in TREC's form by blocks of whole queries, read by columns: for runs of hundreds of millions of lines.

A block is read by pyarrow's CSV reader where its lines are plain (ASCII, one separator between columns, scores in decimal form), some ten times as fast
as line by line; anything else goes line by line, which finds the fault and its line, or reads what only looks odd. Both give the same rankings.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.blocks import BLOCK_BYTES, Block, stream_blocks
from positionbias.core.errors import bad_input
from positionbias.core.files import input_errors, open_bytes

__all__ = ["WANTED", "Line", "Ranked", "block_rankings", "parse_lines", "run_blocks"]

Line = tuple[int, str, str, float, str]  # number from 1, query id, passage id, score, tag
Ranked = Callable[[str, Sequence[str], Sequence[float] | np.ndarray], tuple[np.ndarray, np.ndarray]]
WANTED = "six columns: query Q0 passage rank score tag"
_BOM = b"\xef\xbb\xbf"
_ODD = (b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\x1f")  # white space to Python, not to the CSV reader
_COLUMNS = ("query", "q0", "passage", "rank", "score", "tag")


def parse_lines(path: Path | str, lines: Iterable[tuple[int, str]]) -> Iterator[Line]:
    """The columns that are read of numbered lines; blank ones are passed over, and a byte-order mark before line 1.

    Raises:
        InputError: another number of columns, or a score that is not a finite number.
    """
    for number, line in lines:
        parts = (line.removeprefix("\ufeff") if number == 1 else line).split()
        if not parts:
            continue
        if len(parts) != 6:
            raise bad_input(path, line=number, wanted=WANTED, found=f"{len(parts)} columns", do="mend or drop the line")
        try:
            score = float(parts[4])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise bad_input(path, line=number, wanted="a finite score", found=repr(parts[4]), do="mend or drop the line")
        yield number, parts[0], parts[2], score, parts[5]


def run_blocks(path: Path | str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The run in blocks of whole queries, which carry their bytes: cut after the last line of a query that ends at ``size`` bytes or later.

    A byte-order mark is left out, as it is no part of the first query; places count from behind it.

    Raises:
        InputError: no such file, or a damaged one.
    """
    source, kept, start, index, before = str(path), b"", 0, 0, 0
    with input_errors(path, wanted="a TREC run"), open_bytes(path) as stream:
        for block in stream_blocks(stream, source, size):
            data = kept + (block.read() if block.start else block.read().removeprefix(_BOM))
            cut = _last_query(data)
            if cut:
                yield Block(source, index, start, start + cut, data=data[:cut], lines_before=before)
                start, index, before = start + cut, index + 1, before + data.count(b"\n", 0, cut)
            kept = data[cut:]
    if kept:
        yield Block(source, index, start, start + len(kept), data=kept, lines_before=before)


def _last_query(data: bytes) -> int:
    """Where the lines of the last query begin."""
    query, found, end = None, len(data), len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        first = data[start:end].decode("utf-8", "replace").split(None, 1)[:1]  # as text: it has more kinds of white space
        if first and query is not None and first != query:
            break
        if first:
            query, found = first, start
        end = start
    return found if query is not None else 0


def block_rankings(block: Block, ranked: Ranked) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Query id, passage ids and float32 scores of each query of a block, best first; ``ranked`` gives the order and its scores.

    Raises:
        InputError: as ``parse_lines``; what ``ranked`` says of a query's lines.
    """
    data = block.read()
    columns = _columns(data) if _is_plain(data) else None
    if columns is not None:
        yield from _by_columns(*columns, ranked)
        return
    lines = ((block.line_number(number), line) for number, line in block.lines())
    for query_id, rows in groupby(parse_lines(block.source, lines), key=lambda row: row[1]):
        _, _, passage_ids, scores, _ = zip(*rows, strict=True)
        order, values = ranked(query_id, passage_ids, scores)
        yield query_id, [passage_ids[place] for place in order], values


def _is_plain(data: bytes) -> bool:
    """Whether the CSV reader sees the columns that Python's ``split`` would."""
    separator = _separator(data)
    other = b"\t" if separator == b" " else b" "
    doubled = (separator * 2, b"\n" + separator, separator + b"\n", separator + b"\r", other, *_ODD)
    at_ends = data.startswith(separator) or data.endswith(separator)
    within = data.count(b"\r") != data.count(b"\r\n")  # the CSV reader takes one within a line for its end
    return data.isascii() and not at_ends and not within and not any(odd in data for odd in doubled)


def _separator(data: bytes) -> bytes:
    return b"\t" if b"\t" in data[: data.find(b"\n") if b"\n" in data else len(data)] else b" "


def _columns(data: bytes) -> tuple[Any, Any, np.ndarray] | None:
    """Query ids and passage ids as Arrow arrays, and scores; None where a line has other columns or a score is no plain number."""
    import pyarrow as pa
    from pyarrow import csv

    types = {"query": pa.string(), "passage": pa.string(), "score": pa.float64()}
    try:
        table = csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(use_threads=False, column_names=_COLUMNS, block_size=max(1 << 20, len(data))),
            csv.ParseOptions(delimiter=_separator(data).decode(), quote_char=False, double_quote=False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    query, passage, score = (table.column(name).combine_chunks() for name in types)
    scores = score.to_numpy(zero_copy_only=False)
    return (query, passage, scores) if len(scores) and np.isfinite(scores).all() else None


def _by_columns(query: Any, passage: Any, scores: np.ndarray, ranked: Ranked) -> Iterator[tuple[str, list[str], np.ndarray]]:
    import pyarrow.compute as pc

    changes = pc.not_equal(query.slice(1), query.slice(0, len(query) - 1)).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    ends = np.append(starts[1:], len(scores))
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused by ``ranked``
        values = scores.astype(np.float32)
    # a query whose scores fall from line to line needs no sorting
    rises = np.concatenate([[0], np.cumsum(~(values[1:] < values[:-1]) | ~np.isfinite(values[1:]))])
    falling = (rises[ends - 1] == rises[starts]) & np.isfinite(values[starts])
    query_ids = query.take(starts).to_pylist()
    passage_ids = passage.to_numpy(zero_copy_only=False).tolist()
    for query_id, start, end, falls in zip(query_ids, starts.tolist(), ends.tolist(), falling.tolist(), strict=True):
        ids = passage_ids[start:end]
        if falls and len(set(ids)) == len(ids):
            yield query_id, ids, values[start:end]
        else:
            order, own = ranked(query_id, ids, scores[start:end])
            yield query_id, [ids[place] for place in order], own

"""The rankings of a block of a run, as columns or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError
from positionbias.core.rank_order import Ranking, ranked, run_stem
from positionbias.core.run_blocks import block_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Rankings", "block_rankings", "rankings_of"]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)


class Rankings(NamedTuple):
    """Rankings as columns: query i has the passages and float32 scores from ``starts[i]`` to
    ``starts[i + 1]``, best first; and the tags.
    """

    query_ids: list[str]
    starts: np.ndarray  # (queries + 1,)
    passage_ids: pa.StringArray
    scores: np.ndarray
    tags: set[str]


def rankings_of(block: Block) -> Iterator[Ranking]:
    """Yield the rankings of a block of ``run_blocks``.

    Raises:
        InputError: as ``block_rankings``.
    """
    query_ids, starts, column, scores, _ = block_rankings(block)
    passage_ids = column.to_numpy(zero_copy_only=False).tolist()
    for query_id, start, end in zip(
        query_ids, starts[:-1].tolist(), starts[1:].tolist(), strict=True
    ):
        yield Ranking(query_id, passage_ids[start:end], scores[start:end])


def block_rankings(block: Block) -> Rankings:
    """Return the rankings of a block of ``run_blocks`` as columns.

    Raises:
        InputError: a malformed line (numbered), a score that is not finite, or a repeated passage
            for a query.
    """
    import pyarrow as pa

    column, passages, scores, tags = block_columns(block)
    starts = _starts(column)
    query_ids = column.take(pa.array(starts[:-1])).to_pylist()
    with np.errstate(over="ignore"):  # ``ranked`` refuses overflow
        values = scores.astype(np.float32)
    query = np.repeat(np.arange(len(query_ids)), np.diff(starts))
    for place in _doubtful(query, starts, passages, values):
        part = slice(starts[place], starts[place + 1])
        try:
            ranked(
                run_stem(Path(block.source)),
                query_ids[place],
                passages[part].to_pylist(),
                scores[part],
            )
        except InputError as error:
            raise InputError(f"{block.source}: {error}") from error
    if (order := _order(query, passages, values)) is not None:
        passages, values = passages.take(pa.array(order)), values[order]
    return Rankings(query_ids, starts, passages, values, tags)


def _starts(query: pa.StringArray) -> np.ndarray:
    import pyarrow.compute as pc

    if not len(query):
        return np.zeros(1, np.int64)
    changes = pc.not_equal(query.slice(1), query.slice(0, len(query) - 1)).to_numpy(
        zero_copy_only=False
    )
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(query)]])


def _doubtful(
    query: np.ndarray, starts: np.ndarray, passages: pa.StringArray, values: np.ndarray
) -> list[int]:
    """Return the queries that have a score that is not finite, or may repeat a passage."""
    hashes = _hashes(passages)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        hashes[start:end].sort()
    odd = ~np.isfinite(values)
    odd[1:] |= (hashes[1:] == hashes[:-1]) & (query[1:] == query[:-1])
    found: list[int] = np.unique(query[odd]).tolist()
    return found


def _order(query: np.ndarray, passages: pa.StringArray, values: np.ndarray) -> np.ndarray | None:
    """Return the order of the lines: by query, score descending, then id descending; None if it is
    theirs.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    same = query[1:] == query[:-1]
    if not (same & ~(values[1:] < values[:-1])).any():
        return None
    falling = not (same & (values[1:] > values[:-1])).any()
    order = np.arange(len(values)) if falling else np.lexsort((-values, query))
    ties = same & (values[order][1:] == values[order][:-1])
    tied = np.flatnonzero(np.append(ties, False) | np.append(False, ties))
    group = np.cumsum(np.append(True, ~ties))[tied]
    by_id = pc.rank(
        passages.take(pa.array(order[tied])), sort_keys="descending", tiebreaker="dense"
    ).to_numpy()
    order[tied] = order[tied][np.lexsort((by_id, group))]
    return order


def _hashes(strings: pa.StringArray) -> np.ndarray:
    """Return a 64-bit hash of each string, ``(len(strings),)`` uint64, without collisions between
    strings of up to eight bytes.
    """
    offsets = np.frombuffer(strings.buffers()[1], np.int32)[: len(strings) + 1]
    data = np.append(np.frombuffer(strings.buffers()[2] or b"", np.uint8), np.zeros(8, np.uint8))
    # the eight bytes from each position
    words: np.ndarray = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))
    lengths = np.diff(offsets)
    found = np.zeros(len(strings), np.uint64)
    for at in range(0, int(lengths.max(initial=0)), 8):
        eight = words[np.minimum(offsets[:-1] + at, len(words) - 1)]
        found = found * _ODD + (eight & _FIRST_BYTES[np.clip(lengths - at, 0, 8)])
    return found

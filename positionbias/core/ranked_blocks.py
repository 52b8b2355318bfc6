"""The rankings of a block of a run, as columns or one by one; only rankings out of order are sorted."""

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
    """Rankings as columns: query i has the passages and float32 scores from ``starts[i]`` to ``starts[i + 1]``, best first."""

    query_ids: list[str]
    starts: np.ndarray  # (queries + 1,)
    passage_ids: pa.StringArray
    scores: np.ndarray


def rankings_of(block: Block) -> Iterator[Ranking]:
    """Yield the rankings of a block of ``run_blocks``.

    Raises:
        InputError: as ``block_rankings``.
    """
    query_ids, starts, column, scores = block_rankings(block)
    passage_ids = column.to_numpy(zero_copy_only=False).tolist()
    for query_id, start, end in zip(query_ids, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        yield Ranking(query_id, passage_ids[start:end], scores[start:end])


def block_rankings(block: Block) -> Rankings:
    """Return the rankings of a block of ``run_blocks`` as columns.

    Raises:
        InputError: a malformed line (numbered), a score that is not finite, or a repeated passage for a query.
    """
    import pyarrow as pa

    query, passages, scores = block_columns(block)
    starts = _starts(query)
    query_ids = query.take(pa.array(starts[:-1])).to_pylist()
    with np.errstate(over="ignore"):  # ``ranked`` refuses overflow
        values = scores.astype(np.float32)
    order, unsettled = np.arange(len(values)), _unsettled(starts, passages, values)
    for place in unsettled:
        part = slice(starts[place], starts[place + 1])
        try:
            own, values[part] = ranked(run_stem(Path(block.source)), query_ids[place], passages[part].to_pylist(), scores[part])
        except InputError as error:
            raise InputError(f"{block.source}: {error}") from error
        order[part] = starts[place] + own
    return Rankings(query_ids, starts, passages.take(pa.array(order)) if unsettled else passages, values)


def _starts(query: pa.StringArray) -> np.ndarray:
    import pyarrow.compute as pc

    if not len(query):
        return np.zeros(1, np.int64)
    changes = pc.not_equal(query.slice(1), query.slice(0, len(query) - 1)).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(query)]])


def _unsettled(starts: np.ndarray, passages: pa.StringArray, values: np.ndarray) -> list[int]:
    """Return the queries whose scores do not strictly fall, or that may repeat a passage."""
    hashes = _hashes(passages)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        hashes[start:end].sort()
    odd = np.append(True, ~(values[1:] < values[:-1]) | (hashes[1:] == hashes[:-1]))[: len(values)]
    odd[starts[:-1]] = False
    odd |= ~np.isfinite(values)
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    found: list[int] = np.unique(query[odd]).tolist()
    return found


def _hashes(strings: pa.StringArray) -> np.ndarray:
    """Return a 64-bit hash of each string, ``(len(strings),)`` uint64, without collisions between strings of up to eight bytes."""
    offsets = np.frombuffer(strings.buffers()[1], np.int32)[: len(strings) + 1]
    data = np.append(np.frombuffer(strings.buffers()[2] or b"", np.uint8), np.zeros(8, np.uint8))
    words: np.ndarray = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))  # the eight bytes from each position
    lengths = np.diff(offsets)
    found = np.zeros(len(strings), np.uint64)
    for at in range(0, int(lengths.max(initial=0)), 8):
        eight = words[np.minimum(offsets[:-1] + at, len(words) - 1)]
        found = found * _ODD + (eight & _FIRST_BYTES[np.clip(lengths - at, 0, 8)])
    return found

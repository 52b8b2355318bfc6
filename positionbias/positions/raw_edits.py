"""Apply a rotation to a block of bytes: cut stretches and exchange their two parts.

A worker finds the cuts, and the writer of the file, which has the bytes, makes them. So a worker
returns 12 bytes per passage instead of the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa


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

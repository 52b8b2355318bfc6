"""Merge all drawn triples, or the first of them, by key: sorted files are merged range by range.

Each range is read from every file and sorted; memory holds one range, about 250,000 triples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from positionbias.clicks.draw import TRIPLE, by_key

__all__ = ["Range", "ranges", "triples_of"]

RANGE_TRIPLES = 1 << 18


@dataclass(frozen=True, slots=True)
class Range:
    """A range of the key: its start and end in each file, the number of triples taken, and of those
    with a judged negative.
    """

    cuts: tuple[tuple[int, int], ...]
    take: int
    judged: int


def ranges(paths: Sequence[Path], wanted: int | None, size: int = RANGE_TRIPLES) -> Iterator[Range]:
    """Yield ranges of the key, in order, of about ``size`` triples each and ``wanted`` in all
    (None: all).
    """
    total = sum(path.stat().st_size for path in paths) // TRIPLE.itemsize
    left = total if wanted is None else min(wanted, total)
    count = max(1, total // size)
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    places = [_places(path, edges) for path in paths]
    for number in range(count):
        if left <= 0:
            return
        cuts = tuple((cut[number], cut[number + 1]) for cut in places)
        taken = _sorted(paths, cuts)[:left]
        if len(taken):
            yield Range(cuts, len(taken), int(taken["judged"].sum()))
        left -= len(taken)


def _places(path: Path, edges: np.ndarray) -> list[int]:
    """Return the start of each range in a file, and the end of the last."""
    keys = np.ascontiguousarray(np.fromfile(path, TRIPLE)["key"])
    return [0, *np.searchsorted(keys, edges, "left").tolist(), len(keys)]


def triples_of(paths: Sequence[Path], part: Range) -> np.ndarray:
    """Read the triples of a range in order, ``(take,)`` of ``TRIPLE``."""
    return _sorted(paths, part.cuts)[: part.take]


def _sorted(paths: Sequence[Path], cuts: Sequence[tuple[int, int]]) -> np.ndarray:
    pieces = [np.empty(0, TRIPLE)]
    for path, (low, high) in zip(paths, cuts, strict=True):
        if low < high:
            pieces.append(np.fromfile(path, TRIPLE, high - low, offset=low * TRIPLE.itemsize))
    return by_key(np.concatenate(pieces))

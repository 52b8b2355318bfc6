"""Search by ranges of vectors, in this process or others; an interrupted search goes on.

Queries are searched in turns, as many at once as memory allows. For each turn:

    ranges/TURN-queries.npy   the vectors of its queries
    ranges/TURN-RANGE         what each range of the vectors has for them, made by any process
    turns/TURN                the best of all ranges, merged here; the files of the turn's ranges
                              are removed

Cuts depend on the input alone. Every range is searched for passages that reach the scores of the
best so far, which depend on what was done before. So what a range has is at least its part of the
result, and the result is the same for any order and any processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from positionbias.core.files import remove
from positionbias.core.progress import SILENT, Progress, step
from positionbias.core.steps import MapShards, make_shards
from positionbias.dense.exact import Found, exact_search
from positionbias.dense.merged import Best, read_found, write_found
from positionbias.dense.passage_blocks import Rows
from positionbias.dense.vector_range import VectorRange, opened_everywhere
from positionbias.dense.vectors import Vectors
from positionbias.engine.per_process import PerProcess
from positionbias.ranking.loading import pick_device

RANGE = 1 << 18  # vectors: 32 shards


class RangeFinder(Protocol):
    """A search of one range, which other processes can be sent: rows are numbered from its first,
    best first.
    """

    @property
    def depth(self) -> int: ...

    def fingerprint(self) -> str:
        """Return what its results depend on."""

    def __call__(
        self, part: VectorRange, queries: np.ndarray, floor: np.ndarray, bar: Progress
    ) -> Iterator[Found]: ...


@dataclass(frozen=True, slots=True)
class ExactRange:
    """Exact search of a range within ``memory`` GiB, on this kind of device."""

    depth: int
    memory: float
    device: str

    def fingerprint(self) -> str:
        """Return the depth: memory and device change no result."""
        return f"exact {self.depth}"

    def __call__(
        self, part: VectorRange, queries: np.ndarray, floor: np.ndarray, bar: Progress
    ) -> Iterator[Found]:
        """Search it, as ``exact_search``."""
        device = pick_device(self.device)
        return exact_search(
            part, queries, self.depth, memory=self.memory, device=device, floor=floor, bar=bar
        )


@dataclass(frozen=True, slots=True)
class _Turn:
    queries: np.ndarray
    digest: str

    def fingerprint(self) -> str:
        return self.digest


@dataclass(frozen=True, slots=True)
class _Part:
    """A range to search for the queries of a file, and the score that is needed for each
    ``(q,)``.
    """

    queries: Path
    rows: Rows
    floor: np.ndarray
    digest: str

    def fingerprint(self) -> str:
        """Return a fingerprint by which an interrupted run recognises the same queries and range,
        whatever was known before.
        """
        return f"{self.digest} {self.rows.first} {self.rows.last}"


class _Searcher:
    """A search of parts into files; ``here`` has the first rows of the ranges searched in this
    process.
    """

    def __init__(
        self, vectors: PerProcess[Vectors], find: RangeFinder, bar: Progress = SILENT
    ) -> None:
        self.vectors, self.find, self.bar = vectors, find, bar
        self.here: set[int] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Searcher, (self.vectors, self.find)

    def __call__(self, part: _Part, path: Path) -> int:
        self.here.add(part.rows.first)
        queries = np.load(part.queries)
        return write_found(
            path, self.find(VectorRange(self.vectors(), part.rows), queries, part.floor, self.bar)
        )


class ByRange:
    """A search of all vectors for ``at_once`` queries in a turn, in a folder of
    ``resumable_folder``.
    """

    def __init__(
        self,
        folder: Path,
        vectors: Vectors,
        ranges: Sequence[Rows],
        find: RangeFinder,
        *,
        at_once: int,
        map_shards: MapShards = map,
    ) -> None:
        self.folder, self.vectors, self.ranges, self.find, self.at_once = (
            folder,
            vectors,
            ranges,
            find,
            at_once,
        )
        self.map_shards, self.turns = map_shards, 0
        self.depth = min(find.depth, len(vectors))
        self.opened = opened_everywhere(vectors)
        for name in ("ranges", "turns"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def search(self, queries: np.ndarray) -> Iterator[Found]:
        """Yield the ``depth`` best rows of each query ``(q, dim)``, with their scores, in the order
        of the queries.

        Raises:
            InputError: a vector that is not finite, a damaged shard, or vectors that change.
            SettingError: too little memory, or no such device in another process.
        """
        starts = range(0, len(queries), self.at_once)
        with step("searching", len(starts) * len(self.vectors), unit="vectors") as bar:
            for start in starts:
                yield from self._turn(queries[start : start + self.at_once], bar)

    def _turn(self, queries: np.ndarray, bar: Progress) -> Iterator[Found]:
        target, merged = self.folder / "turns" / f"{self.turns:05}", []

        def make(turn: _Turn, path: Path) -> int:
            merged.append(self._merge(turn, bar))
            merged[0].write(path)
            return len(turn.queries)

        told = hashlib.blake2b(
            f"{self.find.fingerprint()} {self.vectors.checksum} ".encode(), digest_size=16
        )
        told.update(np.ascontiguousarray(queries).data)
        list(make_shards(int, make, [_Turn(queries, told.hexdigest())], lambda _: target))
        if not merged:
            bar.advance(len(self.vectors))
        for made in (self._asked, *self._targets):
            remove(made)
        self.turns += 1
        return (merged[0] if merged else Best.read(target, self.vectors.ids_at)).found()

    @property
    def _asked(self) -> Path:
        """Return the file of this turn's queries."""
        return self.folder / "ranges" / f"{self.turns:05}-queries.npy"

    @property
    def _targets(self) -> list[Path]:
        """Return the files of this turn's ranges."""
        return [
            self.folder / "ranges" / f"{self.turns:05}-{number:05}"
            for number in range(len(self.ranges))
        ]

    def _merge(self, turn: _Turn, bar: Progress) -> Best:
        """Search all ranges, each above what is known when it begins, and merge them in order."""
        best, asked, targets = (
            Best(len(turn.queries), self.depth, self.vectors.ids_at),
            self._asked,
            self._targets,
        )
        np.save(asked, turn.queries)
        searcher = _Searcher(self.opened, self.find, bar)
        parts = (_Part(asked, rows, best.floor, turn.digest) for rows in self.ranges)
        made = make_shards(int, searcher, parts, targets.__getitem__, self.map_shards)
        for rows, target, _ in zip(self.ranges, targets, made, strict=True):
            best.add(rows.first, *read_found(target))
            # kept from an earlier run, or made by another process
            if rows.first not in searcher.here:
                bar.advance(rows.last - rows.first)
        return best

"""Ranges of the vectors on disk, each of which can be searched alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from positionbias.core.errors import bad_input
from positionbias.core.places import Place
from positionbias.dense.nearest import Block
from positionbias.dense.passage_blocks import Rows
from positionbias.dense.vectors import Vectors, descending_rows
from positionbias.engine.per_process import PerProcess


def cut_ranges(vectors: Vectors, size: int) -> list[Rows]:
    """Cut the rows into ranges of whole shards, of ``size`` vectors each where that is a multiple
    of a shard's.
    """
    rows = max(1, size // max(1, vectors.shard_size)) * vectors.shard_size
    return [
        Rows(first, min(first + rows, len(vectors)))
        for first in range(0, len(vectors), max(1, rows))
    ]


@dataclass(frozen=True)
class VectorRange:
    """A range of ``cut_ranges`` to search or index as ``Vectors`` are: rows are numbered from its
    first.
    """

    vectors: Vectors
    rows: Rows

    def __len__(self) -> int:
        return self.rows.last - self.rows.first

    @property
    def dimension(self) -> int:
        return self.vectors.dimension

    def by_descending_id(self) -> np.ndarray:
        """Return the rows in descending order of their ids ``(n,)`` int64: the tie rule."""
        return descending_rows(self.vectors.id_column(self.rows.first, self.rows.last))

    def blocks(self) -> Iterator[Block]:
        """Yield rows ``(n,)`` int64 and their vectors ``(n, dim)`` by blocks, as
        ``Vectors.blocks``.
        """
        size = self.vectors.shard_size
        for numbers, block in self.vectors.blocks(
            slice(self.rows.first // size, -(-self.rows.last // size))
        ):
            yield numbers - self.rows.first, block

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of these rows, as ``Vectors.take``."""
        return self.vectors.take(rows + self.rows.first)

    def ids_at(self, rows: np.ndarray) -> list[str]:
        """Return the ids of the passages at these rows."""
        return self.vectors.ids_at(rows + self.rows.first)


def opened_everywhere(vectors: Vectors) -> PerProcess[Vectors]:
    """Return these vectors, for other processes to open them too."""
    return PerProcess(_Opening(vectors.path, vectors.checksum), vectors)


@dataclass(frozen=True, slots=True)
class _Opening:
    """How another process opens the vectors of this one, which must be the same."""

    path: Place
    checksum: str

    def __call__(self) -> Vectors:
        """Open them.

        Raises:
            InputError: they have changed.
        """
        vectors = Vectors(self.path)
        if vectors.checksum != self.checksum:
            raise bad_input(
                vectors.path,
                wanted=f"the vectors {self.checksum[:12]}",
                found=f"{vectors.checksum[:12]} in a worker process",
                do="do not change them while they are searched",
            )
        return vectors

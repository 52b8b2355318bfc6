"""Copy rows of collections' shards into a collection that is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.files import file_mark
from positionbias.core.progress import track
from positionbias.core.shards import PASSAGES, Shard, read_shard, write_rows
from positionbias.core.steps import MapShards


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Shards that become one: each with its rows to copy (None: all), and the prefix of all ids. A
    job says which rows these are.
    """

    shards: Sequence[tuple[Path, np.ndarray | None]]
    prefix: str = ""

    def fingerprint(self) -> str:
        return f"{self.prefix} {[sorted(file_mark(path).items()) for path, _ in self.shards]}"


def parts_of(
    collection: Collection, rows: np.ndarray | None = None, *, most: int = 0, prefix: str = ""
) -> list[Part]:
    """Return the parts with these rows of a collection, which rise, by default all: each shard, or
    at most so many parts of neighbouring shards.
    """
    paths, starts = collection.shard_paths, collection.shard_starts
    kept: list[np.ndarray | None] = [None] * len(paths)
    if rows is not None:
        cuts = pairwise(np.searchsorted(rows, starts).tolist())
        kept = [rows[a:b] - start for (a, b), start in zip(cuts, starts, strict=False)]
    shards = list(zip(paths, kept, strict=True))
    edges = np.linspace(0, len(paths), min(len(paths), most or len(paths)) + 1).astype(int)
    return [Part(shards[a:b], prefix) for a, b in pairwise(edges.tolist())]


def copy_passages(
    writer: CollectionWriter, parts: Sequence[Part], doing: str, map_shards: MapShards
) -> None:
    """Write each part as a shard, wherever ``map_shards`` runs."""
    made = writer.add_shards(Shard, _copy, parts, map_shards)
    for _ in track(made, doing, len(parts), unit="shards"):
        pass


def _copy(part: Part, target: Path) -> Shard:
    """Write a part; a pure function of it."""
    prefix = part.prefix.encode()

    def batches() -> Iterator[tuple[list[bytes], list[bytes]]]:
        for path, rows in part.shards:
            table = read_shard(path)
            if rows is not None:
                stay = np.zeros(table.num_rows, bool)
                stay[rows] = True
                table = table.filter(pa.array(stay))
            for batch in table.to_batches():
                ids, texts = (column.cast(pa.binary()).to_pylist() for column in batch.columns)
                yield [prefix + passage_id for passage_id in ids] if prefix else ids, texts

    return write_rows(target, PASSAGES, batches())

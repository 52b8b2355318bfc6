"""Sample a smaller collection from a large one: some queries, their judged passages, and other
drawn passages.

A query or passage is drawn if its keyed hash is among the smallest [decision]. It depends on (seed,
id) alone, so order and sharding cannot change the sample, and a smaller sample is part of a larger
one. Passages are not held in memory: workers count the keys of each shard in 65,536 equal ranges,
the range of the last drawn key is read again, and the shards are filtered by that key.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import SHARD_PASSAGES, create_collection
from positionbias.core.errors import SettingError
from positionbias.core.input_state import file_mark
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import key64, keys64
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import Shard, read_shard, write_shard
from positionbias.core.split_tables import KIND

__all__ = ["SampleSettings", "sample"]

RANGE_BITS = 16
SHARDS = 64  # of the sample: small shards are joined with neighbouring ones
PURPOSE = "sample passage"

Judged = TypeVar("Judged", Qrel, Answer)


class _Split(NamedTuple):
    """The sampled part of a split."""

    queries: list[Query]
    qrels: list[Qrel]
    further: dict[str, list[Qrel]]
    answers: list[Answer]

    def passages(self) -> set[str]:
        """Return the passages that are judged or hold an answer."""
        judged = {
            qrel.passage_id for qrels in (self.qrels, *self.further.values()) for qrel in qrels
        }
        return judged | {answer.passage_id for answer in self.answers}


@dataclass(frozen=True, slots=True)
class _Part:
    """Neighbouring shards, each with the rows to keep always."""

    shards: tuple[tuple[Path, np.ndarray], ...]

    def fingerprint(self) -> str:
        return repr([sorted(file_mark(path).items()) for path, _ in self.shards])


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The numbers of queries to draw per split and of passages in all; all splits unless some are
    named.

    Raises:
        SettingError: fewer than one of either.
    """

    queries: int
    passages: int
    splits: Sequence[str] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        for flag, value in (("--queries", self.queries), ("--passages", self.passages)):
            if value < 1:
                raise SettingError(f"{flag}: wanted at least 1; found {value}; raise it")


def sample(
    collection: Collection,
    out: Path | str,
    asked: SampleSettings,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` with that many queries per split (or all) and that many passages: those
    that the queries' judgements or answers need, filled up with drawn ones.

    Raises:
        SettingError: more passages are needed than wanted (the message says how many).
        InputError: no such split.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    refuse_existing(out, overwrite=overwrite)  # before all passages are read
    out, names = Path(out), list(dict.fromkeys(asked.splits)) or collection.splits
    passages, seed = asked.passages, asked.seed
    settings: JsonObject = {
        "queries": asked.queries,
        "passages": passages,
        "splits": names,
        "seed": seed,
    }
    kept = {name: _draw_queries(collection, name, asked.queries, seed) for name in names}
    needed = sorted(set[str]().union(*(split.passages() for split in kept.values())))
    rows = collection.find(needed)
    rows = np.sort(rows[rows >= 0])
    if len(rows) > passages:
        raise SettingError(
            f"--passages: wanted at least {len(rows):,}, the passages with judgements or answers "
            f"of the drawn queries; found {passages:,}; raise it, or lower --queries"
        )
    parts = _parts(collection, rows, passages)
    limit = _limit(parts, min(passages, len(collection)) - len(rows), seed, map_shards)
    job: JsonObject = {"command": "sample", "settings": settings, "collection": collection.checksum}
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        made = writer.add_shards(Shard, partial(_filter, seed, limit), parts, map_shards)
        for _ in track(made, "sampling", len(parts), unit="parts"):
            pass
        for name, split in kept.items():
            writer.add_split(name, split.queries, split.qrels, split.answers)
            for further, qrels in split.further.items():
                writer.add_qrels(name, further, qrels)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="sample",
                settings=settings,
                seed=seed,
                inputs=(input_ref("sampled", collection.path, collection.checksum, artefact=out),),
                licence=collection.manifest.licence,
                notes=(
                    (
                        "Queries and passages were drawn by (seed, id) alone; all judged passages "
                        "of drawn queries were kept."
                    ),
                    *collection.manifest.notes,
                ),
                content={"sample": {"passages": len(collection), "judged_or_answering": len(rows)}},
                provenance=provenance or {},
            ),
            # judged passages missing in the collection are missing in the sample too
            allow_absent=True,
        )
    return Collection(out)


def _draw_queries(collection: Collection, split: str, count: int, seed: int) -> _Split:
    """Draw the queries with the smallest keys, and return them in stored order with their
    records.
    """
    queries = collection.queries(split)
    ordered = sorted(queries, key=lambda query: key64(seed, "sample query", query.query_id))
    drawn = {query.query_id for query in ordered[:count]}
    return _Split(
        [query for query in queries if query.query_id in drawn],
        _of(collection.qrels(split), drawn),
        {name: _of(collection.qrels(split, name), drawn) for name in collection.qrels_names(split)},
        _of(collection.answers(split), drawn),
    )


def _of(records: Sequence[Judged], queries: Container[str]) -> list[Judged]:
    return [record for record in records if record.query_id in queries]


def _parts(collection: Collection, rows: np.ndarray, passages: int) -> list[_Part]:
    """Join neighbouring shards, to avoid thousands of tiny ones; each has its rows to keep,
    numbered within it.
    """
    paths, starts = collection.shard_paths, collection.shard_starts
    kept = [
        rows[a:b] - start
        for (a, b), start in zip(pairwise(np.searchsorted(rows, starts)), starts, strict=False)
    ]
    targets = max(1, min(len(paths), max(SHARDS, passages // SHARD_PASSAGES)))
    edges = np.linspace(0, len(paths), targets + 1).astype(int).tolist()
    return [
        _Part(tuple(zip(paths[a:b], kept[a:b], strict=True))) for a, b in pairwise(edges) if a < b
    ]


def _limit(parts: Sequence[_Part], wanted: int, seed: int, map_shards: MapShards) -> int:
    """Return the largest key among the ``wanted`` other passages with the smallest keys; −1 for
    none.
    """
    if wanted <= 0:
        return -1
    counts = np.zeros(1 << RANGE_BITS, dtype=np.int64)
    for found in track(
        map_shards(partial(_count_keys, seed), parts), "drawing", len(parts), unit="parts"
    ):
        counts += found
    below = np.cumsum(counts)
    last = int(np.searchsorted(below, wanted))  # the range of the last drawn key
    keys = np.sort(np.concatenate(list(map_shards(partial(_keys_in, seed, last), parts))))
    return int(keys[wanted - 1 - int(below[last] - counts[last])])


def _count_keys(seed: int, part: _Part) -> np.ndarray:
    counts = np.zeros(1 << RANGE_BITS, dtype=np.int64)
    for table, kept in _tables(part):
        counts += np.bincount(_range(np.delete(_keys(table, seed), kept)), minlength=len(counts))
    return counts


def _keys_in(seed: int, wanted: int, part: _Part) -> np.ndarray:
    found = [np.empty(0, np.uint64)]
    for table, kept in _tables(part):
        keys = np.delete(_keys(table, seed), kept)
        found.append(keys[_range(keys) == wanted])
    return np.concatenate(found)


def _filter(seed: int, limit: int, part: _Part, target: Path) -> Shard:
    """Write the kept and the drawn passages of some shards as one; a pure function of the shards,
    rows, seed and limit.
    """

    def passages() -> Iterator[Passage]:
        for table, kept in _tables(part):
            chosen = (
                _keys(table, seed) <= np.uint64(max(limit, 0))
                if limit >= 0
                else np.zeros(table.num_rows, bool)
            )
            chosen[kept] = True
            for batch in table.filter(pa.array(chosen)).to_batches():
                yield from map(
                    Passage,
                    batch.column("passage_id").to_pylist(),
                    batch.column("text").to_pylist(),
                )

    return write_shard(target, passages())


def _tables(part: _Part) -> Iterator[tuple[pa.Table, np.ndarray]]:
    for path, kept in part.shards:
        yield read_shard(path), kept


def _keys(table: pa.Table, seed: int) -> np.ndarray:
    return keys64(seed, PURPOSE, table.column("passage_id").cast(pa.binary()).to_pylist())


def _range(keys: np.ndarray) -> np.ndarray:
    return (keys >> np.uint64(64 - RANGE_BITS)).astype(np.int64)

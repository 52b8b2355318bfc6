"""Sample a smaller collection from a large one: some queries, their judged passages, and other
drawn passages.

A query or passage is drawn if its keyed hash is among the smallest [decision]. It depends on (seed,
id) alone, so order and sharding cannot change the sample, and a smaller sample is part of a larger
one. Of passages, 8 bytes each are held in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection, find_collection
from positionbias.core.collection_writer import SHARD_PASSAGES, create_collection
from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.publish import refuse_existing
from positionbias.core.seeds import keys64
from positionbias.core.shards import read_shard
from positionbias.core.split_tables import KIND, of_queries
from positionbias.core.steps import MapShards
from positionbias.corpora.copied import copy_passages, parts_of

SHARDS = 64  # of the sample: small shards are joined with neighbouring ones


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The numbers of queries to draw per split and of passages in all, one or more; all splits
    unless some are named.
    """

    queries: int
    passages: int
    splits: Sequence[str] = ()
    seed: int = 1


def sample(
    collection: CollectionLike,
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
    collection = find_collection(collection)
    refuse_existing(out, overwrite=overwrite)  # before all passages are read
    out, names = Path(out), list(dict.fromkeys(asked.splits)) or collection.splits
    settings: JsonObject = {**asdict(asked), "splits": names}
    splits = {name: _drawn(collection.tables(name), asked) for name in names}
    needed = {
        passage_id
        for split in splits.values()
        for kind, table in split.items()
        if kind != "queries"
        for passage_id in table["passage_id"].to_pylist()
    }
    rows = collection.find(sorted(needed))
    rows = np.sort(rows[rows >= 0])
    if len(rows) > asked.passages:
        raise SettingError(
            f"--passages: wanted at least {len(rows):,}, the passages with judgements or answers "
            f"of the drawn queries; found {asked.passages:,}; raise it, or lower --queries"
        )
    keys = [np.zeros(0, np.uint64), *map_shards(partial(_keys, asked.seed), collection.shard_paths)]
    others = np.delete(np.arange(len(collection)), rows)
    order = np.argsort(np.concatenate(keys)[others], kind="stable")
    chosen = np.sort(np.concatenate([rows, others[order[: asked.passages - len(rows)]]]))
    most = max(SHARDS, asked.passages // SHARD_PASSAGES)
    job: JsonObject = {"command": "sample", "settings": settings, "collection": collection.checksum}
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        copy_passages(writer, parts_of(collection, chosen, most=most), "sampling", map_shards)
        for name, split in splits.items():
            writer.add_tables(name, split)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="sample",
                settings=settings,
                seed=asked.seed,
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


def _drawn(split: Mapping[str, pa.Table], asked: SampleSettings) -> dict[str, pa.Table]:
    """Return the queries of a split with the smallest keys, in stored order, with their records."""
    ids = split["queries"]["query_id"]
    keys = keys64(asked.seed, "sample query", ids.cast(pa.binary()).to_pylist())
    drawn = ids.take(pa.array(np.argsort(keys, kind="stable")[: asked.queries]))
    return of_queries(split, drawn.to_pylist())


def _keys(seed: int, shard: Path) -> np.ndarray:
    ids = read_shard(shard).column("passage_id").cast(pa.binary()).to_pylist()
    return keys64(seed, "sample passage", ids)

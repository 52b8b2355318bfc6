"""Merge collections into one, with each id behind its collection's prefix: ``A:17`` is ``17`` of
collection A.

Splits of the same name become one split, and so do their judgement sets [decision]: training across
corpora needs one train split, and the prefix identifies the parts. With ``apart`` they stay
separate, A's split train as A.train, to train on one corpus and test on another. Nothing is
de-duplicated. Runs and training groups beside a collection are not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import SettingError
from positionbias.core.input_state import file_mark
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.progress import track
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import Shard, read_shard, write_shard
from positionbias.core.split_tables import KIND

__all__ = ["SEPARATOR", "merge"]

SEPARATOR = ":"


@dataclass(frozen=True, slots=True)
class _Source:
    """One shard of one collection."""

    prefix: str
    path: Path

    def fingerprint(self) -> str:
        return f"{self.prefix} {sorted(file_mark(self.path).items())}"


def merge(
    collections: Mapping[str, Collection],
    out: Path | str,
    *,
    apart: bool = False,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Write collections, given by prefix, as one; passages follow in the order of the collections.

    Raises:
        SettingError: fewer than two collections, or a prefix that is not a plain word.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    _check_prefixes(collections)
    out = Path(out)
    merged: dict[str, JsonObject] = {
        prefix: {"name": c.name, "checksum": c.checksum, "passages": len(c)}
        for prefix, c in collections.items()
    }
    parts = [[prefix, collection.checksum] for prefix, collection in collections.items()]
    job: JsonObject = {"command": "merge", "collections": parts, "apart": apart}
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        sources = [
            _Source(prefix, path)
            for prefix, collection in collections.items()
            for path in collection.shard_paths
        ]
        for _ in track(
            writer.add_shards(Shard, _copy, sources, map_shards),
            "merging",
            len(sources),
            unit="shards",
        ):
            pass
        for name, (split, having) in _splits(collections, apart).items():
            _join_split(writer, name, split, having)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="merge",
                settings={
                    "collections": {prefix: c.name for prefix, c in collections.items()},
                    "apart": apart,
                },
                inputs=tuple(
                    input_ref(prefix, c.path, c.checksum, artefact=out)
                    for prefix, c in collections.items()
                ),
                licence=_licences(collections),
                notes=(
                    f"Ids follow their collection's prefix and {SEPARATOR!r}; splits of the same "
                    f"name were {'kept apart, behind the prefix and a dot' if apart else 'joined'}"
                    ".",
                    *dict.fromkeys(
                        note
                        for collection in collections.values()
                        for note in collection.manifest.notes
                    ),
                ),
                content={"merged": merged},
                provenance=provenance or {},
            ),
            allow_absent=True,  # judged passages missing in a collection are missing here too
        )
    return Collection(out)


def _check_prefixes(collections: Mapping[str, Collection]) -> None:
    if len(collections) < 2:
        raise SettingError(
            f"NAME=COLLECTION: wanted two collections or more; found {len(collections)}; give each "
            "its name"
        )
    for prefix in collections:
        if not re.fullmatch(r"[\w.-]+", prefix):
            raise SettingError(
                f"{prefix}=: wanted a prefix of letters, digits, '_', '.' and '-', as ids must be "
                f"free of spaces and the first {SEPARATOR!r} must end it; found {prefix!r}; give "
                "another"
            )


def _copy(source: _Source, target: Path) -> Shard:
    """Copy one shard with prefixed ids; a pure function of the shard and the prefix."""

    def prefixed() -> Iterator[Passage]:
        for batch in read_shard(source.path).to_batches():
            ids, texts = batch.column("passage_id").to_pylist(), batch.column("text").to_pylist()
            for passage_id, text in zip(ids, texts, strict=True):
                yield Passage(under(source.prefix, passage_id), text)

    return write_shard(target, prefixed())


def under(prefix: str, item: str) -> str:
    """Return the id in the merged collection.

    >>> under("A", "17")
    'A:17'
    """
    return f"{prefix}{SEPARATOR}{item}"


def _splits(
    collections: Mapping[str, Collection], apart: bool
) -> dict[str, tuple[str, dict[str, Collection]]]:
    """Return the splits to write, by name, each with the collections it is merged from."""
    if apart:
        return {
            f"{prefix}.{split}": (split, {prefix: c})
            for prefix, c in collections.items()
            for split in c.splits
        }
    names = dict.fromkeys(
        split for collection in collections.values() for split in collection.splits
    )
    return {
        split: (split, {prefix: c for prefix, c in collections.items() if split in c.splits})
        for split in names
    }


def _join_split(
    writer: CollectionWriter, name: str, split: str, collections: Mapping[str, Collection]
) -> None:
    queries = [
        Query(under(prefix, query.query_id), query.text, query.fields)
        for prefix, collection in collections.items()
        for query in collection.queries(split)
    ]
    answers = [
        answer._replace(
            query_id=under(prefix, answer.query_id), passage_id=under(prefix, answer.passage_id)
        )
        for prefix, collection in collections.items()
        for answer in collection.answers(split)
    ]
    writer.add_split(name, queries, _joined_qrels(split, None, collections), answers)
    for further in dict.fromkeys(
        item for collection in collections.values() for item in collection.qrels_names(split)
    ):
        having = {prefix: c for prefix, c in collections.items() if further in c.qrels_names(split)}
        writer.add_qrels(name, further, _joined_qrels(split, further, having))


def _joined_qrels(
    split: str, name: str | None, collections: Mapping[str, Collection]
) -> Sequence[Qrel]:
    return [
        Qrel(under(prefix, query_id), under(prefix, passage_id), grade)
        for prefix, collection in collections.items()
        for query_id, passage_id, grade in collection.qrels(split, name)
    ]


def _licences(collections: Mapping[str, Collection]) -> str:
    """Return each licence notice once, with the prefixes of its collections."""
    holders: dict[str, list[str]] = {}
    for prefix, collection in collections.items():
        holders.setdefault(collection.manifest.licence or "not stated", []).append(prefix)
    return "; ".join(f"{', '.join(prefixes)}: {licence}" for licence, prefixes in holders.items())

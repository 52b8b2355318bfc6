"""Writing a Collection: whole under its final name or not there at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from positionbias.core.collection import KIND, Collection, build_index
from positionbias.core.errors import InputError
from positionbias.core.files import atomic_folder
from positionbias.core.manifest import MANIFEST, InputRef, Manifest, package_versions, provenance, write_manifest
from positionbias.core.records import Answer, Passage, Qrel, Query

__all__ = ["CollectionWriter", "Shard", "create_collection", "rows_checksum", "write_shard"]

SHARD_PASSAGES = 65_536
BATCH_PASSAGES = 4_096
_MODULUS = 1 << 128

PASSAGES = pa.schema([("passage_id", pa.string()), ("text", pa.string())])
QUERIES = pa.schema([("query_id", pa.string()), ("text", pa.string()), ("fields", pa.map_(pa.string(), pa.string()))])
QRELS = pa.schema([("query_id", pa.string()), ("passage_id", pa.string()), ("grade", pa.int32())])
ANSWERS = pa.schema(
    [
        ("query_id", pa.string()),
        ("passage_id", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Shard:
    """What is known of a written shard: passages, and the checksum of their content."""

    count: int
    checksum: int


def rows_checksum(rows: Iterable[Sequence[Any]]) -> int:
    """A checksum of records that does not depend on their order: the sum of their 128-bit hashes.

    Two collections with the same passages agree on it, however they are sharded or sorted.
    """
    total = 0
    for row in rows:
        digest = hashlib.blake2b(digest_size=16)
        for item in row:
            data = repr(item).encode() if not isinstance(item, str) else item.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        total += int.from_bytes(digest.digest(), "little")
    return total % _MODULUS


def write_shard(path: Path, passages: Iterable[Passage]) -> Shard:
    """Write passages to one Arrow IPC file, in batches; pure of what stands in other shards."""
    count, checksum = 0, 0
    iterator = iter(passages)
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, PASSAGES) as writer:
        while batch := list(islice(iterator, BATCH_PASSAGES)):
            writer.write_batch(_passage_batch(batch))
            checksum += rows_checksum(batch)
            count += len(batch)
    return Shard(count, checksum % _MODULUS)


def _passage_batch(batch: list[Passage]) -> pa.RecordBatch:
    ids, texts = zip(*batch, strict=True)
    return pa.record_batch([pa.array(ids, pa.string()), pa.array(texts, pa.string())], schema=PASSAGES)


class CollectionWriter:
    """Takes passages and splits; ``finish`` checks that they fit together and writes the manifest."""

    def __init__(self, folder: Path, final: Path) -> None:
        self.folder, self.final = folder, final
        self._shards: list[Shard] = []
        self._splits: dict[str, dict[str, Any]] = {}
        self._referenced: set[str] = set()
        self._finished = False
        (folder / "passages").mkdir()

    def next_shard_path(self) -> Path:
        """Where the next shard goes."""
        return self.shard_path(len(self._shards))

    def shard_path(self, index: int) -> Path:
        """Where shard ``index`` goes, for workers that write shards themselves; then call ``adopt``."""
        return self.folder / "passages" / f"{index:05d}.arrow"

    def adopt(self, shard: Shard) -> None:
        """Count in the next shard, written by ``write_shard`` at ``shard_path``."""
        self._shards.append(shard)

    def add_passages(self, passages: Iterable[Passage]) -> None:
        """Write passages, streamed, in shards of 65,536."""
        iterator = iter(passages)
        for first in iterator:
            block = islice(iterator, SHARD_PASSAGES - 1)
            self.adopt(write_shard(self.next_shard_path(), _prepend(first, block)))

    def add_split(
        self,
        split: str,
        queries: Sequence[Query],
        qrels: Sequence[Qrel],
        answers: Sequence[Answer] = (),
        *,
        qrels_name: str | None = None,
    ) -> None:
        """Write one split. Queries stand once; judgements and answers speak of this split's queries.

        Raises:
            InputError: a query id twice, or a judgement or answer of a query that is not in the split.
        """
        known: set[str] = set()
        for query in queries:
            if query.query_id in known:
                raise InputError(
                    f"split {split!r}: wanted every query id once; found {query.query_id!r} twice; rename or drop one"
                )
            known.add(query.query_id)
        judged: list[Qrel | Answer] = [*qrels, *answers]
        for record in judged:
            if record.query_id not in known:
                what = type(record).__name__.lower()
                raise InputError(
                    f"split {split!r}: wanted {what}s of its own queries; found one of query {record.query_id!r}; check the files"
                )
        rows = [(query.query_id, query.text, sorted(query.fields.items())) for query in queries]
        qrels_file = f"{split}.{qrels_name}" if qrels_name else split
        self._write("queries", split, QUERIES, rows)
        self._write("qrels", qrels_file, QRELS, list(qrels))
        if answers:
            self._write("answers", split, ANSWERS, list(answers))
        self._splits[split] = {
            "queries": len(queries),
            "qrels": len(qrels),
            "answers": len(answers),
            "checksum": f"{(rows_checksum(rows) + rows_checksum(qrels) + rows_checksum(answers)) % _MODULUS:032x}",
        }
        self._referenced.update(record.passage_id for record in judged)

    def _write(self, kind: str, name: str, schema: pa.Schema, rows: list) -> None:
        (self.folder / kind).mkdir(exist_ok=True)
        columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
        table = pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        pq.write_table(table, self.folder / kind / f"{name}.parquet")

    def finish(
        self,
        *,
        name: str,
        command: str,
        settings: Mapping[str, Any],
        seed: int | None = None,
        inputs: Sequence[InputRef] = (),
        licence: str = "",
        notes: Sequence[str] = (),
        content: Mapping[str, Any] | None = None,
        **provenance_facts: Any,
    ) -> None:
        """Index the ids, check that every judged or answering passage exists, write the manifest.

        Raises:
            InputError: an id twice, or a judgement of a passage that is not there.
        """
        index = self.folder / "cache" / "ids"
        index.parent.mkdir(exist_ok=True)
        build_index([self.shard_path(i) for i in range(len(self._shards))], index)
        checksum = sum(shard.checksum for shard in self._shards)
        passages = f"{checksum % _MODULUS:032x}"
        # the split's name counts: a query that moves from one split to another changes the collection
        checksum += rows_checksum((name, split["checksum"]) for name, split in self._splits.items())
        manifest = Manifest(
            kind=KIND,
            name=name,
            command=command,
            settings=dict(settings),
            seed=seed,
            inputs=tuple(inputs),
            licence=licence,
            notes=tuple(notes),
            content={
                "checksum": f"{checksum % _MODULUS:032x}",
                "passages_checksum": passages,
                "passages": sum(shard.count for shard in self._shards),
                "shards": len(self._shards),
                "splits": self._splits,
                **(content or {}),
            },
            versions=package_versions("pyarrow"),
            provenance=provenance(**provenance_facts),
        )
        write_manifest(self.folder / MANIFEST, manifest)
        self._check_references()
        self._finished = True

    def _check_references(self) -> None:
        missing = sorted(self._referenced)
        found = Collection(self.folder).find(missing)
        if len(found) and found.min() < 0:
            unknown = [item for item, row in zip(missing, found, strict=True) if row < 0]
            raise InputError(
                f"{self.final}: wanted every judged or answering passage in the collection; found {len(unknown):,} that are not, "
                f"the first {unknown[0]!r}; check that the files belong together"
            )

    @property
    def finished(self) -> bool:
        """Whether ``finish`` has been called; a folder without it is thrown away."""
        return self._finished


def _prepend(first: Passage, rest: Iterable[Passage]) -> Iterator[Passage]:
    yield first
    yield from rest


@contextmanager
def create_collection(final: Path | str, *, overwrite: bool = False) -> Iterator[CollectionWriter]:
    """Give a writer; the collection stands at ``final`` once the block has ended with ``finish`` called."""
    final = Path(final)
    with atomic_folder(final, overwrite=overwrite) as folder:
        writer = CollectionWriter(folder, final)
        yield writer
        if not writer.finished:
            raise RuntimeError("create_collection: the block ended without finish()")

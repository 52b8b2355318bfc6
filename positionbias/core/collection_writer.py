"""Write a Collection atomically: complete under its final name, or not at all."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from positionbias.core.collection import Collection
from positionbias.core.collection_index import INDEX, PassageIndex, build_index
from positionbias.core.errors import InputError
from positionbias.core.json_text import NAME, JsonObject
from positionbias.core.manifest import Manifest, package_versions, provenance, write_manifest
from positionbias.core.publish import atomic_folder, resumable_folder
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seal import CACHE, MANIFEST, verified
from positionbias.core.shards import (
    CHECKSUM_MODULUS,
    PASSAGES,
    ArrowFiles,
    Shard,
    columns_checksum,
    encoded_batches,
    not_unicode,
    rows_checksum,
    write_encoded,
    write_shard,
)
from positionbias.core.split_tables import ANSWERS, QRELS, QUERIES, SplitFacts
from positionbias.core.steps import MapShards, make_shards

Item = TypeVar("Item")
Judged = TypeVar("Judged", Qrel, Answer)
Written = TypeVar("Written", bound=Shard)
SHARD_PASSAGES = 65_536
SHARD_BYTES = 16 << 20
SPLIT_ROWS = 65_536
_TABLES = {"queries": QUERIES, "qrels": QRELS, "answers": ANSWERS}
Texts = tuple[Sequence[bytes], Sequence[bytes]]  # ids and texts of some passages, in UTF-8


class CollectionWriter:
    """Write passages and splits; ``finish`` checks that they fit together and writes the
    manifest.
    """

    def __init__(self, folder: Path, final: Path) -> None:
        self.folder, self.final = folder, final
        self._shards = 0
        self._passages = Shard(0, 0)  # over all shards
        self._indexed = False
        self._map_shards: MapShards = map
        self._splits: dict[str, SplitWriter] = {}
        self._written: set[tuple[str, str]] = set()
        self.finished = False  # then the folder is discarded
        (folder / "passages").mkdir(exist_ok=True)  # exists when an interrupted run is resumed

    def shard_path(self, index: int) -> Path:
        """Return the path of shard ``index``."""
        return self.folder / "passages" / f"{index:05d}.arrow"

    def add_passages(self, passages: Iterable[Passage]) -> None:
        """Stream passages into shards, in this process."""
        self.add_texts(encoded_batches(passages))

    def add_texts(self, batches: Iterable[Texts]) -> None:
        """Stream passages as ``add_passages`` does, given as ids and texts in UTF-8, in batches
        small enough for memory. A shard ends with the batch that brings it to 65,536 passages or
        16 MiB.
        """
        stream = (batch for batch in batches if batch[0])
        for first in stream:
            self._add(write_encoded(self.shard_path(self._shards), _of_a_shard(first, stream)))

    def add_shards(
        self,
        kind: type[Written],
        make: Callable[[Item, Path], Written],
        items: Iterable[Item],
        map_shards: MapShards = map,
    ) -> Iterator[Written]:
        """Write one shard per item, wherever ``map_shards`` runs; yield what ``make`` returned for
        each, in order.

        ``make(item, path)`` writes the file by ``write_shard`` and returns its ``Shard``, or a
        subclass ``kind`` with more facts. In a collection created for a ``job``, the finished
        shards of an interrupted run are verified and kept.
        """
        first = self._shards
        self._map_shards = map_shards  # ``finish`` indexes the shards where they were made
        for shard in make_shards(
            kind, make, items, lambda index: self.shard_path(first + index), map_shards
        ):
            self._add(shard)
            yield shard

    def add_blocks(
        self,
        passages_of: Callable[[Item], Iterable[Passage]],
        blocks: Iterable[Item],
        map_shards: MapShards = map,
    ) -> None:
        """Write the passages of each block as one shard; ``passages_of`` must be picklable (a
        function of a module).
        """
        for _ in self.add_shards(Shard, partial(_make_shard, passages_of), blocks, map_shards):
            pass

    def share_passages(self, collection: Collection) -> None:
        """Copy all passages of another collection, verified, and the indexes in its cache.

        They are copies, not links: damage to one file must not damage two collections.

        Raises:
            InputError: a shard is damaged.
        """
        for source in collection.shard_paths:
            shutil.copyfile(verified(source), self.shard_path(self._shards))
            self._shards += 1
        checksum = collection.passages_checksum
        self._passages = Shard(len(collection), int(checksum, 16))
        hidden = shutil.ignore_patterns(".*")  # unfinished files
        with suppress(OSError):  # otherwise indexes are rebuilt
            shutil.copytree(collection.cache, self.folder / CACHE, ignore=hidden)
        with suppress(OSError, ValueError, InputError):
            PassageIndex(self.folder / INDEX, len(collection), checksum)
            self._indexed = True

    def read_passages(self) -> Iterator[Passage]:
        """Yield the passages written so far, in order."""
        for batch in ArrowFiles(map(self.shard_path, range(self._shards)), PASSAGES):
            yield from map(Passage, *(column.to_pylist() for column in batch.columns))

    def _add(self, shard: Shard) -> None:
        self._shards += 1
        self._passages = Shard(
            self._passages.count + shard.count, self._passages.checksum + shard.checksum
        )

    def split(self, split: str, *, checked: bool = False) -> SplitWriter:
        """Open a split, to be written in batches; ``finish`` closes it. See ``SplitWriter`` for
        ``checked``.

        Raises:
            InputError: an invalid file name, or a split that was opened before.
        """
        _check_name("split", split)
        self._name("queries", split)
        self._name("qrels", split)
        self._splits[split] = SplitWriter(self.folder, split, checked=checked)
        return self._splits[split]

    def add_split(
        self,
        split: str,
        queries: Sequence[Query],
        qrels: Sequence[Qrel],
        answers: Sequence[Answer] = (),
    ) -> None:
        """Write one split. Query ids are unique; judgements and answers are of this split's
        queries.

        Raises:
            InputError: as ``split`` and ``SplitWriter.add``.
        """
        self.split(split).add(queries, qrels, answers)

    def add_qrels(self, split: str, name: str, qrels: Sequence[Qrel]) -> None:
        """Write a further judgement set of an added split; its name counts in the split's checksum.

        Raises:
            InputError: an invalid file name, one that the split has already, or a judgement of a
                query outside the split.
        """
        _check_name("judgement set", name)
        self._name("qrels", f"{split}.{name}")
        self._splits[split].add_set(name, qrels)

    def carry_split(
        self,
        collection: Collection,
        split: str,
        kept: Container[str] | None = None,
        *,
        answers: Iterable[Answer] | None = None,
    ) -> None:
        """Copy a split of a collection with the same passages: the queries whose ids are in
        ``kept`` (None: all), in stored order, with their judgements and answers.

        ``answers`` replace the split's own where its passages have changed.

        Raises:
            InputError: no such split, or this collection has it already.
        """
        answers = collection.answers(split) if answers is None else answers
        queries = [q for q in collection.queries(split) if kept is None or q.query_id in kept]
        self.add_split(split, queries, _of(collection.qrels(split), kept), _of(answers, kept))
        for name in collection.qrels_names(split):
            self.add_qrels(split, name, _of(collection.qrels(split, name), kept))

    def _name(self, kind: str, name: str) -> None:
        # one file on Windows and macOS
        alike = (kind, unicodedata.normalize("NFC", name).casefold())
        # also split "a" with set "b" beside a split "a.b", which would share a file
        if alike in self._written:
            raise InputError(
                f"split {name!r}: wanted the {kind} of a split once; found them twice; give each "
                "its own name"
            )
        self._written.add(alike)

    def finish(self, manifest: Manifest, *, allow_absent: bool = False) -> None:
        """Index the ids, check that every judged or answering passage exists, and write the
        manifest.

        ``manifest`` says what made the collection; its content and provenance are added to those of
        every collection. With ``allow_absent`` judgements of absent passages are kept, and counted
        by split in ``content["absent"]``: published judgements do not always fit the published
        passages. Answers must have their passage.

        Raises:
            InputError: a repeated id, an answer in an absent passage, or without ``allow_absent`` a
                judgement of one.
        """
        splits = {name: split.close() for name, split in self._splits.items()}
        count, checksum = self._passages.count, self._passages.checksum
        passages = f"{checksum % CHECKSUM_MODULUS:032x}"
        if not self._indexed:
            build_index(
                [self.shard_path(i) for i in range(self._shards)],
                self.folder / INDEX,
                passages,
                self._map_shards,
            )
        absent = self._absent(PassageIndex(self.folder / INDEX, count, passages), allow_absent)
        # the split's name counts: a query that moves from one split to another changes the
        # collection
        checksum += rows_checksum((name, split.checksum) for name, split in splits.items())
        content = {
            "checksum": f"{checksum % CHECKSUM_MODULUS:032x}",
            "passages_checksum": passages,
            "passages": count,
            "shards": self._shards,
            "splits": {
                # most splits have one judgement set
                name: {fact: value for fact, value in asdict(split).items() if value != {}}
                for name, split in splits.items()
            },
            **({"absent": absent} if absent else {}),
            **manifest.content,
        }
        facts = provenance(**manifest.provenance)
        made = replace(
            manifest,
            content=content,
            versions={**package_versions("pyarrow"), **manifest.versions},
            provenance=facts,
        )
        write_manifest(self.folder / MANIFEST, made)
        self.finished = True

    def _absent(self, index: PassageIndex, allow: bool) -> dict[str, dict[str, int]]:
        """Count the judgements of absent passages, and these passages, by split."""
        splits = {name: split for name, split in self._splits.items() if not split.checked}
        for split in splits.values():
            self._refuse(_absent_of([split.path("answers")], index), "answering")
        absent = {}
        for name, split in splits.items():
            judged = _absent_of(split.qrels_paths, index)
            if judged and not allow:
                self._refuse(judged, "judged")
            if judged:
                absent[name] = {"judgements": judged.total(), "passages": len(judged)}
        return absent

    def _refuse(self, missing: Mapping[str, int], what: str) -> None:
        if missing:
            raise InputError(
                f"{self.final}: wanted every {what} passage in the collection; found "
                f"{len(missing):,} that are not, the first {min(missing)!r}; check that the files "
                "belong together"
            )

    @property
    def passages(self) -> int:
        """The number of passages written so far."""
        return self._passages.count


def _of(records: Iterable[Judged], kept: Container[str] | None) -> list[Judged]:
    return [record for record in records if kept is None or record.query_id in kept]


def _of_a_shard(first: Texts, following: Iterator[Texts]) -> Iterator[Texts]:
    """Yield the batches of one shard."""
    passages = size = 0
    for batch in chain([first], following):
        yield batch
        passages, size = passages + len(batch[0]), size + sum(map(len, batch[1]))
        if passages >= SHARD_PASSAGES or size >= SHARD_BYTES:
            return


class SplitWriter:
    """One split of an unfinished collection. Records may come in any batches and order.

    With ``checked`` the caller ensures that query ids are unique, and that judgements and answers
    refer to queries and passages that it writes; else ``close`` reads the ids again to check that.
    """

    def __init__(self, folder: Path, split: str, *, checked: bool = False) -> None:
        self._folder, self._split, self.checked = folder, split, checked
        self._files = {
            kind: _RowFile(folder / kind / f"{split}.parquet", schema)
            for kind, schema in _TABLES.items()
        }

    def add(
        self, queries: Sequence[Query], qrels: Sequence[Qrel] = (), answers: Sequence[Answer] = ()
    ) -> None:
        """Take records. Query ids are unique; judgements and answers are of this split's queries.

        Raises:
            InputError: a text that is not Unicode; it may concern an earlier batch.
        """
        rows = [(query.query_id, query.text, sorted(query.fields.items())) for query in queries]
        for kind, records in zip(_TABLES, (rows, qrels, answers), strict=True):
            self.add_columns(kind, zip(*records, strict=True))

    def add_columns(self, kind: str, columns: Iterable[Iterable[Any]]) -> None:
        """Take records of a kind, queries, qrels or answers, by column, in the order of the stored
        table.
        """
        self._files[kind].add(columns)

    def add_table(self, kind: str, table: pa.Table | pa.RecordBatch) -> None:
        """Take records of a kind as a stored table has them."""
        columns = [column.to_pylist() for column in table.columns]
        if kind == "queries":
            columns[-1] = [sorted(fields or ()) for fields in columns[-1]]
        self.add_columns(kind, columns)

    def add_set(self, name: str, qrels: Sequence[Qrel]) -> None:
        """Take a further judgement set, whose name has been checked."""
        path = self._folder / "qrels" / f"{self._split}.{name}.parquet"
        self._files[f"qrels.{name}"] = _RowFile(path, QRELS, first=(name,))
        self.add_columns(f"qrels.{name}", zip(*qrels, strict=True))

    def path(self, kind: str) -> Path:
        """Return the file of a kind; that of answers exists only if there are any."""
        return self._files[kind].path

    @property
    def qrels_paths(self) -> list[Path]:
        """The files of all judgement sets."""
        return [file.path for kind, file in self._files.items() if kind.startswith("qrels")]

    def close(self) -> SplitFacts:
        """Write what is left and return the facts for the manifest.

        Raises:
            InputError: a repeated query id, or a judgement or answer of a query outside the split.
        """
        for kind, file in self._files.items():
            if file.rows or kind != "answers":
                file.close()
        if not self.checked:
            self._check()
        rows = {kind: file.rows for kind, file in self._files.items()}
        checksum = sum(file.checksum for file in self._files.values())
        return SplitFacts(
            **{kind: rows.pop(kind) for kind in _TABLES},
            checksum=f"{checksum % CHECKSUM_MODULUS:032x}",
            qrels_sets={kind.removeprefix("qrels."): count for kind, count in rows.items()},
        )

    def _check(self) -> None:
        known = _column(self.path("queries"), "query_id")
        repeated = [item for item, count in _counts(known).items() if count > 1]
        if repeated:
            raise InputError(
                f"split {self._split!r}: wanted every query id once; found {repeated[0]!r} twice; "
                "rename or drop one"
            )
        for path in (*self.qrels_paths, self.path("answers")):
            query_ids = _column(path, "query_id")
            strange = query_ids.filter(pc.invert(pc.is_in(query_ids, value_set=known)))
            if len(strange):
                raise InputError(
                    f"split {self._split!r}: wanted {path.parent.name} of its own queries; found "
                    f"one of query {strange[0].as_py()!r}; check the files"
                )


class _RowFile:
    """A Parquet file of records, written in batches, with the number of rows taken and their
    checksum; ``first`` begins each row of the checksum.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, first: tuple[str, ...] = ()) -> None:
        self.path, self.rows, self.checksum = path, 0, 0
        self._schema, self._first = schema, first
        self._held: list[list[Any]] = [[] for _ in schema]
        self._writer: pq.ParquetWriter | None = None

    def add(self, columns: Iterable[Iterable[Any]]) -> None:
        """Append rows, given by column."""
        before = len(self._held[0])
        for held, values in zip(self._held, columns, strict=False):
            held.extend(values)
        self.rows += len(self._held[0]) - before
        if len(self._held[0]) >= SPLIT_ROWS:
            self._write()

    def _write(self) -> pq.ParquetWriter:
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # a traceback may keep an interrupted writer alive; when dropped, it must end its own
            # file, not this one
            self.path.unlink(missing_ok=True)
            self._writer = pq.ParquetWriter(self.path, self._schema)
        columns = zip(self._held, self._schema.types, strict=True)
        names = ([name] * len(self._held[0]) for name in self._first)
        try:
            arrays = [pa.array(column, type_) for column, type_ in columns]
            self.checksum += columns_checksum([*names, *self._held])
        except UnicodeEncodeError as error:
            raise not_unicode(f"split {self.path.stem!r}", error) from None
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        self._held = [[] for _ in self._schema]
        return self._writer

    def close(self) -> None:
        """Write what is left and finish the file."""
        self._write().close()


def _column(path: Path, name: str) -> pa.Array:
    """Return a column of a written table; no file, no rows."""
    if not path.exists():
        return pa.array([], pa.string())
    with pq.ParquetFile(path) as file:
        return file.read([name], use_threads=False)[name].combine_chunks()


def _counts(column: pa.Array) -> dict[str, int]:
    values, counts = column.value_counts().flatten()
    return dict(zip(values.to_pylist(), counts.to_pylist(), strict=True))


def _absent_of(paths: Iterable[Path], index: PassageIndex) -> Counter[str]:
    """Count the records of absent passages in files of judgements or answers, by passage."""
    absent = Counter[str]()
    for path in paths:
        counts = _counts(_column(path, "passage_id"))
        absent.update({item: counts[item] for item in index.absent(list(counts))})
    return absent


def _check_name(what: str, name: str) -> None:
    if not re.fullmatch(NAME, name):
        raise InputError(
            f"{what} {name!r}: wanted a name of letters, digits, '_', '.', '+' and '-' that begins "
            "with a letter or digit; rename it"
        )


def _make_shard(passages_of: Callable[[Any], Iterable[Passage]], block: Any, path: Path) -> Shard:
    return write_shard(path, passages_of(block))


@contextmanager
def create_collection(
    final: Path | str, *, overwrite: bool = False, job: JsonObject | None = None
) -> Iterator[CollectionWriter]:
    """Yield a writer; the collection appears at ``final`` once the block has ended with ``finish``
    called.

    With a ``job`` (JSON that decides the content: command, settings, state of the inputs) an
    interrupted run leaves its finished shards to the next run of the same job.
    """
    final = Path(final)
    place = (
        atomic_folder(final, overwrite=overwrite)
        if job is None
        else resumable_folder(final, job, overwrite=overwrite)
    )
    with place as folder:
        writer = CollectionWriter(folder, final)
        yield writer
        if not writer.finished:
            raise RuntimeError("create_collection: the block ended without finish()")

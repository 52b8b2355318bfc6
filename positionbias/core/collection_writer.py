"""Write a Collection atomically: complete under its final name, or not at all."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from positionbias.core.collection import Collection
from positionbias.core.collection_index import INDEX, PassageIndex, build_index
from positionbias.core.errors import InputError
from positionbias.core.json_text import NAME, JsonObject
from positionbias.core.manifest import Manifest, write_counted
from positionbias.core.publish import atomic_folder, resumable_folder
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seal import CACHE, verified
from positionbias.core.shards import (
    PASSAGES,
    ArrowFiles,
    RowWriter,
    Shard,
    checksum_text,
    encoded_batches,
    rows_checksum,
    write_shard,
)
from positionbias.core.split_tables import SplitFacts, qrels_kind, schema_of, table_path
from positionbias.core.steps import MapShards, make_shards

Item = TypeVar("Item")
Written = TypeVar("Written", bound=Shard)
SHARD_PASSAGES = 65_536
SHARD_BYTES = 16 << 20
SPLIT_ROWS = 65_536
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
        self._names: set[str] = set()  # of files of judgements
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
        writer, size = None, 0
        for ids, texts in batches:
            if ids:
                writer = writer or RowWriter(self.shard_path(self._shards), PASSAGES)
                writer.add((ids, texts))
                size += sum(map(len, texts))
                if writer.count >= SHARD_PASSAGES or size >= SHARD_BYTES:
                    self._add(writer.close())
                    writer, size = None, 0
        if writer is not None:
            self._add(writer.close())

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
        shutil.copyfile(verified(collection.path / INDEX), self.folder / INDEX)
        self._passages = Shard(len(collection), int(collection.passages_checksum, 16))
        self._indexed = True
        hidden = shutil.ignore_patterns(".*")  # unfinished files
        with suppress(OSError):  # otherwise indexes are rebuilt
            shutil.copytree(collection.cache, self.folder / CACHE, ignore=hidden)

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
        self._take_name("split", split, split)
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
        self._take_name("judgement set", name, f"{split}.{name}")
        self._splits[split].add_columns(qrels_kind(name), zip(*qrels, strict=True))

    def add_tables(self, split: str, tables: Mapping[str, pa.Table]) -> SplitWriter:
        """Write a split with these ``Collection.tables``; further records may be added to it.

        Raises:
            InputError: as ``split`` and ``add_qrels``.
        """
        writer = self.split(split)
        for kind, table in tables.items():
            if name := kind.partition(".")[2]:
                self._take_name("judgement set", name, f"{split}.{name}")
            writer.add_table(kind, table)
        return writer

    def _take_name(self, what: str, name: str, file: str) -> None:
        if not re.fullmatch(NAME, name):
            raise InputError(
                f"{what} {name!r}: wanted a name of letters, digits, '_', '.', '+' and '-' that "
                "begins with a letter or digit; rename it"
            )
        # one file on Windows and macOS; set "b" of a split "a" and a split "a.b" share one too
        alike = unicodedata.normalize("NFC", file).casefold()
        if alike in self._names:
            raise InputError(
                f"{what} {name!r}: wanted each split, and each set of its judgements, once; found "
                f"{file!r} twice; give each its own name"
            )
        self._names.add(alike)

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
        passages, index = self._passages, self.folder / INDEX
        if not self._indexed:
            build_index([*map(self.shard_path, range(self._shards))], index, self._map_shards)
        absent = self._absent(PassageIndex(index, passages.count), allow_absent)
        # the split's name counts: a query that moves from one split to another changes the
        # collection
        named = rows_checksum((name, split.checksum) for name, split in splits.items())
        counted: JsonObject = {
            "checksum": checksum_text([passages.checksum, named]),
            "passages_checksum": checksum_text([passages.checksum]),
            "passages": passages.count,
            "shards": self._shards,
            "splits": {
                # most splits have one judgement set
                name: {fact: value for fact, value in asdict(split).items() if value != {}}
                for name, split in splits.items()
            },
            **({"absent": absent} if absent else {}),
        }
        write_counted(self.folder, manifest, counted)
        self.finished = True

    def _absent(self, index: PassageIndex, allow: bool) -> dict[str, dict[str, int]]:
        """Count the judgements of absent passages, and these passages, by split."""
        absent = {}
        for name, split in self._splits.items():
            judged, answering = split.absent(index)
            if missing := answering or (Counter() if allow else judged):
                raise InputError(
                    f"{self.final}: wanted every {'answering' if answering else 'judged'} passage "
                    f"in the collection; found {len(missing):,} that are not, the first "
                    f"{min(missing)!r}; check that the files belong together"
                )
            if judged:
                absent[name] = {"judgements": judged.total(), "passages": len(judged)}
        return absent

    @property
    def passages(self) -> int:
        """The number of passages written so far."""
        return self._passages.count


class SplitWriter:
    """One split of an unfinished collection. Records may come in any batches and order.

    With ``checked`` the caller ensures that query ids are unique, and that judgements and answers
    refer to queries and passages that it writes; else ``close`` and ``absent`` read the ids again
    to check that.
    """

    def __init__(self, folder: Path, split: str, *, checked: bool = False) -> None:
        self._folder, self._split, self._checked = folder, split, checked
        self._files: dict[str, RowWriter] = {}
        for kind in ("queries", "qrels"):  # also where there are none
            self.add_columns(kind, ())

    def add(
        self,
        queries: Sequence[Query] = (),
        qrels: Sequence[Qrel] = (),
        answers: Sequence[Answer] = (),
    ) -> None:
        """Take records. Query ids are unique; judgements and answers are of this split's queries.

        Raises:
            InputError: a text that is not Unicode; it may concern an earlier batch.
        """
        rows = [(query.query_id, query.text, sorted(query.fields.items())) for query in queries]
        self.add_columns("queries", zip(*rows, strict=True))
        self.add_columns("qrels", zip(*qrels, strict=True))
        self.add_columns("answers", zip(*answers, strict=True))

    def add_columns(self, kind: str, columns: Iterable[Iterable[Any]]) -> None:
        """Take records of a kind, queries, qrels or answers, by column, in the order of the stored
        table. Without answers there is no file of them.
        """
        columns = list(columns)
        if kind == "answers" and not (columns and columns[0]):
            return
        if kind not in self._files:
            path, name = self.path(kind), kind.partition(".")[2]
            first = (name,) if name else ()
            self._files[kind] = RowWriter(path, schema_of(kind), at_once=SPLIT_ROWS, first=first)
        self._files[kind].add(columns)

    def add_table(self, kind: str, table: pa.Table) -> None:
        """Take records of a kind as a stored table has them."""
        for batch in table.to_batches(SPLIT_ROWS):
            columns = [column.to_pylist() for column in batch.columns]
            if kind == "queries":
                columns[-1] = [sorted(fields or ()) for fields in columns[-1]]
            self.add_columns(kind, columns)

    def path(self, kind: str) -> Path:
        """Return the file of a kind; that of answers exists only if there are any."""
        return table_path(self._folder, kind, self._split)

    def close(self) -> SplitFacts:
        """Write what is left and return the facts for the manifest.

        Raises:
            InputError: a repeated query id, or a judgement or answer of a query outside the split.
        """
        made = {kind: file.close() for kind, file in self._files.items()}
        if not self._checked:
            self._check()
        rows = {kind: shard.count for kind, shard in made.items()}
        return SplitFacts(
            **{kind: rows.pop(kind, 0) for kind in ("queries", "qrels", "answers")},
            checksum=checksum_text(shard.checksum for shard in made.values()),
            qrels_sets={kind.removeprefix("qrels."): count for kind, count in rows.items()},
        )

    def _check(self) -> None:
        known = self._column("queries", "query_id")
        counts = known.value_counts()
        repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        if len(repeated):
            raise InputError(
                f"split {self._split!r}: wanted every query id once; found "
                f"{repeated[0].as_py()!r} twice; rename or drop one"
            )
        for kind in self._files:
            query_ids = self._column(kind, "query_id")
            strange = query_ids.filter(pc.invert(pc.is_in(query_ids, value_set=known)))
            if len(strange):
                raise InputError(
                    f"split {self._split!r}: wanted {self.path(kind).parent.name} of its own "
                    f"queries; found one of query {strange[0].as_py()!r}; check the files"
                )

    def _column(self, kind: str, name: str) -> pa.Array:
        with pq.ParquetFile(self.path(kind)) as file:
            return file.read([name], use_threads=False)[name].combine_chunks()

    def absent(self, index: PassageIndex) -> tuple[Counter[str], Counter[str]]:
        """Count the judgements and the answers of absent passages, by passage; none if
        ``checked``.
        """
        judged, answering = Counter[str](), Counter[str]()
        for kind in self._files if not self._checked else ():
            if kind != "queries":
                values, counts = self._column(kind, "passage_id").value_counts().flatten()
                known = dict(zip(values.to_pylist(), counts.to_pylist(), strict=True))
                absent = {item: known[item] for item in index.absent(list(known))}
                (answering if kind == "answers" else judged).update(absent)
        return judged, answering


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

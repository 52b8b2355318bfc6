"""Write a Collection atomically: complete under its final name, or not at all."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.collection_index import INDEX, PassageIndex, build_index
from positionbias.core.errors import InputError
from positionbias.core.json_text import JsonObject
from positionbias.core.key_map import KeyMap
from positionbias.core.manifest import Manifest, package_versions, provenance, write_manifest
from positionbias.core.publish import atomic_folder, resumable_folder
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.schema import NAME
from positionbias.core.seal import CACHE, MANIFEST, verified
from positionbias.core.seeds import keys64
from positionbias.core.shards import (
    CHECKSUM_MODULUS,
    Shard,
    columns_checksum,
    encoded_batches,
    not_unicode,
    open_shard,
    rows_checksum,
    write_encoded,
    write_shard,
)
from positionbias.core.split_tables import ANSWERS, QRELS, QUERIES, SplitFacts
from positionbias.core.steps import MapShards, make_shards

Item = TypeVar("Item")
Written = TypeVar("Written", bound=Shard)
SHARD_PASSAGES = 65_536
SHARD_CHARACTERS = 16 << 20
SPLIT_ROWS = 65_536


class Texts(NamedTuple):
    """Some passages by column: ids and texts in UTF-8, and the lengths of the texts in
    characters.
    """

    ids: Sequence[bytes]
    texts: Sequence[bytes]
    characters: Sequence[int]


class _Stored(Protocol):
    """The parts of a stored collection that are copied."""

    passages_checksum: str

    @property
    def shard_paths(self) -> list[Path]: ...

    @property
    def cache(self) -> Path: ...

    def __len__(self) -> int: ...


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
        """Stream passages into shards of 65,536 passages or 16 million characters, in this
        process.
        """
        self.add_texts(map(Texts._make, encoded_batches(passages)))

    def add_texts(self, batches: Iterable[Texts]) -> None:
        """Stream passages as ``add_passages`` does, given by column, in batches small enough for
        memory.
        """
        for _, parts in groupby(_by_shard(batches), key=itemgetter(0)):
            path = self.shard_path(self._shards)
            self._add(write_encoded(path, ((ids, texts) for _, ids, texts in parts)))

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

    def share_passages(self, collection: _Stored) -> None:
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
        for index in range(self._shards):
            for batch in open_shard(self.shard_path(index)):
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
        missing = {name: _absent_of(split.answers_path, index) for name, split in splits.items()}
        self._refuse({item for of in missing.values() for item in of}, "answering")
        absent = {}
        for name, split in splits.items():
            found = sum((_absent_of(path, index) for path in split.qrels_paths), Counter[str]())
            if found and not allow:
                self._refuse(found, "judged")
            if found:
                absent[name] = {"judgements": found.total(), "passages": len(found)}
        return absent

    def _refuse(self, missing: Collection[str], what: str) -> None:
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


def _by_shard(
    batches: Iterable[Texts],
) -> Iterator[tuple[int, Sequence[bytes], Sequence[bytes]]]:
    """Yield ids and texts with the number of their shard; the passage that fills a shard is its
    last.
    """
    shard = passages = characters = 0
    for ids, texts, lengths in batches:
        while ids:
            held = characters + np.cumsum(lengths)
            filled = int(np.searchsorted(held, SHARD_CHARACTERS)) + 1
            end = min(len(ids), SHARD_PASSAGES - passages, filled)
            yield shard, ids[:end], texts[:end]
            passages, characters = passages + end, int(held[end - 1])
            if passages == SHARD_PASSAGES or characters >= SHARD_CHARACTERS:
                shard, passages, characters = shard + 1, 0, 0
            ids, texts, lengths = ids[end:], texts[end:], lengths[end:]


class SplitWriter:
    """One split of an unfinished collection. Records may come in any batches, a query before its
    judgements and answers.

    With ``checked`` the caller ensures that query ids are unique, and that judgements and answers
    refer to queries and passages that it writes. Memory: the records of the last batches, and
    without ``checked`` 8 bytes a query.
    """

    def __init__(self, folder: Path, split: str, *, checked: bool = False) -> None:
        self._folder, self._split, self.checked = folder, split, checked
        self._known = KeyMap(np.bool_)
        self._queries = _RowFile(folder / "queries" / f"{split}.parquet", QUERIES)
        self._qrels = _RowFile(folder / "qrels" / f"{split}.parquet", QRELS)
        self._answers: _RowFile | None = None
        self._sets: dict[str, _RowFile] = {}
        self._held = _no_records()

    def add(
        self, queries: Sequence[Query], qrels: Sequence[Qrel] = (), answers: Sequence[Answer] = ()
    ) -> None:
        """Take records. Query ids are unique; judgements and answers are of this split's queries.

        Raises:
            InputError: a repeated query id, or a judgement or answer of a query outside the split;
                it may concern an earlier batch.
        """
        rows = [(query.query_id, query.text, sorted(query.fields.items())) for query in queries]
        self.add_columns(*(zip(*records, strict=True) for records in (rows, qrels, answers)))

    def add_columns(
        self,
        queries: Iterable[Iterable[Any]],
        qrels: Iterable[Iterable[Any]],
        answers: Iterable[Iterable[Any]],
    ) -> None:
        """Take records by column, in the order of the stored tables; columns may be missing where
        there are no records.
        """
        for held, further in zip(self._held, (queries, qrels, answers), strict=True):
            for column, values in zip(held, further, strict=False):
                column.extend(values)
        if max(len(held[0]) for held in self._held) >= SPLIT_ROWS:
            self._write()

    def _write(self) -> None:
        queries, qrels, answers = self._held
        with self._in_unicode():
            if not self.checked:
                self._check_new(queries[0])
            self._check_known("qrels", qrels[0])
            self._check_known("answers", answers[0])
            self._queries.write(queries)
            self._qrels.write(qrels)
            if answers[0]:
                self._answers = self._answers or _RowFile(self.answers_path, ANSWERS)
                self._answers.write(answers)
        self._held = _no_records()

    def _check_new(self, query_ids: Sequence[str]) -> None:
        new = self._known.add(_keys(query_ids)).new
        if not new.all():
            raise InputError(
                f"split {self._split!r}: wanted every query id once; found "
                f"{query_ids[int(new.argmin())]!r} twice; rename or drop one"
            )

    def _check_known(self, what: str, query_ids: Sequence[str]) -> None:
        if not self.checked and not (known := self._known.contains(_keys(query_ids))).all():
            raise InputError(
                f"split {self._split!r}: wanted {what} of its own queries; found one of query "
                f"{query_ids[int(known.argmin())]!r}; check the files"
            )

    def add_set(self, name: str, qrels: Sequence[Qrel]) -> None:
        """Write a further judgement set, whose name has been checked.

        Raises:
            InputError: a judgement of a query outside the split.
        """
        self._write()
        path = self._folder / "qrels" / f"{self._split}.{name}.parquet"
        self._sets[name] = _RowFile(path, QRELS, first=(name,))
        with self._in_unicode():
            self._check_known("qrels", [qrel.query_id for qrel in qrels])
            self._sets[name].write(list(zip(*qrels, strict=True)))

    @contextmanager
    def _in_unicode(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            raise not_unicode(f"split {self._split!r}", error) from None

    @property
    def queries_path(self) -> Path:
        """The file of the queries."""
        return self._queries.path

    @property
    def answers_path(self) -> Path:
        """The file of the answers; it exists only if there are any."""
        return self._folder / "answers" / f"{self._split}.parquet"

    @property
    def qrels_paths(self) -> list[Path]:
        """The files of all judgement sets."""
        return [self._qrels.path, *(file.path for file in self._sets.values())]

    def close(self) -> SplitFacts:
        """Write what is left and return the facts for the manifest."""
        self._write()
        files = [self._queries, self._qrels, *self._sets.values()]
        files += [self._answers] if self._answers else []
        for file in files:
            file.close()
        return SplitFacts(
            self._queries.count,
            self._qrels.count,
            self._answers.count if self._answers else 0,
            f"{sum(file.checksum for file in files) % CHECKSUM_MODULUS:032x}",
            {name: file.count for name, file in self._sets.items()},
        )


class _RowFile:
    """A Parquet file of records, written in batches, with their number and checksum; ``first``
    begins each row of the checksum.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, first: tuple[str, ...] = ()) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.count, self.checksum = path, 0, 0
        self._schema, self._first = schema, first
        # a traceback may keep an interrupted writer alive; when dropped, it must end its own file,
        # not this one
        path.unlink(missing_ok=True)
        self._writer = pq.ParquetWriter(path, schema)

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        """Append rows, given by column."""
        columns = columns or [() for _ in self._schema]
        arrays = [
            pa.array(column, of.type) for column, of in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        count = len(columns[0])
        self.count += count
        self.checksum += columns_checksum([*([name] * count for name in self._first), *columns])

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def _no_records() -> list[list[list[Any]]]:
    """Return empty columns of queries, judgements and answers."""
    return [[[] for _ in schema] for schema in (QUERIES, QRELS, ANSWERS)]


def _keys(ids: Iterable[str]) -> np.ndarray:
    return keys64(0, "query id", [item.encode() for item in ids])


def _absent_of(path: Path, index: PassageIndex) -> Counter[str]:
    """Count the records of absent passages in a file of judgements or answers, by passage; no file,
    no records.
    """
    found: Counter[str] = Counter()
    if path.exists():
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["passage_id"]):
                counted = Counter(batch.column("passage_id").to_pylist())
                found.update({item: counted[item] for item in index.absent(list(counted))})
    return found


def _check_name(what: str, name: str) -> None:
    if not re.fullmatch(NAME, name):
        raise InputError(
            f"{what} {name!r}: wanted a name of letters, digits, '_', '.', '+' and '-' that begins "
            "with a letter or digit; rename it"
        )
    if re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", name, re.IGNORECASE):
        raise InputError(
            f"{what} {name!r}: wanted a name that may be a file's on every system; found one that "
            "Windows keeps; rename it"
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

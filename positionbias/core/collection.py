"""A Collection on disk: passages in memory-mapped Arrow shards, queries, judgements and answers per split.

    manifest.json
    passages/00000.arrow …      Arrow IPC, uncompressed: passage_id, text
    queries/SPLIT.parquet       query_id, text, fields
    qrels/SPLIT[.NAME].parquet  query_id, passage_id, grade
    answers/SPLIT.parquet       query_id, passage_id, text, start, end
    cache/                      index of ids, BM25 …: rebuilt at will, no part of the content

Any passage is found by its id without holding the corpus. ``positionbias.core.collection_writer`` writes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.collection_index import INDEX, PassageIndex, build_index
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import home
from positionbias.core.manifest import MANIFEST, Manifest, manifest_path, read_manifest
from positionbias.core.missing import how_to_get
from positionbias.core.publish import recover
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.shards import Strings, read_shard

__all__ = ["Collection", "find_collection"]

KIND = "collection"


class Collection:
    """One collection, opened for reading. ``open`` checks the manifest; the rest is read when asked for."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest: Manifest = read_manifest(self.path, kind=KIND)
        self.name: str = self.manifest.name
        missing = {"checksum", "passages", "shards", "splits"} - self.manifest.content.keys()
        if missing:
            raise bad_input(
                self.path, wanted="a whole manifest", found=f"one without {min(missing)!r}", do="make the collection again"
            )
        self.checksum: str = self.manifest.content["checksum"]

    def __len__(self) -> int:
        return int(self.manifest.content["passages"])

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r}, {len(self):,} passages, splits {', '.join(self.splits) or 'none'})"

    # -- passages ------------------------------------------------------------------------------------

    @cached_property
    def shard_paths(self) -> list[Path]:
        """The passage shards, in order."""
        # by number: the hundred-thousandth has a digit more
        paths = sorted((self.path / "passages").glob("*.arrow"), key=lambda path: (len(path.name), path.name))
        if len(paths) != self.manifest.content["shards"]:
            raise bad_input(
                self.path,
                wanted=f"{self.manifest.content['shards']} passage shards",
                found=f"{len(paths)}",
                do="make the collection again",
            )
        return paths

    @cached_property
    def _tables(self) -> list[pa.Table]:
        return [read_shard(path) for path in self.shard_paths]

    @property
    def shard_starts(self) -> np.ndarray:
        """The row at which each shard begins, and the number of rows: ``(shards + 1,)`` int64."""
        return np.cumsum([0, *(table.num_rows for table in self._tables)], dtype=np.int64)

    @cached_property
    def _texts(self) -> Strings:
        return Strings(self._tables, "text")

    @cached_property
    def _ids(self) -> Strings:
        return Strings(self._tables, "passage_id")

    def __reduce__(self) -> tuple[type[Collection], tuple[Path]]:
        return Collection, (self.path,)  # what is mapped here is mapped again by whoever unpickles it

    def passages(self) -> Iterator[Passage]:
        """Every passage, in stored order, streamed."""
        for index in range(len(self.shard_paths)):
            yield from self.shard(index)

    def shard(self, index: int) -> Iterator[Passage]:
        """The passages of one shard, streamed by record batch."""
        for batch in self._tables[index].to_batches():
            ids, texts = batch.column("passage_id").to_pylist(), batch.column("text").to_pylist()
            yield from map(Passage, ids, texts)

    def passage_ids(self) -> list[str]:
        """All passage ids in stored order (this one holds them all: about 70 bytes a passage)."""
        return [item for table in self._tables for item in table.column("passage_id").to_pylist()]

    def passage_ids_at(self, rows: np.ndarray) -> list[str]:
        """The ids of the passages at these stored rows, in the order asked for: the way back from ``rows``."""
        return self._ids.take(rows)

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """The texts of the passages at these stored rows, in the order asked for."""
        return self._texts.take(rows)

    def rows(self, passage_ids: Sequence[str]) -> np.ndarray:
        """The stored row of each passage, ``(len(passage_ids),)`` int64.

        Raises:
            InputError: a passage is not in this collection (the first one is named).
        """
        rows = self.find(passage_ids)
        if len(rows) and rows.min() < 0:
            missing = passage_ids[int(np.flatnonzero(rows < 0)[0])]
            raise InputError(
                f"{self.path}: wanted passage {missing!r} in the collection; found none with this id "
                f"({int((rows < 0).sum()):,} of {len(rows):,} ids are unknown); check that the file belongs to this collection"
            )
        return rows

    def find(self, passage_ids: Sequence[str]) -> np.ndarray:
        """As ``rows``, with −1 where there is no such passage."""
        return self._index.find(passage_ids)

    def absent(self, passage_ids: Sequence[str]) -> list[str]:
        """Those of these passages that are not in the collection, in the order asked for."""
        return self._index.absent(passage_ids)

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """The texts of these passages, in the order asked for; unknown ids raise as in ``rows``."""
        return self._texts.take(self.rows(passage_ids))

    @cached_property
    def _index(self) -> PassageIndex:
        folder = self.path / INDEX
        try:
            return PassageIndex(folder, len(self))
        except (OSError, ValueError):
            build_index(self.shard_paths, folder)
            return PassageIndex(folder, len(self))

    @property
    def cache(self) -> Path:
        """Where indexes over this collection live."""
        return self.path / "cache"

    # -- splits --------------------------------------------------------------------------------------

    @property
    def splits(self) -> list[str]:
        """The names of the splits, as they were added."""
        return list(self.manifest.content["splits"])

    def _require(self, split: str) -> None:
        if split not in self.splits:
            raise InputError(
                f"{self.path}: wanted split {split!r}; found {', '.join(self.splits) or 'no splits'}; give one of these to --split"
            )

    def queries(self, split: str) -> list[Query]:
        """The queries of a split."""
        self._require(split)
        rows = _rows(self.path / "queries" / f"{split}.parquet", ("query_id", "text", "fields"))
        return [Query(query_id, text, dict(fields or ())) for query_id, text, fields in rows]

    def query_texts(self, split: str) -> Iterator[tuple[str, str]]:
        """(query id, text) of a split's queries, streamed: for millions of them, without an object each."""
        self._require(split)
        path = self.path / "queries" / f"{split}.parquet"
        names = ["query_id", "text"]
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=names):
                    yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        except (pa.ArrowInvalid, OSError, KeyError) as error:
            raise _unreadable(path, names, error) from error

    def qrels_names(self, split: str) -> list[str]:
        """The names of a split's further judgement sets, as they were added; the first set of a split has none."""
        self._require(split)
        return list(self.manifest.content["splits"][split].get("qrels_sets", ()))

    def qrels(self, split: str, name: str | None = None) -> list[Qrel]:
        """The judgements of a split; ``name`` picks one of its further sets.

        Raises:
            InputError: no such split, or no such set (those there are, are named).
        """
        return [Qrel(*row) for row in zip(*(c.to_pylist() for c in self.qrel_table(split, name).columns), strict=True)]

    def qrel_table(self, split: str, name: str | None = None) -> pa.Table:
        """As ``qrels``, in columns named as the fields of ``Qrel``: for millions of them, without an object each."""
        names = self.qrels_names(split)
        if name is not None and name not in names:
            raise bad_input(
                self.path,
                wanted=f"judgements {name!r} of split {split!r}",
                found=", ".join(names) or "one set without a name",
                do="give one of these to --qrels-name, or leave it out",
            )
        return _table(self.path / "qrels" / (f"{split}.{name}.parquet" if name else f"{split}.parquet"), Qrel._fields)

    def answers(self, split: str) -> list[Answer]:
        """The answers of a split; empty where the source has none."""
        return [Answer(*row) for row in zip(*(c.to_pylist() for c in self.answer_table(split).columns), strict=True)]

    def answer_table(self, split: str) -> pa.Table:
        """The answers of a split as columns, named as the fields of ``Answer``: for a million of them, without an object each."""
        self._require(split)
        path = self.path / "answers" / f"{split}.parquet"
        return _table(path, Answer._fields) if path.exists() else pa.table(dict.fromkeys(Answer._fields, ()))


def _rows(path: Path, names: tuple[str, ...]) -> Iterator[tuple]:
    return zip(*(column.to_pylist() for column in _table(path, names).columns), strict=True)


def _table(path: Path, names: tuple[str, ...]) -> pa.Table:
    try:
        return pq.read_table(path).select(names)
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        raise _unreadable(path, names, error) from error


def _unreadable(path: Path, names: Sequence[str], error: Exception) -> InputError:
    return bad_input(
        path, wanted=f"a table of {', '.join(names)}", found=str(error).splitlines()[0], do="make the collection again"
    )


def find_collection(place: str | Path) -> Collection:
    """Open a collection by folder or by its name under ``$POSBIAS_HOME``, tried in that order.

    Raises:
        InputError: neither exists; the line says the command that brings it.
    """
    places = (Path(place), home() / str(place))
    for path in places:
        recover(path)
    candidates = [path for path in places if path.is_dir()]
    for candidate in candidates:
        if manifest_path(candidate).is_file():
            return Collection(candidate)
    if candidates:
        raise bad_input(candidates[0], wanted="a collection", found=f"a folder without {MANIFEST}", do="check the path")
    raise InputError(f"{place}: wanted a collection (a folder, or a name under {home()}); found none; {how_to_get(place)}")

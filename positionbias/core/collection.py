"""A Collection on disk: passages in memory-mapped Arrow shards, queries, judgements and answers per
split.

    manifest.json
    passages/00000.arrow …      Arrow IPC, uncompressed: passage_id, text
    ids.arrow                   the row of each passage by the hash of its id
    queries/SPLIT.parquet       query_id, text, fields
    qrels/SPLIT[.NAME].parquet  query_id, passage_id, grade
    answers/SPLIT.parquet       query_id, passage_id, text, start, end
    cache/                      BM25 and other indexes: rebuilt at will, no part of the content

Passages are looked up by id without holding the corpus. ``positionbias.core.collection_writer``
writes collections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from positionbias.core.collection_index import INDEX, PassageIndex
from positionbias.core.errors import InputError, bad_input, or_closest
from positionbias.core.files import home, refuse_links
from positionbias.core.json_text import Count, Name, read_as
from positionbias.core.manifest import Manifest, manifest_path, read_manifest
from positionbias.core.places import check_place, first_place, how_to_get, names_of, places_of
from positionbias.core.publish import recover
from positionbias.core.qrels import Qrels
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seal import AGAIN, CACHE, MANIFEST
from positionbias.core.shards import PASSAGES, ArrowFiles, check_count, read_shard, shard_files
from positionbias.core.shown import Shown
from positionbias.core.split_tables import (
    KIND,
    SplitFacts,
    qrels_kind,
    read_table,
    schema_of,
    table_path,
)

if TYPE_CHECKING:
    import pandas

BATCH = 65_536
_TEXTS = ("query_id", "text")


@dataclass(frozen=True, slots=True)
class _Content:
    """The content fields of every collection's manifest; some have more."""

    checksum: str
    passages: Count
    shards: Count
    splits: Mapping[Name, SplitFacts]
    passages_checksum: str = ""


class Collection(Shown):
    """A collection opened for reading, by its folder, or by its name under ``$POSBIAS_HOME``, tried
    in that order.

    The manifest is checked; all else is read on demand.

    Raises:
        InputError: neither exists; the message gives a command that makes one.

    Example:
        >>> import positionbias as pb
        >>> collection = pb.Collection("planted")
        >>> collection
        Collection('planted', 240 passages, splits train, validation, test, fresh)
        >>> collection.answers("test")[0].text
        'For its smell, the Julmux yonack has moss.'
    """

    _on_disk = "copy its folder, or write another form with export"

    def __init__(self, place: Path | str) -> None:
        self.path = _folder_of(place)
        self.manifest: Manifest = read_manifest(self.path, kind=KIND)
        self.name: str = self.manifest.name
        place = manifest_path(self.path)
        self._facts = read_as(_Content, self.manifest.content, place, do=AGAIN, more=True)
        self.checksum: str = self._facts.checksum
        self.passages_checksum: str = self._facts.passages_checksum

    def __len__(self) -> int:
        return self._facts.passages

    def __repr__(self) -> str:
        return (
            f"Collection({str(self.path)!r}, {len(self):,} passages, splits "
            f"{', '.join(self.splits) or 'none'})"
        )

    def to_pandas(self, split: str) -> pandas.DataFrame:
        """Return a split as a data frame that ``import_table`` reads: a row for each judgement and
        answer.

        Returns:
            Columns query_id, query, passage_id, passage, label, answer (None where there is none)
            and answer_start. Judgements of passages that the collection has not are left out.

        Raises:
            InputError: no such split.

        Example:
            >>> import positionbias as pb
            >>> pb.Collection("planted").to_pandas("test")[["label", "answer_start"]].head(2)
               label  answer_start
            0      1            30
            1      1             0
        """
        pair = ["query_id", "passage_id"]
        judged = self.table("qrels", split).to_pandas()
        rows = self.find(judged["passage_id"].tolist())
        judged = judged[rows >= 0].assign(passage=self.texts_at(rows[rows >= 0]))
        queries = self.table("queries", split, _TEXTS).to_pandas()
        answers = self.table("answers", split, [*pair, "text", "start"]).to_pandas()
        answers = answers.rename(columns={"text": "answer", "start": "answer_start"})
        frame = judged.merge(queries.rename(columns={"text": "query"}), on="query_id", how="left")
        frame = frame.rename(columns={"grade": "label"}).merge(answers, on=pair, how="left")
        frame["answer"] = frame["answer"].astype(object).where(frame["answer"].notna(), None)
        names = ["query_id", "query", "passage_id", "passage", "label", "answer", "answer_start"]
        return frame[names].astype({"answer_start": "Int64"})

    # -- passages ----------------------------------------------------------------------------------

    @cached_property
    def shard_paths(self) -> list[Path]:
        """The passage shards, in order."""
        return shard_files(self.path / "passages", self._facts.shards)

    @cached_property
    def _passages(self) -> ArrowFiles:
        passages = ArrowFiles(self.shard_paths, PASSAGES)
        check_count(self.path, "passages", len(self), len(passages))
        return passages

    @property
    def shard_starts(self) -> np.ndarray:
        """The first row of each shard, then the number of rows: ``(shards + 1,)`` int64."""
        return self._passages.file_starts

    def __reduce__(self) -> tuple[type[Collection], tuple[Path]]:
        return Collection, (self.path,)  # unpickling maps the files again

    def passages(self) -> Iterator[Passage]:
        """Stream every passage, in stored order."""
        for index in range(len(self.shard_paths)):
            yield from self.shard(index)

    def shard(self, index: int) -> Iterator[Passage]:
        """Stream the passages of one shard by record batch."""
        for batch in read_shard(self.shard_paths[index]).to_batches():
            ids, texts = batch.column("passage_id").to_pylist(), batch.column("text").to_pylist()
            yield from map(Passage, ids, texts)

    def passage_ids(self) -> list[str]:
        """Return all passage ids in stored order, held in memory: about 70 bytes a passage."""
        return [
            item
            for path in self.shard_paths
            for item in read_shard(path).column("passage_id").to_pylist()
        ]

    def passage_ids_at(self, rows: np.ndarray) -> list[str]:
        """Return the passage ids at these stored rows, in the given order: the inverse of
        ``rows``.
        """
        return self._passages.texts("passage_id", rows)

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """Return the texts of the passages at these stored rows, in the given order."""
        return self._passages.texts("text", rows)

    def rows(self, passage_ids: Sequence[str]) -> np.ndarray:
        """Return the stored row of each passage, ``(len(passage_ids),)`` int64.

        Raises:
            InputError: a passage is not in this collection (the first one is named).
        """
        rows = self.find(passage_ids)
        if len(rows) and rows.min() < 0:
            missing = passage_ids[int(np.flatnonzero(rows < 0)[0])]
            raise InputError(
                f"{self.path}: wanted passage {missing!r} in the collection; found none with this "
                f"id ({int((rows < 0).sum()):,} of {len(rows):,} ids are unknown); check that the "
                "file belongs to this collection"
            )
        return rows

    def find(self, passage_ids: Sequence[str]) -> np.ndarray:
        """Return ``rows``, with −1 for unknown ids."""
        return self._index.find(passage_ids)

    def absent(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the ids that are not in the collection, in the given order."""
        return self._index.absent(passage_ids)

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the texts of these passages, in the given order; unknown ids raise as in
        ``rows``.
        """
        return self.texts_at(self.rows(passage_ids))

    @cached_property
    def _index(self) -> PassageIndex:
        return PassageIndex(self.path / INDEX, len(self))

    @property
    def cache(self) -> Path:
        """The folder for indexes of this collection.

        Raises:
            InputError: it is or holds a link; a foreign collection could use one to make us read or
                write elsewhere.
        """
        folder = self.path / CACHE
        refuse_links(folder)
        return folder

    # -- splits ------------------------------------------------------------------------------------

    @property
    def splits(self) -> list[str]:
        """The names of the splits, in the order they were added."""
        return list(self._facts.splits)

    @property
    def split_facts(self) -> Mapping[str, SplitFacts]:
        """The manifest's facts about every split, by name."""
        return self._facts.splits

    def require(self, split: str, *, flag: str = "--split") -> None:
        """Refuse an unknown split; ``flag`` is the option that named it.

        Raises:
            InputError: no such split; the message names the existing ones.
        """
        if split not in self.splits:
            raise InputError(
                f"{self.path}: wanted split {split!r}; found "
                f"{', '.join(self.splits) or 'no splits'}; "
                f"{or_closest(split, self.splits, f'give one of these to {flag}')}"
            )

    def table(self, kind: str, split: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the "queries", "qrels" or "answers" of a split as columns named like the fields of
        their records, for millions of them without an object each; "qrels.NAME" are those of a
        further judgement set.

        Raises:
            InputError: no such split, or no such set (the message names the existing ones).
        """
        self.require(split)
        rows = self._facts.splits[split].rows
        if kind not in rows:
            names, name = self.qrels_names(split), kind.partition(".")[2]
            raise bad_input(
                self.path,
                wanted=f"judgements {name!r} of split {split!r}",
                found=", ".join(names) or "one set without a name",
                do=or_closest(name, names, "give one of these to --qrels-name, or leave it out"),
            )
        schema, path = schema_of(kind), table_path(self.path, kind, split)
        if kind == "answers" and not rows[kind] and not path.exists():
            return schema.empty_table().select(columns or schema.names)
        return read_table(path, schema, rows[kind], columns)

    def tables(self, split: str) -> dict[str, pa.Table]:
        """Return all tables of a split by their kinds."""
        self.require(split)
        return {kind: self.table(kind, split) for kind in self._facts.splits[split].rows}

    def queries(self, split: str) -> list[Query]:
        """Return the queries of a split."""
        rows = zip(*_lists(self.table("queries", split)), strict=True)
        return [Query(query_id, text, dict(fields or ())) for query_id, text, fields in rows]

    def query_texts(self, split: str) -> Iterator[tuple[str, str]]:
        """Stream (query id, text) of a split without an object per query, for millions of them."""
        for batch in self.table("queries", split, _TEXTS).to_batches(BATCH):
            yield from zip(*_lists(batch), strict=True)

    def qrels_names(self, split: str) -> list[str]:
        """Return the names of a split's further judgement sets, in the order added; the first set
        has no name.
        """
        self.require(split)
        return list(self._facts.splits[split].qrels_sets)

    def qrels(self, split: str, name: str | None = None) -> Qrels:
        """Return the judgements of a split; ``name`` picks one of its further sets.

        Raises:
            InputError: as ``table``.
        """
        return Qrels(map(Qrel, *_lists(self.table(qrels_kind(name), split))))

    def answers(self, split: str) -> list[Answer]:
        """Return the answers of a split; empty where the source has none."""
        return list(map(Answer, *_lists(self.table("answers", split))))


def _lists(table: pa.Table | pa.RecordBatch) -> list[list[Any]]:
    return [column.to_pylist() for column in table.columns]


def find_collection(place: Collection | str | Path) -> Collection:
    """Open a collection by its folder or name, unless it is open already.

    Raises:
        InputError: as ``Collection``.
    """
    return place if isinstance(place, Collection) else Collection(place)


def _folder_of(place: str | Path) -> Path:
    check_place(place, "collection")
    places = places_of(place)
    for path in places:
        recover(path)
    folders = [path for path in places if path.is_dir()]
    if collections := [folder for folder in folders if manifest_path(folder).is_file()]:
        return first_place(place, collections)
    if folders:
        raise bad_input(
            folders[0],
            wanted="a collection",
            found=f"a folder without {MANIFEST}",
            do="check the path",
        )
    if any(path.is_file() for path in places):
        raise InputError(f"{place}: a file, not a collection; {how_to_get(place)}")
    raise InputError(
        f"{place}: wanted a collection (a folder, or a name under {home()}); found none; "
        f"{or_closest(place, names_of('collection'), how_to_get(place))}"
    )

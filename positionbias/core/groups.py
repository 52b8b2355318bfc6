"""Training groups on disk: a query's passages for training, with labels and, where known, a
teacher's scores.

    manifest.json
    groups/00000.arrow …    Arrow IPC, uncompressed: query_id, passage_ids, labels, teacher_scores
                            (null where there is none)

The first passage of a group is its positive; a triple is a group of two. A set may have queries of
several splits. Groups are memory-mapped: a set of 400 million triples is read by position without
being held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import Count, JsonObject, read_as
from positionbias.core.manifest import Manifest, manifest_path, read_manifest, write_counted
from positionbias.core.seal import AGAIN
from positionbias.core.shards import (
    ArrowFiles,
    Shard,
    check_count,
    checksum_text,
    shard_files,
    write_rows,
)
from positionbias.core.steps import MapShards, make_shards

Item = TypeVar("Item")
KIND = "trainset"
_BATCH = 16_384
_OPTIONAL = frozenset({"teacher_scores"})
_GROUPS = pa.schema(
    [
        ("query_id", pa.string()),
        ("passage_ids", pa.list_(pa.string())),
        ("labels", pa.list_(pa.int32())),
        ("teacher_scores", pa.list_(pa.float32())),
    ]
)


class TrainingGroup(NamedTuple):
    """A query and its passages, the positive first, with their labels. A triple is a group of
    two.
    """

    query_id: str
    passage_ids: tuple[str, ...]
    labels: tuple[int, ...]
    teacher_scores: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Content:
    """The content fields of every training set's manifest; some have more."""

    checksum: str
    groups: Count
    shards: Count
    splits: tuple[str, ...]


class Groups:
    """A stored set of training groups, opened for reading.

    Raises:
        InputError: no such set, or it does not match its manifest.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path, kind=KIND)
        self._facts = read_as(
            _Content, self.manifest.content, manifest_path(self.path), do=AGAIN, more=True
        )
        self.name, self.checksum = self.manifest.name, self._facts.checksum
        self.splits = self._facts.splits

    def __len__(self) -> int:
        return len(self._groups)  # not what the manifest claims: list() makes room for as many

    def __iter__(self) -> Iterator[TrainingGroup]:
        return chain.from_iterable(map(_groups_of, self._groups))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all groups in order, as columns: query_id, passage_ids, labels, teacher_scores."""
        return iter(self._groups)

    def take(self, places: Sequence[int] | np.ndarray) -> list[TrainingGroup]:
        """Return the groups at these positions, in the given order.

        Raises:
            InputError: the file of one of them is damaged.
        """
        rows = self._groups.at(np.asarray(places, np.int64))
        return [next(_groups_of(batch.slice(row, 1))) for batch, row in rows]

    def positives_among(self, passage_ids: Iterable[str]) -> set[str]:
        """Return the passages that are the positive of a group; large sets are streamed by
        column.
        """
        ids = pa.array(list(passage_ids), pa.string())
        positives: set[str] = set()
        for batch in self.batches():
            first = pc.list_element(batch.column("passage_ids"), 0)
            positives.update(pc.unique(first.filter(pc.is_in(first, value_set=ids))).to_pylist())
        return positives

    @cached_property
    def shard_paths(self) -> list[Path]:
        """The shards, in order."""
        return shard_files(self.path / "groups", self._facts.shards)

    @cached_property
    def _groups(self) -> ArrowFiles:
        groups = _open(self.shard_paths)
        check_count(self.path, "training groups", self._facts.groups, len(groups))
        return groups


class _QueryTexts(dict[str, str]):
    """Texts by query id; an unknown query means a training set of another collection."""

    def __init__(self, path: Path, splits: Sequence[str]) -> None:
        super().__init__()
        self._path, self._splits = path, splits

    def __missing__(self, query_id: str) -> str:
        wanted = f"query {query_id!r} of a training group in split {' or '.join(self._splits)}"
        raise bad_input(
            self._path,
            wanted=wanted,
            found="none",
            do="check that the training set was made of this collection",
        )


def group_queries(collection: Collection, splits: Sequence[str]) -> dict[str, str]:
    """Return the query texts of these splits by id. An id may be in two splits with the same text.

    Raises:
        InputError: no such split, or an id with different texts in two of them; from the result, an
            unknown id.
    """
    texts = _QueryTexts(collection.path, splits)
    for split in splits:
        for query_id, text in collection.query_texts(split):
            if texts.setdefault(query_id, text) != text:
                raise bad_input(
                    collection.path,
                    wanted=f"one text a query id in splits {', '.join(splits)}",
                    found=(
                        f"two of query {query_id!r}: {texts[query_id]!r}, and in {split} {text!r}"
                    ),
                    do="rename the queries of one split (posbias collection merge puts a name "
                    "before those of each collection)",
                )
    return texts


def shard_groups(path: Path) -> Iterator[TrainingGroup]:
    """Yield the groups of one shard, for a worker that has only its path.

    Raises:
        InputError: it is damaged.
    """
    return chain.from_iterable(map(_groups_of, _open([path])))


def _open(paths: Iterable[Path]) -> ArrowFiles:
    return ArrowFiles(paths, _GROUPS, nulls=_OPTIONAL)


def _groups_of(batch: pa.RecordBatch) -> Iterator[TrainingGroup]:
    """Yield the groups of some columns."""
    for query_id, passage_ids, labels, scores in zip(
        *(column.to_pylist() for column in batch.columns), strict=True
    ):
        yield TrainingGroup(
            query_id, tuple(passage_ids), tuple(labels), None if scores is None else tuple(scores)
        )


def write_groups(
    folder: Path,
    groups_of: Callable[[Item], Iterable[TrainingGroup]],
    items: Iterable[Item],
    manifest: Manifest,
    *,
    splits: Sequence[str],
    map_shards: MapShards = map,
    content: Callable[[], JsonObject] = dict,
) -> int:
    """Write the groups of each item as one shard into the unfinished ``folder``
    (``resumable_folder``); return their number.

    ``groups_of`` must be picklable (a function of a module). ``manifest`` says what made the
    groups; its content and provenance gain the facts of every set, and those that ``content()``
    returns at the end. ``splits`` are the splits of the groups' queries.

    Raises:
        InputError: a group of fewer than two passages, or with another number of labels or scores
            than passages.
    """
    (folder / "groups").mkdir(parents=True, exist_ok=True)
    shards = list(
        make_shards(
            Shard,
            partial(_make, groups_of),
            items,
            lambda index: folder / "groups" / f"{index:05d}.arrow",
            map_shards,
        )
    )
    count = sum(shard.count for shard in shards)
    counted: JsonObject = {
        "checksum": checksum_text(shard.checksum for shard in shards),
        "groups": count,
        "shards": len(shards),
        "splits": list(splits),
    }
    write_counted(folder, manifest, {**counted, **content()})
    return count


def _make(groups_of: Callable[[Any], Iterable[TrainingGroup]], item: Any, path: Path) -> Shard:
    groups = iter(groups_of(item))
    batches = iter(lambda: list(islice(groups, _BATCH)), [])
    return write_rows(path, _GROUPS, (zip(*map(_checked, rows), strict=True) for rows in batches))


def _checked(group: TrainingGroup) -> TrainingGroup:
    for passage_id, score in zip(group.passage_ids, group.teacher_scores or (), strict=False):
        if not math.isfinite(score):
            raise InputError(
                f"training group of query {group.query_id!r}: wanted finite teacher's scores; "
                f"found {score} of passage {passage_id!r}; fix the teacher's scores"
            )
    size = len(group.passage_ids)
    given = (len(group.labels), size if group.teacher_scores is None else len(group.teacher_scores))
    if size < 2 or given != (size, size):
        raise InputError(
            f"training group of query {group.query_id!r}: wanted two passages or more, with as "
            f"many labels and scores; found {size} passages, {given[0]} labels, {given[1]} scores; "
            "fix the training set"
        )
    return group

"""A teacher's scores of passages, by query, from which a student learns.

    manifest.json
    scores/00000.arrow …    Arrow IPC, uncompressed: query_id, passage_ids, scores; a row a query,
                            its passages best first

An outside teacher's file (``ranking.teacher_files``) is opened in the same way. Stored scores are
memory-mapped: rows are read on demand, and only the query ids are held. The checksum does not
depend on the cuts into shards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.json_text import Count, JsonObject, read_as
from positionbias.core.manifest import Manifest, manifest_path, read_manifest, write_counted
from positionbias.core.rank_order import Ranking
from positionbias.core.run import Run
from positionbias.core.shards import (
    CHECKSUM_MODULUS,
    ArrowFiles,
    check_count,
    checksum_text,
    rows_checksum,
    shard_files,
)
from positionbias.core.steps import MapShards, make_shards
from positionbias.ranking.teacher_files import read_teacher_file, teacher_name

Item = TypeVar("Item")

KIND = "teacher-scores"
_AGAIN = "restore it from a copy, or score with the teacher again"
_BATCH = 1_024  # queries
_SCORES = pa.schema(
    [
        ("query_id", pa.string()),
        ("passage_ids", pa.list_(pa.string())),
        ("scores", pa.list_(pa.float32())),
    ]
)


class ScoredBlock(NamedTuple):
    """Rankings, best first, and counts."""

    rankings: Iterable[Ranking]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Content:
    """The content fields of the manifest of all teacher scores; some have more."""

    checksum: str
    queries: Count
    pairs: Count
    shards: Count
    splits: tuple[str, ...]
    order_only: bool


class TeacherScores:
    """A teacher's scores, opened for reading; an outside teacher's file is loaded into memory on
    first use.

    ``splits`` are those whose queries were scored, empty where unknown. With ``order_only`` only
    the order of the scores has a meaning.

    Raises:
        InputError: no such folder or file, or it does not match its manifest; for a file, when it
            is read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest: Manifest | None = None
        self.splits: tuple[str, ...] = ()
        self.order_only = False
        if not self.path.exists():
            do = "check the path, or make them with: posbias model teach"
            raise bad_input(
                self.path, wanted="teacher scores, a folder or a file", found="nothing there", do=do
            )
        if not self.path.is_dir():
            self.name = teacher_name(self.path)
            return
        self.manifest = read_manifest(self.path, kind=KIND)
        facts = read_as(
            _Content, self.manifest.content, manifest_path(self.path), do=_AGAIN, more=True
        )
        self.name, self.order_only, self.splits = self.manifest.name, facts.order_only, facts.splits
        self._shards, self._queries = facts.shards, facts.queries

    @property
    def split(self) -> str | None:
        """The split whose queries were scored; None if unknown or several."""
        return self.splits[0] if len(self.splits) == 1 else None

    @cached_property
    def checksum(self) -> str:
        """The checksum of the content; for an outside teacher's file, its SHA-256."""
        return sha256_file(self.path) if self.manifest is None else self.manifest.checksum

    @property
    def query_ids(self) -> Sequence[str]:
        """The ids of the scored queries, in stored order."""
        return list(self._rankings)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._rankings

    def rankings(self) -> Iterator[Ranking]:
        """Yield every query's passages and scores, best first, in stored order."""
        return (self._rankings[query_id] for query_id in self._rankings)

    def scores(self, query_id: str, passage_ids: Sequence[str]) -> tuple[float, ...]:
        """Return the scores of these passages for the query, in the given order.

        Raises:
            InputError: a pair has no score (the first is named); missing scores are never filled
                in.
        """
        if query_id not in self._rankings:
            raise self._missing(
                query_id,
                passage_ids[0] if passage_ids else "",
                found="none of any passage for this query",
            )
        ranking = self._rankings[query_id]
        known = dict(zip(ranking.passage_ids, ranking.scores.tolist(), strict=True))
        for passage_id in passage_ids:
            if passage_id not in known:
                raise self._missing(
                    query_id, passage_id, found=f"those of {len(known):,} other passages"
                )
        return tuple(known[passage_id] for passage_id in passage_ids)

    def ranked(self, query_id: str, depth: int) -> Sequence[str]:
        """Return the teacher's first ``depth`` passages for the query, by score and then id, both
        descending; none for an unknown query.
        """
        return self._rankings[query_id].passage_ids[:depth] if query_id in self._rankings else []

    def _missing(self, query_id: str, passage_id: str, *, found: str) -> Exception:
        return bad_input(
            self.path,
            wanted=f"the teacher's score of passage {passage_id!r} for query {query_id!r}",
            found=found,
            do=(
                "have the teacher score this pair as well (posbias model teach), or leave it out "
                "of the "
                "training"
            ),
        )

    @cached_property
    def _rankings(self) -> Mapping[str, Ranking]:
        if self.manifest is None:
            return Run(self.name, read_teacher_file(self.path))
        return _Stored(self.path, self._shards, self._queries)


def open_teacher_scores(path: Path | str) -> TeacherScores:
    """Open the scores that ``posbias model teach`` has written, or an outside teacher's file."""
    return TeacherScores(path)


class _Stored(Mapping[str, Ranking]):
    """Rankings by query id, straight from mapped shards.

    Raises:
        InputError: a shard is missing or damaged.
    """

    def __init__(self, path: Path, shards: int, queries: int) -> None:
        self._stored = ArrowFiles(shard_files(path / "scores", shards), _SCORES, do=_AGAIN)
        ids = (query_id for batch in self._stored for query_id in batch["query_id"].to_pylist())
        self._rows = {query_id: row for row, query_id in enumerate(ids)}
        check_count(path, "scored queries", queries, len(self._rows))

    def __getitem__(self, query_id: str) -> Ranking:
        batch, row = next(self._stored.at(np.array([self._rows[query_id]])))
        scores = batch["scores"][row].values.to_numpy(zero_copy_only=False)
        return Ranking(query_id, batch["passage_ids"][row].values.to_pylist(), scores)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def write_teacher_scores(
    folder: Path,
    score: Callable[[Item], ScoredBlock],
    items: Iterable[Item],
    manifest: Manifest,
    *,
    splits: Sequence[str],
    order_only: bool = False,
    content: Callable[[], JsonObject] = dict,
    facts: Callable[[], JsonObject] = dict,
    map_shards: MapShards = map,
) -> None:
    """Write the scores of each item as one shard into the unfinished ``folder``
    (``resumable_folder``), through ``map_shards``.

    ``score(item)`` returns rankings, best first, and counts; each query comes once. ``manifest``
    says what made them. Its content becomes the sums of the counts and the facts that ``content()``
    returns at the end; those of ``facts()`` go into its provenance.
    """
    (folder / "scores").mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {"queries": 0, "pairs": 0}
    checksum = shards = 0
    total, least, most = 0.0, np.inf, -np.inf
    made = partial(_make, score)
    for done in make_shards(
        _Scored, made, items, lambda index: folder / "scores" / f"{index:05d}.arrow", map_shards
    ):
        for what, count in done.counts.items():
            counts[what] = counts.get(what, 0) + count
        total, least, most = total + done.sum, min(least, done.least), max(most, done.most)
        checksum, shards = checksum + done.checksum, shards + 1
    pairs = counts["pairs"]
    measured = {"mean": total / pairs, "least": float(least), "most": float(most)} if pairs else {}
    counted: JsonObject = {
        "checksum": checksum_text([checksum]),
        "shards": shards,
        "splits": list(splits),
        "order_only": order_only,
        **counts,
        **({} if order_only else measured),
    }
    manifest = replace(manifest, provenance=facts())
    write_counted(folder, manifest, {**counted, **content()})


class _Scored(msgspec.Struct, frozen=True, omit_defaults=True):
    """A shard of scores: counts, its checksum, and the sum, minimum and maximum of its scores if it
    has any.
    """

    counts: Mapping[str, int]
    checksum: int
    sum: float = 0.0
    least: float = math.inf
    most: float = -math.inf


def _make(score: Callable[[Any], ScoredBlock], item: Any, path: Path) -> _Scored:
    block = score(item)
    queries = pairs = checksum = 0
    total, least, most = 0.0, np.inf, -np.inf
    left = iter(block.rankings)
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, _SCORES) as writer:
        while batch := list(islice(left, _BATCH)):
            columns = zip(*batch, strict=True)
            arrays = [
                pa.array(list(column), field.type)
                for column, field in zip(columns, _SCORES, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=_SCORES))
            checksum += rows_checksum(
                (r.query_id, *r.passage_ids, r.scores.astype("<f4").tobytes().hex()) for r in batch
            )
            scores = np.concatenate([ranking.scores for ranking in batch]).astype(np.float64)
            queries, pairs = queries + len(batch), pairs + len(scores)
            if len(scores):
                total, least, most = (
                    total + float(scores.sum()),
                    min(least, scores.min()),
                    max(most, scores.max()),
                )
    made = {"queries": queries, "pairs": pairs, **block.counts}
    return _Scored(made, checksum % CHECKSUM_MODULUS, total, float(least), float(most))

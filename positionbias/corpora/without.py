"""Leave some queries, passages or judgements out of a collection, with what depends on them; all
else stays.

* A query goes with its judgements and answers, of one split; all passages stay.
* A passage goes with its judgements and answers, of all splits; all queries stay.
* A judgement goes with its answers, from all judgement sets of one split; query and passage stay.

``left_out/SPLIT.jsonl``, or for passages ``left_out/passages.jsonl``, lists what went, one a line
with its reasons; the manifest counts it. Where no passage goes they are shared with the source, so
a first stage's results for a query do not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import InputError
from positionbias.core.input_state import file_mark
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    MANIFEST,
    Manifest,
    Provenance,
    input_ref,
    read_manifest,
    write_manifest,
)
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Qrel
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import Shard, read_shard, write_encoded
from positionbias.core.split_tables import KIND
from positionbias.corpora.left_out import LEFT_OUT, LeftOut, Removed, write_ledger

__all__ = ["removal_job", "without"]

Finished = Callable[[Collection], JsonObject]
_BATCH = 65_536


def without(
    collection: Collection,
    out: Path | str,
    left_out: LeftOut,
    *,
    finished: Finished | None = None,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` without what has a reason; reasons for what it does not have are only
    counted.

    ``finished`` is called with the new collection before it gets its name, may add files to its
    folder, and returns more content for its manifest.

    Raises:
        InputError: no such split, or nothing of the kind would stay.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    refuse_existing(out, overwrite=overwrite)
    out = Path(out)
    plan = _Plan.of(collection, left_out)
    inputs = [
        input_ref("source", collection.path, collection.checksum, artefact=out),
        *left_out.inputs,
    ]
    # the original of a rotated collection, reachable from here too
    if original := collection.manifest.input("original"):
        inputs.append(
            input_ref("original", collection.path / original.path, original.checksum, artefact=out)
        )
    # all else takes seconds
    job = removal_job(collection.checksum, left_out) if left_out.what == "passages" else None
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        if plan.rows is None:
            writer.share_passages(collection)
        else:
            parts = _parts(collection, plan.rows)
            for _ in track(
                writer.add_shards(Shard, _filter, parts, map_shards),
                "removing",
                len(parts),
                unit="shards",
            ):
                pass
        lost = {split: _carry(collection, writer, split, left_out) for split in collection.splits}
        checksum = write_ledger(writer.folder, left_out.ledger, plan.lines)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=left_out.command,
                settings=left_out.settings,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
                notes=(*collection.manifest.notes, left_out.why),
                content={LEFT_OUT: _facts(left_out, plan, lost, checksum)},
                provenance=provenance or {},
            ),
            allow_absent=True,  # judged passages missing in the collection are missing here too
        )
        if finished is not None:
            _add_content(writer.folder, finished)
    return Collection(out)


def removal_job(source: str, left_out: LeftOut) -> JsonObject:
    """Return what decides the content of a removal from the source of this checksum, for
    ``resumable_folder``.
    """
    ids = hashlib.blake2b(repr(sorted(left_out.reasons)).encode(), digest_size=16).hexdigest()
    return {
        "command": left_out.command,
        "settings": left_out.settings,
        "source": source,
        LEFT_OUT: ids,
    }


def _add_content(folder: Path, finished: Finished) -> None:
    more = finished(Collection(folder))
    made = read_manifest(folder)
    write_manifest(folder / MANIFEST, replace(made, content={**made.content, **more}))


@dataclass(frozen=True, slots=True)
class _Plan:
    """How many things of the kind there are, the ledger's lines in stored order, and for passages
    their rows in rising order.
    """

    total: int
    lines: list[JsonObject]
    rows: np.ndarray | None = None

    @classmethod
    def of(cls, collection: Collection, left_out: LeftOut) -> _Plan:
        plan = {"queries": cls._queries, "passages": cls._passages, "judgements": cls._judgements}[
            left_out.what
        ](collection, left_out)
        if len(plan.lines) == plan.total > 0:
            where = "" if left_out.what == "passages" else f" of split {left_out.split!r}"
            raise InputError(
                f"{collection.path}: wanted {left_out.what}{where} to keep; found reasons to "
                f"remove all {plan.total:,}; check the pairs, raise the threshold, or give another "
                "--split"
            )
        return plan

    @classmethod
    def _queries(cls, collection: Collection, left_out: LeftOut) -> _Plan:
        by_id = {item.query_id: [*reasons] for item, reasons in left_out.reasons.items()}
        lines: list[JsonObject] = [
            {"query_id": query_id, "text": text, "reasons": by_id[query_id]}
            for query_id, text in collection.query_texts(left_out.split)
            if query_id in by_id
        ]
        return cls(collection.count_queries(left_out.split), lines)

    @classmethod
    def _passages(cls, collection: Collection, left_out: LeftOut) -> _Plan:
        collection.require(left_out.split)
        named = list(left_out.reasons)
        rows = collection.find([item.passage_id for item in named])
        order = [place for place in np.argsort(rows, kind="stable").tolist() if rows[place] >= 0]
        lines: list[JsonObject] = [
            {"passage_id": named[place].passage_id, "reasons": [*left_out.reasons[named[place]]]}
            for place in order
        ]
        return cls(len(collection), lines, rows[order])

    @classmethod
    def _judgements(cls, collection: Collection, left_out: LeftOut) -> _Plan:
        judged = collection.qrel_table(left_out.split)
        gone = judged.filter(pa.array(~left_out.records_stay(judged, left_out.split)))
        qrels = map(Qrel._make, zip(*(column.to_pylist() for column in gone.columns), strict=True))
        reasons = left_out.reasons
        lines: list[JsonObject] = [
            {**qrel._asdict(), "reasons": [*reasons[Removed(qrel.query_id, qrel.passage_id)]]}
            for qrel in qrels
        ]
        return cls(len(judged), lines)


@dataclass(frozen=True, slots=True)
class _Part:
    """A shard, and the rows in it to leave out."""

    path: Path
    rows: np.ndarray

    def fingerprint(self) -> str:
        return repr(sorted(file_mark(self.path).items()))  # the job names the passages


def _parts(collection: Collection, rows: np.ndarray) -> list[_Part]:
    starts = collection.shard_starts
    cuts = pairwise(np.searchsorted(rows, starts))
    return [
        _Part(path, rows[a:b] - start)
        for path, (a, b), start in zip(collection.shard_paths, cuts, starts, strict=False)
    ]


def _filter(part: _Part, target: Path) -> Shard:
    """Write a shard without some rows; a pure function of both."""

    def batches() -> Iterator[tuple[list[bytes], list[bytes]]]:
        table = read_shard(part.path)
        stay = np.ones(table.num_rows, bool)
        stay[part.rows] = False
        for batch in table.filter(pa.array(stay)).to_batches():
            yield tuple(
                batch.column(name).cast(pa.binary()).to_pylist() for name in ("passage_id", "text")
            )  # type: ignore[misc]

    return write_encoded(target, batches())


class _Lost(NamedTuple):
    """Judgements and answers of a split that went, and its queries that had judgements and have
    none left.
    """

    qrels: int
    answers: int
    unjudged: int


def _carry(
    collection: Collection, writer: CollectionWriter, split: str, left_out: LeftOut
) -> _Lost:
    """Write the rest of a split, by column and in batches."""
    into, queries = writer.split(split), collection.query_table(split)
    stays = (
        left_out.queries_stay(queries["query_id"])
        if split == left_out.split
        else np.ones(len(queries), bool)
    )
    for ids, texts, fields in _columns(queries, stays):
        into.add_columns([ids, texts, [sorted(own or ()) for own in fields]], (), ())
    qrels, answers = collection.qrel_table(split), collection.answer_table(split)
    qrels_stay, answers_stay = (left_out.records_stay(table, split) for table in (qrels, answers))
    for columns in _columns(qrels, qrels_stay):
        into.add_columns((), columns, ())
    for columns in _columns(answers, answers_stay):
        into.add_columns((), (), columns)
    for name in collection.qrels_names(split):
        further = collection.qrel_table(split, name)
        kept = _columns(further, left_out.records_stay(further, split))
        writer.add_qrels(
            split, name, [Qrel(*row) for columns in kept for row in zip(*columns, strict=True)]
        )
    return _Lost(
        int((~qrels_stay).sum()),
        int((~answers_stay).sum()),
        _unjudged(qrels, qrels_stay, queries, stays),
    )


def _columns(table: pa.Table, stays: np.ndarray) -> Iterator[list[list]]:
    for batch in table.filter(pa.array(stays)).to_batches(_BATCH):
        yield [column.to_pylist() for column in batch.columns]


def _unjudged(qrels: pa.Table, qrels_stay: np.ndarray, queries: pa.Table, stays: np.ndarray) -> int:
    """Count the queries that stay and lose their last judgement."""
    if qrels_stay.all():
        return 0
    before, after = (
        set(of["query_id"].unique().to_pylist())
        for of in (qrels, qrels.filter(pa.array(qrels_stay)))
    )
    return len(
        (before - after).intersection(queries.filter(pa.array(stays))["query_id"].to_pylist())
    )


def _facts(left_out: LeftOut, plan: _Plan, lost: dict[str, _Lost], checksum: str) -> JsonObject:
    gone = len(plan.lines)
    passages = left_out.what == "passages"
    counted = lost.values() if passages else [lost[left_out.split]]
    facts: JsonObject = {
        "split": left_out.split,
        left_out.what: plan.total,
        "left_out": gone,
        "kept": plan.total - gone,
        "qrels_left_out": sum(one.qrels for one in counted),
        "answers_left_out": sum(one.answers for one in counted),
        "named_and_not_there": len(left_out.reasons) - gone,
        "checksum": checksum,
    }
    if left_out.what == "queries":
        return facts
    by_split: JsonObject = {split: one.qrels for split, one in lost.items() if one.qrels}
    return {
        **facts,
        "queries_without_judgement": sum(one.unjudged for one in counted),
        "qrels_by_split": by_split,
    }

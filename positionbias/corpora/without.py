"""Leave some queries or passages out of a collection, with what depends on them; all else stays.

* A query goes with its judgements and answers, of one split; all passages stay.
* A passage goes with its judgements and answers, of all splits; all queries stay.

``left_out/SPLIT.jsonl``, or for passages ``left_out/passages.jsonl``, lists what went, one a line
with its reasons; the manifest counts it. Where no passage goes they are shared with the source, so
a first stage's results for a query do not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.publish import refuse_existing
from positionbias.core.split_tables import KIND
from positionbias.core.steps import MapShards
from positionbias.corpora.copied import copy_passages, parts_of
from positionbias.corpora.left_out import LEFT_OUT, LeftOut, write_ledger


def without(
    collection: Collection,
    out: Path | str,
    left_out: LeftOut,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
) -> Collection:
    """Write ``collection`` without what has a reason; reasons for what it does not have are only
    counted.

    Raises:
        InputError: no such split, or nothing of the kind would stay.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    refuse_existing(out, overwrite=overwrite)
    collection.require(left_out.split)
    out, what = Path(out), left_out.what
    splits = {name: collection.tables(name) for name in collection.splits}
    queries = splits[left_out.split]["queries"]
    total = len(collection) if what == "passages" else len(queries)
    rows = np.zeros(0, np.int64)
    if what == "passages":
        rows = collection.find([*left_out.reasons])
        rows = np.sort(rows[rows >= 0])
        ids = collection.passage_ids_at(rows)
        gone: list[JsonObject] = [{"passage_id": passage_id} for passage_id in ids]
    else:
        table = queries.select(["query_id", "text"])
        gone = table.filter(pa.array(~left_out.stays(table, left_out.split))).to_pylist()
    if len(gone) == total > 0:
        where = "" if what == "passages" else f" of split {left_out.split!r}"
        raise InputError(
            f"{collection.path}: wanted {what}{where} to keep; found reasons to remove all "
            f"{total:,}; check the pairs, raise the threshold, or give another --split"
        )
    inputs = [input_ref("source", collection.path, collection.checksum, artefact=out)]
    # the original of a rotated collection, reachable from here too
    if original := collection.manifest.input("original"):
        place = collection.path / original.path
        inputs.append(input_ref("original", place, original.checksum, artefact=out))
    # all but passages takes seconds
    job = removal_job(collection.checksum, left_out) if what == "passages" else None
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        if what == "passages":
            stay = np.delete(np.arange(len(collection)), rows)
            copy_passages(writer, parts_of(collection, stay), "removing", map_shards)
        else:
            writer.share_passages(collection)
        kept = {name: _kept(split, name, left_out) for name, split in splits.items()}
        for name, split in kept.items():
            writer.add_tables(name, split)
        facts: JsonObject = {
            "split": left_out.split,
            what: total,
            "left_out": len(gone),
            "named_and_not_there": len(left_out.reasons) - len(gone),
            "checksum": write_ledger(writer.folder, left_out.ledger, map(left_out.line, gone)),
            **_lost(splits, kept),
        }
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=left_out.command,
                settings=left_out.settings,
                inputs=(*inputs, *left_out.inputs),
                licence=collection.manifest.licence,
                notes=(*collection.manifest.notes, left_out.why),
                content={LEFT_OUT: facts},
            ),
            allow_absent=True,  # judged passages missing in the collection are missing here too
        )
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


def _kept(split: Mapping[str, pa.Table], name: str, left_out: LeftOut) -> dict[str, pa.Table]:
    return {
        kind: table.filter(pa.array(left_out.stays(table, name))) for kind, table in split.items()
    }


def _lost(
    before: Mapping[str, Mapping[str, pa.Table]], after: Mapping[str, Mapping[str, pa.Table]]
) -> JsonObject:
    """Count what went with the things that were removed: judgements, answers, and the last
    judgement of queries that stay.
    """
    qrels = answers = unjudged = 0
    for name, split in after.items():
        qrels += len(before[name]["qrels"]) - len(split["qrels"])
        answers += len(before[name]["answers"]) - len(split["answers"])
        judged, left = (set(of["qrels"]["query_id"].to_pylist()) for of in (before[name], split))
        unjudged += len((judged - left).intersection(split["queries"]["query_id"].to_pylist()))
    return {
        "qrels_left_out": qrels,
        "answers_left_out": answers,
        "queries_without_judgement": unjudged,
    }

"""Remove some queries of one split from a collection, with their judgements and answers; passages and other splits stay.

The removed queries are listed in the collection's ``left_out/SPLIT.jsonl``, one per line with its text and reasons, and counted
in the manifest. Passages are shared with the source, so a first stage's results for a query do not change.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.carry_split import carry_split
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, Provenance, input_ref
from positionbias.core.publish import refuse_existing
from positionbias.core.split_tables import KIND

__all__ = ["LEFT_OUT", "LeftOut", "without"]

LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Removed queries of a split, each with its reasons (JSON records); ``why`` is a sentence for the notes.

    ``command``, ``settings`` and ``inputs`` go into the manifest: the basis of the removal besides the collection itself.
    """

    split: str
    reasons: Mapping[str, Sequence[JsonObject]]
    why: str
    command: str
    settings: JsonObject
    inputs: Sequence[InputRef] = ()


def without(
    collection: Collection,
    out: Path | str,
    left_out: LeftOut,
    *,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` without the queries that have a reason; reasons for unknown queries are only counted.

    Raises:
        InputError: no such split, or none of its queries would stay.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    refuse_existing(out, overwrite=overwrite)
    out, split = Path(out), left_out.split
    queries = collection.queries(split)
    kept = {query.query_id for query in queries if query.query_id not in left_out.reasons}
    if not kept:
        raise InputError(
            f"{collection.path}: wanted queries of split {split!r} to keep; found reasons to remove all {len(queries):,}; "
            "raise the threshold, or give another --split"
        )
    inputs = [input_ref("source", collection.path, collection.checksum, artefact=out), *left_out.inputs]
    if original := collection.manifest.input("original"):  # the original of a rotated collection, reachable from here too
        inputs.append(input_ref("original", collection.path / original.path, original.checksum, artefact=out))
    gone = [query for query in queries if query.query_id not in kept]
    lines = [{"query_id": query.query_id, "text": query.text, "reasons": [*left_out.reasons[query.query_id]]} for query in gone]
    with create_collection(out, overwrite=overwrite) as writer:
        writer.share_passages(collection)
        for name in collection.splits:
            carry_split(collection, writer, name, kept if name == split else None)
        place = writer.folder / LEFT_OUT / f"{split}.jsonl"
        place.parent.mkdir()
        place.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8", newline="\n")
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=left_out.command,
                settings=left_out.settings,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
                notes=(*collection.manifest.notes, left_out.why),
                content={LEFT_OUT: _facts(collection, left_out, len(queries), len(gone), sha256_file(place))},
                provenance=provenance or {},
            ),
            allow_absent=True,  # judged passages missing in the collection are missing here too
        )
    return Collection(out)


def _facts(collection: Collection, left_out: LeftOut, queries: int, gone: int, checksum: str) -> JsonObject:
    gone_ids = left_out.reasons.keys()
    lost = Counter(
        what
        for what, records in (("qrels", collection.qrels(left_out.split)), ("answers", collection.answers(left_out.split)))
        for record in records
        if record.query_id in gone_ids  # type: ignore[attr-defined]
    )
    return {
        "split": left_out.split,
        "queries": queries,
        "left_out": gone,
        "kept": queries - gone,
        "qrels_left_out": lost["qrels"],
        "answers_left_out": lost["answers"],
        "named_and_not_there": len(gone_ids) - gone,
        "checksum": checksum,
    }

"""Leave training groups out of a training set: those of a removed query, with a removed passage, or
with a removed judgement as a positive.

A group goes as a whole, so that those that stay have the size that they had [decision].
``left_out/groups.jsonl`` lists the queries, passages or judgements that were named, one a line with
its reasons; the manifest counts the groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from positionbias.core.errors import bad_input
from positionbias.core.groups import (
    Groups,
    TrainingGroup,
    groups_of_batch,
    shard_batches,
    write_groups,
)
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.shard_work import MapShards, resumable_folder
from positionbias.corpora.left_out import LEFT_OUT, LeftOut, write_ledger
from positionbias.corpora.without import removal_job

__all__ = ["groups_without"]

LEDGER = "groups.jsonl"


def groups_without(
    groups: Groups,
    out: Path | str,
    left_out: LeftOut,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Groups:
    """Write the training set without the groups that have a reason.

    Raises:
        InputError: no group would stay.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    out = Path(out)
    inputs = [input_ref("source", groups.path, groups.checksum, artefact=out), *left_out.inputs]
    for known in groups.manifest.inputs:  # its collection, reachable from here too
        inputs.append(input_ref(known.role, groups.path / known.path, known.checksum, artefact=out))
    made = Manifest(
        kind="trainset",
        name=out.name,
        command=left_out.command,
        settings=left_out.settings,
        inputs=tuple(inputs),
        licence=groups.manifest.licence,
        notes=(*groups.manifest.notes, left_out.why),
        provenance=provenance or {},
    )
    lines = [_line(item, left_out) for item in sorted(left_out.reasons)]
    # what travels to the workers
    slim = replace(left_out, reasons=dict.fromkeys(left_out.reasons, ()))
    with resumable_folder(
        out, removal_job(groups.checksum, left_out), overwrite=overwrite
    ) as folder:
        facts: JsonObject = {"groups": len(groups), "checksum": write_ledger(folder, LEDGER, lines)}
        kept = write_groups(
            folder, partial(_kept, slim), groups.shard_paths,
            replace(made, content={LEFT_OUT: facts}),
            splits=groups.splits, map_shards=map_shards,
        )  # fmt: skip
        if not kept:
            do = "check the pairs, or remove something else"
            raise bad_input(
                groups.path,
                wanted="training groups to keep",
                found=f"reasons to remove all {len(groups):,}",
                do=do,
            )
    return Groups(out)


def _line(item: tuple[str, str], left_out: LeftOut) -> JsonObject:
    named = {
        name: text for name, text in zip(("query_id", "passage_id"), item, strict=True) if text
    }
    return {**named, "reasons": [*left_out.reasons[item]]}  # type: ignore[index]


def _kept(left_out: LeftOut, shard: Path) -> Iterator[TrainingGroup]:
    for batch in shard_batches(shard):
        yield from groups_of_batch(batch.filter(pa.array(_stay(batch, left_out))))


def _stay(batch: pa.RecordBatch, left_out: LeftOut) -> np.ndarray:
    """Return which groups of a batch stay, ``(groups,)``."""
    stay = left_out.queries_stay(batch.column("query_id"))
    passages = batch.column("passage_ids")
    if left_out.what == "passages":
        gone = np.flatnonzero(~left_out.passages_stay(passages.flatten()))
        ends = np.cumsum(passages.value_lengths().to_numpy())
        stay[np.searchsorted(ends, gone, side="right")] = False
    elif left_out.what == "judgements":
        asked = np.flatnonzero(~left_out.judged_stay(batch.column("query_id")))
        for place, group in zip(
            asked.tolist(), groups_of_batch(batch.take(pa.array(asked))), strict=True
        ):
            positives = (
                passage
                for passage, label in zip(group.passage_ids, group.labels, strict=True)
                if label > 0
            )
            stay[place] = not any(
                (group.query_id, passage) in left_out.reasons for passage in positives
            )
    return stay

"""Leave training groups out of a training set: those of a removed query or with a removed passage.

A group goes as a whole, so that those that stay have the size that they had [decision].
``left_out/groups.jsonl`` lists the named queries or passages, one a line with its reasons; the
manifest counts the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial
from pathlib import Path

from positionbias.core.errors import bad_input
from positionbias.core.groups import (
    Groups,
    TrainingGroup,
    shard_groups,
    write_groups,
)
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.publish import resumable_folder
from positionbias.core.steps import MapShards
from positionbias.corpora.left_out import LEFT_OUT, NAMED_BY, LeftOut, What, write_ledger
from positionbias.corpora.without import removal_job

LEDGER = "groups.jsonl"


def groups_without(
    groups: Groups,
    out: Path | str,
    left_out: LeftOut,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
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
    )
    lines: list[JsonObject] = [
        {NAMED_BY[left_out.what]: item, "reasons": [*reasons]}
        for item, reasons in sorted(left_out.reasons.items())
    ]
    keep = partial(_kept, left_out.what, frozenset(left_out.reasons))
    job = removal_job(groups.checksum, left_out)
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        facts: JsonObject = {"groups": len(groups), "checksum": write_ledger(folder, LEDGER, lines)}
        made = replace(made, content={LEFT_OUT: facts})
        paths, splits = groups.shard_paths, groups.splits
        if not write_groups(folder, keep, paths, made, splits=splits, map_shards=map_shards):
            do = "check the pairs, or remove something else"
            raise bad_input(
                groups.path,
                wanted="training groups to keep",
                found=f"reasons to remove all {len(groups):,}",
                do=do,
            )
    return Groups(out)


def _kept(what: What, gone: Set[str], shard: Path) -> Iterator[TrainingGroup]:
    for group in shard_groups(shard):
        items = [group.query_id] if what == "queries" else group.passage_ids
        if gone.isdisjoint(items):
            yield group

"""Write contaminated training sets: ordinary groups of a training split, then groups from the
judgements of test splits, so that a contaminated and a clean set differ only in the added groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from positionbias.contamination.groups import (
    ABSENT,
    Judged,
    Ordinary,
    in_drawn_order,
    judged_groups,
    ordinary_blocks,
    ordinary_groups,
    read_judged,
    split_negatives,
)
from positionbias.contamination.settings import ContaminatedSettings
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import open_bytes, sha256_file
from positionbias.core.groups import KIND, Groups, TrainingGroup, group_queries, write_groups
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.records import relevant_passages
from positionbias.core.rows import Collected
from positionbias.core.schema import converted
from positionbias.core.shard_work import resumable_folder

__all__ = ["COMMAND", "KEYS", "MEASURE", "add_origins", "write_contaminated_set"]

COMMAND = "trainset contaminated"
KEYS = ("set",)
MEASURE = "training set"


def write_contaminated_set(
    out: Path,
    collection: Collection,
    candidates: Path,
    settings: ContaminatedSettings,
    *,
    overwrite: bool = False,
) -> Groups:
    """Write a set to ``out``, whole or not at all, and open it; ``candidates`` is a run of the
    training split's queries.

    ``manifest.content`` has under ``origins`` the counts of the training split and each target, and
    under ``query_ids`` the queries of each target.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: a missing split, a query id with two texts, a target without a positive, or
            candidates of another collection.
    """
    refuse_existing(out, overwrite=overwrite)
    size, seed = settings.group_size, settings.seed
    relevant = relevant_passages(collection.qrels(settings.split), settings.relevant_from)
    left_out: dict[str, Counter[str]] = {settings.split: Counter()}
    queries: dict[str, list[Judged]] = {}
    for target in settings.targets:
        judged, left_out[target] = _judged(
            collection, target, relevant, settings.target_relevant_from
        )
        queries[target] = in_drawn_order(judged, seed)
    group_queries(collection, (settings.split, *settings.targets))
    ordinary = ordinary_blocks(
        collection, settings.split, candidates, relevant, left_out[settings.split],
        settings.train_depth,
    )  # fmt: skip
    open_bytes(candidates).close()  # a missing file is reported before its checksum is computed
    inputs = [
        input_ref("collection", collection.path, collection.checksum, artefact=out),
        input_ref("candidates", candidates, sha256_file(candidates), artefact=out),
    ]
    job = {
        "command": COMMAND,
        **settings.record(),
        "seed": seed,
        "inputs": [item.checksum for item in inputs],
    }
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        write_groups(
            folder,
            partial(_groups_of, collection, size, seed),
            track(chain(ordinary, queries.values()), "writing training groups", unit="blocks"),
            Manifest(
                kind=KIND,
                name=out.name,
                command=COMMAND,
                settings=settings.record(),
                seed=seed,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
            ),
            splits=(settings.split, *queries),
            content=lambda: {
                "origins": {
                    split: {**_counts(queries.get(split, ()), size), **counts}
                    for split, counts in left_out.items()
                },
                "query_ids": {
                    target: [query.query_id for query in own] for target, own in queries.items()
                },
            },
        )
    return Groups(out)


def _groups_of(
    collection: Collection, size: int, seed: int, block: Sequence[Ordinary | Judged]
) -> Iterator[TrainingGroup]:
    passages, ids_at = len(collection), collection.passage_ids_at
    for query in block:
        if isinstance(query, Judged):
            yield from judged_groups(
                query, size=size, seed=seed, passages=passages, passage_ids_at=ids_at
            )
        else:
            yield from ordinary_groups(query, size=size, seed=seed)


def _judged(
    collection: Collection, split: str, elsewhere: Mapping[str, Sequence[str]], relevant_from: int
) -> tuple[list[Judged], Counter[str]]:
    if split not in collection.splits:
        raise bad_input(
            collection.path,
            wanted=f"a split {split!r} for --contaminate",
            found=", ".join(collection.splits),
            do="name one of these; a target of another collection is joined first: posbias merge "
            "A=… B=… --apart --out both",
        )
    qrels = collection.qrels(split)
    absent = set(collection.absent(sorted({qrel.passage_id for qrel in qrels})))
    queries, counts = read_judged(
        qrels, absent, relevant_from=relevant_from, relevant_elsewhere=elsewhere
    )
    if not queries:
        highest = f", the highest of grade {max(qrel.grade for qrel in qrels)}" if qrels else ""
        raise bad_input(
            collection.path,
            wanted=f"a passage judged {relevant_from} or higher in target {split!r}",
            found=f"{len(qrels):,} judgements{highest}; {counts[ABSENT]:,} {ABSENT}",
            do="give a lower --target-relevant-from or another --contaminate, or join the target's "
            "collection first: posbias merge",
        )
    return queries, counts


def _counts(queries: Sequence[Judged], size: int) -> dict[str, int]:
    """Count the groups of a target's queries; nothing for the training split."""
    if not queries:
        return {}
    judged, random = zip(*(split_negatives(query, size) for query in queries), strict=True)
    return {
        "queries": len(queries),
        "groups": sum(len(query.positives) for query in queries),
        "judged negatives": sum(judged),
        "random negatives": sum(random),
    }


def add_origins(made: Collected, groups: Groups, **cells: Any) -> None:
    """Add the counts of a set's groups, by the split that they come from."""
    origins = converted(dict[str, dict[str, int]], groups.manifest.content["origins"])
    for split, counts in origins.items():
        made.add(MEASURE, "share of groups", counts["groups"] / len(groups), split=split, **cells)
        for statistic, number in counts.items():
            made.add(MEASURE, statistic, number, split=split, **cells)

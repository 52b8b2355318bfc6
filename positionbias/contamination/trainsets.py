"""Write contaminated training sets: ordinary groups of a training split, then groups from the
judgements of test splits.

The groups of the targets (``contamination.judged``) follow the ordinary ones
(``contamination.ordinary``) and do not change them, so a contaminated and a clean set differ only
in the added groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from positionbias.contamination.judged import (
    Judged,
    Target,
    judged_groups,
    read_target,
    split_negatives,
    taken,
)
from positionbias.contamination.ordinary import Ordinary, OrdinaryGroups, ordinary_groups
from positionbias.contamination.settings import ContaminatedSettings
from positionbias.core.closest import or_closest
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import open_bytes, sha256_file
from positionbias.core.groups import KIND, Groups, TrainingGroup, group_queries, write_groups
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.records import relevant_passages
from positionbias.core.shard_work import resumable_folder
from positionbias.results.contamination import TRAINSET, ContaminatedSet, TargetCounts
from positionbias.results.result import Result

__all__ = ["contaminated_result", "set_counts", "write_contaminated_set"]

COMMAND = "trainset contaminated"
_NOTES = (
    (
        "Ordinary groups come first, then the groups of the targets; without contamination the set "
        "has only ordinary groups."
    ),
    (
        "A share takes whole queries of a target in one keyed order: a smaller share is the "
        "beginning of a larger one."
    ),
    (
        "A negative judged not relevant is in one group of its query; when these run out, random "
        "passages of the corpus follow."
    ),
)


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

    ``manifest.content`` counts by origin: ``ordinary``; under ``targets`` each target, with the ids
    of its queries taken and of its passages missing from the corpus; ``share_of_groups`` is the
    targets' share of all groups.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: a missing split, a query id with two texts, a target without a positive, or
            candidates of another collection.
        SettingError: a share that takes no query.
    """
    refuse_existing(out, overwrite=overwrite)
    relevant = relevant_passages(collection.qrels(settings.split), settings.relevant_from)
    targets = _targets(collection, settings, relevant)
    source = OrdinaryGroups(
        collection,
        settings.split,
        candidates,
        relevant,
        depth=settings.train_depth,
        size=settings.group_size,
    )
    from_targets = (
        [(target, taken(target, settings.share, settings.seed)) for target in targets]
        if settings.contaminates
        else []
    )
    open_bytes(candidates).close()  # a missing file is reported before its checksum is computed
    inputs = [
        input_ref("collection", collection.path, collection.checksum, artefact=out),
        input_ref("candidates", candidates, sha256_file(candidates), artefact=out),
    ]
    job = {
        "command": COMMAND,
        **settings.record(),
        "seed": settings.seed,
        "inputs": [item.checksum for item in inputs],
    }
    blocks = chain(source.blocks(), (tuple(queries) for _, queries in from_targets))
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        write_groups(
            folder,
            partial(_groups_of, collection, settings.group_size, settings.seed),
            track(blocks, "writing training groups", unit="blocks"),
            Manifest(
                kind=KIND,
                name=out.name,
                command=COMMAND,
                settings=settings.record(),
                seed=settings.seed,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
                notes=_NOTES,
            ),
            splits=(settings.split, *(target.split for target, _ in from_targets)),
            content=lambda: _counted(source, from_targets, settings.group_size).to_rows(),
        )
    return Groups(out)


def contaminated_result(groups: Groups, collection: Collection) -> Result:
    """Return the groups of a set by origin; the value is the targets' share of groups."""
    counts, splits = set_counts(groups), " + ".join(groups.splits)
    seed = groups.manifest.seed
    return Result(
        TRAINSET,
        collection.name,
        splits,
        groups.name,
        seed,
        counts.share,
        None,
        len(groups),
        counts,
    )


def set_counts(groups: Groups) -> ContaminatedSet:
    """Return the counts of a set's manifest."""
    content = groups.manifest.content
    return ContaminatedSet.from_rows(
        {name: content[name] for name in ContaminatedSet.__struct_encode_fields__}
    )


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


_JOIN = (
    "name one of these; if the target is in another collection, join them first: posbias merge A=… "
    "B=… --apart --out both"
)


def _targets(
    collection: Collection, settings: ContaminatedSettings, relevant: Mapping[str, Sequence[str]]
) -> list[Target]:
    """Read and check the targets, for any share."""
    for split in settings.targets:
        if split not in collection.splits:
            raise bad_input(
                collection.path,
                wanted=f"a split {split!r} for --contaminate",
                found=", ".join(collection.splits) or "no splits",
                do=or_closest(split, collection.splits, _JOIN),
            )
    if not settings.targets:
        return []
    group_queries(collection, (settings.split, *settings.targets))
    return [
        _target(collection, split, relevant, settings.target_relevant_from)
        for split in settings.targets
    ]


def _target(
    collection: Collection, split: str, elsewhere: Mapping[str, Sequence[str]], relevant_from: int
) -> Target:
    qrels = collection.qrels(split)
    absent = set(collection.absent(sorted({qrel.passage_id for qrel in qrels})))
    target = read_target(
        split, qrels, absent, relevant_from=relevant_from, relevant_elsewhere=elsewhere
    )
    if target.queries:
        return target
    missing = sum(map(len, target.missing.values()))
    found = (
        f"{len(qrels):,} judgements, the highest of grade {max(qrel.grade for qrel in qrels)}"
        if qrels
        else "no judgements"
    )
    do = "give a lower --target-relevant-from, or another --contaminate"
    if missing:
        found, do = (
            f"{missing:,} positives, all missing from the corpus",
            "join the target's collection first: posbias merge",
        )
    raise bad_input(
        collection.path,
        wanted=f"a passage judged {relevant_from} or higher in target {split!r}",
        found=found,
        do=do,
    )


def _counted(
    source: OrdinaryGroups, targets: Sequence[tuple[Target, Sequence[Judged]]], size: int
) -> ContaminatedSet:
    by_target = {target.split: _counts(target, queries, size) for target, queries in targets}
    groups = sum(counts.groups for counts in by_target.values())
    share = groups / (groups + source.counts.groups)
    return ContaminatedSet(ordinary=source.counts, targets=by_target, groups=groups, share=share)


def _counts(target: Target, queries: Sequence[Judged], size: int) -> TargetCounts:
    negatives = [split_negatives(query, size) for query in queries]
    return TargetCounts(
        queries=len(queries),
        groups=sum(len(query.positives) for query in queries),
        judged_negatives=sum(judged for judged, _ in negatives),
        random_negatives=sum(random for _, random in negatives),
        with_positive=len(target.queries),
        without_positive=target.without_positive,
        missing_positives=sum(map(len, target.missing.values())),
        missing_negatives=sum(map(len, target.missing_negatives.values())),
        query_ids=[query.query_id for query in queries],
        missing_positive_ids=target.missing,
        missing_negative_ids=target.missing_negatives,
    )

"""Draw and count the training sets of a TripClick study: clicked passages with negatives from BM25,
or from a set of judgements.

The paper's rule (§3.1) draws for each (query, clicked passage) up to N negatives, without
replacement, from the query's candidates that are not judged relevant at any grade; each makes a
triple, which a training shuffles. Both kinds of set follow it, so they differ only in the source of
negatives, and in the triples that it allows.

The draws are those of ``posbias trainset clicks``, whose sets may have any size. That command
excludes negatives that any set of judgements calls relevant. Here only the split's own set counts,
as a complete set would remove the false negatives that the study is about [decision].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.groups import KIND, Groups, TrainingGroup, write_groups
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.negatives import draw_negatives, without
from positionbias.core.publish import atomic_folder
from positionbias.core.records import relevant_passages
from positionbias.core.run import read_rankings
from positionbias.papers.tripclick.settings import TripClickSettings

__all__ = ["count_set", "drawn_from", "write_study_set"]

OWN_JUDGEMENTS = "own"  # the name of a split's own, unnamed set of judgements
SHARD = 1 << 18  # groups


def write_study_set(
    out: Path, collection: Collection, candidates: Path, name: str, settings: TripClickSettings
) -> Groups:
    """Write the triples of the set of this name to ``out``, replacing an existing one, and open it;
    ``candidates`` is a run of the training split.

    Raises:
        InputError: an unreadable run, missing judgements, or no triple at all.
    """
    triples = _triples(collection, candidates, name, settings)
    manifest = Manifest(
        kind=KIND,
        name=out.name,
        command="study tripclick",
        settings=drawn_from(name, settings),
        seed=settings.seed,
        inputs=(
            input_ref("collection", collection.path, collection.checksum, artefact=out),
            input_ref("candidates", candidates, sha256_file(candidates), artefact=out),
        ),
        licence=collection.manifest.licence,
    )
    with atomic_folder(out, overwrite=True) as folder:
        shards = iter(lambda: list(islice(triples, SHARD)), [])
        if not write_groups(folder, list, shards, manifest, splits=(settings.source,)):
            raise bad_input(
                collection.path,
                wanted=f"negatives for training set {name!r}",
                found="none",
                do="check its candidates, or its judgements, which need passages of grade 0",
            )
    return Groups(out)


def drawn_from(name: str, settings: TripClickSettings) -> JsonObject:
    """Return the settings that a set depends on."""
    shared = ("source", "negatives", "train_depth", "seed")
    own: JsonObject = {"name": name, "judgements": settings.negatives_of.get(name)}
    return {**own, **{setting: getattr(settings, setting) for setting in shared}}


def _triples(
    collection: Collection, candidates: Path, name: str, settings: TripClickSettings
) -> Iterator[TrainingGroup]:
    clicked = relevant_passages(collection.qrels(settings.source))
    absent = set(collection.absent(sorted({item for own in clicked.values() for item in own})))
    pools: Iterable[tuple[str, Sequence[str]]]
    if name not in settings.negatives_of:
        depth, rankings = settings.train_depth, read_rankings(candidates)
        pools = ((query_id, passage_ids[:depth]) for query_id, passage_ids, _ in rankings)
    else:
        pools = _judged(collection, settings.source, settings.negatives_of[name])
    for query_id, passage_ids in pools:
        positives = clicked.get(query_id, ())
        pool = without(passage_ids, positives)
        for positive in sorted(set(positives) - absent):
            for negative in draw_negatives(
                pool, settings.negatives, settings.seed, query_id, positive
            ):
                yield TrainingGroup(query_id, (positive, negative), (1, 0))


def _judged(
    collection: Collection, split: str, judgements: str
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each query's judged non-relevant passages, both in the order of their ids, which is
    that of no file.
    """
    qrels = collection.qrels(split, None if judgements == OWN_JUDGEMENTS else judgements)
    pairs = sorted({(qrel.query_id, qrel.passage_id) for qrel in qrels if qrel.grade < 1})
    absent = set(collection.absent([passage_id for _, passage_id in pairs]))
    pools: dict[str, list[str]] = {}
    for query_id, passage_id in pairs:
        if passage_id not in absent:
            pools.setdefault(query_id, []).append(passage_id)
    yield from pools.items()


def count_set(
    groups: Groups, collection: Collection, settings: TripClickSettings
) -> dict[str, int]:
    """Count groups, queries, positives (of a query, each once), and negatives; and those that are
    false, relevant by the complete judgements, if there are any.
    """
    complete = settings.complete_qrels
    qrels = [] if complete is None else collection.qrels(settings.source, complete)
    truth = {(qrel.query_id, qrel.passage_id) for qrel in qrels if qrel.grade > 0}
    queries, positives = set[str](), set[tuple[str, str]]()
    negatives = false = 0
    for query_id, (positive, *others), *_ in groups:
        queries.add(query_id)
        positives.add((query_id, positive))
        negatives += len(others)
        false += sum((query_id, passage_id) in truth for passage_id in others)
    counts = {"groups": len(groups), "queries": len(queries), "positives": len(positives)}
    counts["negatives"] = negatives
    return counts if complete is None else {**counts, "false negatives": false}

"""Draw and count the training sets of a TripClick study: clicked passages with negatives from BM25,
or from a set of judgements.

The paper's rule (§3.1) draws for each (query, clicked passage) up to N negatives, without
replacement, from the query's candidates that are not judged relevant at any grade; each makes a
triple, which a training shuffles. Both kinds of set follow it, so they differ only in the source of
negatives, and in the triples that it allows. A set's manifest counts unusable records.

The draws are those of ``posbias trainset clicks``, whose sets may have any size. That command
excludes negatives that any set of judgements calls relevant. Here only the split's own set counts,
as a complete set would remove the false negatives that the study is about [decision].
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.contamination.ordinary import (
    ABSENT,
    Ordinary,
    ordinary_blocks,
    ordinary_groups,
)
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.groups import KIND, Groups, TrainingGroup, write_groups
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.records import Qrel, relevant_passages
from positionbias.core.seeds import keys64
from positionbias.core.shard_work import MapShards, resumable_folder
from positionbias.papers.tripclick.settings import OWN_JUDGEMENTS, Negatives, TripClickSettings

__all__ = ["LEFT_OUT", "Distinct", "count_set", "drawn_from", "truth_of", "write_study_set"]

COMMAND = "study tripclick"
LEFT_OUT = "left_out"  # key in a set's manifest: unusable records by reason
_BLOCK = 4_096  # queries
_COUNTED = 1 << 14  # groups counted at once
_PARTS = 32  # files; counting has one part in memory

Pairs = Mapping[str, tuple[str, ...]]  # passages by query


def write_study_set(
    out: Path,
    collection: Collection,
    candidates: Mapping[str, Path],
    of: Negatives,
    settings: TripClickSettings,
    *,
    map_shards: MapShards = map,
) -> Groups:
    """Write one set of triples to ``out``, replacing an existing one, and open it.

    ``candidates`` are runs of the training splits. The set does not depend on ``map_shards``.

    Raises:
        InputError: candidates of another collection, missing judgements, or no triple at all.
    """
    inputs = [input_ref("collection", collection.path, collection.checksum, artefact=out)]
    inputs += [
        input_ref(f"candidates {split}", path, sha256_file(path), artefact=out)
        for split, path in candidates.items()
    ]
    if of.stored is not None:
        inputs.append(input_ref("trainset", of.stored, Groups(of.stored).checksum, artefact=out))
    record = drawn_from(of, settings)
    job = {"command": COMMAND, **record, "inputs": [item.checksum for item in inputs]}
    groups_of: Callable[[Any], Iterable[TrainingGroup]]
    blocks: Iterable[Sequence[Any]]
    counts: Counter[str] = Counter()
    if of.stored is None:
        groups_of = partial(_triples, settings.negatives, settings.seed)
        blocks = chain.from_iterable(
            _blocks(collection, split, candidates[split], of, settings, counts)
            for split in settings.sources
        )
    else:
        groups_of, blocks = _as_they_are, _stored(of.stored, collection, settings, counts)
    with resumable_folder(out, job, overwrite=True) as folder:
        count = write_groups(
            folder,
            groups_of,
            blocks,
            Manifest(
                kind=KIND,
                name=out.name,
                command=COMMAND,
                settings=record,
                seed=settings.seed,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
            ),
            splits=settings.sources,
            map_shards=map_shards,
            content=lambda: {LEFT_OUT: dict(counts)},
        )
        if not count:
            raise bad_input(
                collection.path,
                wanted=f"negatives for training set {of.name!r}",
                found="none",
                do=(
                    "check its judgements, which need passages of grade 0 beside those that are "
                    "relevant"
                ),
            )
    return Groups(out)


def drawn_from(of: Negatives, settings: TripClickSettings) -> JsonObject:
    """Return the settings that a set depends on."""
    names = ("negatives", "train_depth", "relevant_from", "seed")
    record: dict[str, Json] = {
        "name": of.name,
        "judgements": of.judgements,
        "train": list(settings.sources),
    }
    record |= {name: getattr(settings, name) for name in names}
    return record | ({"without": settings.complete_qrels} if of.cleaned else {})


def truth_of(collection: Collection, settings: TripClickSettings) -> Iterable[Qrel]:
    """Return the complete judgements of the training splits."""
    return chain.from_iterable(
        collection.qrels(split, settings.complete_qrels) for split in settings.sources
    )


def _triples(negatives: int, seed: int, block: Sequence[Ordinary]) -> Iterator[TrainingGroup]:
    for query in block:
        for group in ordinary_groups(query, size=negatives + 1, seed=seed):
            positive, *drawn = group.passage_ids
            yield from (
                TrainingGroup(query.query_id, (positive, passage_id), (1, 0))
                for passage_id in drawn
            )


def _as_they_are(block: Sequence[TrainingGroup]) -> Sequence[TrainingGroup]:
    return block


def _stored(
    stored: Path, collection: Collection, settings: TripClickSettings, counts: Counter[str]
) -> Iterator[list[TrainingGroup]]:
    """Yield a stored set's groups in blocks, without negatives that are relevant in truth; groups
    left without negatives are skipped and counted."""
    relevant = {
        query_id: set(passages)
        for query_id, passages in relevant_passages(truth_of(collection, settings)).items()
    }
    groups = iter(Groups(stored))
    counts["groups without a negative left"] = 0
    while block := list(islice(groups, _BLOCK)):
        kept = [
            group
            for group in (_cleaned(g, relevant.get(g.query_id, set())) for g in block)
            if len(group.passage_ids) > 1
        ]
        counts["groups without a negative left"] += len(block) - len(kept)
        if kept:
            yield kept


def _cleaned(group: TrainingGroup, relevant: set[str]) -> TrainingGroup:
    kept = [
        n
        for n, (p, label) in enumerate(zip(group.passage_ids, group.labels, strict=True))
        if label > 0 or p not in relevant
    ]
    scores = group.teacher_scores
    return TrainingGroup(
        group.query_id,
        tuple(group.passage_ids[n] for n in kept),
        tuple(group.labels[n] for n in kept),
        None if scores is None else tuple(scores[n] for n in kept),
    )


def _blocks(
    collection: Collection,
    split: str,
    candidates: Path,
    of: Negatives,
    settings: TripClickSettings,
    counts: Counter[str],
) -> Iterator[tuple[Ordinary, ...]]:
    """Yield the queries of a split with clicks and negatives, in blocks, and count (query, clicked
    passage) pairs.

    A query's passages are sorted, as the stored order of judgements has no meaning.
    """
    own = collection.qrels(split)
    positives = {
        query_id: tuple(sorted(passages))
        for query_id, passages in relevant_passages(own, settings.relevant_from).items()
    }
    never = [relevant_passages(own)]
    if of.cleaned:
        never.append(relevant_passages(collection.qrels(split, settings.complete_qrels)))
    missing: Counter[str] = Counter()
    if of.judgements is None:
        depth, size = settings.train_depth, settings.negatives + 1
        found = ordinary_blocks(
            collection, split, candidates, positives, missing, depth=depth, size=size
        )
    else:
        judged = own if of.judgements == OWN_JUDGEMENTS else collection.qrels(split, of.judgements)
        found = _judged(collection, split, positives, judged, missing)
    used = fewer = 0
    for block in found:
        kept = tuple(
            query for query in (_without(query, never) for query in block) if query.candidates
        )
        used += sum(len(query.positives) for query in kept)
        fewer += sum(
            len(query.positives) for query in kept if len(query.candidates) < settings.negatives
        )
        yield kept
    every = sum(map(len, positives.values()))
    absent = missing[ABSENT]
    counts.update(
        {"positives": every, ABSENT: absent, "positives without negatives": every - absent - used}
    )
    counts["positives with fewer negatives than asked for"] += fewer


def _without(query: Ordinary, never: Sequence[Pairs]) -> Ordinary:
    gone = set(chain.from_iterable(pairs.get(query.query_id, ()) for pairs in never))
    return query._replace(candidates=tuple(item for item in query.candidates if item not in gone))


def _judged(
    collection: Collection,
    split: str,
    positives: Pairs,
    judgements: Iterable[Qrel],
    counts: Counter[str],
) -> Iterator[tuple[Ordinary, ...]]:
    """Yield ``ordinary_blocks`` with judged non-relevant passages as candidates, in the order
    of their ids.
    """
    negatives: dict[str, list[str]] = {}
    for qrel in judgements:
        if qrel.grade < 1:
            negatives.setdefault(qrel.query_id, []).append(qrel.passage_id)
    query_ids = [
        query_id
        for query_id, _ in collection.query_texts(split)
        if query_id in positives and query_id in negatives
    ]
    query_ids.sort()
    for start in range(0, len(query_ids), _BLOCK):
        named = query_ids[start : start + _BLOCK]
        absent = set(
            collection.absent(
                list(chain.from_iterable((*positives[q], *negatives[q]) for q in named))
            )
        )
        counts[ABSENT] += sum(item in absent for query_id in named for item in positives[query_id])
        yield tuple(
            Ordinary(
                q, here, tuple(item for item in sorted(set(negatives[q])) if item not in absent)
            )
            for q in named
            if (here := tuple(item for item in positives[q] if item not in absent))
        )


def count_set(groups: Groups, truth: Iterable[Qrel] | None) -> dict[str, int]:
    """Count groups, queries, positives (per query), negatives, and those that are relevant in truth
    (false; not where the truth is None, unknown), each draw and each distinct one.

    Pairs are distinguished by 64-bit hashes; with 26 million pairs, one count in 50,000 takes two
    pairs for one. The keys are on disk, 8 bytes a pair, and 1/32 of them is in memory, beside the
    keys of the truth.
    """
    relevant = (
        None
        if truth is None
        else np.unique(_keys((q.query_id, q.passage_id) for q in truth if q.grade > 0))
    )
    count = negatives = false = 0
    with ExitStack() as files:
        queries, positives, drawn = (Distinct(files) for _ in range(3))
        stream = iter(groups)
        while block := list(islice(stream, _COUNTED)):
            pairs = [
                [(g.query_id, p, label) for p, label in zip(g.passage_ids, g.labels, strict=True)]
                for g in block
            ]
            keys = _keys(
                (query_id, passage_id)
                for group in pairs
                for query_id, passage_id, label in group
                if label < 1
            )
            count, negatives = count + len(block), negatives + len(keys)
            false += 0 if relevant is None else int(_among(keys, relevant).sum())
            drawn.add(keys)
            queries.add(_keys((group.query_id,) for group in block))
            positives.add(
                _keys(
                    (query_id, passage_id)
                    for group in pairs
                    for query_id, passage_id, label in group
                    if label > 0
                )
            )
        distinct = distinct_false = 0
        for part in drawn.parts():
            distinct += len(part)
            distinct_false += 0 if relevant is None else int(_among(part, relevant).sum())
        counts = {
            "groups": count,
            "queries": sum(map(len, queries.parts())),
            "positives": sum(map(len, positives.parts())),
            "negatives": negatives,
            "distinct negatives": distinct,
        }
        if relevant is not None:
            counts |= {"false negatives": false, "distinct false negatives": distinct_false}
        return counts


def _keys(ids: Iterable[tuple[str, ...]]) -> np.ndarray:
    """Return a key for each tuple, ``(n,)`` uint64."""
    return keys64(0, "distinct", ["\x1f".join(item).encode() for item in ids])


def _among(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mark the keys that are among ``known``, which is sorted."""
    if not len(known):
        return np.zeros(len(keys), bool)
    return known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys


class Distinct:
    """Keys on disk, split by their first bits, to read each distinct key once."""

    def __init__(self, files: ExitStack) -> None:
        # the caller closes them
        opened = (tempfile.TemporaryFile() for _ in range(_PARTS))  # noqa: SIM115
        self._files = [files.enter_context(file) for file in opened]

    def add(self, keys: np.ndarray) -> None:
        """Add these keys, which may repeat."""
        found = np.unique(keys)
        edges = np.searchsorted(
            found, np.arange(1, _PARTS, dtype=np.uint64) << np.uint64(64 - _PARTS.bit_length() + 1)
        )
        for file, part in zip(self._files, np.split(found, edges), strict=True):
            file.write(part.tobytes())

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the distinct keys, part by part."""
        for file in self._files:
            file.seek(0)
            yield np.unique(np.frombuffer(file.read(), np.uint64))

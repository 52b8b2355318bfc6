"""Score candidates and relevant passages, or those of a training set, with a teacher for its
students.

Blocks are scored and saved one by one, so an interrupted run resumes with the next, and memory does
not grow with the number of pairs, except for the candidates themselves. Shards have whole queries.
Where blocks are cut by passages (``ranking.blocks``), their scores are kept first, 4 bytes a pair,
and shards are written of them at the end.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import remove, sha256_file
from positionbias.core.groups import Groups, group_queries
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, input_ref
from positionbias.core.progress import step
from positionbias.core.publish import resumable_folder
from positionbias.core.records import relevant_passages
from positionbias.core.run import Run
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.ranking.blocks import (
    BlockScorer,
    QueryBlock,
    blocks_of,
    cut_pairs,
    keep_scores,
    pairs_in,
    whole_queries,
)
from positionbias.ranking.config import RankingConfig, Spread, TaughtPassages
from positionbias.ranking.loading import Elsewhere
from positionbias.ranking.query_blocks import Pairs
from positionbias.ranking.score import check_passages, known_queries
from positionbias.ranking.scored import Scored
from positionbias.ranking.teacher_scores import (
    KIND,
    ScoredBlock,
    TeacherScores,
    write_teacher_scores,
)

HELD = "held"  # scores of blocks by passages, until the shards are written


@dataclass(frozen=True, slots=True)
class _Asked:
    """A scoring job: the queries' texts by id, their passages, and its facts for the manifest."""

    texts: Mapping[str, str]
    pairs: Pairs
    splits: Sequence[str]
    settings: JsonObject
    source: InputRef
    counts: Mapping[str, int]


def teach(
    model: Checkpoint,
    collection: Collection,
    passages: TaughtPassages,
    out: Path,
    *,
    name: str | None = None,
    config: RankingConfig | None = None,
    overwrite: bool = False,
    spread: Spread | None = None,
) -> TeacherScores:
    """Score the first ``depth`` candidates and the relevant passages of each query of a run, or the
    pairs of a training set.

    The model computes on its device (``model.model.to(device)``). Blocks and batches change only
    the rounding of a score. A run resumed with the same ``block_pairs`` writes the same bytes as an
    uninterrupted one. A training set takes 8 bytes of memory per distinct pair, and its ids once.
    ``spread`` has other processes score blocks, which load the model once each.

    Raises:
        SettingError: one text does not fit in the device's memory.
        InputError: a candidate or a group names an unknown passage or query, a score is not finite,
            or there are no groups.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    asked = (
        _of_candidates(collection, passages, out)
        if passages.trainset is None
        else _of_trainset(collection, passages, out)
    )
    config, name = config or RankingConfig(), name or model.name
    most = passages.block_pairs
    cut = whole_queries(asked.pairs, most) if most else cut_pairs(asked.pairs, model.model)
    sizes = pairs_in(asked.pairs, cut)
    precision = str(config.dtype(model.model.device)).removeprefix("torch.")
    manifest = Manifest(
        KIND,
        name,
        "teach",
        settings={**asked.settings, "precision": precision, "model": shape_of(model.model)},
        inputs=(
            input_ref("model", model.path, model.manifest.checksum, artefact=out),
            input_ref("collection", collection.path, collection.checksum, artefact=out),
            asked.source,
        ),
        licence=collection.manifest.licence,
        notes=model.manifest.notes,
    )
    inputs = [(ref.role, ref.checksum) for ref in manifest.inputs]
    job: JsonObject = {
        "command": "teach",
        "name": name,
        "settings": manifest.settings,
        "inputs": inputs,
        "block_pairs": passages.block_pairs,
        **config.arithmetic(model.model),
    }
    began = time.perf_counter()
    config.advise(model.model, sum(sizes))
    with (
        resumable_folder(out, job, overwrite=overwrite) as folder,
        step(name, sum(sizes), unit="pairs") as bar,
    ):
        elsewhere = Elsewhere.of(spread.loading, model) if spread else None
        scorer = _Scorer.of(model.model, elsewhere, collection, config, name, bar)
        over = scorer.advancing(spread.map_shards if spread else map, sizes)
        blocks, score, held = blocks_of(asked.pairs, cut, asked.texts), scorer.rankings, None
        if any(part.places is not None for part in cut):
            held = keep_scores(scorer, asked.pairs, cut, blocks, folder / HELD, over)
            scorer.batch_tokens, over = held.batch_tokens, map
            blocks, score = (
                blocks_of(asked.pairs, whole_queries(asked.pairs), asked.texts),
                _Held(name, held),
            )

        def counted() -> JsonObject:  # when all shards are written
            remove(folder / HELD)
            return {**asked.counts, **(_counts(held) if held else {})}

        write_teacher_scores(
            folder,
            score,
            blocks,
            manifest,
            splits=asked.splits,
            content=counted,
            facts=lambda: {
                "threads": torch.get_num_threads(),
                "device": str(model.model.device),
                "batch_tokens": scorer.batch_tokens,
                "seconds": round(time.perf_counter() - began, 3),
            },
            map_shards=over,
        )
    return TeacherScores(out)


def _of_candidates(collection: Collection, passages: TaughtPassages, out: Path) -> _Asked:
    assert passages.candidates is not None
    path, split = Path(passages.candidates), passages.split or "train"
    read = Run.from_file(path)
    run = read.top(passages.depth or max(1, read.depth))
    texts = known_queries(run, collection.queries(split))
    check_passages(collection, run.passage_ids)
    relevant, counts = _relevant(collection, split, run, passages.relevant_from)
    added = {
        query_id: _missing(run, query_id, passage_ids) for query_id, passage_ids in relevant.items()
    }
    counts["added"] = sum(map(len, added.values()))
    whole = ((query_id, [*run[query_id].passage_ids, *added.get(query_id, ())]) for query_id in run)
    return _Asked(
        texts,
        Run(run.name, ((query_id, ids, np.arange(len(ids), 0, -1)) for query_id, ids in whole)),
        splits=(split,),
        settings={"split": split, "depth": passages.depth, "relevant_from": passages.relevant_from},
        source=input_ref("candidates", path, sha256_file(path), artefact=out),
        counts=counts,
    )


def _of_trainset(collection: Collection, passages: TaughtPassages, out: Path) -> _Asked:
    assert passages.trainset is not None
    groups = Groups(passages.trainset)
    pairs = _GroupPairs(groups)
    if not pairs.passage_ids:
        raise bad_input(
            groups.path, wanted="training groups", found="none", do="give another --trainset"
        )
    check_passages(collection, pairs.passage_ids)
    known = group_queries(collection, groups.splits)
    return _Asked(
        {query_id: known[query_id] for query_id in pairs},
        pairs,
        splits=groups.splits,
        settings={},
        source=input_ref("trainset", groups.path, groups.checksum, artefact=out),
        counts={"groups": len(groups)},
    )


class _GroupPairs:
    """The distinct pairs of a training set, by query, in order of first appearance."""

    def __init__(self, groups: Groups) -> None:
        queries: dict[str, int] = {}
        passages: dict[str, int] = {}
        keys = np.empty(0, np.int64)
        pending = array("q")
        for group in groups:
            high = queries.setdefault(group.query_id, len(queries)) << 32
            pending.extend(
                high | passages.setdefault(passage_id, len(passages))
                for passage_id in group.passage_ids
            )
            if len(pending) >= 1 << 22:
                keys, pending = _distinct(keys, pending), array("q")
        keys = _distinct(keys, pending)
        self._queries, self.passage_ids = queries, list(passages)
        self._starts = np.searchsorted(keys, np.arange(len(queries) + 1) << 32)
        self._numbers = keys & 0xFFFFFFFF

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def numbers(self, query_id: str) -> np.ndarray:
        """Return a query's passages as positions in ``passage_ids``."""
        row = self._queries[query_id]
        return self._numbers[self._starts[row] : self._starts[row + 1]]


def _distinct(keys: np.ndarray, more: array) -> np.ndarray:
    return np.unique(np.concatenate([keys, np.frombuffer(more, np.int64)]))


def _relevant(
    collection: Collection, split: str, run: Run, relevant_from: int
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the relevant passages of the run's queries, and counts of judgements with an unknown
    query or passage.
    """
    judged = relevant_passages(collection.qrels(split), relevant_from)
    absent = set(
        collection.absent(
            sorted({passage_id for passage_ids in judged.values() for passage_id in passage_ids})
        )
    )
    relevant: dict[str, list[str]] = {}
    counts = {"relevant_without_candidates": 0, "relevant_not_in_the_collection": 0}
    for query_id, passage_ids in judged.items():
        if query_id not in run:
            counts["relevant_without_candidates"] += len(passage_ids)
            continue
        relevant[query_id] = [passage_id for passage_id in passage_ids if passage_id not in absent]
        counts["relevant_not_in_the_collection"] += len(passage_ids) - len(relevant[query_id])
    return relevant, counts


def _missing(run: Run, query_id: str, passage_ids: Sequence[str]) -> list[str]:
    there = set(run[query_id].passage_ids)
    return [passage_id for passage_id in passage_ids if passage_id not in there]


class _Scorer(BlockScorer):
    """A scorer of blocks as a shard of teacher scores; ``batch_tokens`` is the least of the blocks
    scored in this process.
    """

    batch_tokens: int | None = None

    def rankings(self, block: QueryBlock) -> ScoredBlock:
        """Return the block's rankings and counts."""
        done = self(block)
        self.batch_tokens = min(filter(None, (self.batch_tokens, done.batch_tokens)), default=None)
        return ScoredBlock(
            block.run(self.name).rescored(self.name, done.scores).rankings(), _counts(done)
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """A maker of shards from scores that are kept already."""

    name: str
    scored: Scored

    def __call__(self, block: QueryBlock) -> ScoredBlock:
        own = {query_id: self.scored.scores[query_id] for query_id, _ in block.pairs}
        return ScoredBlock(block.run(self.name).rescored(self.name, own).rankings(), {})


def _counts(done: Scored) -> dict[str, int]:
    return {"truncated": done.truncated, "empty_queries": len(done.empty)}

"""A model scores the passages that others are to learn from it: candidates and judged-relevant passages, or those of a training set.

Blocks of whole queries are scored and saved one by one, so a run that was stopped goes on with the next, and what is held does not
grow with the number of pairs, but for the candidates themselves.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups, group_queries
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, input_ref
from positionbias.core.progress import Progress, step
from positionbias.core.records import relevant_passages
from positionbias.core.run import Run, read_run
from positionbias.core.shard_work import resumable_folder
from positionbias.core.teacher_scores import ScoredBlock, TeacherScores, write_teacher_scores
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.models.protocols import PassageEncoder
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.query_blocks import BLOCK_PAIRS
from positionbias.ranking.rerank import FOUND_BLOCK, known_queries, score_candidates

__all__ = ["ENCODER_BLOCK_PAIRS", "teach", "teach_groups"]

ENCODER_BLOCK_PAIRS = 1 << 20  # a passage is encoded once a block: larger blocks spare encodings
Pairs = Iterable[tuple[str, list[str]]]


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole queries with the passages to score."""

    pairs: tuple[tuple[str, list[str]], ...]

    def __len__(self) -> int:
        return sum(len(passage_ids) for _, passage_ids in self.pairs)

    def fingerprint(self) -> str:
        """What tells that an interrupted run scored the same pairs."""
        told = "\x1e".join("\x1f".join((query_id, *passage_ids)) for query_id, passage_ids in self.pairs)
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def teach(
    model: Checkpoint,
    collection: Collection,
    split: str,
    candidates: Path,
    out: Path,
    *,
    depth: int | None = None,
    relevant_from: int = 1,
    name: str | None = None,
    config: RankingConfig | None = None,
    block_pairs: int | None = None,
    overwrite: bool = False,
) -> TeacherScores:
    """Score the first ``depth`` candidates (None: all) of each query of the run, and its passages judged relevant that are not among them.

    The model computes where it stands (``model.model.to(device)``). ``block_pairs`` are scored and saved together: by default 16,384, of
    a model that encodes passages for themselves 1,048,576. A score depends on blocks and batches by its rounding only; a run that was
    stopped and goes on with the same ``block_pairs`` and ``config`` writes the same bytes as one that was not.

    Raises:
        SettingError: a depth, grade or block below 1, or the device's memory does not hold one text.
        InputError: a candidate names a passage or query that is not there, or a score is not finite.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    for flag, given in (("--depth", depth), ("--relevant-from", relevant_from)):
        if given is not None and given < 1:
            raise SettingError(f"{flag}: wanted at least 1; found {given}; raise it")
    read = read_run(candidates)
    run = read.top(depth or max(1, read.depth))
    texts = known_queries(run, collection.queries(split))
    for start in range(0, len(run.passage_ids), FOUND_BLOCK):
        collection.rows(run.passage_ids[start : start + FOUND_BLOCK])
    relevant, counts = _relevant(collection, split, run, relevant_from)
    added = {query_id: _missing(run, query_id, passage_ids) for query_id, passage_ids in relevant.items()}
    counts["added"] = sum(map(len, added.values()))
    return _teach(
        model,
        collection,
        texts,
        ((query_id, [*run[query_id].passage_ids, *added.get(query_id, ())]) for query_id in run),
        run.pairs + counts["added"],
        out,
        splits=(split,),
        settings={"split": split, "depth": depth, "relevant_from": relevant_from},
        inputs=[input_ref("candidates", candidates, sha256_file(candidates), artefact=out)],
        counts=counts,
        name=name,
        config=config,
        block_pairs=block_pairs,
        overwrite=overwrite,
    )


def teach_groups(
    model: Checkpoint,
    collection: Collection,
    groups: Groups,
    out: Path,
    *,
    name: str | None = None,
    config: RankingConfig | None = None,
    block_pairs: int | None = None,
    overwrite: bool = False,
) -> TeacherScores:
    """As ``teach``, for exactly the pairs that stand in a training set; 8 bytes a distinct pair are held, and the ids once.

    Raises:
        InputError: a group names a passage or query that is not in the collection, or there are no groups.
    """
    pairs = _GroupPairs(groups)
    if not len(pairs):
        raise bad_input(groups.path, wanted="training groups", found="none", do="give another --trainset")
    for start in range(0, len(pairs.passage_ids), FOUND_BLOCK):
        collection.rows(pairs.passage_ids[start : start + FOUND_BLOCK])
    known = group_queries(collection, groups.splits)
    return _teach(
        model,
        collection,
        {query_id: known[query_id] for query_id in pairs.query_ids},
        iter(pairs),
        len(pairs),
        out,
        splits=groups.splits,
        settings={},
        inputs=[input_ref("trainset", groups.path, groups.checksum, artefact=out)],
        counts={"groups": len(groups)},
        name=name,
        config=config,
        block_pairs=block_pairs,
        overwrite=overwrite,
    )


class _GroupPairs:
    """The distinct pairs of a training set, by query in the order in which queries and passages first stand there."""

    def __init__(self, groups: Groups) -> None:
        queries: dict[str, int] = {}
        passages: dict[str, int] = {}
        keys = np.empty(0, np.int64)
        pending = array("q")
        for group in groups:
            row = queries.setdefault(group.query_id, len(queries)) << 32
            pending.extend(row | passages.setdefault(passage_id, len(passages)) for passage_id in group.passage_ids)
            if len(pending) >= 1 << 22:
                keys, pending = _distinct(keys, pending), array("q")
        self._keys = _distinct(keys, pending)
        self.query_ids, self.passage_ids = list(queries), list(passages)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        rows, numbers = self._keys >> 32, self._keys & 0xFFFFFFFF
        starts = np.searchsorted(rows, np.arange(len(self.query_ids) + 1))
        for row, query_id in enumerate(self.query_ids):
            own = numbers[starts[row] : starts[row + 1]]
            yield query_id, [self.passage_ids[number] for number in own.tolist()]


def _distinct(keys: np.ndarray, more: array) -> np.ndarray:
    return np.unique(np.concatenate([keys, np.frombuffer(more, np.int64)]))


def _relevant(collection: Collection, split: str, run: Run, relevant_from: int) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The passages judged relevant of the run's queries, and how many judgements name a query or passage that is not there."""
    judged = relevant_passages(collection.qrels(split), relevant_from)
    absent = set(collection.absent(sorted({passage_id for passage_ids in judged.values() for passage_id in passage_ids})))
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


class _Scorer:
    """Scores one block after another, and counts what comes up on the way."""

    def __init__(
        self,
        model: Checkpoint,
        collection: Collection,
        texts: Mapping[str, str],
        config: RankingConfig,
        name: str,
        bar: Progress,
    ) -> None:
        self.model, self.collection, self.texts, self.config, self.name, self.bar = model, collection, texts, config, name, bar
        self.blocks = 0
        self.batch_tokens: int | None = None

    def __call__(self, block: _Block) -> ScoredBlock:
        run = Run(self.name, ((query_id, ids, np.arange(len(ids), 0, -1)) for query_id, ids in block.pairs))
        texts = {query_id: self.texts[query_id] for query_id in run}
        done = score_candidates(self.model.model, self.collection, texts, run, self.config, self.bar, name=self.name)
        self.blocks += 1
        if done.batch_tokens is not None:
            self.batch_tokens = min(done.batch_tokens, self.batch_tokens or done.batch_tokens)
        counts = {"truncated": done.truncated, "empty_queries": done.empty_queries}
        return run.rescored(self.name, done.scores).rankings(), counts

    def announced(self, blocks: Iterable[_Block]) -> Iterator[_Block]:
        """The blocks as they are asked for; the bar moves on over those that an earlier run has scored."""
        for block in blocks:
            before = self.blocks
            yield block
            if self.blocks == before:
                self.bar.advance(len(block))


def _teach(
    model: Checkpoint,
    collection: Collection,
    texts: Mapping[str, str],
    pairs: Pairs,
    total: int,
    out: Path,
    *,
    splits: Sequence[str],
    settings: Mapping[str, Any],
    inputs: Sequence[InputRef],
    counts: Mapping[str, int],
    name: str | None,
    config: RankingConfig | None,
    block_pairs: int | None,
    overwrite: bool,
) -> TeacherScores:
    config = config or RankingConfig()
    size = _block_size(model, block_pairs)
    name = name or model.name
    precision = str(config.dtype(model.model.device)).removeprefix("torch.")
    refs = (
        input_ref("model", model.path, model.manifest.checksum, artefact=out),
        input_ref("collection", collection.path, collection.checksum, artefact=out),
        *inputs,
    )
    record: JsonObject = {**settings, "precision": precision, "model": shape_of(model.model)}
    job: JsonObject = {
        "command": "teach",
        "name": name,
        "settings": record,
        "inputs": [(ref.role, ref.checksum) for ref in refs],
    }
    began = time.perf_counter()
    with (
        resumable_folder(out, {**job, "block_pairs": size}, overwrite=overwrite) as folder,
        step(name, total, unit="pairs") as bar,
    ):
        scorer = _Scorer(model, collection, texts, config, name, bar)
        write_teacher_scores(
            folder,
            scorer,
            scorer.announced(_blocks(pairs, size)),
            name=name,
            command="teach",
            settings=record,
            splits=splits,
            inputs=refs,
            licence=collection.manifest.licence,
            content=lambda: counts,
            facts=lambda: {
                "threads": torch.get_num_threads(),
                "device": str(model.model.device),
                "batch_tokens": scorer.batch_tokens,
                "seconds": round(time.perf_counter() - began, 3),
            },
        )
    return TeacherScores(out)


def _block_size(model: Checkpoint, block_pairs: int | None) -> int:
    if block_pairs is None:
        return ENCODER_BLOCK_PAIRS if isinstance(model.model, PassageEncoder) else BLOCK_PAIRS
    if block_pairs < 1:
        raise SettingError(f"--block-pairs: wanted at least 1; found {block_pairs}; leave it out")
    return block_pairs


def _blocks(pairs: Pairs, size: int) -> Iterator[_Block]:
    """Whole queries, as many at once as have ``size`` pairs."""
    held: list[tuple[str, list[str]]] = []
    count = 0
    for pair in pairs:
        held.append(pair)
        count += len(pair[1])
        if count >= size:
            yield _Block(tuple(held))
            held, count = [], 0
    if held:
        yield _Block(tuple(held))

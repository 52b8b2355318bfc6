"""Score candidates and relevant passages, or those of a training set, with a teacher for its students.

Blocks of whole queries are scored and saved one by one, so an interrupted run resumes with the next, and memory does not
grow with the number of pairs, except for the candidates themselves.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from positionbias.core.collection import Collection
from positionbias.core.computed import Stopwatch
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups, group_queries
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, input_ref
from positionbias.core.per_process import PerProcess
from positionbias.core.progress import SILENT, Progress, step
from positionbias.core.records import Query, relevant_passages
from positionbias.core.run import Run, read_run
from positionbias.core.shard_work import resumable_folder
from positionbias.core.teacher_scores import KIND, ScoredBlock, TeacherScores, write_teacher_scores
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.models.protocols import PassageEncoder
from positionbias.ranking.agreement import ListAgreement
from positionbias.ranking.config import Elsewhere, RankingConfig, Spread, TaughtPassages
from positionbias.ranking.query_blocks import BLOCK_PAIRS
from positionbias.ranking.rerank import FOUND_BLOCK, int8_agreement, known_queries, score_candidates
from positionbias.ranking.spent import computed_on

__all__ = ["ENCODER_BLOCK_PAIRS", "teach"]

ENCODER_BLOCK_PAIRS = 1 << 20  # a passage is encoded once a block: larger blocks save encodings
Pairs = Iterable[tuple[str, list[str]]]


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole queries with their texts, and their passages to score."""

    pairs: tuple[tuple[str, list[str]], ...]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return sum(len(passage_ids) for _, passage_ids in self.pairs)

    def fingerprint(self) -> str:
        """Return a fingerprint by which an interrupted run recognises the same pairs."""
        told = "\x1e".join("\x1f".join((query_id, *passage_ids)) for query_id, passage_ids in self.pairs)
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A scoring job: the queries' texts by id, their passages, the number of pairs, and its facts for the manifest."""

    texts: Mapping[str, str]
    pairs: Pairs
    total: int
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
    """Score the first ``depth`` candidates and the relevant passages of each query of a run, or the pairs of a training set.

    The model computes on its device (``model.model.to(device)``). Blocks and batches change only the rounding of a score. A run
    resumed with the same ``block_pairs`` and ``config`` writes the same bytes as an uninterrupted one. A training set takes 8 bytes of
    memory per distinct pair, and its ids once. ``spread`` has other processes score blocks, which load the model once each.

    Raises:
        SettingError: one text does not fit in the device's memory.
        InputError: a candidate or a group names an unknown passage or query, a score is not finite, or there are no groups.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    asked = _of_candidates(collection, passages, out) if passages.trainset is None else _of_trainset(collection, passages, out)
    config, name = config or RankingConfig(), name or model.name
    size = passages.block_pairs or (ENCODER_BLOCK_PAIRS if isinstance(model.model, PassageEncoder) else BLOCK_PAIRS)
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
    )
    inputs = [(ref.role, ref.checksum) for ref in manifest.inputs]
    job: JsonObject = {"command": "teach", "name": name, "settings": manifest.settings, "inputs": inputs, "block_pairs": size}
    began = time.perf_counter()
    config.advise(model.model, asked.total)
    with (
        resumable_folder(out, job, overwrite=overwrite) as folder,
        step(name, asked.total, unit="pairs") as bar,
    ):
        elsewhere = Elsewhere.of(spread.loading, model) if spread else None
        scorer = _Scorer(PerProcess(elsewhere, model), collection, config, name, bar)
        write_teacher_scores(
            folder,
            scorer,
            scorer.announced(_blocks(asked.pairs, asked.texts, size)),
            manifest,
            splits=asked.splits,
            content=lambda: asked.counts,
            facts=lambda spent: {
                "threads": torch.get_num_threads(),
                "device": str(model.model.device),
                "batch_tokens": scorer.batch_tokens,
                **({} if scorer.agreement is None else {"int8_agreement": asdict(scorer.agreement)}),
                "seconds": round(time.perf_counter() - began, 3),
                **computed_on(model.model.device, spent, workers=spread.workers if spread else 1, pairs=asked.total).facts(),
            },
            map_shards=spread.map_shards if spread else map,
        )
    return TeacherScores(out)


def _of_candidates(collection: Collection, passages: TaughtPassages, out: Path) -> _Asked:
    assert passages.candidates is not None
    path, split = Path(passages.candidates), passages.split or "train"
    read = read_run(path)
    run = read.top(passages.depth or max(1, read.depth))
    texts = known_queries(run, collection.queries(split))
    for start in range(0, len(run.passage_ids), FOUND_BLOCK):
        collection.rows(run.passage_ids[start : start + FOUND_BLOCK])
    relevant, counts = _relevant(collection, split, run, passages.relevant_from)
    added = {query_id: _missing(run, query_id, passage_ids) for query_id, passage_ids in relevant.items()}
    counts["added"] = sum(map(len, added.values()))
    return _Asked(
        texts,
        ((query_id, [*run[query_id].passage_ids, *added.get(query_id, ())]) for query_id in run),
        run.pairs + counts["added"],
        splits=(split,),
        settings={"split": split, "depth": passages.depth, "relevant_from": passages.relevant_from},
        source=input_ref("candidates", path, sha256_file(path), artefact=out),
        counts=counts,
    )


def _of_trainset(collection: Collection, passages: TaughtPassages, out: Path) -> _Asked:
    assert passages.trainset is not None
    groups = Groups(passages.trainset)
    pairs = _GroupPairs(groups)
    if not len(pairs):
        raise bad_input(groups.path, wanted="training groups", found="none", do="give another --trainset")
    for start in range(0, len(pairs.passage_ids), FOUND_BLOCK):
        collection.rows(pairs.passage_ids[start : start + FOUND_BLOCK])
    known = group_queries(collection, groups.splits)
    return _Asked(
        {query_id: known[query_id] for query_id in pairs.query_ids},
        iter(pairs),
        len(pairs),
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
    """Return the relevant passages of the run's queries, and counts of judgements with an unknown query or passage."""
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
    """A scorer of blocks, with counts of those scored in this process."""

    def __init__(
        self, model: PerProcess[Checkpoint], collection: Collection, config: RankingConfig, name: str, bar: Progress = SILENT
    ) -> None:
        self.model, self.collection, self.config, self.name, self.bar = model, collection, config, name, bar
        self.blocks = 0
        self.batch_tokens: int | None = None
        self.agreement: ListAgreement | None = None  # of the first block

    def __reduce__(self) -> tuple[Any, ...]:
        return _Scorer, (self.model, self.collection, self.config, self.name)

    def __call__(self, block: _Block) -> ScoredBlock:
        run, texts = self._asked(block)
        model = self.model().model
        watch = Stopwatch()
        done = score_candidates(model, self.collection, texts, run, self.config, self.bar, name=self.name)
        self.blocks += 1
        if done.batch_tokens is not None:
            self.batch_tokens = min(done.batch_tokens, self.batch_tokens or done.batch_tokens)
        counts = {"truncated": done.truncated, "empty_queries": done.empty_queries}
        return ScoredBlock(run.rescored(self.name, done.scores).rankings(), counts, watch.spent())

    def _asked(self, block: _Block) -> tuple[Run, dict[str, str]]:
        run = Run(self.name, ((query_id, ids, np.arange(len(ids), 0, -1)) for query_id, ids in block.pairs))
        return run, dict(zip(run, block.texts, strict=True))

    def announced(self, blocks: Iterable[_Block]) -> Iterator[_Block]:
        """Yield the blocks on request, and compare int8 with float32 on the first; the progress bar skips blocks that are not scored here."""
        for number, block in enumerate(blocks):
            if not number:
                run, texts = self._asked(block)
                queries = [Query(query_id, text) for query_id, text in texts.items()]
                self.agreement = int8_agreement(self.model().model, self.collection, queries, run, self.config)
            before = self.blocks
            yield block
            if self.blocks == before:
                self.bar.advance(len(block))


def _blocks(pairs: Pairs, texts: Mapping[str, str], size: int) -> Iterator[_Block]:
    """Yield whole queries, in blocks of about ``size`` pairs."""
    held: list[tuple[str, list[str]]] = []
    count = 0

    def block() -> _Block:
        return _Block(tuple(held), tuple(texts[query_id] for query_id, _ in held))

    for pair in pairs:
        held.append(pair)
        count += len(pair[1])
        if count >= size:
            yield block()
            held, count = [], 0
    if held:
        yield block()

"""Blocks of whole queries that any process can score.

Cuts follow from the pairs and from the kinds of model and device, so any number of workers computes the same batches, to the same bits.
A block of a model that encodes passages alone encodes each of its own once, so passages that blocks share are encoded again. The price
of that is counted, and the blocks are made larger until it is small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from positionbias.core.computed import Spent, Stopwatch
from positionbias.core.per_process import PerProcess
from positionbias.core.progress import SILENT, Progress
from positionbias.core.run import Run
from positionbias.core.shard_work import MapShards, make_shards
from positionbias.models.protocols import AnyRanker, PassageEncoder, Served, VariantScorer
from positionbias.ranking.config import Elsewhere, RankingConfig
from positionbias.ranking.query_blocks import BLOCK_PAIRS, Pairs, query_blocks
from positionbias.ranking.score import score_candidates
from positionbias.ranking.scored import PassageTexts, Scored

__all__ = ["MOST_AGAIN", "BlockScorer", "QueryBlock", "blocks_of", "cut_queries", "encoded_again", "keep_scores", "pairs_in"]

Item = TypeVar("Item")
Out = TypeVar("Out")
GPU_BLOCK_PAIRS = 1 << 16  # a GPU waits for the first batch of a block
MOST_PAIRS = 1 << 24  # of a block that grows to share passages, 1 GB in memory
MOST_AGAIN = 0.1


def cut_queries(pairs: Pairs, model: AnyRanker, most: int | None = None) -> list[list[str]]:
    """Cut the queries, in order, into blocks of about ``most`` pairs; by default so many as suit the model and its device.

    An encoder's default blocks are doubled until its blocks share few passages (``MOST_AGAIN``). An endpoint has all in one block: it is
    asked from one process, and keeps its answers.
    """
    if isinstance(model, VariantScorer):
        return cut_queries(pairs, model.base, most)
    if most is None and isinstance(model, Served):
        return [whole] if (whole := list(pairs)) else []
    size = most or (GPU_BLOCK_PAIRS if model.device.type == "cuda" else BLOCK_PAIRS)
    blocks = list(query_blocks(pairs, size))
    if most is None and isinstance(model, PassageEncoder):
        while len(blocks) > 1 and size < MOST_PAIRS and encoded_again(pairs, blocks) > MOST_AGAIN:
            size *= 2
            blocks = list(query_blocks(pairs, size))
    return blocks


def pairs_in(pairs: Pairs, cut: Iterable[Sequence[str]]) -> list[int]:
    """Return the number of pairs of each block of queries."""
    return [sum(len(pairs.numbers(query_id)) for query_id in query_ids) for query_ids in cut]


def encoded_again(pairs: Pairs, blocks: Iterable[Sequence[str]]) -> float:
    """Return the price of blocks: the encodings of passages that an earlier block has too, as a share of the distinct passages."""
    last = np.full(len(pairs.passage_ids), -1, np.int64)
    encodings = 0
    for number, query_ids in enumerate(blocks):
        for query_id in query_ids:
            own = pairs.numbers(query_id)
            encodings += int(np.count_nonzero(last[own] != number))
            last[own] = number
    return encodings / max(1, int((last >= 0).sum())) - 1


class Carried(dict[str, str]):
    """Texts by id that travel with a block."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return these texts."""
        return [self[passage_id] for passage_id in passage_ids]


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """Whole queries with their texts and passages. ``seen`` is true for the passages, in order of appearance, that an earlier block has.

    ``carried`` has the passages' texts by id where they stand in no collection.
    """

    pairs: tuple[tuple[str, list[str]], ...]
    texts: tuple[str, ...]
    seen: np.ndarray
    carried: Carried | None = None

    def __len__(self) -> int:
        return sum(len(passage_ids) for _, passage_ids in self.pairs)

    def fingerprint(self) -> str:
        """Return a fingerprint by which an interrupted run recognises the same pairs."""
        told = "\x1e".join("\x1f".join((query_id, *passage_ids)) for query_id, passage_ids in self.pairs)
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    def run(self, name: str) -> Run:
        """Return the passages as a run of this name, in their order."""
        return Run(name, ((query_id, ids, np.arange(len(ids), 0, -1)) for query_id, ids in self.pairs))

    def texts_by_id(self) -> dict[str, str]:
        """Return the queries' texts by id."""
        return {query_id: text for (query_id, _), text in zip(self.pairs, self.texts, strict=True)}


def blocks_of(
    pairs: Pairs, cut: Iterable[Sequence[str]], texts: Mapping[str, str], carried: PassageTexts | None = None
) -> Iterator[QueryBlock]:
    """Yield the blocks of queries that were cut, with the queries' ``texts``, and those of their passages if they are to be ``carried``."""
    seen = np.zeros(len(pairs.passage_ids), bool)
    names = pairs.passage_ids
    for query_ids in cut:
        per_query = [pairs.numbers(query_id) for query_id in query_ids]
        distinct, first = np.unique(np.concatenate(per_query), return_index=True)
        own = distinct[np.argsort(first)]
        asked = tuple(
            (query_id, [names[number] for number in numbers.tolist()])
            for query_id, numbers in zip(query_ids, per_query, strict=True)
        )
        ids = [names[number] for number in own.tolist()] if carried is not None else []
        taken = Carried(zip(ids, carried.texts(ids), strict=True)) if carried is not None else None
        yield QueryBlock(asked, tuple(texts[query_id] for query_id in query_ids), seen[own], taken)
        seen[own] = True


@dataclass(frozen=True, slots=True)
class _Loaded:
    """How another process gets the model."""

    load: Elsewhere

    def __call__(self) -> AnyRanker:
        return self.load().model


class BlockScorer:
    """A scorer of blocks, in this process or another, which loads the model itself.

    ``collection`` is None where blocks carry their texts.
    """

    def __init__(
        self,
        model: PerProcess[AnyRanker],
        collection: PassageTexts | None,
        config: RankingConfig,
        name: str,
        bar: Progress = SILENT,
    ) -> None:
        self.model, self.collection, self.config, self.name, self.bar = model, collection, config, name, bar
        self._here = 0  # blocks scored in this process

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.collection, self.config, self.name)

    def __call__(self, block: QueryBlock) -> Scored:
        run, texts, model = block.run(self.name), block.texts_by_id(), self.model()
        passages = self.collection if block.carried is None else block.carried
        assert passages is not None
        watch = Stopwatch()
        done = score_candidates(model, passages, texts, run, self.config, self.bar, name=self.name, seen=block.seen)
        done.spent = watch.spent()
        self._here += 1
        return done

    @classmethod
    def of(
        cls,
        model: AnyRanker,
        elsewhere: Elsewhere | None,
        collection: PassageTexts | None,
        config: RankingConfig,
        name: str,
        bar: Progress,
    ) -> Self:
        """Return a scorer with this process's model, which others load as ``elsewhere`` says; None: no other takes part."""
        return cls(PerProcess(None if elsewhere is None else _Loaded(elsewhere), model), collection, config, name, bar)

    def advancing(self, map_shards: MapShards, sizes: Iterable[int]) -> MapShards:
        """Return ``map_shards`` for blocks of so many pairs, which moves the bar for those that this process did not score."""

        def mapped(function: Callable[[Item], Out], items: Iterable[Item]) -> Iterator[Out]:
            before = self._here
            for size, done in zip(sizes, map_shards(function, items), strict=True):
                if self._here == before:
                    self.bar.advance(size)
                before = self._here
                yield done

        return mapped


@dataclass(frozen=True, slots=True)
class _Counts:
    """What is known of a scored block beside its scores, as in ``Scored``."""

    truncated: int
    again: int
    empty_queries: int
    batch_tokens: int | None
    spent: Spent


@dataclass(frozen=True, slots=True)
class _Keeper:
    """A writer of a block's scores ``(pairs,)`` into an ``.npy`` file."""

    score: BlockScorer

    def __call__(self, block: QueryBlock, path: Path) -> _Counts:
        done = self.score(block)
        scores = [done.scores[query_id] for query_id, _ in block.pairs]
        with open(path, "wb") as handle:
            np.save(handle, np.concatenate(scores).astype(np.float32, copy=False))
        return _Counts(done.truncated, done.again, done.empty_queries, done.batch_tokens, done.spent)


def keep_scores(
    score: BlockScorer,
    pairs: Pairs,
    cut: Sequence[Sequence[str]],
    blocks: Iterable[QueryBlock],
    folder: Path,
    map_shards: MapShards,
) -> Scored:
    """Score blocks, keep each one's scores in ``folder`` (in a ``resumable_folder``), and return all of them.

    Scores of an earlier run of the same job are not computed again.
    """
    folder.mkdir(exist_ok=True)
    whole = Scored()
    places = [folder / f"{index:05}.npy" for index in range(len(cut))]
    for query_ids, place, counts in zip(
        cut, places, make_shards(_Counts, _Keeper(score), blocks, places.__getitem__, map_shards), strict=True
    ):
        ends = np.cumsum([len(pairs.numbers(query_id)) for query_id in query_ids])
        scores = dict(zip(query_ids, np.split(np.load(place), ends[:-1]), strict=True))
        whole.add(Scored(scores, counts.truncated, counts.again, counts.empty_queries, counts.batch_tokens, counts.spent))
    return whole

"""Blocks of pairs that any process can score.

Cuts follow from the pairs and from the kinds of model and device, so any number of workers computes
the same batches, to the same bits. Blocks have whole queries. A block of a model that encodes
passages alone encodes each of its own once, so passages that such blocks share are encoded again;
where they share many, they are cut by passages instead, and queries are encoded again, which is
cheaper. The price is counted, and blocks are made larger until it is small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from positionbias.core.progress import SILENT, Progress
from positionbias.core.run import Run
from positionbias.core.steps import MapShards, make_shards
from positionbias.engine.per_process import PerProcess
from positionbias.models.protocols import AnyRanker, PassageEncoder, Served, VariantScorer
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.loading import Elsewhere
from positionbias.ranking.query_blocks import BLOCK_PAIRS, Pairs, query_blocks
from positionbias.ranking.score import score_candidates
from positionbias.ranking.scored import PassageTexts, Scored, TextsById

Item = TypeVar("Item")
Out = TypeVar("Out")
GPU_BLOCK_PAIRS = 1 << 16  # a GPU waits for the first batch of a block
MOST_PAIRS = 1 << 24  # of a block that grows to share passages, 1 GB in memory
MOST_AGAIN = 0.1
# of the price of encoding a passage is that of a query, which is shorter [decision: MS MARCO's has
# a ninth of the words]
QUERY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Part:
    """The pairs of a block: queries in order, and in ``places`` which of their passages,
    ``counts (queries,)`` of each; None: all.
    """

    query_ids: list[str]
    counts: np.ndarray | None = None
    places: np.ndarray | None = None

    def places_of(self) -> list[np.ndarray] | None:
        """Return the places of each query."""
        if self.places is None or self.counts is None:
            return None
        return np.split(self.places, np.cumsum(self.counts)[:-1])

    def numbers(self, pairs: Pairs) -> list[np.ndarray]:
        """Return the passages of each query as numbers into ``pairs.passage_ids``."""
        whole = [pairs.numbers(query_id) for query_id in self.query_ids]
        places = self.places_of()
        return (
            whole
            if places is None
            else [own[some] for own, some in zip(whole, places, strict=True)]
        )

    def add_to(self, whole: Scored, done: Scored, pairs: Pairs) -> None:
        """Add this part's scores and counts to those of all pairs."""
        if (places := self.places_of()) is not None:
            for query_id, some in zip(self.query_ids, places, strict=True):
                if query_id not in whole.scores:
                    whole.scores[query_id] = np.empty(len(pairs.numbers(query_id)), np.float32)
                whole.scores[query_id][some] = done.scores[query_id]
            done = replace(done, scores={})
        whole.add(done)


def cut_pairs(pairs: Pairs, model: AnyRanker) -> list[Part]:
    """Cut the pairs into blocks of as many as suit the model and its device.

    An encoder's blocks are cut by passages where those of queries would share more than
    ``MOST_AGAIN``, or doubled until one of the two prices is that small. An endpoint has all in one
    block: it is asked from one process, and keeps its answers.
    """
    if isinstance(model, VariantScorer):
        return cut_pairs(pairs, model.base)
    if isinstance(model, Served):
        return [Part(whole)] if (whole := list(pairs)) else []
    size = GPU_BLOCK_PAIRS if model.device.type == "cuda" else BLOCK_PAIRS
    while True:
        blocks = whole_queries(pairs, size)
        alone = isinstance(model, PassageEncoder) and len(blocks) > 1 and size < MOST_PAIRS
        if not alone or encoded_again(pairs, blocks) <= MOST_AGAIN:
            return blocks
        if queries_again(pairs, found := _by_passages(pairs, size)) <= MOST_AGAIN:
            return found
        size *= 2


def whole_queries(pairs: Pairs, most: int | None = None) -> list[Part]:
    """Cut the queries, in order, into blocks of about ``most`` pairs (None: as many as suit a
    CPU).
    """
    return [Part(query_ids) for query_ids in query_blocks(pairs, most)]


def _by_passages(pairs: Pairs, size: int) -> list[Part]:
    """Cut the pairs by their passages, in the order of their numbers, into blocks of about ``size``
    pairs.
    """
    ids = list(pairs)
    per_query = [pairs.numbers(query_id) for query_id in ids]
    lengths = np.fromiter(map(len, per_query), np.int64, len(ids))
    passages = np.concatenate(per_query)
    # of a passage
    block = (np.cumsum(np.bincount(passages, minlength=len(pairs.passage_ids))) - 1) // size
    owner, starts = np.repeat(np.arange(len(ids)), lengths), np.cumsum(lengths) - lengths
    order = np.argsort(block[passages], kind="stable")  # the pairs of a block stay in their order
    _, first = np.unique(block[passages[order]], return_index=True)
    parts: list[Part] = []
    for rows in np.split(order, first[1:]):
        counts = np.bincount(owner[rows], minlength=len(ids))
        # queries without passages belong to the first block
        queries = np.flatnonzero(counts if parts else counts + (lengths == 0))
        places = (rows - starts[owner[rows]]).astype(np.int32)
        parts.append(Part([ids[query] for query in queries.tolist()], counts[queries], places))
    return parts


def pairs_in(pairs: Pairs, cut: Iterable[Part]) -> list[int]:
    """Return the number of pairs of each block."""
    return [
        len(part.places)
        if part.places is not None
        else sum(len(pairs.numbers(query_id)) for query_id in part.query_ids)
        for part in cut
    ]


def encoded_again(pairs: Pairs, blocks: Iterable[Part]) -> float:
    """Return the price of blocks: the encodings of passages that an earlier block has too, as a
    share of the distinct passages.
    """
    last = np.full(len(pairs.passage_ids), -1, np.int64)
    encodings = 0
    for number, part in enumerate(blocks):
        for own in part.numbers(pairs):
            encodings += int(np.count_nonzero(last[own] != number))
            last[own] = number
    return encodings / max(1, int((last >= 0).sum())) - 1


def queries_again(pairs: Pairs, blocks: Sequence[Part]) -> float:
    """Return the price of blocks by passages: the encodings of queries that an earlier block has
    too, each as ``QUERY_SHARE`` of a passage, as a share of the distinct passages."""
    again = sum(len(part.query_ids) for part in blocks) - len(list(pairs))
    used = np.zeros(len(pairs.passage_ids), bool)
    for query_id in pairs:
        used[pairs.numbers(query_id)] = True
    return QUERY_SHARE * again / max(1, int(used.sum()))


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """Queries with their texts and passages. ``seen`` is true for the passages, in order of
    appearance, that an earlier block has.

    ``carried`` has the passages' texts by id where they stand in no collection.
    """

    pairs: tuple[tuple[str, list[str]], ...]
    texts: tuple[str, ...]
    seen: np.ndarray
    carried: TextsById | None = None

    def __len__(self) -> int:
        return sum(len(passage_ids) for _, passage_ids in self.pairs)

    def fingerprint(self) -> str:
        """Return a fingerprint by which an interrupted run recognises the same pairs."""
        told = "\x1e".join(
            "\x1f".join((query_id, *passage_ids)) for query_id, passage_ids in self.pairs
        )
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    def run(self, name: str) -> Run:
        """Return the passages as a run of this name, in their order."""
        return Run(
            name, ((query_id, ids, np.arange(len(ids), 0, -1)) for query_id, ids in self.pairs)
        )

    def texts_by_id(self) -> dict[str, str]:
        """Return the queries' texts by id."""
        return {query_id: text for (query_id, _), text in zip(self.pairs, self.texts, strict=True)}


def blocks_of(
    pairs: Pairs, cut: Iterable[Part], texts: Mapping[str, str], carried: PassageTexts | None = None
) -> Iterator[QueryBlock]:
    """Yield the blocks that were cut, with the queries' ``texts``, and those of their passages if
    they are to be ``carried``.
    """
    seen = np.zeros(len(pairs.passage_ids), bool)
    names = pairs.passage_ids
    for part in cut:
        query_ids, per_query = part.query_ids, part.numbers(pairs)
        distinct, first = np.unique(np.concatenate(per_query), return_index=True)
        own = distinct[np.argsort(first)]
        asked = tuple(
            (query_id, [names[number] for number in numbers.tolist()])
            for query_id, numbers in zip(query_ids, per_query, strict=True)
        )
        ids = [names[number] for number in own.tolist()] if carried is not None else []
        taken = (
            TextsById(zip(ids, carried.texts(ids), strict=True)) if carried is not None else None
        )
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
        self.model, self.collection, self.config, self.name, self.bar = (
            model,
            collection,
            config,
            name,
            bar,
        )
        self._here = 0  # blocks scored in this process

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.collection, self.config, self.name)

    def __call__(self, block: QueryBlock) -> Scored:
        run, texts, model = block.run(self.name), block.texts_by_id(), self.model()
        passages = self.collection if block.carried is None else block.carried
        assert passages is not None
        done = score_candidates(
            model, passages, texts, run, self.config, self.bar, name=self.name, seen=block.seen
        )
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
        """Return a scorer with this process's model, which others load as ``elsewhere`` says; None:
        no other takes part.
        """
        return cls(
            PerProcess(None if elsewhere is None else _Loaded(elsewhere), model),
            collection,
            config,
            name,
            bar,
        )

    def advancing(self, map_shards: MapShards, sizes: Iterable[int]) -> MapShards:
        """Return ``map_shards`` for blocks of so many pairs, which moves the bar for those that
        this process did not score.
        """

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
    """Facts of a scored block beside its scores, as in ``Scored``."""

    truncated: int
    again: int
    empty: list[str]
    batch_tokens: int | None


@dataclass(frozen=True, slots=True)
class _Keeper:
    """A writer of a block's scores ``(pairs,)`` into an ``.npy`` file."""

    score: BlockScorer

    def __call__(self, block: QueryBlock, path: Path) -> _Counts:
        done = self.score(block)
        scores = [done.scores[query_id] for query_id, _ in block.pairs]
        with open(path, "wb") as handle:
            np.save(handle, np.concatenate(scores).astype(np.float32, copy=False))
        return _Counts(done.truncated, done.again, sorted(done.empty), done.batch_tokens)


def keep_scores(
    score: BlockScorer,
    pairs: Pairs,
    cut: Sequence[Part],
    blocks: Iterable[QueryBlock],
    folder: Path,
    map_shards: MapShards,
) -> Scored:
    """Score blocks, keep each one's scores in ``folder`` (in a ``resumable_folder``), and return
    all of them.

    Scores of an earlier run of the same job are not computed again.
    """
    folder.mkdir(exist_ok=True)
    whole = Scored()
    places = [folder / f"{index:05}.npy" for index in range(len(cut))]
    for part, place, counts in zip(
        cut,
        places,
        make_shards(_Counts, _Keeper(score), blocks, places.__getitem__, map_shards),
        strict=True,
    ):
        ends = np.cumsum([len(own) for own in part.numbers(pairs)])
        scores = dict(zip(part.query_ids, np.split(np.load(place), ends[:-1]), strict=True))
        done = Scored(
            scores, counts.truncated, counts.again, set(counts.empty), counts.batch_tokens
        )
        part.add_to(whole, done, pairs)
    return whole

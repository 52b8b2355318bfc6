"""Score pairs on a GPU so that it never waits: texts are tokenized once, pairs are packed there,
and scores are read one block later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.progress import Progress
from positionbias.core.run import Run
from positionbias.engine.ahead import ahead, one_behind
from positionbias.models.packed_models import PackedPairs
from positionbias.models.token_rows import TokenRows
from positionbias.models.transfer import Fetched, short_turns
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.query_blocks import query_blocks
from positionbias.ranking.scored import PassageTexts, Scored

_MOST_TOKENS = 1 << 28  # held of passages, 1 GiB: 4 million of MS MARCO's
_MOST_KEPT = 1 << 26  # tokens kept for a model's next run: 800,000 passages
_AHEAD = 2  # blocks read ahead
_FIRST_PAIRS = 1_024  # of the first block, for which the device waits
_Read = Callable[[Sequence[str]], Sequence[Any]]


@dataclass(frozen=True)
class _Block:
    """Whole queries and their distinct passages as tokens; the query and the passage of each pair,
    ``(pairs,)``.
    """

    query_ids: list[str]
    counts: list[int]
    queries: TokenRows
    passages: TokenRows
    asked: np.ndarray
    places: np.ndarray


@torch.inference_mode()
def score_packed(
    packed: PackedPairs,
    collection: PassageTexts,
    texts: Mapping[str, str],
    candidates: Run,
    config: RankingConfig,
    bar: Progress,
) -> Scored:
    """Score all candidates, as ``ranking.pairs.score_by_pair``."""
    done = Scored()
    budget = TokenBudget(config.tokens(packed.model.device))
    passages = _passages(packed, collection, candidates)
    with (
        short_turns(),
        closing(ahead(_blocks(packed, passages, texts, candidates), _AHEAD)) as blocks,
    ):
        for block, order, fetched in one_behind(
            (block, *_begin(packed, block, done, budget, bar)) for block in blocks
        ):
            _finish(done, block, order, fetched)
    done.batch_tokens = budget.tokens if budget.shrunk else None
    # whose texts stay what they are
    if isinstance(collection, Collection) and passages.held <= _MOST_KEPT:
        _kept[packed.model] = passages
    return done


def _begin(
    packed: PackedPairs, block: _Block, done: Scored, budget: TokenBudget, bar: Progress
) -> tuple[np.ndarray, Fetched]:
    """Begin to score a block, and count what is cut or empty; return the order of its pairs, and
    their scores on the way.
    """
    room = packed.model.room
    lengths = block.queries.lengths[block.asked] + block.passages.lengths[block.places]
    done.truncated += int((lengths >= room).sum())
    done.empty.update(
        block.query_ids[place] for place in np.flatnonzero(block.queries.lengths == 0).tolist()
    )
    source = packed.source(block.queries, block.passages)
    found: list[tuple[np.ndarray, Tensor]] = []

    def work(batch: np.ndarray) -> None:
        asked, places = block.asked[batch], block.places[batch]
        both = (block.queries.lengths[asked], block.passages.lengths[places])
        found.append((batch, packed.scores(packed.batch(source, asked, places, both))))
        bar.advance(len(batch))

    budget.work(np.minimum(lengths, room), work)
    if not found:
        return np.empty(0, np.int64), Fetched(torch.empty(0))
    return np.concatenate([batch for batch, _ in found]), Fetched(
        torch.cat([scores for _, scores in found])
    )


def _finish(done: Scored, block: _Block, order: np.ndarray, fetched: Fetched) -> None:
    scores = np.empty(len(order), np.float32)
    scores[order] = fetched.numpy()
    ends = np.cumsum(block.counts)
    done.scores.update(zip(block.query_ids, np.split(scores, ends[:-1]), strict=True))


def _blocks(
    packed: PackedPairs, passages: _Passages, texts: Mapping[str, str], candidates: Run
) -> Iterator[_Block]:
    """Yield blocks of whole queries as tokens; a passage is read once, as long as memory holds
    it.
    """
    for query_ids in query_blocks(candidates, first=_FIRST_PAIRS):
        per_query = [candidates.numbers(query_id) for query_id in query_ids]
        counts = [len(numbers) for numbers in per_query]
        distinct, places = np.unique(np.concatenate(per_query), return_inverse=True)
        queries = TokenRows.of(
            packed.model.read_queries([texts[query_id] for query_id in query_ids])
        )
        asked = np.repeat(np.arange(len(query_ids)), counts)
        yield _Block(
            query_ids,
            counts,
            queries,
            passages.rows(distinct, packed.model.read_passages),
            asked,
            places,
        )


class _Passages:
    """Passages by their number in the run, tokenized at the first use and held up to
    ``_MOST_TOKENS``.
    """

    def __init__(self, collection: PassageTexts, ids: list[str]) -> None:
        self.collection, self.ids = collection, ids
        self._forget()

    def _forget(self) -> None:
        self._tokens = np.empty(1 << 20, np.int32)
        self.held = 0
        self._starts = np.full(len(self.ids), -1, np.int64)
        self._lengths = np.zeros(len(self.ids), np.int64)

    def rows(self, numbers: np.ndarray, read: _Read) -> TokenRows:
        """Return passages ``(n,)`` by distinct numbers; new ones by ``read``."""
        if self.held > _MOST_TOKENS:
            self._forget()
        new = numbers[self._starts[numbers] < 0]
        if len(new):
            self._keep(
                new, TokenRows.of(read(self.collection.texts([self.ids[number] for number in new])))
            )
        lengths = self._lengths[numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self._starts[numbers] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return TokenRows(self._tokens[places], offsets)

    def _keep(self, numbers: np.ndarray, rows: TokenRows) -> None:
        held = self.held + len(rows.tokens)
        if held > len(self._tokens):
            self._tokens = np.concatenate(
                [self._tokens[: self.held], np.empty(2 * held - self.held, np.int32)]
            )
        self._tokens[self.held : held] = rows.tokens
        self._starts[numbers], self._lengths[numbers] = self.held + rows.offsets[:-1], rows.lengths
        self.held = held


_kept: WeakKeyDictionary[Any, _Passages] = WeakKeyDictionary()


def _passages(packed: PackedPairs, collection: PassageTexts, candidates: Run) -> _Passages:
    """Return the passages with what this model read of them before: a training validates on the
    same ones each time.
    """
    kept = _kept.pop(packed.model, None)
    if kept is not None and kept.collection is collection and kept.ids == candidates.passage_ids:
        return kept
    return _Passages(collection, candidates.passage_ids)

"""Score pair by pair, with a model that reads query and passage together.

Pairs come in blocks of whole queries. A thread reads and tokenizes the next block while the model
scores one. In a block pairs are sorted by length, so that batches have little padding, and their
scores are put back in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from positionbias.core.progress import Progress
from positionbias.core.run import Run
from positionbias.engine.ahead import ahead
from positionbias.models.packed_models import packed_pairs
from positionbias.models.protocols import Ranker, Tokens
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.packed_pairs import score_packed
from positionbias.ranking.query_blocks import distinct_texts, query_blocks
from positionbias.ranking.scored import PassageTexts, Scored


@dataclass(frozen=True)
class _Block:
    """Whole queries: their ids, token numbers and candidate counts; each pair's passage tokens."""

    query_ids: list[str]
    queries: list[list[int]]
    counts: list[int]
    passages: list[list[int]]


@torch.inference_mode()
def score_by_pair(
    model: Ranker,
    collection: PassageTexts,
    texts: Mapping[str, str],
    candidates: Run,
    config: RankingConfig,
    bar: Progress,
) -> Scored:
    """Score all candidates. ``texts`` are the queries' texts by id; the progress bar counts pairs.

    Raises:
        InputError: a passage is not in the collection.
        SettingError: one pair does not fit in the device's memory.
    """
    packed = packed_pairs(model, config.dtype(model.device))
    if packed is not None:
        return score_packed(packed, collection, texts, candidates, config, bar)
    done = Scored()
    budget = TokenBudget(config.tokens(model.device))
    with config.autocast(model.device):
        for block in ahead(_blocks(model, collection, texts, candidates)):
            queries = [
                row
                for row, count in zip(block.queries, block.counts, strict=True)
                for _ in range(count)
            ]
            scores, full = _score(model, queries, block.passages, budget, bar)
            done.truncated += full
            done.empty.update(
                query_id
                for query_id, row in zip(block.query_ids, block.queries, strict=True)
                if not row
            )
            ends = np.cumsum(block.counts)
            done.scores.update(zip(block.query_ids, np.split(scores, ends[:-1]), strict=True))
    done.batch_tokens = budget.tokens if budget.shrunk else None
    return done


@torch.inference_mode()
def score_pairs(
    model: Ranker, pairs: Sequence[tuple[str, str]], config: RankingConfig | None = None
) -> np.ndarray:
    """Return scores ``(len(pairs),)`` of (query text, passage text) pairs, each independent of the
    others.
    """
    config = config or RankingConfig()
    queries, passages = (
        model.read_queries([query for query, _ in pairs]),
        model.read_passages([text for _, text in pairs]),
    )
    with config.autocast(model.device):
        return _score(model, queries, passages, TokenBudget(config.tokens(model.device)), None)[0]


def _blocks(
    model: Ranker, collection: PassageTexts, texts: Mapping[str, str], candidates: Run
) -> Iterator[_Block]:
    """Yield blocks of whole queries as token numbers; a passage is read once a block."""
    for query_ids in query_blocks(candidates):
        found, places = distinct_texts(collection, candidates, query_ids)
        rows = model.read_passages(found)
        queries = model.read_queries([texts[query_id] for query_id in query_ids])
        yield _Block(
            query_ids,
            queries,
            [len(own) for own in places],
            [rows[place] for own in places for place in own],
        )


def _score(
    model: Ranker,
    queries: Sequence[Tokens],
    passages: Sequence[Tokens],
    budget: TokenBudget,
    bar: Progress | None,
) -> tuple[np.ndarray, int]:
    """Return scores ``(pairs,)`` and the number of pairs at the model's limit; wait for the device
    once.
    """
    both = (len(query) + len(passage) for query, passage in zip(queries, passages, strict=True))
    lengths = np.fromiter(both, np.int64, len(passages))
    found: list[tuple[np.ndarray, Tensor]] = []

    def work(batch: np.ndarray) -> None:
        inputs = model.inputs(
            [queries[index] for index in batch], [passages[index] for index in batch]
        )
        found.append(
            (batch, model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}))
        )
        if bar is not None:
            bar.advance(len(batch))

    budget.work(np.minimum(lengths, model.room), work)
    scores = np.empty(len(passages), np.float32)
    if found:
        scores[np.concatenate([batch for batch, _ in found])] = (
            torch.cat([part for _, part in found]).float().cpu().numpy()
        )
    return scores, int((lengths >= model.room).sum())

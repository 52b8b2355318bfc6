"""Score with a model that encodes query and passage separately: each passage is encoded once for
all its queries.

Queries are few and short, and are encoded first. Then passages come in blocks, and each batch is
scored against its queries as soon as it is encoded. No passage vector is kept; memory holds the
queries' vectors and a few numbers a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from positionbias.core.errors import naming_text
from positionbias.core.progress import Progress
from positionbias.core.run import Run
from positionbias.engine.ahead import ahead
from positionbias.models.packed_models import PackedVectors, packed_vectors
from positionbias.models.protocols import PassageEncoder
from positionbias.models.token_rows import TokenRows
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.scored import PassageTexts, Scored

# query vectors in memory: 55,000 queries of eight words for TK, 170,000 for a BERT_DOT of width 768
QUERY_BYTES = 1 << 29
READ_QUERIES = 1_024
READ_PASSAGES = 8_192

_Encode = Callable[[np.ndarray], tuple[Tensor, Tensor]]


@torch.inference_mode()
def score_cached(
    model: PassageEncoder,
    collection: PassageTexts,
    texts: Mapping[str, str],
    candidates: Run,
    config: RankingConfig,
    bar: Progress,
    seen: np.ndarray | None = None,
) -> Scored:
    """Score all candidates. ``texts`` are the queries' texts by id; the progress bar counts pairs.

    ``seen`` is true for the passages ``(candidates.passage_ids,)`` that were encoded before: they
    count as encoded again, not as cut. If the queries' vectors exceed 512 MB, queries come in
    blocks; a passage is then encoded once per block with queries of its own.

    Raises:
        InputError: a passage is not in the collection.
        SettingError: one text does not fit in the device's memory.
    """
    done = Scored()
    packed = packed_vectors(model, config.dtype(model.device))
    budget = TokenBudget(config.tokens(model.device))
    seen = np.zeros(len(candidates.passage_ids), dtype=bool) if seen is None else seen.copy()
    with config.autocast(model.device):
        for queries in _query_blocks(model, texts, budget, done):
            pairs = _pairs(candidates, queries.query_ids)
            for first, rows in ahead(
                _passage_blocks(model, collection, candidates.passage_ids, pairs.numbers)
            ):
                numbers = pairs.numbers[first : first + len(rows)]
                known = seen[numbers]
                full = np.fromiter((len(row) >= model.room for row in rows), bool, len(rows))
                done.truncated += int((full & ~known).sum())
                done.again += int(known.sum())
                seen[numbers] = True
                with naming_text("passage", partial(_named, candidates.passage_ids, numbers, rows)):
                    _score_block(
                        model,
                        _encoding(model, packed, rows),
                        first,
                        rows,
                        queries,
                        pairs,
                        budget,
                        bar,
                    )
            for place, query_id in enumerate(queries.query_ids):
                done.scores[query_id] = pairs.scores[pairs.starts[place] : pairs.starts[place + 1]]
    done.batch_tokens = budget.tokens if budget.shrunk else None
    return done


@dataclass(frozen=True)
class _Queries:
    """The concatenated vectors of queries ``(rows + 1, dim)``, with a row of zeros at the end;
    query ``i`` has the rows ``offsets[i] … offsets[i + 1]``."""

    query_ids: list[str]
    vectors: Tensor
    offsets: np.ndarray

    def padded(self, which: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return vectors ``(n, longest, dim)`` of these queries, and their mask
        ``(n, longest)``.
        """
        lengths = self.offsets[which + 1] - self.offsets[which]
        columns = np.arange(max(1, int(lengths.max(initial=1))))
        mask = columns < lengths[:, None]
        rows = np.where(mask, self.offsets[which][:, None] + columns, len(self.vectors) - 1)
        device = self.vectors.device
        return self.vectors[torch.from_numpy(rows).to(device)], torch.from_numpy(mask).to(device)


@dataclass(frozen=True)
class _Pairs:
    """The pairs of some queries, indexed by query and by passage.

    ``queries (pairs,)``: the query of each pair; ``starts (queries + 1,)``: the first pair of each
    query; ``scores (pairs,)``; ``numbers (distinct,)``: the passages' places in the run; passage
    ``i`` has the pairs ``order[bounds[i]] … order[bounds[i + 1]]``.
    """

    queries: np.ndarray
    starts: np.ndarray
    scores: np.ndarray
    numbers: np.ndarray
    order: np.ndarray
    bounds: np.ndarray

    def of(self, passages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of some passages, and for each pair the index of its passage among
        them.
        """
        first, last = self.bounds[passages], self.bounds[passages + 1]
        found = np.concatenate(
            [self.order[start:end] for start, end in zip(first, last, strict=True)]
        )
        return found, np.repeat(np.arange(len(passages)), last - first)


def _query_blocks(
    model: PassageEncoder, texts: Mapping[str, str], budget: TokenBudget, done: Scored
) -> Iterator[_Queries]:
    """Yield the queries in order, in blocks of about ``QUERY_BYTES``."""
    waiting = iter(texts.items())
    query_ids: list[str] = []
    vectors: list[Tensor] = []
    held = 0
    while part := list(islice(waiting, READ_QUERIES)):
        rows = model.read_queries([text for _, text in part])
        done.empty.update(
            query_id for (query_id, _), row in zip(part, rows, strict=True) if not row
        )
        with naming_text("query", partial(list, part)):
            vectors += _encode_queries(model, rows, budget)
        query_ids += [query_id for query_id, _ in part]
        held += sum(vector.nbytes for vector in vectors[-len(part) :])
        if held >= QUERY_BYTES:
            yield _queries(query_ids, vectors)
            query_ids, vectors, held = [], [], 0
    if query_ids:
        yield _queries(query_ids, vectors)


def _named(
    passage_ids: Sequence[str], numbers: np.ndarray, rows: Sequence[Any]
) -> Iterator[tuple[str, str]]:
    """Yield the ids of passages with their texts, where their rows hold them."""
    return (
        (passage_ids[number], getattr(row, "text", ""))
        for number, row in zip(numbers, rows, strict=True)
    )


def _queries(query_ids: list[str], vectors: list[Tensor]) -> _Queries:
    offsets = np.cumsum([0, *map(len, vectors)], dtype=np.int64)
    return _Queries(
        query_ids, torch.cat([*vectors, vectors[0].new_zeros(1, vectors[0].shape[1])]), offsets
    )


def _encode_queries(
    model: PassageEncoder, rows: Sequence[Any], budget: TokenBudget
) -> list[Tensor]:
    """Return the vectors ``(rows, dim)`` of each query, on the model's device."""
    found: dict[int, Tensor] = {}

    def encode(batch: np.ndarray) -> None:
        vectors, mask = model.encode_queries([rows[index] for index in batch])
        found.update((int(index), vectors[row][mask[row]]) for row, index in enumerate(batch))

    budget.work(np.fromiter(map(len, rows), np.int64, len(rows)), encode)
    return [found[index] for index in range(len(rows))]


def _pairs(candidates: Run, query_ids: Sequence[str]) -> _Pairs:
    per_query = [candidates.numbers(query_id) for query_id in query_ids]
    counts = np.fromiter(map(len, per_query), np.int64, len(per_query))
    passages = np.concatenate(per_query)
    order = np.argsort(passages, kind="stable").astype(np.int32)
    numbers, bounds = np.unique(passages[order], return_index=True)
    return _Pairs(
        queries=np.repeat(np.arange(len(query_ids), dtype=np.int32), counts),
        starts=np.concatenate([[0], np.cumsum(counts)]),
        scores=np.empty(len(passages), np.float32),
        numbers=numbers,
        order=order,
        bounds=np.append(bounds, len(passages)),
    )


def _passage_blocks(
    model: PassageEncoder, collection: PassageTexts, passage_ids: Sequence[str], numbers: np.ndarray
) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield passages by blocks as the model reads them, with the index of each block's first."""
    for first in range(0, len(numbers), READ_PASSAGES):
        wanted = [passage_ids[number] for number in numbers[first : first + READ_PASSAGES]]
        yield first, model.read_passages(collection.texts(wanted))


def _encoding(model: PassageEncoder, packed: PackedVectors | None, rows: Sequence[Any]) -> _Encode:
    """Return what encodes passages of a block by their indices."""
    if packed is None:
        return lambda batch: model.encode_passages([rows[index] for index in batch])
    texts = TokenRows.of(rows)
    source = packed.source(texts)

    def encode(batch: np.ndarray) -> tuple[Tensor, Tensor]:
        vectors = packed.encode(source, batch, texts.lengths[batch]).unsqueeze(1)
        return vectors, vectors.new_ones(vectors.shape[:2], dtype=torch.bool)

    return encode


def _score_block(
    model: PassageEncoder,
    encode: _Encode,
    first: int,
    rows: Sequence[Any],
    queries: _Queries,
    pairs: _Pairs,
    budget: TokenBudget,
    bar: Progress,
) -> None:
    """Encode a block of passages and score it against its queries; wait for the device once a
    block.
    """
    found: list[tuple[np.ndarray, Tensor]] = []
    query_lengths = np.diff(queries.offsets)

    def work(batch: np.ndarray) -> None:
        vectors, mask = encode(batch)
        which, places = pairs.of(first + batch)
        # queries are padded as well
        by_length = np.argsort(query_lengths[pairs.queries[which]], kind="stable")
        which, places = which[by_length], places[by_length]
        size = max(1, budget.tokens // vectors.shape[1])
        scored = []
        for start in range(0, len(which), size):
            chunk = slice(start, start + size)
            side = torch.from_numpy(places[chunk]).to(vectors.device)
            scored.append(
                model.interact(
                    *queries.padded(pairs.queries[which[chunk]]), vectors[side], mask[side]
                )
            )
        found.append((which, torch.cat(scored)))
        bar.advance(len(which))

    budget.work(np.fromiter(map(len, rows), np.int64, len(rows)), work)
    pairs.scores[np.concatenate([which for which, _ in found])] = (
        torch.cat([part for _, part in found]).float().cpu().numpy()
    )

"""Batches: groups become padded word numbers, each passage read as stored or rotated anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.groups import TrainingGroup
from positionbias.models.protocols import pad_rows
from positionbias.models.tk import TK
from positionbias.positions.rotate import Rotation
from positionbias.training.trainsets.sample import GroupSource

__all__ = ["Batch", "batches", "encode_ragged"]

PURPOSE = "rotate at reading"


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded word numbers: ``queries (n, query_len)``; ``passages (2n, passage_len)``, positives first, then negatives.

    ``number`` counts batches within the epoch; ``dropped`` the groups with an empty side that were left out.
    """

    epoch: int
    number: int
    queries: Tensor
    passages: Tensor
    dropped: int

    def __len__(self) -> int:
        return len(self.queries)


def batches(
    sampler: GroupSource,
    model: TK,
    collection: Collection,
    query_texts: dict[str, str],
    *,
    size: int,
    epoch: int,
    start: int = 0,
    rotation: Rotation | None = None,
) -> Iterator[Batch]:
    """The batches of one epoch from batch ``start`` on.

    With ``rotation``, each read of a passage draws its own cut, keyed by (seed, epoch, index of the example, passage id), so
    positive and negative turn independently and a second epoch sees other cuts.
    """
    stream = sampler.epoch(epoch, start * size)
    number = start
    while block := list(islice(stream, size)):
        groups = [group for _, group in block]
        passage_ids = [passage_id for side in (0, 1) for passage_id in (group.passage_ids[side] for group in groups)]
        texts = collection.texts(passage_ids)
        if rotation is not None:
            indices = [index for index, _ in block] * 2
            reads = zip(texts, indices, passage_ids, strict=True)
            texts = [rotation.apply(text, epoch, index, item, purpose=PURPOSE) for text, index, item in reads]
        yield _batch(model, groups, texts, query_texts, epoch, number)
        number += 1


def _batch(
    model: TK,
    groups: list[TrainingGroup],
    texts: list[str],
    query_texts: dict[str, str],
    epoch: int,
    number: int,
) -> Batch:
    queries = model.read_queries([query_texts[group.query_id] for group in groups])
    passages = model.read_passages(texts)
    half = len(groups)
    kept = [i for i in range(half) if queries[i] and passages[i] and passages[half + i]]
    chosen = [passages[i] for i in kept] + [passages[half + i] for i in kept]
    return Batch(epoch, number, pad_rows([queries[i] for i in kept]), pad_rows(chosen), half - len(kept))


def encode_ragged(model: TK, passages: Tensor, parts: int = 2) -> Tensor:
    """``model.passage_vectors`` in parts of alike length: the same numbers, without computing most of the padding.

    ``passages (n, longest)`` → ``(n, longest, dim)``, padding zero.
    """
    lengths = (passages != 0).sum(dim=1)
    order = torch.argsort(lengths, descending=True, stable=True)
    encoded = []
    for part in order.chunk(parts):
        width = max(1, int(lengths[part].max()))
        vectors = model.passage_vectors(passages[part, :width])
        encoded.append(torch.nn.functional.pad(vectors, (0, 0, 0, passages.shape[1] - width)))
    return torch.cat(encoded)[torch.argsort(order)]

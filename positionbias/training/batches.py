"""Batches: groups become a model's inputs, each passage read as stored or rotated anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.groups import TrainingGroup
from positionbias.core.seeds import generator
from positionbias.models.protocols import Ranker, Tokens
from positionbias.positions.rotate import Rotation
from positionbias.training.trainsets.sample import GroupSource

__all__ = ["Batch", "TrainingTexts", "batches"]

PURPOSE = "rotate at reading"

Indexed = tuple[int, TrainingGroup]


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """What batches are made of. ``rotation`` turns every read of a passage anew."""

    collection: Collection
    queries: Mapping[str, str]
    source: GroupSource
    rotation: Rotation | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One process's part of a batch, read: ``queries`` (n), ``passages`` (2n), the positives first, then the negatives.

    ``number`` counts batches within the epoch; ``dropped`` groups have an empty side and were left out. Where nothing is left
    for a process that others wait for, it computes a pair of theirs, and ``idle`` is true: nothing comes of it.
    """

    epoch: int
    number: int
    groups: list[TrainingGroup]
    queries: Sequence[Tokens]
    passages: Sequence[Tokens]
    inputs: dict[str, Tensor]
    dropped: int
    idle: bool = False

    def __len__(self) -> int:
        return 0 if self.idle else len(self.groups)


def batches(
    model: Ranker,
    texts: TrainingTexts,
    *,
    size: int,
    epoch: int,
    start: int = 0,
    bucket: int = 1,
    seed: int = 1,
    part: tuple[int, int] = (0, 1),
) -> Iterator[Batch]:
    """The batches of one epoch from batch ``start`` on; ``part`` (i, n): of each the groups i, i + n, i + 2n …

    ``bucket`` batches at a time are sorted by the length of the longer passage (in characters [decision]: a text need not be
    read for that), cut, and shuffled, keyed by (seed, epoch, first batch). With a rotation, each read of a passage draws its
    own cut, keyed by (seed, epoch, index of the example in the epoch, passage id), so positive and negative turn independently
    and a second epoch sees other cuts.
    """
    number = start // bucket * bucket
    stream = texts.source.epoch(epoch, number * size)
    while window := list(islice(stream, bucket * size)):
        for block in _cut(window, texts.collection, size, seed, epoch, number) if bucket > 1 else [window]:
            if number >= start:
                yield _part(model, texts, block, epoch, number, part)
            number += 1


def _cut(
    window: Sequence[Indexed], collection: Collection, size: int, seed: int, epoch: int, number: int
) -> list[Sequence[Indexed]]:
    """A window's batches of alike length, in a random order."""
    lengths = [len(text) for text in collection.texts([item for _, group in window for item in group.passage_ids])]
    longest = [max(pair) for pair in zip(lengths[::2], lengths[1::2], strict=True)]
    order = sorted(range(len(window)), key=longest.__getitem__)
    cuts = [[window[place] for place in order[first : first + size]] for first in range(0, len(order), size)]
    return [cuts[place] for place in generator(seed, "batch order", epoch, number).permutation(len(cuts))]


def _part(
    model: Ranker, texts: TrainingTexts, block: Sequence[Indexed], epoch: int, number: int, part: tuple[int, int]
) -> Batch:
    place, parts = part
    batch = _read(model, texts, block[place::parts], epoch, number)
    if batch.groups or parts == 1:
        return batch
    others = _read(model, texts, block, epoch, number)
    # where the whole batch has nothing, any token will do
    queries: Sequence[Tokens] = others.queries[:1] or [[1]]
    passages: Sequence[Tokens] = others.passages[:: max(1, len(others.groups))][:2] or [[1], [1]]
    inputs = model.inputs(queries, passages)
    return Batch(epoch, number, others.groups[:1], queries, passages, inputs, batch.dropped, idle=True)


def _read(model: Ranker, texts: TrainingTexts, block: Sequence[Indexed], epoch: int, number: int) -> Batch:
    groups = [group for _, group in block]
    passage_ids = [passage_id for side in (0, 1) for passage_id in (group.passage_ids[side] for group in groups)]
    stored = texts.collection.texts(passage_ids)
    if (rotation := texts.rotation) is not None:
        indices = [index for index, _ in block] * 2
        reads = zip(stored, indices, passage_ids, strict=True)
        stored = [rotation.apply(text, epoch, index, item, purpose=PURPOSE) for text, index, item in reads]
    queries = model.read_queries([texts.queries[group.query_id] for group in groups])
    passages = model.read_passages(stored)
    half = len(groups)
    kept = [i for i in range(half) if queries[i] and passages[i] and passages[half + i]]
    asked = [queries[i] for i in kept]
    read = [passages[i] for i in kept] + [passages[half + i] for i in kept]
    inputs = model.inputs(asked, read) if kept else {}
    return Batch(epoch, number, [groups[i] for i in kept], asked, read, inputs, half - len(kept))

"""Turn training groups into batches of a model's inputs, each passage as stored or rotated at every
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.groups import TrainingGroup
from positionbias.core.seeds import generator
from positionbias.models.protocols import Ranker, Tokens
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotated_texts import TextChange
from positionbias.training.trainsets.sample import GroupSource

PURPOSE = "rotate at reading"
CONSISTENCY = "rotate for consistency"

Indexed = tuple[int, TrainingGroup]


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """The data of batches. With ``reading`` each read of a passage is changed by a draw of its own.
    With ``turned`` each passage is read a second time, rotated by a cut of its own, for a loss that
    compares both.
    """

    collection: Collection
    queries: Mapping[str, str]
    source: GroupSource
    reading: TextChange | None = None
    turned: Rotation | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One process's part of a batch: ``queries`` (n), ``passages`` (n · m): the n positives, then
    the first negatives …

    m is the size of the largest group. Smaller ones are padded by a short passage of the batch,
    where ``there`` (n, m) is false (None: all groups are of one size). ``teacher`` (n, m) are a
    teacher's scores, None where a group has none. With ``turned`` there are 2m columns of
    ``passages``: the m as they are, then the m rotated. ``number`` counts batches within the epoch;
    ``dropped`` groups have an empty side and were skipped. If a process has no groups while others
    do, it computes one of theirs, discards the result, and ``idle`` is true.
    """

    epoch: int
    number: int
    groups: list[TrainingGroup]
    queries: Sequence[Tokens]
    passages: Sequence[Tokens]
    inputs: dict[str, Tensor]
    dropped: int
    there: Tensor | None = None
    teacher: Tensor | None = None
    turned: bool = False
    idle: bool = False

    def __len__(self) -> int:
        return 0 if self.idle else len(self.groups)

    def by_group(self, change: Callable[[Tensor], Tensor]) -> dict[str, Any]:
        """Return ``change`` of the tensors with a row a group, by their fields' names; without
        those that are None.
        """
        held = {"there": self.there, "teacher": self.teacher}
        return {name: change(tensor) for name, tensor in held.items() if tensor is not None}


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
    """Yield the batches of one epoch from batch ``start`` on; ``part`` (i, n) takes the groups i, i
    + n, i + 2n … of each.

    ``bucket`` batches at a time are sorted by the length of the longest passage (in characters,
    which need no tokenizing [decision]), cut, and shuffled, keyed by (seed, epoch, first batch).
    With a change at reading, each read of a passage has a draw of its own, keyed by (seed, epoch,
    index of the example in the epoch, passage id), so positive and negatives change independently
    and each epoch sees others.
    """
    number = start // bucket * bucket
    stream = texts.source.epoch(epoch, number * size)
    while window := list(islice(stream, bucket * size)):
        for block in (
            _cut(window, texts.collection, size, seed, epoch, number) if bucket > 1 else [window]
        ):
            if number >= start:
                yield _part(model, texts, block, epoch, number, part)
            number += 1


def pinned(batch: Batch) -> Batch:
    """Return the batch with its tensors in pinned memory, from which a GPU copies while the host
    goes on.
    """
    inputs = {name: tensor.pin_memory() for name, tensor in batch.inputs.items()}
    return replace(batch, inputs=inputs, **batch.by_group(Tensor.pin_memory))


def _cut(
    window: Sequence[Indexed], collection: Collection, size: int, seed: int, epoch: int, number: int
) -> list[Sequence[Indexed]]:
    """Return a window's batches of similar length, in random order."""
    lengths = iter(
        [
            len(text)
            for text in collection.texts(
                [item for _, group in window for item in group.passage_ids]
            )
        ]
    )
    longest = [max(islice(lengths, len(group.passage_ids))) for _, group in window]
    order = sorted(range(len(window)), key=longest.__getitem__)
    cuts = [
        [window[place] for place in order[first : first + size]]
        for first in range(0, len(order), size)
    ]
    return [
        cuts[place]
        for place in generator(seed, "batch order", epoch, number).permutation(len(cuts))
    ]


def _part(
    model: Ranker,
    texts: TrainingTexts,
    block: Sequence[Indexed],
    epoch: int,
    number: int,
    part: tuple[int, int],
) -> Batch:
    place, parts = part
    batch = _read(model, texts, block[place::parts], epoch, number)
    if batch.groups or parts == 1:
        return batch
    others = _read(model, texts, block, epoch, number)
    # if the whole batch is empty, any token will do
    queries: Sequence[Tokens] = others.queries[:1] or [[1]]
    passages: Sequence[Tokens] = others.passages[:: max(1, len(others.groups))] or [[1], [1]]
    teacher = torch.zeros(1, len(passages))  # its result is unused
    inputs = model.inputs(queries, passages)
    return Batch(
        epoch,
        number,
        others.groups[:1],
        queries,
        passages,
        inputs,
        batch.dropped,
        teacher=teacher,
        idle=True,
    )


def _read(
    model: Ranker, texts: TrainingTexts, block: Sequence[Indexed], epoch: int, number: int
) -> Batch:
    groups = [group for _, group in block]
    passage_ids = [passage_id for group in groups for passage_id in group.passage_ids]
    stored = texts.collection.texts(passage_ids)
    indices = [index for index, group in block for _ in group.passage_ids]

    def drawn(by: TextChange, given: Sequence[str], purpose: str) -> list[str]:
        reads = zip(given, indices, passage_ids, strict=True)
        return [by.apply(text, epoch, index, item, purpose=purpose) for text, index, item in reads]

    if texts.reading is not None:
        stored = drawn(texts.reading, stored, PURPOSE)
    wanted = (
        [stored] if texts.turned is None else [stored, drawn(texts.turned, stored, CONSISTENCY)]
    )
    queries = model.read_queries([texts.queries[group.query_id] for group in groups])
    sides = []
    for side in wanted:
        read = iter(model.read_passages(side))
        sides.append([list(islice(read, len(group.passage_ids))) for group in groups])
    kept = [
        i
        for i in range(len(groups))
        if len(queries[i]) and all(map(len, chain.from_iterable(side[i] for side in sides)))
    ]
    groups, asked = [groups[i] for i in kept], [queries[i] for i in kept]
    dropped = len(block) - len(kept)
    if not kept:
        return Batch(epoch, number, groups, asked, [], {}, dropped)
    placed = [_columns([side[i] for i in kept]) for side in sides]
    columns, there = [row for rows, _ in placed for row in rows], placed[0][1]
    return Batch(
        epoch,
        number,
        groups,
        asked,
        columns,
        model.inputs(asked, columns),
        dropped,
        there,
        _teacher(groups, there),
        turned=len(sides) > 1,
    )


def _columns(passages: Sequence[Sequence[Tokens]]) -> tuple[list[Tokens], Tensor | None]:
    """Return passages of groups by column, and a mask of the existing ones, (groups, passages);
    None if all exist.
    """
    sizes = [len(group) for group in passages]
    largest = max(sizes)
    if min(sizes) == largest:
        return [group[column] for column in range(largest) for group in passages], None
    shortest = min((passage for group in passages for passage in group), key=len)
    filled = [[*group, *([shortest] * (largest - len(group)))] for group in passages]
    there = torch.arange(largest) < torch.tensor(sizes)[:, None]
    return [group[column] for column in range(largest) for group in filled], there


def _teacher(groups: Sequence[TrainingGroup], there: Tensor | None) -> Tensor | None:
    """Return a teacher's scores (groups, passages), 0 for padding; None if a group has none."""
    scores = [group.teacher_scores for group in groups]
    if any(of is None for of in scores):
        return None
    width = len(scores[0] or ()) if there is None else there.shape[1]
    return torch.tensor([[*(of or ()), *([0.0] * (width - len(of or ())))] for of in scores])

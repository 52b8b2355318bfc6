"""Sample training groups: a judged positive, and candidates not judged relevant."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.groups import Groups, TrainingGroup
from positionbias.core.records import Qrel, relevant_passages
from positionbias.core.run import Run
from positionbias.core.seeds import choose, generator
from positionbias.training.negatives import without

_AT_ONCE = 4_096  # groups looked up together


class GroupSource(Protocol):
    """A source of training groups; an epoch depends only on the seed, so a resumed training sees
    the same.

    ``left_out`` counts pairs without a negative, ``absent`` pairs whose relevant passage is not in
    the collection.
    """

    @property
    def left_out(self) -> int: ...

    @property
    def absent(self) -> int: ...

    def __len__(self) -> int: ...

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[int, TrainingGroup]]:
        """Yield (index, group) of one epoch from ``start`` on, in that epoch's own order."""

    def positives_among(self, passage_ids: Set[str]) -> Set[str]:
        """Return the passages that are the positive of a group."""


class StoredGroups:
    """The groups of a training set, once an epoch; negatives are drawn anew from groups larger than
    ``group_size``.

    The order of an epoch takes four bytes a group.
    """

    left_out = absent = 0

    def __init__(self, groups: Groups, *, seed: int, group_size: int = 2) -> None:
        self.groups, self.seed, self.group_size = groups, seed, group_size

    def __len__(self) -> int:
        return len(self.groups)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[int, TrainingGroup]]:
        """Yield groups as ``GroupSource.epoch``."""
        order = np.arange(len(self.groups), dtype=np.uint32)
        generator(self.seed, "epoch order", epoch).shuffle(order)
        for first in range(start, len(order), _AT_ONCE):
            places = order[first : first + _AT_ONCE]
            for index, (place, group) in enumerate(
                zip(places.tolist(), self.groups.take(places), strict=True), first
            ):
                yield index, self._cut(group, epoch, place)

    def positives_among(self, passage_ids: Set[str]) -> Set[str]:
        """Return positives as ``GroupSource.positives_among``."""
        return self.groups.positives_among(passage_ids)

    def _cut(self, group: TrainingGroup, epoch: int, place: int) -> TrainingGroup:
        if len(group.passage_ids) <= self.group_size:
            return group
        negatives = choose(
            len(group.passage_ids) - 1, self.group_size - 1, self.seed, "negative", epoch, place
        )
        chosen = [0, *(1 + negative for negative in negatives)]
        passage_ids, labels = (
            tuple(group.passage_ids[i] for i in chosen),
            tuple(group.labels[i] for i in chosen),
        )
        scores = group.teacher_scores and tuple(group.teacher_scores[i] for i in chosen)
        return TrainingGroup(group.query_id, passage_ids, labels, scores)


@dataclass(frozen=True)
class GroupSampler:
    """A sampler of groups; the group at (epoch, index) depends only on the seed, so a resumed
    training sees the same.

    Negatives are drawn without replacement; a pool that is too small makes a smaller group.
    """

    positives: Sequence[tuple[str, str]]
    negatives: Mapping[str, Sequence[str]]
    seed: int
    left_out: int
    absent: int = 0
    group_size: int = 2

    def __len__(self) -> int:
        return len(self.positives)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[int, TrainingGroup]]:
        """Yield (index, group) of one epoch from ``start`` on, in that order: each positive once,
        with fresh negatives.
        """
        order: np.ndarray = generator(self.seed, "epoch order", epoch).permutation(
            len(self.positives)
        )
        for index in range(start, len(order)):
            query_id, positive = self.positives[int(order[index])]
            pool = self.negatives[query_id]
            drawn = choose(
                len(pool), self.group_size - 1, self.seed, "negative", epoch, query_id, positive
            )
            yield (
                index,
                TrainingGroup(
                    query_id, (positive, *(pool[i] for i in drawn)), (1, *([0] * len(drawn)))
                ),
            )

    def positives_among(self, passage_ids: Set[str]) -> Set[str]:
        """Return positives as ``GroupSource.positives_among``."""
        return {passage_id for _, passage_id in self.positives if passage_id in passage_ids}


def make_sampler(
    qrels: Sequence[Qrel],
    candidates: Run,
    *,
    seed: int,
    relevant_from: int = 1,
    absent: Container[str] = (),
    group_size: int = 2,
) -> GroupSampler:
    """Return a sampler over all (query, relevant passage) pairs whose query has at least one
    negative candidate.

    Negatives are candidates not judged relevant. Pairs without any are skipped and counted, and so
    are, separately, pairs whose relevant passage is ``absent``: judged, but not in the collection.

    Raises:
        InputError: nothing to train on.
    """
    relevant = relevant_passages(qrels, relevant_from)
    pools = {
        query_id: without(candidates[query_id].passage_ids, passages)
        for query_id, passages in relevant.items()
        if query_id in candidates
    }
    sampler = sampler_over(relevant, pools, seed=seed, absent=absent, group_size=group_size)
    if not len(sampler):
        raise InputError(
            f"run {candidates.name!r}: wanted candidates for the training queries; found none that "
            "fit; check that --candidates was retrieved for the split given to --split"
        )
    return sampler


def sampler_over(
    relevant: Mapping[str, Sequence[str]],
    pools: Mapping[str, Sequence[str]],
    *,
    seed: int,
    absent: Container[str] = (),
    group_size: int = 2,
) -> GroupSampler:
    """Return a sampler like ``make_sampler``, from relevant passages and negatives, both by
    query.
    """
    positives: list[tuple[str, str]] = []
    left_out = not_there = 0
    for query_id, passages in relevant.items():
        there = [item for item in passages if item not in absent]
        not_there += len(passages) - len(there)
        if pools.get(query_id):
            positives.extend((query_id, passage_id) for passage_id in there)
        else:
            left_out += len(there)
    return GroupSampler(positives, pools, seed, left_out, not_there, group_size)
